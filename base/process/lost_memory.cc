// SPDX-License-Identifier: Apache-2.0

#include "base/process/lost_memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/process/core_dump.h"

namespace copse {

std::atomic<uint32_t> lost_memory_internal::lost_mappings = 0;

namespace {

using lost_memory_internal::lost_mappings;

// A TrackedSlot describes one tracked mapping; the signal handler reads it without a lock. Track stores `end` last
// (release), which pairs with the acquire load in AnyOverlapping, so a reader that sees `end` sees `begin`; the
// destructor clears `end` first. An `end` of 0 means that the slot is free.
struct TrackedSlot {
  std::atomic<uintptr_t> begin;
  std::atomic<uintptr_t> end;
  std::atomic<bool> lost;
};

std::array<TrackedSlot, kTrackedMappingsMax> slots;  // only those below slots_used are accessed
std::atomic<uint32_t> slots_used = 0;                // number of slots that were ever taken
uintptr_t page_bytes = 4096;
struct sigaction earlier_action;

Mutex slots_mutex;
std::vector<uint32_t>& FreeSlots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(slots_mutex) {
  static auto* const free_slots = new std::vector<uint32_t>;
  return *free_slots;
}

// Calls `visit` with each slot that overlaps [begin, end), until one returns true. Async-signal-safe.
template <typename Visit>
bool AnyOverlapping(uintptr_t begin, uintptr_t end, Visit visit) {
  // Pairs with Track's release store.
  const uint32_t used = slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    TrackedSlot& slot = slots[i];
    // Pairs with Track's release store: the slot's `begin` is valid once its `end` is seen.
    const uintptr_t slot_end = slot.end.load(std::memory_order_acquire);
    if (slot_end <= begin) continue;
    const uintptr_t slot_begin = slot.begin.load(std::memory_order_relaxed);
    if (slot_begin < end && visit(slot, slot_begin, slot_end)) return true;
  }
  return false;
}

// Maps zeros over the lost granule around `address`, within [begin, end). Returns false if that failed.
// Async-signal-safe: mmap and madvise are single system calls.
bool Replace(TrackedSlot& slot, uintptr_t begin, uintptr_t end, uintptr_t address, uintptr_t granule_bytes) {
  const uintptr_t from = std::max(begin, address & ~(granule_bytes - 1));
  const uintptr_t to = std::min(end, (address & ~(granule_bytes - 1)) + granule_bytes);
  // The mark comes before the mapping: no thread may see zeros without it. seq_cst keeps both operations before mmap.
  // They pair with the loads of AnyMemoryLost and IsMemoryLost, which a reader makes after its access to the page.
  if (!slot.lost.exchange(true, std::memory_order_seq_cst)) lost_mappings.fetch_add(1, std::memory_order_seq_cst);
  void* const zeros = mmap(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED) return false;
  // It takes the place of a client's memory.
  KeepOutOfCores(zeros, to - from);
  return true;
}

bool ReplaceLostPage(const siginfo_t& info) {
  const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  uintptr_t granule_bytes = page_bytes;
  // Only these codes come with the size of the lost range.
  if (info.si_code == BUS_MCEERR_AR || info.si_code == BUS_MCEERR_AO) {
    granule_bytes = std::max(page_bytes, uintptr_t{1} << std::min<int>(info.si_addr_lsb, 40));
  }
  return AnyOverlapping(address, address + 1, [&](TrackedSlot& slot, uintptr_t begin, uintptr_t end) {
    return Replace(slot, begin, end, address, granule_bytes);
  });
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool is_sent = info->si_code <= 0;  // sent by a process
  if (!is_sent && ReplaceLostPage(*info)) {
    errno = error;
    return;
  }
  if (earlier_action.sa_handler != SIG_DFL && earlier_action.sa_handler != SIG_IGN) {
    if ((earlier_action.sa_flags & SA_SIGINFO) != 0) {
      earlier_action.sa_sigaction(signal, info, context);
    } else {
      earlier_action.sa_handler(signal);
    }
  } else if (!is_sent || earlier_action.sa_handler == SIG_DFL) {
    // The faulting access is repeated under the default action, which ends the process; a signal that was sent is
    // raised again.
    struct sigaction none = {};
    none.sa_handler = SIG_DFL;
    sigaction(signal, &none, nullptr);
    if (is_sent) raise(signal);
  }
  errno = error;
}

}  // namespace

void CatchMemoryFaults() {
  static const bool caught = [] {
    page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    // The earlier action is read only after a fault, which the program cannot have before this returns.
    return sigaction(SIGBUS, &action, &earlier_action) == 0;
  }();
  CHECK(caught);
}

bool IsMemoryLost(const void* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return AnyOverlapping(begin, begin + bytes, [](TrackedSlot& slot, uintptr_t, uintptr_t) {
    return slot.lost.load(std::memory_order_relaxed);
  });
}

TrackedMemory::TrackedMemory(TrackedMemory&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

TrackedMemory& TrackedMemory::operator=(TrackedMemory&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

TrackedMemory::~TrackedMemory() {
  if (slot_ < 0) return;
  TrackedSlot& slot = slots[static_cast<size_t>(slot_)];
  // `end` is cleared first, which pairs with the handler's loads in AnyOverlapping: a fault that comes later no longer
  // finds the slot, so it cannot set `lost` after it was cleared.
  slot.end.store(0, std::memory_order_seq_cst);
  if (slot.lost.exchange(false, std::memory_order_seq_cst)) lost_mappings.fetch_sub(1, std::memory_order_seq_cst);
  MutexLock lock(&slots_mutex);
  FreeSlots().push_back(static_cast<uint32_t>(slot_));
}

absl::StatusOr<TrackedMemory> TrackedMemory::Track(const void* base, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(base);
  CHECK_EQ(begin % page_bytes, 0u);
  MutexLock lock(&slots_mutex);
  std::vector<uint32_t>& free_slots = FreeSlots();
  uint32_t index = slots_used.load(std::memory_order_relaxed);
  if (!free_slots.empty()) {
    index = free_slots.back();
    free_slots.pop_back();
  } else if (index == kTrackedMappingsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memory: this process maps too much of others (mappings=", index, ", limit=", index, ")"));
  } else {
    // Pairs with the acquire load in AnyOverlapping.
    slots_used.store(index + 1, std::memory_order_release);
  }
  TrackedSlot& slot = slots[index];
  slot.begin.store(begin, std::memory_order_relaxed);
  // Pairs with the acquire load in AnyOverlapping.
  slot.end.store(begin + bytes, std::memory_order_release);
  return TrackedMemory(index);
}

bool TrackedMemory::lost() const {
  return slot_ >= 0 && slots[static_cast<size_t>(slot_)].lost.load(std::memory_order_relaxed);
}

}  // namespace copse
