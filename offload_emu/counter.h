// SPDX-License-Identifier: Apache-2.0
//
// Keeps the counters of one call, and the state by which each packet counts once, and only if its hash is the call's.
#ifndef COPSE_OFFLOAD_EMU_COUNTER_H_
#define COPSE_OFFLOAD_EMU_COUNTER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/sequence.h"

namespace copse::emu {

struct Counter {
  uint64_t success = 0;
  uint64_t failure = 0;
  SequenceList armed;  // ascending thresholds, equal ones in order of posting
};

// A CounterBlock serves one call of a port, from the call's first use of a counter to its end; it is then cleared and
// reused. `counters` is per slot, `edges` per port. Thread-compatible.
class CounterBlock {
 public:
  CounterBlock(uint32_t counters, uint32_t edges);

  static uint64_t BytesFor(uint32_t counters, uint32_t edges);

  Counter& counter(uint32_t index) { return counters_[index]; }
  uint32_t counter_count() const { return static_cast<uint32_t>(counters_.size()); }
  uint32_t edge_count() const { return static_cast<uint32_t>(edges_.size()); }

  // Records the arrival of a counting record of `edge` for counter `index`. Returns false for a duplicate.
  bool Arrive(uint32_t edge, uint32_t index);
  bool Arrived(uint32_t edge, uint32_t index) const {
    const uint64_t pair = Pair(edge, index);
    return (arrivals_[pair / 64] & Mask(pair)) != 0;
  }

  // An EdgeState holds the hash of the packets that an edge received before ExpectHash, and whether a mismatch was
  // reported.
  struct EdgeState {
    uint16_t hash = 0;
    bool hash_seen = false;
    bool mismatch_reported = false;
    uint32_t awaited = 0;  // place in awaited_ of the edge's last arrival, counted from 1; 0: none
  };
  EdgeState& edge(uint32_t index) { return edges_[index]; }

  // Keeps what has arrived before ExpectHash, in the order of the arrivals, each recorded by Arrive.
  void KeepEarly(const Arrival& arrival) { early_.push_back(arrival); }
  const std::vector<Arrival>& early() const { return early_; }

  // --- What the call's plan lets arrive (Engine::ExpectArrivals) ---
  void Await(absl::Span<const Arrival> arrivals);
  // Returns whether the call awaits `arrival` as it is, or any that counts if Await was not called. Of an error record
  // only edge and counter matter. `*awaited` becomes what it awaits from that edge for that counter; null: nothing.
  bool Awaits(const Arrival& arrival, const Arrival** awaited) const;

  // --- Direct placement of puts (kOptionLand), for at most one armed sequence per counter ---
  // Returns the counter's sequence, or null if there is none.
  Sequence* Landing(uint32_t index) const;
  // Returns false if the counter has one already.
  bool AddLanding(uint32_t index, Sequence* sequence);
  void RemoveLanding(const Sequence* sequence);

  // Clears the state of a removed edge, whose index another edge may get.
  void ForgetEdge(uint32_t edge);
  // Resets the block to its initial state. Precondition: no sequence is armed.
  void Clear();

 private:
  // An AwaitedArrival is linked with the one of the same edge before it: an edge has few, a segment's or two.
  struct AwaitedArrival {
    Arrival arrival;
    uint32_t before = 0;  // as EdgeState::awaited
  };

  static uint64_t Mask(uint64_t pair) { return uint64_t{1} << (pair % 64); }
  uint64_t Pair(uint32_t edge, uint32_t index) const { return uint64_t{edge} * counters_.size() + index; }

  std::vector<Counter> counters_;
  std::vector<EdgeState> edges_;
  std::vector<uint64_t> arrivals_;  // a bit for each pair of edge and counter
  std::vector<Arrival> early_;
  std::vector<AwaitedArrival> awaited_;
  bool awaits_any_ = true;
  // The sequences are listed by counter. There are few (at most one per segment), so a search is fast; a pointer in
  // each counter would cost idle teams memory.
  std::vector<std::pair<uint32_t, Sequence*>> landings_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_COUNTER_H_
