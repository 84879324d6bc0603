// SPDX-License-Identifier: Apache-2.0

#include "client/port/port.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

#include "client/port/error.h"

namespace copse::client {
namespace {

constexpr uint64_t kEntriesMax = 1u << 20;

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

bool SeveralCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // The call fails on machines with more CPUs than the set holds; they have several.
  return sched_getaffinity(0, sizeof(cores), &cores) != 0 || CPU_COUNT(&cores) > 1;
}

uint64_t FileBytes(const FileDescriptor& fd) {
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || status.st_size < 0) return 0;
  return static_cast<uint64_t>(status.st_size);
}

// Returns whether the areas are inside of the file, aligned and in order, without overlap. Sizes are bounded first, so
// that no sum overflows.
bool IsSound(const ring::PortHeader& header, uint64_t file_bytes) {
  if (!IsPowerOfTwo(header.dq_entries) || header.dq_entries > kEntriesMax) return false;
  if (!IsPowerOfTwo(header.eq_entries) || header.eq_entries > kEntriesMax) return false;
  const uint64_t total = header.total_bytes;
  if (total > file_bytes || header.dq_offset > total || header.eq_offset > total || header.text_offset > total ||
      header.facts_offset > total || header.data_offset > total || header.data_bytes > total) {
    return false;
  }
  return header.dq_offset >= sizeof(ring::PortHeader) && header.dq_offset % alignof(ring::DqSlot) == 0 &&
         header.dq_offset + uint64_t{header.dq_entries} * sizeof(ring::DqSlot) <= header.eq_offset &&
         header.eq_offset % alignof(ring::EqEntry) == 0 &&
         header.eq_offset + uint64_t{header.eq_entries} * sizeof(ring::EqEntry) <= header.text_offset &&
         header.text_offset + uint64_t{ring::kTextCount} * ring::kTextBytes <= header.data_offset &&
         header.facts_offset + uint64_t{ring::kTextCount} * sizeof(ring::FailureSlot) <= header.data_offset &&
         header.data_offset % ring::kPageBytes == 0 && header.data_offset + header.data_bytes <= total;
}

void FutexWait(const std::atomic<uint32_t>* word, uint32_t value, uint32_t bits, Deadline until) {
  const auto ns = std::chrono::nanoseconds(until.time_since_epoch()).count();
  const timespec deadline{ns / 1'000'000'000, ns % 1'000'000'000};  // by CLOCK_MONOTONIC, as FUTEX_WAIT_BITSET expects
  // FUTEX_PRIVATE_FLAG is not set, since the daemon wakes this thread from another process.
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(word), FUTEX_WAIT_BITSET, value, &deadline, nullptr, bits);
}

}  // namespace

