// SPDX-License-Identifier: Apache-2.0
#include "schedule/lower.h"

#include <vector>

#include "gtest/gtest.h"
#include "schedule/blocks.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

using emu::OpCode;

Plan Star(uint32_t children, uint64_t bytes_max) {
  Plan plan = StarPlan(Collective::kAllreduce, children);
  plan.bytes_max = bytes_max;
  plan.segment_bytes = 1024;
  return plan;
}

CallArguments AllreduceOf(uint64_t count) { return {.collective = Collective::kAllreduce, .count = count}; }

// The sequence of `node` in an allreduce of bytes, with a rank on each node.
NodeSequence SequenceOf(const Plan& plan, uint32_t node, const CallArguments& call) {
  const ShapeIndex shape(BlockShape(plan.node_count, 1));
  return *Expand(plan, TreeIndex(plan), ViewOf(shape, plan, NodeIndex(node), call), call);
}

// The root's part of an allreduce of bytes, lowered with edge v - 1 and cell 100 + v for child v.
struct Lowered {
  LoweredCall node, rank;
};
Lowered LowerRoot(const Plan& plan, uint64_t count) {
  const CallArguments call = AllreduceOf(count);
  const NodeSequence sequence = SequenceOf(plan, 0, call);
  std::vector<uint32_t> nodes, edges, cells;
  for (uint32_t v = 1; v < plan.node_count; ++v) {
    nodes.push_back(v);
    edges.push_back(v - 1);
    cells.push_back(100 + v);
  }
  PortMap map{.counter_base = 1000,
              .scratch = 50,
              .rank_send_base = 10,
              .rank_receive_base = 20,
              .neighbors = nodes,
              .edges = edges,
              .cells = cells,
              .sequence = 7,
              .hash = 9,
              .node_event = 77,
              .rank_event = 88};
  Lowered lowered;
  LowerNode(plan, {&sequence}, call, map, &lowered.node);
  LowerRank(plan, {&sequence}, call, map, 0, &lowered.rank);
  return lowered;
}

std::vector<OpCode> Ops(const LoweredCall& call) {
  std::vector<OpCode> ops;
  for (const emu::Descriptor& d : call.descriptors) ops.push_back(d.op);
  return ops;
}

TEST(LowerTest, RootOfAnAllreduceInOnePacket) {
  const Lowered lowered = LowerRoot(Star(2, 4096), 8);
  ASSERT_EQ(lowered.node.sequences.size(), 1u);
  EXPECT_EQ(lowered.node.sequences[0].trigger.counter, 1000u) << "phase 0 of segment 0";
  EXPECT_EQ(lowered.node.sequences[0].trigger.threshold, 3u) << "own rank and two children";
  EXPECT_EQ(Ops(lowered.node),
            (std::vector<OpCode>{OpCode::kReduce, OpCode::kSend, OpCode::kSend, OpCode::kCount, OpCode::kEvent}));
  const emu::Descriptor& reduce = lowered.node.descriptors[0];
  ASSERT_EQ(reduce.operand_count, 3);
  EXPECT_EQ(reduce.operands[0].region, 10u) << "own rank first";
  EXPECT_EQ(reduce.operands[1].region, 101u);
  EXPECT_EQ(reduce.operands[2].region, 102u);
  EXPECT_EQ(reduce.target.region, 50u);
  const emu::Descriptor& send = lowered.node.descriptors[1];
  EXPECT_EQ(send.edge, 0u);
  EXPECT_EQ(send.remote_counter, 1u) << "phase 1 of segment 0, within the slot";
  EXPECT_EQ(send.sequence, 7);
  EXPECT_EQ(send.hash, 9);
  EXPECT_EQ(lowered.node.descriptors[3].counter, 1002u) << "the segment's ranks may go";
  EXPECT_EQ(lowered.node.descriptors[4].value, 77u);
  // The rank's sequence waits for that, gets its copy, and its event; on arrival it counts in phase 0.
  ASSERT_EQ(lowered.rank.sequences.size(), 1u);
  EXPECT_EQ(lowered.rank.sequences[0].trigger.counter, 1002u);
  EXPECT_EQ(Ops(lowered.rank), (std::vector<OpCode>{OpCode::kCopy, OpCode::kEvent}));
  EXPECT_EQ(lowered.rank.descriptors[0].target.region, 20u);
  EXPECT_EQ(lowered.rank.arrivals, std::vector<emu::CounterIndex>{1000});
}

