// SPDX-License-Identifier: Apache-2.0
//
// Reduces one node's sequence to the figures that determine the cost of each step, for the cost model.
#ifndef COPSE_PLANNER_PRICING_COST_PROGRAM_H_
#define COPSE_PLANNER_PRICING_COST_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "schedule/expand.h"

namespace copse::planner {

// A CostProgram is one node's sequence, reduced to what the steps cost.
struct CostProgram {
  static constexpr uint64_t kWholeSegment = ~uint64_t{0};
  static constexpr uint32_t kNoWait = 0xffffffff;

  struct Op {
    schedule::Step step;
    uint16_t phase;
    uint32_t peer;
    uint32_t operands;
    uint64_t bytes;  // kWholeSegment: the segment's
    bool lands;      // schedule::Primitive::lands: direct placement saves the copy
  };
  // Awaited assigns a packet to the Wait that counts it.
  struct Awaited {
    uint32_t phase;
    uint32_t peer;
    uint32_t wait;
  };

  // Returns the number of the Wait that counts the packet, or kNoWait if none does. O(log packets).
  uint32_t WaitFor(uint32_t phase, uint32_t peer) const;

  std::vector<Op> ops;
  std::vector<Awaited> packets;        // sorted by phase, then peer
  std::vector<uint32_t> wait_of_rank;  // by local index: the Wait that counts the rank's post; kNoWait: none
  std::vector<uint32_t> wait_counts;   // by Wait: the count that it awaits
  uint64_t copy_runs = 0;              // number of runs in all copy lists
};

CostProgram CompileForCost(const schedule::NodeSequence& sequence, uint32_t local_ranks);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_PROGRAM_H_
