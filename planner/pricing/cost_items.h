// SPDX-License-Identifier: Apache-2.0
//
// Queues the work of daemons in the cost model.
#ifndef COPSE_PLANNER_PRICING_COST_ITEMS_H_
#define COPSE_PLANNER_PRICING_COST_ITEMS_H_

#include <cstdint>
#include <vector>

namespace copse::planner {

// A CostItem is work in a daemon's queue: a rank's post, a packet, or credit. Ranks have no queue: they post first and
// pick up their result second.
struct CostItem {
  enum class Kind : uint8_t { kRank, kPacket, kCredit };
  int64_t ready_ns;
  uint32_t cause;   // span that made the item ready
  uint32_t peer;    // kRank: local index of the rank; else the sender's node
  uint32_t packet;  // kPacket: the CostWork's number of the packet
  Kind kind;
};

// CostItems holds a queue of items for each node, first in, first out. All are in one vector, which a call's end frees:
// items that were taken stay there. Thread-compatible.
class CostItems {
 public:
  explicit CostItems(uint32_t node_count) : queues_(node_count) {}

  bool Has(uint32_t node) const { return queues_[node].first != kNoItem; }
  void Add(uint32_t node, const CostItem& item) {
    Queue& queue = queues_[node];
    const auto index = static_cast<uint32_t>(items_.size());
    items_.push_back({item});
    (Has(node) ? items_[queue.last].next : queue.first) = index;
    queue.last = index;
  }
  // Requires that the node has one.
  CostItem Take(uint32_t node) {
    const auto& [item, next] = items_[queues_[node].first];
    queues_[node].first = next;
    return item;
  }

 private:
  static constexpr uint32_t kNoItem = 0xffffffff;
  struct Linked {
    CostItem item;
    uint32_t next = kNoItem;  // in its node's queue
  };
  struct Queue {
    uint32_t first = kNoItem, last = kNoItem;  // indices in items_
  };

  std::vector<Queue> queues_;
  std::vector<Linked> items_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_ITEMS_H_
