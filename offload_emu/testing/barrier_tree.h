// SPDX-License-Identifier: Apache-2.0
//
// A tree over an EngineCluster, and the descriptors of a barrier along it.
#ifndef COPSE_OFFLOAD_EMU_TESTING_BARRIER_TREE_H_
#define COPSE_OFFLOAD_EMU_TESTING_BARRIER_TREE_H_

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/descriptor_factory.h"
#include "offload_emu/testing/engine_cluster.h"

namespace copse::emu {

// Counters within a slot: arrivals from below, and from above. The ports need at least kPhases counters per slot.
enum : uint32_t { kUp, kDown, kPhases };

// The parent of node i > 0 is (i - 1) / arity.
class BarrierTree {
 public:
  BarrierTree(EngineCluster* cluster, uint32_t arity)
      : cluster_(cluster), parent_(cluster->size()), children_(cluster->size()) {
    for (uint32_t i = 1; i < cluster->size(); ++i) {
      const uint32_t up = (i - 1) / arity;
      const auto [at_parent, at_child] = cluster->Link(up, i);
      children_[up].push_back(at_parent);
      parent_[i] = at_child;
    }
  }

  const std::vector<uint32_t>& children(uint32_t node) const { return children_[node]; }
  uint32_t parent(uint32_t node) const { return parent_[node]; }

  // Arms a barrier's call and counts this node's own arrival.
  void EnterBarrier(uint32_t at, uint64_t call, uint32_t slots) {
    EngineNode& node = cluster_->node(at);
    const uint32_t base = static_cast<uint32_t>(call % slots) * kPhases;
    ASSERT_TRUE(node.engine->ExpectHash(node.port, CallSeq(call), kTestHash).ok());
    std::vector<Descriptor> down;
    for (const uint32_t child : children_[at]) down.push_back(SendOf(child, kDown, call));
    down.push_back(EventOf(call));
    const Trigger all_here{.counter = base + kUp, .threshold = children_[at].size() + 1};
    if (at == 0) {
      ASSERT_TRUE(node.engine->Post(node.port, all_here, down).ok());
    } else {
      ASSERT_TRUE(node.engine->Post(node.port, all_here, {SendOf(parent_[at], kUp, call)}).ok());
      ASSERT_TRUE(node.engine->Post(node.port, {.counter = base + kDown, .threshold = 1}, down).ok());
    }
    ASSERT_TRUE(node.engine->Count(node.port, base + kUp, 1, 0).ok());
  }

 private:
  EngineCluster* const cluster_;
  std::vector<uint32_t> parent_;
  std::vector<std::vector<uint32_t>> children_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_BARRIER_TREE_H_