copse_status_t Port::Map(const attach::AttachReply& reply, FileDescriptor memory, FileDescriptor daemon_page,
                         FileDescriptor doorbell, std::unique_ptr<Port>* port) {
  const uint64_t bytes = FileBytes(memory);
  if (bytes < ring::kPageBytes || FileBytes(daemon_page) < sizeof(ring::DaemonPage) || !doorbell.valid()) {
    return Fail(COPSE_ERR_INTERNAL, "the daemon's attach reply came without its memory (node=%.100s, port_bytes=%llu)",
                reply.node, static_cast<unsigned long long>(bytes));
  }
  std::unique_ptr<Port> result(new Port);
  result->memory_ = Mapping(memory.get(), bytes, PROT_READ | PROT_WRITE);
  result->page_ = Mapping(daemon_page.get(), ring::kPageBytes, PROT_READ);
  if (!result->memory_.valid() || !result->page_.valid()) {
    return Fail(COPSE_ERR_NO_MEMORY, "cannot map the port (bytes=%llu)", static_cast<unsigned long long>(bytes));
  }
  result->header_ = reinterpret_cast<ring::PortHeader*>(result->memory_.data());
  result->daemon_ = reinterpret_cast<const ring::DaemonPage*>(result->page_.data());
  result->doorbell_ = std::move(doorbell);
  const ring::PortHeader& header = *result->header_;
  if (header.magic != ring::kMagic || result->daemon_->magic != ring::kMagic) {
    return Fail(COPSE_ERR_INTERNAL, "the daemon's memory is not a port (node=%.100s, magic=0x%x, expected=0x%x)",
                reply.node, header.magic, ring::kMagic);
  }
  if (header.ring_version != reply.ring_version) {
    return Fail(COPSE_ERR_VERSION, "the port's ring layout is not the daemon's (node=%.100s, port=%u, daemon=%u)",
                reply.node, header.ring_version, reply.ring_version);
  }
  // The reply has the granted sizes, the header also the offsets; the sizes must be equal.
  if (!IsSound(header, bytes) || header.dq_entries != reply.dq_entries || header.eq_entries != reply.eq_entries ||
      header.data_bytes != reply.data_bytes) {
    return Fail(COPSE_ERR_INTERNAL,
                "the port's geometry makes no sense (node=%.100s, dq_entries=%u, eq_entries=%u, total_bytes=%llu, "
                "mapped_bytes=%llu)",
                reply.node, header.dq_entries, header.eq_entries, static_cast<unsigned long long>(header.total_bytes),
                static_cast<unsigned long long>(bytes));
  }
  result->dq_entries_ = header.dq_entries;
  result->eq_entries_ = header.eq_entries;
  result->dq_offset_ = header.dq_offset;
  result->eq_offset_ = header.eq_offset;
  result->text_offset_ = header.text_offset;
  result->facts_offset_ = header.facts_offset;
  result->data_offset_ = header.data_offset;
  result->data_bytes_ = header.data_bytes;
  result->SetWakeWord(header.wake_offset, header.wake_bits);
  // The memory order does not matter, since nothing is posted yet.
  result->dq_tail_ = header.dq_tail.load();
  result->eq_head_ = header.eq_head.load();
  result->spinner_ = Spinner(SeveralCores());
  *port = std::move(result);
  return COPSE_OK;
}

// Uses the client's own futex in the port if the daemon gives no wake word in its page, or one out of range.
void Port::SetWakeWord(uint32_t offset, uint32_t bits) {
  const bool is_sound = offset >= offsetof(ring::DaemonPage, wake) &&
                        offset <= offsetof(ring::DaemonPage, wake) + (ring::kWakeWords - 1) * sizeof(ring::WakeWord) &&
                        offset % alignof(ring::WakeWord) == 0 && bits != 0;
  if (!is_sound) {
    wake_word_ = &header_->eq_futex;
    return;
  }
  wake_word_ = &reinterpret_cast<const ring::WakeWord*>(page_.data() + offset)->value;
  wake_bits_ = bits;
}

bool Port::Push(const ring::DqSlot& slot) {
  // A head out of range gives a huge difference, which counts as full. Acquire: pairs with the daemon's release of
  // dq_head, after which the slot may be written again.
  if (dq_tail_ - header_->dq_head.load(std::memory_order_acquire) >= dq_entries_) return false;
  uint8_t* place = memory_.data() + dq_offset_ + (dq_tail_ & (dq_entries_ - 1)) * sizeof(ring::DqSlot);
  memcpy(place, &slot, sizeof(slot));
  // seq_cst: orders this store before the load of `sleeping` in Ring. The daemon stores `sleeping` before it loads
  // dq_tail again, so either it sees this entry or Ring wakes it.
  header_->dq_tail.store(++dq_tail_, std::memory_order_seq_cst);
  Ring();
  return true;
}

// seq_cst: pairs with the daemon's store of `sleeping` (DaemonPage).
void Port::Ring() {
  if (daemon_->sleeping.load(std::memory_order_seq_cst) == 0) return;
  const uint64_t one = 1;
  ssize_t written;
  do {
    written = write(doorbell_.get(), &one, sizeof(one));
  } while (written < 0 && errno == EINTR);
}