TEST(LowerTest, SegmentsHaveCountersOfTheirOwnAndOneEnd) {
  const Lowered lowered = LowerRoot(Star(1, 4096), 3000);
  ASSERT_EQ(lowered.node.sequences.size(), 4u) << "three segments, and the end";
  for (uint32_t s = 0; s < 3; ++s) EXPECT_EQ(lowered.node.sequences[s].trigger.counter, 1000 + s * 4);
  EXPECT_EQ(lowered.node.sequences[3].trigger.threshold, 3u);
  EXPECT_EQ(lowered.rank.arrivals, (std::vector<emu::CounterIndex>{1000, 1004, 1008}));
  // Segments are puts into the receiver's eager buffer, at their offset; the last is shorter.
  std::vector<const emu::Descriptor*> puts;
  for (const emu::Descriptor& d : lowered.node.descriptors) {
    if (d.op == OpCode::kPut) puts.push_back(&d);
  }
  ASSERT_EQ(puts.size(), 3u);
  EXPECT_EQ(puts[2]->remote_offset, 2048u);
  EXPECT_EQ(puts[2]->bytes, 3000u - 2048u);
  EXPECT_EQ(puts[1]->bytes, 1024u);
}

TEST(LowerTest, MoreThanSevenOperandsAreChainedInOrder) {
  const Lowered lowered = LowerRoot(Star(14, 120), 8);
  std::vector<emu::RegionIndex> order;
  int chunks = 0;
  for (const emu::Descriptor& d : lowered.node.descriptors) {
    if (d.op != OpCode::kReduce) continue;
    EXPECT_LE(d.operand_count, emu::kAluOperandsMax);
    // After the first batch the accumulator is the first operand.
    if (chunks++ > 0) {
      EXPECT_EQ(d.operands[0].region, 50u);
    }
    for (int i = chunks > 1 ? 1 : 0; i < d.operand_count; ++i) order.push_back(d.operands[i].region);
  }
  EXPECT_EQ(chunks, 3);
  std::vector<emu::RegionIndex> expected = {10};
  for (uint32_t v = 1; v <= 14; ++v) expected.push_back(100 + v);
  EXPECT_EQ(order, expected);
}

// A part that waits for credit must hold up the rest of its block.
TEST(LowerTest, LongBlocksAreCutAndChained) {
  const Lowered lowered = LowerRoot(Star(200, 120), 8);
  ASSERT_GT(lowered.node.sequences.size(), 3u);
  for (size_t i = 0; i < lowered.node.sequences.size(); ++i) {
    const LoweredSequence& piece = lowered.node.sequences[i];
    EXPECT_LE(piece.count, 64u);
    EXPECT_EQ(piece.trigger.counter, i == 0 ? 1000u : 1003u);
    if (i > 0) {
      EXPECT_EQ(piece.trigger.threshold, i);
    }
    const emu::Descriptor& last = lowered.node.descriptors[piece.first + piece.count - 1];
    if (i + 1 < lowered.node.sequences.size()) {
      EXPECT_EQ(last.op, OpCode::kCount);
      EXPECT_EQ(last.counter, 1003u);
    } else {
      EXPECT_EQ(last.op, OpCode::kEvent);
    }
  }
}

TEST(LowerTest, PhasesFollowOneAnotherThoughPacketsMayNot) {
  const Plan plan = DoublingPlan(4, 120);
  const CallArguments call = AllreduceOf(8);
  const NodeSequence sequence = SequenceOf(plan, 0, call);
  const std::vector<uint32_t> nodes = {1, 2}, edges = {0, 1}, cells = {101, 102};
  LoweredCall lowered;
  LowerNode(plan, {&sequence}, call, {.scratch = 50, .neighbors = nodes, .edges = edges, .cells = cells}, &lowered);
  ASSERT_EQ(lowered.sequences.size(), 3u);
  EXPECT_EQ(lowered.sequences[0].trigger.threshold, 1u) << "the rank";
  EXPECT_EQ(lowered.sequences[1].trigger.threshold, 2u) << "the packet, and the end of the phase before";
  EXPECT_EQ(lowered.sequences[2].trigger.threshold, 2u);
  const emu::Descriptor& last_of_first = lowered.descriptors[lowered.sequences[0].count - 1];
  EXPECT_EQ(last_of_first.op, OpCode::kCount);
  EXPECT_EQ(last_of_first.counter, lowered.sequences[1].trigger.counter);
}

