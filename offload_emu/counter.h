// SPDX-License-Identifier: Apache-2.0
//
// The counters of one call, and what is needed to count each packet once and only if it means the
// same call.
#ifndef COPSE_OFFLOAD_EMU_COUNTER_H_
#define COPSE_OFFLOAD_EMU_COUNTER_H_

#include <cstdint>
#include <memory>
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
  bool Arrived(uint32_t edge, uint32_t index) const { return Bit(arrived_, edge, index); }
  bool ArrivedFailed(uint32_t edge, uint32_t index) const { return Bit(failed_, edge, index); }

  // What an edge's packets said before ExpectHash, and whether their disagreement was reported.
  struct EdgeState {
    uint16_t hash = 0;
    bool hash_seen = false;
    bool mismatch_reported = false;
  };
  EdgeState& edge(uint32_t index) { return edges_[index]; }

  void ForgetEdge(uint32_t edge);
  // As new. No sequence may be armed.
  void Clear();

 private:
  bool Bit(const std::vector<uint64_t>& bits, uint32_t edge, uint32_t index) const {
    const uint64_t at = uint64_t{edge} * counters_.size() + index;
    return (bits[at / 64] >> (at % 64) & 1) != 0;
  }

  std::vector<Counter> counters_;
  std::vector<EdgeState> edges_;
  std::vector<uint64_t> arrived_;  // a bit for (edge, counter)
  std::vector<uint64_t> failed_;   // of those, error records
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_COUNTER_H_
