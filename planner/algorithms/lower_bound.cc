// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/lower_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace copse::planner {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t Farthest(const BroadcastCosts& costs, uint32_t root) {
  int64_t farthest = 0;
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    if (v != root) farthest = std::max(farthest, costs.Cost(root, v));
  }
  return farthest;
}

}  // namespace

int64_t LowerBoundNs(const BroadcastCosts& costs, uint32_t root) {
  const uint32_t n = costs.node_count();
  if (n == 1) return 0;
  const int64_t distance = Farthest(costs, root);

  // busy[v] is the shortest busy time of a send from v, travel[v] the shortest travel time of a message to v.
  std::vector<int64_t> busy(n, kNever), travel(n, kNever);
  for (uint32_t v = 0; v < n; ++v) {
    if (costs.has_matrix()) {
      for (uint32_t other = 0; other < n; ++other) {
        if (other == v) continue;
        busy[v] = std::min(busy[v], costs.Busy(v, other));
        travel[v] = std::min(travel[v], costs.Travel(other, v));
      }
    } else {
      busy[v] = costs.Send(v) + costs.LinkStream(v);
      travel[v] = costs.LinkLatency(v) + costs.Receive(v);
    }
  }
  const int64_t root_busy = busy[root];
  busy.erase(busy.begin() + root);
  travel.erase(travel.begin() + root);
  const int64_t busy_least = *std::min_element(busy.begin(), busy.end());
  std::sort(travel.begin(), travel.end(), std::greater<>());
  struct BusySender {
    int64_t next_end, busy;
    bool operator>(const BusySender& other) const { return next_end > other.next_end; }
  };
  std::priority_queue<BusySender, std::vector<BusySender>, std::greater<>> senders;
  senders.push({root_busy, root_busy});
  int64_t doubling = 0;
  for (const int64_t hardest : travel) {
    const BusySender sender = senders.top();
    senders.pop();
    doubling = std::max(doubling, sender.next_end + hardest);
    senders.push({sender.next_end + sender.busy, sender.busy});
    senders.push({sender.next_end + travel.back() + busy_least, busy_least});
  }
  return std::max(distance, doubling);
}

}  // namespace copse::planner
