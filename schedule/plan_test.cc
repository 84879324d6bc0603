// SPDX-License-Identifier: Apache-2.0
#include "schedule/plan.h"

#include <set>
#include <vector>

#include "absl/types/span.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ShapeTest, RefusesWhatIsNoTeam) {
  EXPECT_EQ(CheckShape({}).code(), kInvalid);
  TeamShape unknown{.node_of_rank = {NodeIndex(0), NodeIndex(2)}, .node_count = 2};
  EXPECT_THAT(CheckShape(unknown), FailsWith(kInvalid, "rank 1"));
  TeamShape empty_node{.node_of_rank = {NodeIndex(0)}, .node_count = 2};
  EXPECT_THAT(CheckShape(empty_node), FailsWith(kInvalid, "team", "node=1"));
  EXPECT_THAT(CheckShape(BlockShape(1, kLocalRanksMax + 1)), FailsWith(kInvalid, "limit=256"));
  EXPECT_TRUE(CheckShape(BlockShape(1, kLocalRanksMax)).ok());
}

TEST(ShapeTest, IndexFindsLocalRanks) {
  const TeamShape shape{.node_of_rank = {NodeIndex(0), NodeIndex(1), NodeIndex(0), NodeIndex(1), NodeIndex(1)},
                        .node_count = 2};
  const ShapeIndex index(shape);
  ASSERT_EQ(index.RanksOf(NodeIndex(1)).size(), 3u);
  EXPECT_EQ(index.RanksOf(NodeIndex(1))[2], Rank(4));
  EXPECT_EQ(index.LocalIndexOf(Rank(4)), 2u);
  EXPECT_EQ(index.LocalIndexOf(Rank(2)), 1u);
}

TEST(PlanTest, SegmentsAreCountedUp) {
  Plan plan{.segment_bytes = 8};
  EXPECT_EQ(SegmentCount(plan, 0), 1u);
  EXPECT_EQ(SegmentCount(plan, 8), 1u);
  EXPECT_EQ(SegmentCount(plan, 9), 2u);
  plan.segment_bytes = 0;
  EXPECT_EQ(SegmentCount(plan, 1 << 20), 1u) << "0: never cut";
}