// The last step of a leaf's rank copies data that nothing else reads.
TEST(LowerTest, WhatALeafsOnlyRankGetsMayLandOnArrival) {
  const Plan plan = Star(1, 4096);
  const std::vector<uint32_t> nodes = {0}, edges = {6}, cells = {100};
  const PortMap map{.rank_receive_base = 20, .neighbors = nodes, .edges = edges, .cells = cells};
  for (const uint64_t count : {uint64_t{3000}, uint64_t{120}}) {
    const CallArguments call = AllreduceOf(count);
    const NodeSequence sequence = SequenceOf(plan, 1, call);
    LoweredCall rank;
    LowerRank(plan, {&sequence}, call, map, 0, &rank);
    std::vector<uint32_t> counters;
    for (const emu::Descriptor& d : rank.descriptors) {
      if (d.op != OpCode::kCopy || d.options != emu::kOptionLand) continue;
      EXPECT_EQ(d.edge, 6u);
      EXPECT_EQ(d.source.region, 100u);
      counters.push_back(d.remote_counter);
    }
    // Phase 1 of each segment, of four counters each; a packet is never placed directly.
    EXPECT_EQ(counters, count == 3000 ? (std::vector<uint32_t>{1, 5, 9}) : std::vector<uint32_t>{});
  }
}

TEST(LowerTest, BoundsHoldForTheLargestCall) {
  for (uint32_t children : {1u, 2u, 9u, 80u}) {
    const Plan plan = Star(children, 4096);
    const Lowered lowered = LowerRoot(plan, 4096);
    EXPECT_LE(lowered.node.sequences.size() + lowered.rank.sequences.size(), SequencesPerCall(plan, 1, children + 1))
        << children;
    for (const emu::Descriptor& d : lowered.node.descriptors) {
      if (d.op == OpCode::kCount) {
        EXPECT_LT(d.counter, 1000 + CountersPerSlot(plan, 1));
      }
    }
  }
}

// A segment of a scan on a tree holds up to 8192 contributions, each of which is reduced by a descriptor.
TEST(LowerTest, BoundsHoldForAScanOfManyShortContributions) {
  for (const uint32_t nodes : {20u, 512u, 1000u, 4096u, 8192u}) {
    for (const Collective collective : {Collective::kScan, Collective::kExscan}) {
      Plan plan = RandomTreePlan(collective, nodes, 1);
      plan.bytes_max = 8;
      const ShapeIndex shape(BlockShape(nodes, 1));
      const TreeIndex index(plan);
      const PackedOrder order(shape, plan, index);
      const BlockSizes sizes(&order, &shape, 1);
      const std::vector<RankBuffers> buffers(1);
      const BlockCall call{.plan = &plan, .index = &index, .sizes = &sizes, .collective = collective, .ranks = buffers};
      const auto sequence = ExpandBlocks(call, {0, 1});
      ASSERT_TRUE(sequence.ok()) << sequence.status();
      std::vector<uint32_t> neighbors;
      for (const NodeIndex v : NeighborsOf(plan, NodeIndex(0))) neighbors.push_back(v.value());
      const CallArguments arguments{.collective = collective, .type = ElementType::kUint8, .count = 1};
      const PortMap map{.neighbors = neighbors, .edges = neighbors, .cells = neighbors};
      LoweredCall lowered;
      LowerBlocks(plan, {&*sequence}, arguments, map, &lowered);
      EXPECT_LE(lowered.sequences.size() + 1, SequencesPerCall(plan, 1, nodes)) << nodes << " nodes";
    }
  }
}

// A node's work in a round does not grow with the cycle, unless each node receives from all others.
TEST(LowerTest, BoundsOfCyclesGrowWithTheirDistances) {
  const auto bound = [](Collective collective, uint32_t nodes, const char* distances) {
    Plan plan = CirculantPlan(collective, nodes, Distances(distances, nodes));
    plan.segment_bytes = 0;
    return SequencesPerCall(plan, 1, nodes);
  };
  EXPECT_EQ(bound(Collective::kAllgather, 2000, "ring"), bound(Collective::kAllgather, 20, "ring"));
  EXPECT_LT(bound(Collective::kScan, 2048, "doubling"), 200u);
  EXPECT_GT(bound(Collective::kAlltoall, 2000, "everybody"), 2000u / 64);
}

}  // namespace
}  // namespace copse::schedule
