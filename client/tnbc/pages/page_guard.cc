// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/page_guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <memory>
#include <mutex>

#include "base/monotonic_ns.h"
#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/page_rights.h"
#include "client/tnbc/pages/page_state.h"
#include "client/tnbc/pages/signal_bits.h"

namespace copse::tnbc {
namespace {

// A thread that waits makes MPI progress at this interval, the shortest one of threads that wait in blocking calls.
constexpr uint64_t kTurnEveryNs = 1'000'000;

std::atomic<PageGuard*> the_guard{nullptr};

}  // namespace

// Acquire: pairs with the release in Start.
PageGuard* PageGuard::Get() { return the_guard.load(std::memory_order_acquire); }

PageGuard* PageGuard::Start(const Callbacks& callbacks, const char** why) {
  static std::mutex starting;
  const std::lock_guard lock(starting);
  if (PageGuard* started = Get(); started != nullptr) return started;
  std::unique_ptr<PageGuard> guard(new PageGuard);
  if (!guard->callbacks_.Start(callbacks)) {
    *why = "no memory for a stack";
    return nullptr;
  }
  if (!guard->memory_.Open()) {
    *why = "memory that is inaccessible cannot be written through /proc/self/mem";
    return nullptr;
  }
  // Release: pairs with the acquire in Get, so a handler finds the guard initialized.
  the_guard.store(guard.get(), std::memory_order_release);
  guard->actions_.Install(OnSignal);
  return guard.release();
}

bool PageGuard::HasOnlyLost() const {
  for (uintptr_t begin = 0;;) {
    const auto found = ranges_.Find(begin, UINTPTR_MAX - begin);
    if (!found.has_value()) return true;
    if (found->state != PageState::kFailed && found->state != PageState::kOpen) return false;
    begin = found->range.end;
  }
}

void PageGuard::BeginFork(OnWait on_wait) {
  for (;;) {
    AwaitAll(on_wait);
    closing_.lock();
    if (HasOnlyLost()) return;
    closing_.unlock();
  }
}

// Ranges enter the index before they are protected, so that a fault finds its range. If there is no room, ranges that
// are closed only to record their first access are opened.
bool PageGuard::CloseAll(std::span<const Range> ranges, int rights, std::span<FirstAccess* const> accesses) {
  const std::lock_guard lock(closing_);
  if (!opener_.HasOpenedAll()) return false;
  if (!accesses.empty()) wants_accesses_ = true;
  for (const Range& range : ranges) StopLookingAt(range);
  if (!ranges_.Add(ranges, accesses)) {
    if (!wants_accesses_) return false;
    StopLooking(nullptr, UINTPTR_MAX);
    if (!ranges_.Add(ranges, accesses)) return false;
  }
  if (SetRightsOfAll(ranges, rights, [](const Range& range) { return range; })) return true;
  for (const Range& range : ranges) Release(range);
  return false;
}

bool PageGuard::Protect(std::span<const Range> ranges, std::span<FirstAccess* const> accesses) {
  return CloseAll(ranges, PROT_NONE, accesses);
}

bool PageGuard::ProtectSent(std::span<const Range> ranges) { return CloseAll(ranges, PROT_READ, {}); }

bool PageGuard::ProtectSnapshots(std::span<PendingRanges::Found> snapshots) {
  const std::lock_guard lock(closing_);
  for (const PendingRanges::Found& snapshot : snapshots) StopLookingAt(snapshot.range);
  if (!opener_.HasOpenedAll() || !ranges_.AddSnapshots(snapshots)) return false;
  const auto range_of = [](const PendingRanges::Found& snapshot) { return snapshot.range; };
  if (SetRightsOfAll(snapshots, PROT_READ, range_of)) return true;
  for (const PendingRanges::Found& snapshot : snapshots) DropSnapshot(snapshot);
  return false;
}

// Signals are held while this thread has claimed the snapshot, since a handler of the program might jump out and never
// settle it.
bool PageGuard::Settle(const PendingRanges::Found& snapshot, bool wanted) {
  bool claimed = false;
  {
    // The kernel kills a thread that it stops by SIGSYS while this is blocked.
    const SignalMask held(SIG_SETMASK, ~SignalBit(SIGSYS));
    claimed = PendingRanges::Claim(snapshot);
    if (claimed) {
      const Range& range = snapshot.range;
      if (wanted) memcpy(snapshot.copy, reinterpret_cast<const void*>(range.begin), range.bytes());
      opener_.Open(range);
      PendingRanges::Settle(snapshot);
    }
  }
  while (!claimed && !PendingRanges::AwaitSettled(snapshot, kTurnEveryNs)) {
  }
  return claimed;
}

void PageGuard::SettleSnapshot(const PendingRanges::Found& snapshot) {
  Settle(snapshot, true);
  ranges_.Remove(snapshot);
}

void PageGuard::DropSnapshot(const PendingRanges::Found& snapshot) {
  Settle(snapshot, false);
  ranges_.Remove(snapshot);
}

void PageGuard::Release(const Range& range) {
  if (opener_.Open(range)) ranges_.Remove(range.begin);
  if (opener_.has_left()) opener_.OpenLeft();
}

// Opens a range whose data has arrived. Returns false if its state has changed, so that the caller searches again; else
// the range is open, and may have been taken out. The thread that is opening it may be the one that this handler has
// interrupted, so after a short wait this thread opens it, too.
bool PageGuard::TryOpen(const PendingRanges::Found& found) {
  if (found.state == PageState::kOpen) return true;
  if (found.state == PageState::kOpening) {
    if (PendingRanges::Wait(found, kTurnEveryNs)) return false;
    SetRights(found.range, PROT_READ | PROT_WRITE);
    return true;
  }
  if (!PendingRanges::BeginOpening(found)) return false;
  // If this fails, the thread that accesses the range faults again.
  if (SetRights(found.range, PROT_READ | PROT_WRITE)) PendingRanges::EndOpening(found);
  return true;
}

void PageGuard::StopLookingAt(const Range& range) {
  if (wants_accesses_) StopLooking(reinterpret_cast<const void*>(range.begin), range.bytes());  // NOLINT
}

void PageGuard::StopLooking(const void* address, uint64_t bytes, const FirstAccess* access) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = begin + bytes;
  while (begin < end) {
    const auto found = ranges_.Find(begin, end - begin);
    if (!found.has_value()) return;
    const bool is_meant = HasArrived(found->state) && (access == nullptr || found->access == access);
    if (is_meant && !TryOpen(*found)) continue;
    if (is_meant) ranges_.Remove(*found);
    begin = found->range.end;
  }
}