TEST(PlanTest, ChunksOfLongCallsAreWholeSegments) {
  const auto chunk = [](Collective collective, uint64_t bytes_max, uint32_t segment_bytes) {
    return ChunkBytesMax({.collective = collective, .bytes_max = bytes_max, .segment_bytes = segment_bytes});
  };
  EXPECT_EQ(chunk(Collective::kBcast, 120, 0), 120u);
  EXPECT_EQ(chunk(Collective::kBcast, kMessageBytesMax, 12'288), kMessageBytesMax) << "one call";
  EXPECT_EQ(chunk(Collective::kBcast, kCallBytesMax, 12'288), 5u * 12'288);
  EXPECT_EQ(chunk(Collective::kBcast, kCallBytesMax, 16'384), kMessageBytesMax);
  EXPECT_EQ(chunk(Collective::kAllreduce, kCallBytesMax, kSegmentBytesMax), kSegmentBytesMax);
  EXPECT_EQ(chunk(Collective::kGather, 8'192, 32'768), 8'192u) << "of one block; segments hold several";
  EXPECT_EQ(chunk(Collective::kGather, kMessageBytesMax, 32'768), kMessageBytesMax);
  EXPECT_EQ(chunk(Collective::kGather, kCallBytesMax, kSegmentBytesMax), kSegmentBytesMax);
}

TEST(PlanTest, SelectsBySizeClass) {
  const std::vector<Plan> plans = {
      {.id = PlanId(1), .collective = Collective::kBcast, .bytes_min = 0, .bytes_max = 120},
      {.id = PlanId(2), .collective = Collective::kBcast, .bytes_min = 121, .bytes_max = 4096},
  };
  EXPECT_EQ(SelectPlan(plans, Collective::kBcast, 120)->id, PlanId(1));
  EXPECT_EQ(SelectPlan(plans, Collective::kBcast, 121)->id, PlanId(2));
  EXPECT_EQ(SelectPlan(plans, Collective::kBcast, 4097), nullptr);
  EXPECT_EQ(SelectPlan(plans, Collective::kReduce, 1), nullptr);
}

TEST(PlanTest, NeighborsOfBothKinds) {
  Plan tree = RandomTreePlan(Collective::kBcast, 5, 3);
  for (uint32_t v = 0; v < 5; ++v) EXPECT_EQ(NeighborsOf(tree, NodeIndex(v)).size(), tree.neighbors[v].size());
  const std::vector<NodeIndex> partners = NeighborsOf(DisseminationPlan(5), NodeIndex(0));
  EXPECT_EQ(partners, (std::vector<NodeIndex>{NodeIndex(1), NodeIndex(2), NodeIndex(3), NodeIndex(4)}));
}

TEST(PlanTest, NeighborsByNodeAreThoseOfAllPlans) {
  constexpr uint32_t kNodes = 9;
  const std::vector<Plan> plans = {RandomTreePlan(Collective::kBcast, kNodes, 3), DisseminationPlan(kNodes),
                                   CirculantPlan(Collective::kAllreduce, kNodes, Distances("doubling", kNodes)),
                                   CirculantPlan(Collective::kAllgather, kNodes, Distances("ring", kNodes))};
  for (size_t count = 0; count <= plans.size(); ++count) {
    const auto by_node = NeighborsByNode(absl::MakeSpan(plans).first(count), kNodes);
    for (uint32_t v = 0; v < kNodes; ++v) {
      std::set<uint32_t> neighbors;
      for (size_t i = 0; i < count; ++i) {
        for (const NodeIndex neighbor : NeighborsOf(plans[i], NodeIndex(v))) neighbors.insert(neighbor.value());
      }
      EXPECT_EQ(by_node[v], std::vector<uint32_t>(neighbors.begin(), neighbors.end()));
    }
  }
}

TEST(PlanCodecTest, AnIdIsReplacedInPlace) {
  Plan plan = RandomTreePlan(Collective::kBcast, 5, 1);
  std::string encoded = EncodePlan(plan);
  SetPlanIdIn(PlanId(0x123456789a), &encoded);
  EXPECT_EQ(PlanIdIn(encoded), PlanId(0x123456789a));
  plan.id = PlanId(0x123456789a);
  EXPECT_EQ(encoded, EncodePlan(plan));
}

TEST(PlanCodecTest, RoundTrip) {
  for (const Plan& plan : {RandomTreePlan(Collective::kAllreduce, 17, 1), DisseminationPlan(9), DoublingPlan(8, 120)}) {
    const absl::StatusOr<Plan> decoded = DecodePlan(EncodePlan(plan));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_TRUE(*decoded == plan);
  }
}

TEST(PlanCodecTest, EveryPrefixIsRefused) {
  const std::string bytes = EncodePlan(DisseminationPlan(4));
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(DecodePlan(std::string_view(bytes).substr(0, n)).ok()) << n;
  EXPECT_FALSE(DecodePlan(bytes + "x").ok());
}

TEST(PlanCodecTest, OtherVersionsAreNamed) {
  std::string bytes = EncodePlan(DisseminationPlan(4));
  bytes[4] = 9;
  const absl::Status refused = DecodePlan(bytes).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused, FailsWith(absl::StatusCode::kFailedPrecondition, "plan", "format 9", "side=1"));
}

TEST(PlanCodecTest, GarbageIsRefusedOrDecodesToSomethingThatEncodesAlike) {
  Prng prng(7);
  const std::string good = EncodePlan(RandomTreePlan(Collective::kBcast, 9, 2));
  int decoded_count = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (uint64_t flips = 1 + prng.Below(4); flips > 0; --flips)
      bytes[8 + prng.Below(bytes.size() - 8)] = static_cast<char>(prng.Next());
    const absl::StatusOr<Plan> decoded = DecodePlan(bytes);
    if (!decoded.ok()) continue;
    ++decoded_count;
    EXPECT_EQ(EncodePlan(*decoded), bytes);
  }
  EXPECT_GT(decoded_count, 0);
}

TEST(PlanHashTest, DependsOnEveryByte) {
  std::string bytes = EncodePlan(DisseminationPlan(4));
  const uint64_t hash = PlanHash(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] + 1);
    EXPECT_NE(PlanHash(other), hash) << i;
  }
}

}  // namespace
}  // namespace copse::schedule
