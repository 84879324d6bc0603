// SPDX-License-Identifier: Apache-2.0
//
// Tracks the credit of one edge, which bounds the calls that each side may send ahead of those that the other has
// finished.
#ifndef COPSE_OFFLOAD_EMU_CREDIT_H_
#define COPSE_OFFLOAD_EMU_CREDIT_H_

#include <algorithm>
#include <cstdint>

namespace copse::emu {

// Returns the call nearest to `reference` whose number modulo 2^16 is `low`, or 0 if that would be before call 0, which
// only a peer's error causes. It is the right one because neighbors of a team are never 2^15 calls apart: credit keeps
// those that exchange data within the window, and the others within the window times the tree's depth. In a long call
// without data for some neighbors, these get an empty message in every schedule::kSegmentsApartMax-th segment.
inline uint64_t NearestCall(uint64_t reference, uint16_t low) {
  const int16_t distance = static_cast<int16_t>(static_cast<uint16_t>(low - static_cast<uint16_t>(reference)));
  if (distance < 0 && reference < static_cast<uint64_t>(-int64_t{distance})) return 0;
  return reference + static_cast<uint64_t>(int64_t{distance});
}

// A Credit keeps the credit of both directions of one edge: the number of calls that a side has finished, all of them
// from the first on, which allows its neighbor to send for `slots` more calls. Each record of the edge reports it; a
// record of its own does so when half the window is unreported and data came in since, or when the neighbor has asked.
// Thread-compatible.
class Credit {
 public:
  explicit Credit(uint32_t slots) : slots_(slots) {}

  // --- As a sender ---
  bool MaySend(uint64_t call) const { return call < peer_finished_ + slots_; }
  // Records that a send stalls; returns true, once per stall, if the peer must be asked for credit.
  bool Stall(uint64_t call) {
    if (ask_due_) ask_call_ = std::min(ask_call_, call);
    if (asking_) return false;
    asking_ = ask_due_ = true;
    ask_call_ = call;
    return true;
  }
  bool ask_due() const { return ask_due_; }
  // Returns the lowest call that stalls, modulo 2^16, for the request that is sent now. Precondition: ask_due().
  uint16_t TakeAsk() {
    ask_due_ = false;
    return static_cast<uint16_t>(ask_call_);
  }
  // Records the credit that the peer reports; `own_finished` resolves its 16 bits. Returns true if it has grown.
  bool Heard(uint16_t credit, uint64_t own_finished) {
    const uint64_t finished = NearestCall(own_finished, credit);
    if (finished <= peer_finished_) return false;
    peer_finished_ = finished;
    asking_ = ask_due_ = false;
    return true;
  }

  // --- As a receiver ---
  void DataArrived() { data_since_report_ = true; }
  // Records that the peer lacks credit for `call`, its lowest waiting one. Requests may repeat and overtake each
  // other: a request that a report has answered is stale, and must not replace one that is not answered yet.
  void Asked(uint64_t call) {
    if (call < reported_ + slots_) return;
    asked_call_ = asked_ ? std::min(asked_call_, call) : call;
    asked_ = true;
  }
  // Returns whether a report must be sent in a record of its own, now that `finished` calls are over.
  bool ReportDue(uint64_t finished) const {
    if (asked_ && asked_call_ < finished + slots_) return true;
    return data_since_report_ && finished - reported_ >= std::max<uint64_t>(1, slots_ / 2);
  }
  // Returns whether a report would be newer than the last one.
  bool HasGrown(uint64_t finished) const { return finished != reported_; }
  // Returns the credit for a record's header, and records that it is reported.
  uint16_t Report(uint64_t finished) {
    if (asked_ && asked_call_ < finished + slots_) asked_ = false;
    reported_ = finished;
    data_since_report_ = false;
    return static_cast<uint16_t>(finished);
  }

 private:
  const uint32_t slots_;
  bool asking_ = false;
  bool ask_due_ = false;
  bool asked_ = false;
  bool data_since_report_ = false;
  uint64_t ask_call_ = 0;
  uint64_t peer_finished_ = 0;
  uint64_t asked_call_ = 0;
  uint64_t reported_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_CREDIT_H_
