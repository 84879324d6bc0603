// SPDX-License-Identifier: Apache-2.0
//
// One node's sequence as the cost model runs it, reduced to the figures that determine the cost of each step.
#ifndef COPSE_PLANNER_PRICING_COST_PROGRAM_H_
#define COPSE_PLANNER_PRICING_COST_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "schedule/expand.h"

namespace copse::planner {

struct CostProgram {
  static constexpr uint64_t kWholeSegment = ~uint64_t{0};
  static constexpr uint32_t kNoWait = 0xffffffff;

  struct Op {
    schedule::Step step;
    uint16_t phase;
    uint32_t peer;
    uint32_t operands;
    uint64_t bytes;  // kWholeSegment: the segment's
    bool lands;      // a copy that direct placement saves, if the message is no packet
  };
  // Awaited names the Wait for which a packet counts.
  struct Awaited {
    uint32_t phase;
    uint32_t peer;
    uint32_t wait;
  };

  // Returns the Wait of the packet, or kNoWait if there is none. O(log packets).
  uint32_t WaitFor(uint32_t phase, uint32_t peer) const;

  std::vector<Op> ops;
  std::vector<Awaited> packets;        // by phase, then peer
  std::vector<uint32_t> wait_of_rank;  // by local index; kNoWait: none
  std::vector<uint32_t> wait_counts;   // by Wait: the count that it awaits
  uint64_t copy_runs = 0;              // in all copy lists
};

CostProgram CompileForCost(const schedule::NodeSequence& sequence, uint32_t local_ranks);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_PROGRAM_H_
