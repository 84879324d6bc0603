// SPDX-License-Identifier: Apache-2.0
#include "schedule/folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "offload_emu/alu/alu.h"
#include "schedule/testing/plain_cluster.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

Plan PairwisePlan(uint32_t nodes, Prng* prng) {
  return CirculantPlan(Collective::kAlltoall, nodes, Distances("everybody", nodes), prng);
}

TeamShape OnOneNode(uint32_t ranks) { return {std::vector<NodeIndex>(ranks, NodeIndex(0)), 1}; }

struct Call {
  Collective collective = Collective::kAllreduce;
  ElementType type = ElementType::kFloat;
  ElementOp op = ElementOp::kSum;
  uint32_t root = 0;
  std::vector<uint64_t> blocks;      // reduce_scatter: bytes by rank
  std::vector<Bytes> contributions;  // by rank

  uint64_t bytes() const { return contributions[0].size(); }
};

constexpr uint8_t kUntouched = 0x5a;

// Returns each rank's receive buffer afterwards, on a cluster of this shape.
std::vector<Bytes> Results(const Call& call, const TeamShape& shape, Plan plan, uint64_t* message_bytes = nullptr) {
  PlainCluster cluster(plan, shape);
  cluster.op = call.op;
  cluster.type = call.type;
  const uint32_t nodes = shape.node_count;
  const BlockSizes sizes = call.blocks.empty()
                               ? BlockSizes(&cluster.order(), &cluster.shape(), uint64_t{0})
                               : BlockSizes(&cluster.order(), &cluster.shape(), absl::MakeConstSpan(call.blocks));
  cluster.ranks.resize(shape.size());
  for (uint32_t r = 0; r < shape.size(); ++r) {
    cluster.ranks[r].send = call.contributions[r];
    cluster.ranks[r].receive.assign(call.blocks.empty() ? call.bytes() : call.blocks[r], kUntouched);
  }
  FoldSchedule schedule(plan, cluster.shape(), call.collective, call.bytes());
  cluster.notes.assign(nodes, Bytes(schedule.notes_bytes()));
  for (uint64_t index = 0; index < schedule.chunk_count(); ++index) {
    const FoldChunk chunk = schedule.At(index);
    for (uint32_t s = 0; s < chunk.segments; ++s) {
      std::vector<NodeSequence> sequences;
      for (uint32_t v = 0; v < nodes; ++v) {
        const BlockCall at = cluster.CallAt(v, sizes, call.collective, call.root, false);
        auto sequence = ExpandFold({&at, &schedule}, chunk.first_segment + s, chunk.results,
                                   chunk.notes_offset + s * schedule.slice_bytes());
        EXPECT_TRUE(sequence.ok()) << sequence.status();
        if (!sequence.ok()) return {};
        sequences.push_back(*std::move(sequence));
      }
      cluster.Run(std::move(sequences));
      if (testing::Test::HasFailure()) return {};
    }
    schedule.OnOver(index);
  }
  EXPECT_TRUE(schedule.complete());
  if (message_bytes != nullptr) *message_bytes = cluster.message_bytes;
  std::vector<Bytes> results;
  for (const auto& rank : cluster.ranks) results.push_back(rank.receive);
  return results;
}

// Reduces by a loop over the ranks.
std::vector<Bytes> Expected(const Call& call) {
  const auto size = static_cast<uint32_t>(call.contributions.size());
  std::vector<Bytes> results;
  Bytes sum;
  const uint32_t type_bytes = ElementBytes(call.type);
  for (uint32_t r = 0; r < size; ++r) {
    if (call.collective == Collective::kExscan) {
      results.push_back(r == 0 ? Bytes(call.bytes(), kUntouched) : sum);
    }
    if (r == 0) {
      sum = call.contributions[0];
    } else {
      const uint8_t* operands[] = {sum.data(), call.contributions[r].data()};
      EXPECT_TRUE(emu::AluReduce(call.op, call.type, operands, call.bytes() / type_bytes, sum.data()).ok());
    }
    if (call.collective == Collective::kScan) results.push_back(sum);
  }
  uint64_t at = 0;
  for (uint32_t r = 0; results.size() < size; ++r) {
    switch (call.collective) {
      case Collective::kReduce:
        results.push_back(r == call.root ? sum : Bytes(call.bytes(), kUntouched));
        break;
      case Collective::kReduceScatter:
        results.emplace_back(sum.begin() + static_cast<int64_t>(at),
                             sum.begin() + static_cast<int64_t>(at + call.blocks[r]));
        at += call.blocks[r];
        break;
      default:
        results.push_back(sum);
        break;
    }
  }
  return results;
}

