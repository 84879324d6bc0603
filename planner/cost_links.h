// SPDX-License-Identifier: Apache-2.0
//
// The links that packets go over in a call that the cost model runs, each of which carries one at a time.
#ifndef COPSE_PLANNER_COST_LINKS_H_
#define COPSE_PLANNER_COST_LINKS_H_

#include <cstdint>
#include <vector>

#include "planner/team_costs.h"

namespace copse::planner {

class CostLinks {
 public:
  // `*costs` must outlive this object.
  explicit CostLinks(const TeamCosts* costs);

  // A packet's links, as places in a list of all packets'.
  struct Places {
    uint32_t begin = 0, end = 0;
  };
  // From the sender's own link to the receiver's. O(depth).
  Places FindPath(uint32_t from, uint32_t to);

  // The packet's head comes to this link at `time_ns`: when it leaves it. Heads come in the order of time.
  int64_t Pass(uint32_t place, uint64_t bytes, int64_t time_ns);

 private:
  struct Link {
    int64_t latency_ns, bandwidth;
    uint32_t busy;  // index in free_ns_
  };

  const TeamCosts& costs_;
  std::vector<Link> links_;
  std::vector<int64_t> free_ns_;  // when it is: (node, direction), then (slot of switch, direction)
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_COST_LINKS_H_
