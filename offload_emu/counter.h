// SPDX-License-Identifier: Apache-2.0
//
// The counters of one call, and what is needed to count each packet once and only if it means the
// same call.
#ifndef COPSE_OFFLOAD_EMU_COUNTER_H_
#define COPSE_OFFLOAD_EMU_COUNTER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "offload_emu/sequence.h"

namespace copse::emu {

struct Counter {
  uint64_t success = 0;
  uint64_t failure = 0;
  SequenceList armed;  // thresholds ascending, the same ones in order of posting
};

// A CounterBlock serves one call of a port: made when the call first needs it, cleared and reused
// when it is over. `counters` a slot, `edges` of the port. Thread-compatible.
class CounterBlock {
 public:
  CounterBlock(uint32_t counters, uint32_t edges);

  static uint64_t BytesFor(uint32_t counters, uint32_t edges);

  Counter& counter(uint32_t index) { return counters_[index]; }
  uint32_t counter_count() const { return static_cast<uint32_t>(counters_.size()); }
  uint32_t edge_count() const { return static_cast<uint32_t>(edges_.size()); }

  // A counting record of `edge` for counter `index` arrived. False if one was there before: a
  // duplicate.
  bool Arrive(uint32_t edge, uint32_t index, bool failed);
  bool Arrived(uint32_t edge, uint32_t index) const { return Has(kArrived, edge, index); }
  bool ArrivedFailed(uint32_t edge, uint32_t index) const { return Has(kFailed, edge, index); }

  // What an edge's packets said before ExpectHash, and whether their disagreement was reported.
  struct EdgeState {
    uint16_t hash = 0;
    bool hash_seen = false;
    bool mismatch_reported = false;
  };
  EdgeState& edge(uint32_t index) { return edges_[index]; }

  // --- Landings: at most one armed sequence a counter has copies whose source may go to their targets on arrival ---
  // Null: none has.
  Sequence* Landing(uint32_t index) const;
  // False if there is one already.
  bool AddLanding(uint32_t index, Sequence* sequence);
  void RemoveLanding(const Sequence* sequence);

  void ForgetEdge(uint32_t edge);
  // As new. No sequence may be armed.
  void Clear();

 private:
  // Two bits a pair of edge and counter: kArrived, and of those, error records.
  static constexpr uint64_t kArrived = 1;
  static constexpr uint64_t kFailed = 2;
  uint64_t& WordOf(uint64_t pair) { return arrivals_[pair / 32]; }
  static uint64_t Mask(uint64_t bits, uint64_t pair) { return bits << (pair % 32 * 2); }
  uint64_t Pair(uint32_t edge, uint32_t index) const { return uint64_t{edge} * counters_.size() + index; }
  bool Has(uint64_t bit, uint32_t edge, uint32_t index) const {
    const uint64_t pair = Pair(edge, index);
    return (arrivals_[pair / 32] & Mask(bit, pair)) != 0;
  }

  std::vector<Counter> counters_;
  std::vector<EdgeState> edges_;
  std::vector<uint64_t> arrivals_;
  // A few, one a segment at most: a list a counter would cost idle teams more.
  std::vector<std::pair<uint32_t, Sequence*>> landings_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_COUNTER_H_