// Sums of these numbers round at every step, so that any other order shows.
Bytes RandomNumbers(ElementType type, uint64_t count, Prng* prng) {
  Bytes bytes(count * ElementBytes(type));
  const auto number = [&] {
    return (prng->Below(2) == 0 ? -1 : 1) * (1 + static_cast<double>(prng->Next() >> 11) * 0x1p-53);
  };
  const auto fill = [&](const auto& draw) {
    for (uint64_t i = 0; i < bytes.size(); i += sizeof(draw())) {
      const auto value = draw();
      std::memcpy(bytes.data() + i, &value, sizeof(value));
    }
  };
  if (type == ElementType::kDouble || type == ElementType::kComplexDouble) {
    fill(number);
  } else if (type == ElementType::kFloat) {
    fill([&] { return static_cast<float>(number()); });
  } else {
    // Both 16-bit formats get numbers around one, of either sign.
    fill([&] { return static_cast<uint16_t>(0x3c00 + prng->Below(0x80) + (prng->Below(2) << 15)); });
  }
  return bytes;
}

TEST(FoldsTest, ResultsHaveTheBitsOfALoopOverTheRanks) {
  constexpr Collective kCollectives[] = {Collective::kReduce, Collective::kAllreduce, Collective::kReduceScatter,
                                         Collective::kScan, Collective::kExscan};
  constexpr ElementType kTypes[] = {ElementType::kFloat, ElementType::kDouble, ElementType::kHalf,
                                    ElementType::kBfloat16, ElementType::kComplexDouble};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Prng prng(seed);
    const auto nodes = static_cast<uint32_t>(1 + prng.Below(7));
    const auto size = static_cast<uint32_t>(nodes + prng.Below(3 * nodes));
    Call call{.collective = kCollectives[prng.Below(5)],
              .type = kTypes[prng.Below(5)],
              .op = prng.Below(3) == 0 ? ElementOp::kProd : ElementOp::kSum,
              .root = static_cast<uint32_t>(prng.Below(size))};
    uint64_t count = prng.Below(2) == 0 ? prng.Below(20) : prng.Below(prng.Below(4) == 0 ? 30'000 : 3000);
    if (call.collective == Collective::kReduceScatter) {
      uint64_t total = 0;
      const bool is_short = prng.Below(2) == 0;
      for (uint32_t r = 0; r < size; ++r) {
        const uint64_t block = prng.Below(4) == 0 ? 0 : prng.Below(is_short ? 4 : 2000);
        call.blocks.push_back(block * ElementBytes(call.type));
        total += block;
      }
      count = total;
    }
    for (uint32_t r = 0; r < size; ++r) call.contributions.push_back(RandomNumbers(call.type, count, &prng));
    const std::vector<Bytes> expected = Expected(call);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << CollectiveName(call.collective) << ", " << size
                                    << " ranks on " << nodes << " nodes, " << count << " elements");
    // The ranks are placed in two different ways.
    ASSERT_EQ(Results(call, RandomShape(nodes, size, &prng), PairwisePlan(nodes, &prng)), expected);
    const auto other_nodes = static_cast<uint32_t>(1 + prng.Below(std::min(size, 6u)));
    ASSERT_EQ(Results(call, RandomShape(other_nodes, size, &prng), PairwisePlan(other_nodes, &prng)), expected);
  }
}

TEST(FoldsTest, AnotherOrderHasOtherBits) {
  // Without a case that depends on the order, the test above would prove nothing.
  Prng prng(1);
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble, ElementType::kHalf}) {
    Call call{.type = type};
    for (int r = 0; r < 5; ++r) call.contributions.push_back(RandomNumbers(type, 100, &prng));
    const Bytes in_order = Expected(call)[0];
    std::reverse(call.contributions.begin(), call.contributions.end());
    EXPECT_NE(Expected(call)[0], in_order) << static_cast<int>(type);
  }
}

