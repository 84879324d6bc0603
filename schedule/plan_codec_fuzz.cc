// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes encoded plans, which a planner pushes: they are decoded, verified, and if they pass, expanded and lowered by
// the daemon's code.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"
#include "schedule/folds.h"
#include "schedule/lower.h"
#include "schedule/plan.h"
#include "schedule/testing/sample_plans.h"
#include "schedule/verify.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using schedule::NodeSequence;
using schedule::Plan;

constexpr uint32_t kRanksPerNode = 2;
constexpr uint32_t kNodesLowered = 4;
constexpr uint64_t kSegmentsLowered = 3;
constexpr uint32_t kRotationsLowered = 5;

CallArguments Arguments(const Plan& plan) {
  const bool is_barrier = plan.collective == Collective::kBarrier;
  return {.collective = plan.collective,
          .type = ElementType::kInt32,
          .count = is_barrier ? 0 : schedule::ChunkBytesMax(plan) / 4};
}

// Lowers `node`'s sequences; dies if they name a node that is not its neighbor.
void Lower(const Plan& plan, uint32_t node, const std::vector<NodeSequence>& sequences, bool blocks) {
  std::vector<uint32_t> neighbors, edges;
  std::vector<emu::RegionIndex> cells;
  for (const NodeIndex neighbor : schedule::NeighborsOf(plan, NodeIndex(node))) {
    edges.push_back(static_cast<uint32_t>(neighbors.size()));
    cells.push_back(100 + static_cast<emu::RegionIndex>(neighbors.size()));
    neighbors.push_back(neighbor.value());
  }
  schedule::PortMap map;
  map.scratch = 0;
  map.rank_send_base = 1;
  map.rank_receive_base = 1 + kRanksPerNode;
  map.notes = 1 + 2 * kRanksPerNode;
  map.neighbors = neighbors;
  map.edges = edges;
  map.cells = cells;
  schedule::LoweredCall lowered;
  const std::vector<const NodeSequence*> pointers = schedule::PointersTo(sequences);
  if (blocks) {
    schedule::LowerBlocks(plan, pointers, Arguments(plan), map, &lowered);
  } else {
    schedule::LowerNode(plan, pointers, Arguments(plan), map, &lowered);
  }
  CHECK(!lowered.descriptors.empty());
  for (uint32_t l = 0; l < kRanksPerNode; ++l) {
    if (blocks) {
      schedule::LowerBlocksRank(plan, pointers, Arguments(plan), map, l, &lowered);
    } else {
      schedule::LowerRank(plan, pointers, Arguments(plan), map, l, &lowered);
    }
  }
}

void ExpandAll(const Plan& plan) {
  const schedule::ShapeIndex shape(schedule::BlockShape(plan.node_count, kRanksPerNode));
  const schedule::TreeIndex index(plan);
  const uint32_t nodes = std::min(plan.node_count, kNodesLowered);
  if (!HasBlocks(plan.collective)) {
    for (uint32_t v = 0; v < nodes; ++v) {
      std::vector<NodeSequence> sequences;
      for (uint32_t r = 0; r < std::min(schedule::RotationsOf(plan), kRotationsLowered); ++r) {
        const auto view = schedule::ViewOf(shape, plan, NodeIndex(v), Arguments(plan), r);
        sequences.push_back(schedule::ExpandAs(plan.collective, plan, index, view));
      }
      Lower(plan, v, sequences, false);
    }
    return;
  }
  const schedule::PackedOrder order(shape, plan, index);
  constexpr uint64_t kBlockBytes = 4000;
  const schedule::BlockSizes sizes(&order, &shape, kBlockBytes);
  const schedule::Cutting cutting(plan, sizes, kBlockBytes, schedule::PairBytesMax(shape, kBlockBytes));
  const schedule::FoldSchedule fold(plan, shape, Collective::kAllreduce, 10 * kBlockBytes);
  const std::vector<schedule::RankBuffers> ranks(kRanksPerNode);
  for (uint32_t v = 0; v < nodes; ++v) {
    const schedule::BlockCall call{.plan = &plan,
                                   .index = &index,
                                   .sizes = &sizes,
                                   .node = NodeIndex(v),
                                   .collective = plan.collective,
                                   .root = 1 % shape.size(),
                                   .ranks = ranks};
    for (uint64_t s = 0; s < std::min(cutting.segment_count(), kSegmentsLowered); ++s) {
      const auto sequence = schedule::ExpandBlocks(call, cutting.At(s));
      if (sequence.ok()) Lower(plan, v, {*sequence}, true);
    }
    // Ordered reductions run by plans for the longest blocks, and those never pass blocks on.
    if (plan.collective != Collective::kAlltoall || schedule::PassesOn(plan)) continue;
    schedule::BlockCall sum = call;
    sum.collective = Collective::kAllreduce;
    for (const bool results : {false, true}) {
      const auto sequence = schedule::ExpandFold({&sum, &fold}, 0, results, 0);
      if (sequence.ok()) Lower(plan, v, {*sequence}, true);
    }
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const uint32_t nodes : {1u, 2u, 5u, 17u}) {
    for (int i = 0; i < kCollectiveCount; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (PlanCollective(collective) != collective) continue;
      seeds.push_back(schedule::EncodePlan(schedule::RandomTreePlan(collective, nodes, nodes + i)));
      if (collective == Collective::kBarrier) continue;
      for (const char* kind : {"ring", "doubling", "everybody"}) {
        Plan plan = schedule::CirculantPlan(collective, nodes, schedule::Distances(kind, nodes));
        if (schedule::PassesOn(plan)) plan.bytes_max = 256;
        seeds.push_back(schedule::EncodePlan(plan));
        if (!HasBlocks(collective)) break;
      }
    }
    seeds.push_back(schedule::EncodePlan(schedule::DisseminationPlan(nodes)));
  }
  return seeds;
}

// Decoded bytes must encode to bytes that decode to the same, and the verifier must give a verdict.
void OneInput(std::string_view bytes) {
  const auto plan = schedule::DecodePlan(bytes);
  if (!plan.ok()) return;
  const std::string encoded = schedule::EncodePlan(*plan);
  const auto again = schedule::DecodePlan(encoded);
  CHECK(again.ok());
  CHECK(schedule::EncodePlan(*again) == encoded);
  // Proving a symmetric schedule costs its square; larger ones have a test of their own.
  constexpr uint32_t kVerifiedNodesMax = 64;
  if (plan->node_count == 0 || plan->node_count > kVerifiedNodesMax) return;
  if (schedule::VerifyPlan(*plan, schedule::BlockShape(plan->node_count, kRanksPerNode)).ok()) ExpandAll(*plan);
}

}  // namespace copse::fuzzing