// Opens ranges that were left closed, and calls `on_wait`, or the handlers' callback if that is null.
void PageGuard::GiveTurn(OnWait on_wait) {
  if (opener_.has_left()) opener_.OpenLeft();
  if (on_wait != nullptr) return on_wait();
  callbacks_.GiveTurn();
}

void PageGuard::AwaitFound(const PendingRanges::Found& found, uintptr_t address, OnWait on_wait, Accessor accessor) {
  if (found.copy != nullptr) {
    if (Settle(found, true)) accesses_.AddCopy();
    return;
  }
  const uint64_t since = MonotonicNs();
  uint64_t never = 0;
  if (found.access != nullptr && accessor != Accessor::kNobody &&
      found.access->ns.compare_exchange_strong(never, since)) {
    found.access->by_call = accessor == Accessor::kCall;
  }
  if (HasArrived(found.state)) {
    TryOpen(found);
    return;
  }
  accesses_.Add(address, since);
  if (found.state == PageState::kFailed) callbacks_.TellLost(address);
  while (!PendingRanges::Wait(found, kTurnEveryNs)) GiveTurn(on_wait);
  const uint64_t waited = MonotonicNs() - since;
  accesses_.AddWait(waited);
  if (found.access != nullptr) found.access->waited_ns.fetch_add(waited, std::memory_order_relaxed);
}

bool PageGuard::AwaitMemory(const void* address, uint64_t bytes, OnWait on_wait, Accessor accessor) {
  const bool tells = on_wait != nullptr;
  auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = begin + bytes;
  bool is_there = true;
  while (begin < end) {
    const auto found = ranges_.Find(begin, end - begin);
    if (!found.has_value()) break;
    const bool is_lost = found->state == PageState::kFailed && tells;
    if (is_lost) is_there = false;
    if (is_lost || found->state == PageState::kOpen) {
      begin = found->range.end;
    } else {
      AwaitFound(*found, found->range.begin, on_wait, accessor);
    }
  }
  return is_there;
}

bool PageGuard::Await(const void* address, uint64_t bytes, OnWait on_wait) {
  return AwaitMemory(address, bytes, on_wait, bytes == UINTPTR_MAX ? Accessor::kNobody : Accessor::kCall);
}

bool PageGuard::AwaitUnused(const void* address, uint64_t bytes, OnWait on_wait) {
  return AwaitMemory(address, bytes, on_wait, Accessor::kNobody);
}

// A range may have been released between the fault and the search; then the access is repeated. An address that is not
// found a second time in the same version of the index is not the library's, unless another access faulted: that of a
// handler of the program, which has a frame of its own.
bool PageGuard::Handle(uintptr_t address, const void* frame) {
  const auto found = ranges_.Find(address, 1);
  if (opener_.has_left() && !found.has_value() && opener_.IsLeft(address)) {
    opener_.OpenLeft();
    Free(SYS_sched_yield);
    return true;
  }
  // If an open range faults, the program has protected it.
  if (!found.has_value() || found->state == PageState::kOpen)
    return !misses_.IsSecond(address, frame, ranges_.version());
  AwaitFound(*found, address, nullptr, Accessor::kAccess);
  return true;
}

void PageGuard::OnSignal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  PageGuard* const guard = Get();
  const bool is_ours = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
  if (!is_ours || !guard->Handle(reinterpret_cast<uintptr_t>(info->si_addr), context)) {
    guard->actions_.Chain(signal, info, context);
  }
  errno = error;
}

}  // namespace copse::tnbc