TEST(FoldsTest, WhatIsAloneIsItsOwnResult) {
  Prng prng(3);
  for (const Collective c : {Collective::kReduce, Collective::kAllreduce, Collective::kScan, Collective::kExscan}) {
    for (const uint64_t count : {0, 1, 20'000}) {
      Call call{.collective = c};
      call.contributions.push_back(RandomNumbers(call.type, count, &prng));
      EXPECT_EQ(Results(call, OnOneNode(1), PairwisePlan(1, &prng)), Expected(call));
    }
  }
}

// No node gets all contributions to a long message.
TEST(FoldsTest, ALongAllreduceMovesItsContributionsOnceAndItsResultToAll) {
  Prng prng(4);
  constexpr uint32_t kNodes = 4, kRanks = 8;
  constexpr uint64_t kCount = 100'000;
  const TeamShape shape = BlockShape(kNodes, kRanks / kNodes);
  Call call;
  for (uint32_t r = 0; r < kRanks; ++r) call.contributions.push_back(RandomNumbers(call.type, kCount, &prng));
  uint64_t moved = 0;
  EXPECT_EQ(Results(call, shape, PairwisePlan(kNodes, &prng), &moved), Expected(call));
  EXPECT_EQ(moved, kCount * 4 * (kRanks * (kNodes - 1) / kNodes + (kNodes - 1)));
}

// --- Chunks ---

TEST(FoldScheduleTest, EachChunkComesOnceAndNoneBeforeWhatItNeeds) {
  Prng prng(5);
  const ShapeIndex shape({{NodeIndex(0), NodeIndex(1), NodeIndex(0)}, 2});
  const Plan plan = PairwisePlan(2, &prng);
  for (const uint64_t bytes : {8'000u, 70'000u, 140'000u, 900'000u, 5'000'000u}) {
    FoldSchedule schedule(plan, shape, Collective::kAllreduce, bytes);
    std::vector<int> contributed, told;
    std::deque<uint64_t> running;
    uint64_t next = 0;
    std::set<uint64_t> notes;
    uint64_t segments = 0;
    while (next < schedule.chunk_count() || !running.empty()) {
      // Starts a chunk if one may start, or ends one of those in flight, in any order.
      if (next < schedule.chunk_count() && prng.Below(2) == 0) {
        const FoldChunk chunk = schedule.At(next);
        if (!chunk.results) segments += chunk.segments;
        if (schedule.in_parts() && !chunk.results) {
          EXPECT_TRUE(notes.insert(chunk.notes_offset).second) << "notes are in use";
          EXPECT_LE(chunk.notes_offset + chunk.segments * schedule.slice_bytes(), schedule.notes_bytes());
        }
        running.push_back(next++);
        continue;
      }
      if (running.empty()) continue;
      std::swap(running[prng.Below(running.size())], running.front());
      const FoldChunk chunk = schedule.At(running.front());
      if (chunk.results) {
        EXPECT_EQ(notes.erase(chunk.notes_offset), 1u) << "results without contributions";
      }
      schedule.OnOver(running.front());
      running.pop_front();
    }
    EXPECT_TRUE(schedule.complete());
    EXPECT_EQ(segments, schedule.segment_count());
    EXPECT_TRUE(notes.empty());
  }
}

TEST(FoldScheduleTest, SlicesCoverTheMessageOnce) {
  Prng prng(6);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto nodes = static_cast<uint32_t>(1 + prng.Below(9));
    const ShapeIndex shape(RandomShape(nodes, nodes + static_cast<uint32_t>(prng.Below(20)), &prng));
    const uint64_t bytes = prng.Below(300'000);
    const FoldSchedule schedule(PairwisePlan(nodes, &prng), shape, Collective::kAllreduce, bytes);
    uint64_t at = 0;
    for (uint64_t segment = 0; segment < schedule.segment_count(); ++segment) {
      for (uint32_t p = 0; p < (schedule.in_parts() ? nodes : 1); ++p) {
        const Slice slice = schedule.SliceAt(segment, p);
        EXPECT_EQ(slice.begin, at);
        EXPECT_LE(slice.bytes(), schedule.slice_bytes());
        at = slice.end;
      }
    }
    EXPECT_EQ(at, bytes);
  }
}

TEST(FoldsTest, OnlyWhatRoundsIsFolded) {
  CallArguments arguments{.collective = Collective::kAllreduce, .type = ElementType::kFloat, .options = kReproducible};
  EXPECT_EQ(FamilyOfCall(arguments), Family::kAlltoall);
  EXPECT_EQ(PlanCollectiveOf(arguments), Collective::kAlltoall);
  arguments.op = ElementOp::kMax;
  EXPECT_EQ(FamilyOfCall(arguments), Family::kCommon);
  arguments.op = ElementOp::kProd;
  arguments.type = ElementType::kInt64;
  EXPECT_EQ(PlanCollectiveOf(arguments), Collective::kAllreduce);
  arguments.type = ElementType::kComplexFloat;
  arguments.collective = Collective::kReduceScatterv;
  EXPECT_EQ(FamilyOfCall(arguments), Family::kAlltoall);
  arguments.options = 0;
  EXPECT_EQ(FamilyOfCall(arguments), Family::kSpread);
  EXPECT_EQ(PlanCollectiveOf(arguments), Collective::kReduceScatter);
  arguments.options = kReproducible;
  arguments.collective = Collective::kGather;
  EXPECT_EQ(FamilyOfCall(arguments), Family::kRooted);
}

TEST(FoldsTest, ANodeMayHaveAsManyRanksAsAreAllowedAndNoMore) {
  Prng prng(7);
  Call call;
  for (uint32_t r = 0; r < kLocalRanksMax; ++r) call.contributions.push_back(RandomNumbers(call.type, 30, &prng));
  EXPECT_EQ(Results(call, OnOneNode(kLocalRanksMax), PairwisePlan(1, &prng)), Expected(call));

  Plan plan = PairwisePlan(1, &prng);
  plan.segment_bytes = 2 * kSegmentUnitBytes;
  PlainCluster cluster(plan, OnOneNode(3));
  cluster.ranks.resize(3);
  const FoldSchedule schedule(plan, cluster.shape(), Collective::kAllreduce, 8);
  const BlockSizes sizes(&cluster.order(), &cluster.shape(), uint64_t{0});
  const BlockCall at = cluster.CallAt(0, sizes, Collective::kAllreduce, 0, false);
  EXPECT_EQ(ExpandFold({&at, &schedule}, 0, false, 0).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace copse::schedule
