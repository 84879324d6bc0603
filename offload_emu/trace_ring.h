// SPDX-License-Identifier: Apache-2.0
//
// Records recent events in a ring, 32 bytes each, cheaply enough to be always on, to show where time is spent.
// docs/reference/instruments.md has the meaning of each kind's fields.
#ifndef COPSE_OFFLOAD_EMU_TRACE_RING_H_
#define COPSE_OFFLOAD_EMU_TRACE_RING_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"

namespace copse::emu {

// The values are part of copsectl's protocol: never renumber.
enum class TraceKind : uint8_t {
  kNone = 0,
  kCallPosted = 1,      // a rank's call was seen. subject: client; peer: rank; phase: collective
  kCallArmed = 2,       // the node's first rank has arrived; sequences are armed. subject: port
  kRanksArrived = 3,    // the node's last rank has arrived. subject: port
  kCallCompleted = 4,   // a rank got the call's event. subject: client; peer: rank; phase: collective
  kCallOver = 5,        // the node has released the call's state. subject: port
  kPacketReceived = 6,  // subject: own label; peer: sender's tag; phase: counter within the slot
  kPacketSent = 7,      // put into the outbox. subject: receiver's label; peer: its tag; phase: counter there
  kFramesSent = 8,      // given to the transport. subject: frames; peer: receiver's tag
  kReduceBegin = 9,     // subject: port; peer: operands
  kReduceEnd = 10,      // fields of kReduceBegin
  kCopyBegin = 11,      // subject: port
  kCopyEnd = 12,        // fields of kCopyBegin
  kTriggerFired = 13,   // subject: port; phase: counter within the slot; peer: its value
  kClientWoken = 14,    // subject: client
  kCreditStall = 15,    // subject: receiver's label; peer: its tag
  kEpochSwitch = 16,    // call: the epoch's first; subject: epoch
  kTeamBroken = 17,     // subject: reason (schedule::Failure); peer: tag of the daemon that reported it, or 0
  kLoopSleep = 18,
  kLoopWake = 19,
};
inline constexpr int kTraceKindCount = 20;

enum TraceFlags : uint8_t { kTraceFailed = 1 };

// Fields that a kind does not name are 0. `team` and `call` are the low 32 bits.
struct TraceRecord {
  int64_t time_ns = 0;  // by the ring's clock; strictly ascending within a ring
  TraceKind kind = TraceKind::kNone;
  uint8_t flags = 0;
  uint16_t phase = 0;
  uint32_t team = 0;
  uint32_t call = 0;
  uint32_t subject = 0;
  uint32_t peer = 0;
  uint32_t bytes = 0;
};
static_assert(sizeof(TraceRecord) == 32);

// Returns 32 bits that distinguish the daemons of a trace.
constexpr uint32_t TraceTag(Incarnation incarnation) {
  return static_cast<uint32_t>(incarnation.value() ^ (incarnation.value() >> 32));
}

// A TraceRing keeps the newest records. The kernel allocates its memory page by page, as records come.
//
// Reading the clock costs more than writing a record, so the clock is read only for the first record after NewTurn or
// Stamp(). Records with the same reading differ by 1 ns, in their order. Thread-compatible.
class TraceRing {
 public:
  static constexpr uint32_t kRecordsMax = 1u << 22;

  // `records` is rounded up to a power of two; 1 to kRecordsMax. `*clock` must outlive the ring.
  TraceRing(const Clock* clock, uint32_t records)
      : clock_(clock),
        mask_(std::bit_ceil(records) - 1),
        records_(static_cast<TraceRecord*>(::operator new((mask_ + 1) * sizeof(TraceRecord)))) {}
  TraceRing(const TraceRing&) = delete;
  TraceRing& operator=(const TraceRing&) = delete;

  // Begins an iteration of the event loop: the next record reads the clock.
  void NewTurn() { stale_ = true; }
  // Makes the next record read the clock. It is called after work that takes time.
  void Stamp() { stale_ = true; }
  // Uses a reading of the clock that was made for another purpose.
  void Stamp(absl::Time now) {
    now_ns_ = std::max(now_ns_, absl::ToUnixNanos(now));
    stale_ = false;
  }

  void Record(TraceRecord record) {
    if (stale_) Stamp(clock_->Now());
    record.time_ns = now_ns_++;
    records_[next_++ & mask_] = record;
  }

  uint64_t next() const { return next_; }  // records made so far; the next one's number
  uint64_t oldest() const { return next_ > mask_ ? next_ - mask_ - 1 : 0; }
  uint32_t capacity() const { return static_cast<uint32_t>(mask_ + 1); }

  // Replaces `*out` by at most `count_max` records, from number `from` on. Returns the number of the first one:
  // oldest() if `from` was overwritten, next() if it is not yet written.
  uint64_t Read(uint64_t from, uint32_t count_max, std::vector<TraceRecord>* out) const {
    const uint64_t first = std::clamp(from, oldest(), next_);
    const uint64_t end = std::min(next_, first + count_max);
    out->clear();
    out->reserve(end - first);
    for (uint64_t i = first; i < end; ++i) out->push_back(records_[i & mask_]);
    return first;
  }
  // Calls `visit` with all records that are kept, in their order, in one or two parts. Async-signal-safe if `visit` is.
  template <typename Visit>
  void ForEachPart(Visit visit) const {
    const uint64_t first = oldest() & mask_, count = next_ - oldest();
    const uint64_t to_end = std::min(count, mask_ + 1 - first);
    visit(absl::MakeConstSpan(&records_[first], to_end));
    if (count > to_end) visit(absl::MakeConstSpan(&records_[0], count - to_end));
  }
  // Returns the number of the first record that is not before `time_ns`; next() if there is none.
  uint64_t FirstSince(int64_t time_ns) const {
    uint64_t low = oldest();
    uint64_t high = next_;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (records_[middle & mask_].time_ns < time_ns) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  // The memory comes from ::operator new and is not initialized, so the kernel allocates a page when it is written.
  struct Free {
    void operator()(TraceRecord* records) const { ::operator delete(records); }
  };

  const Clock* const clock_;
  const uint64_t mask_;
  int64_t now_ns_ = 0;
  bool stale_ = true;
  uint64_t next_ = 0;
  const std::unique_ptr<TraceRecord[], Free> records_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TRACE_RING_H_