Port::Next Port::Pop(ring::EqEntry* event) {
  // Acquire: pairs with the daemon's store of eq_tail, before which it has written the entry.
  const uint64_t available = header_->eq_tail.load(std::memory_order_acquire) - eq_head_;
  if (available == 0) return Next::kNone;
  if (available > eq_entries_) return Next::kBroken;
  memcpy(event, memory_.data() + eq_offset_ + (eq_head_ & (eq_entries_ - 1)) * sizeof(ring::EqEntry), sizeof(*event));
  // seq_cst: orders this store before the load of `sleeping` in Ring; the daemon stores `sleeping` before it loads
  // eq_head again.
  header_->eq_head.store(++eq_head_, std::memory_order_seq_cst);
  // A daemon that found no room for more events may sleep although the submission queue has entries.
  if (header_->dq_head.load(std::memory_order_relaxed) != dq_tail_) Ring();
  return Next::kEvent;
}

// seq_cst: pairs with the daemon's store of eq_tail, which precedes its load of eq_waiting (Wait).
bool Port::HasNews(uint64_t seen) const { return header_->eq_tail.load(std::memory_order_seq_cst) != seen || closed(); }

bool Port::Spin(uint64_t seen, Deadline until) {
  const auto ns = [](Deadline time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); };
  const Deadline start = Clock::now();
  const int64_t budget_ns = spinner_.Budget(ns(start));
  if (budget_ns == 0) return false;
  Deadline now = start;
  const Deadline end = std::min(until, start + std::chrono::nanoseconds(budget_ns));
  bool found = false;
  while (!found && now < end) {
    sched_yield();  // without it, spinning on a core that the daemon shares costs many times more
    const Deadline before = now;
    now = Clock::now();
    found = HasNews(seen);
    if (spinner_.OnYielded(ns(now), ns(now) - ns(before))) return found;
  }
  spinner_.Ended(found, ns(now) - ns(start));
  return found;
}

void Port::Wait(uint64_t seen, Deadline until) {
  if (HasNews(seen) || Spin(seen, until)) return;
  // seq_cst: eq_waiting is stored before eq_tail is loaded again; the daemon stores eq_tail before it loads eq_waiting.
  // So either this thread sees the event, or the daemon changes the word and wakes it.
  header_->eq_waiting.store(wake_word_ == &header_->eq_futex ? ring::kWaitsOnPort : ring::kWaitsOnPage,
                            std::memory_order_seq_cst);
  const uint32_t word = wake_word_->load(std::memory_order_seq_cst);
  if (!HasNews(seen)) FutexWait(wake_word_, word, wake_bits_, until);
  header_->eq_waiting.store(ring::kWaitsOnNothing, std::memory_order_relaxed);
}

void Port::Interrupt() {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(wake_word_), FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr,
          wake_bits_);
}

FailureFacts Port::Facts(const ring::EqEntry& event) const {
  ring::FailureSlot slot{};
  if (facts_offset_ != 0 && event.text < ring::kTextCount) {
    memcpy(&slot, memory_.data() + facts_offset_ + uint64_t{event.text} * sizeof(slot), sizeof(slot));
  }
  if (slot.value != event.value) slot.facts = {};
  slot.facts.cause = event.cause;
  slot.facts.has_rank = event.has_rank;
  slot.facts.rank = event.rank;
  slot.facts.node[kFailureNodeBytes - 1] = '\0';
  return slot.facts;
}

std::string Port::Text(uint32_t index) const {
  if (index >= ring::kTextCount) return "";
  char text[ring::kTextBytes];
  memcpy(text, memory_.data() + text_offset_ + uint64_t{index} * ring::kTextBytes, sizeof(text));
  return std::string(text, strnlen(text, sizeof(text)));
}

}  // namespace copse::client
