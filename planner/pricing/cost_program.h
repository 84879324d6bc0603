// SPDX-License-Identifier: Apache-2.0
//
// One node's sequence as the cost model runs it: what each step costs depends on these figures alone.
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
    bool lands;      // a copy that arrival saves, if the message is no packet
  };
  // Which Wait a packet counts for.
  struct Awaited {
    uint32_t phase;
    uint32_t peer;
    uint32_t wait;
  };

  // kNoWait if no Wait is for it. O(log packets).
  uint32_t WaitFor(uint32_t phase, uint32_t peer) const;

  std::vector<Op> ops;
  std::vector<Awaited> packets;        // by phase, then peer
  std::vector<uint32_t> wait_of_rank;  // by local index; kNoWait: no Wait is for it
  std::vector<uint32_t> wait_counts;   // how many each Wait awaits
  uint64_t copy_runs = 0;              // in all copy lists
};

CostProgram CompileForCost(const schedule::NodeSequence& sequence, uint32_t local_ranks);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_PROGRAM_H_
