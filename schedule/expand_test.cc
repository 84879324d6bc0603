// SPDX-License-Identifier: Apache-2.0
#include "schedule/expand.h"

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

using testing::FailsWith;

// The tree 1 - 0 - 2, and 3 below 2.
Plan SmallTree(Collective collective) {
  Plan plan{.id = PlanId(7),
            .collective = collective,
            .bytes_max = 4096,
            .algorithm = "hand",
            .node_count = 4,
            .segment_bytes = 1024};
  plan.neighbors = {{1, 2}, {0}, {0, 3}, {2}};
  return plan;
}

std::vector<std::string> Lines(const Plan& plan, const TeamShape& shape, uint32_t node,
                               const CallArguments& arguments) {
  const ShapeIndex index(shape);
  const auto sequence = Expand(plan, TreeIndex(plan), ViewOf(index, plan, NodeIndex(node), arguments), arguments);
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  std::vector<std::string> lines;
  for (const Primitive& primitive : sequence->primitives) lines.push_back(DescribePrimitive(primitive));
  return lines;
}

const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kInt32, .count = 2};

TEST(ExpandTest, LeafOfAnAllreduce) {
  EXPECT_EQ(
      Lines(SmallTree(Collective::kAllreduce), BlockShape(4, 1), 1, kSum),
      (std::vector<std::string>{"Start", "RecvLocal(0) phase 0", "Wait phase 0", "SendTo(0) phase 0 from send0",
                                "RecvFrom(0) phase 1", "Wait phase 1", "Deliver(0) from cell0 on arrival", "End"}));
}

TEST(ExpandTest, RootOfAnAllreduceCombinesOwnRanksFirst) {
  EXPECT_EQ(Lines(SmallTree(Collective::kAllreduce), BlockShape(4, 2), 0, kSum),
            (std::vector<std::string>{
                "Start", "RecvLocal(0) phase 0", "RecvLocal(1) phase 0", "RecvFrom(1) phase 0", "RecvFrom(2) phase 0",
                "Wait phase 0", "Reduce(scratch = send0 + send1 + cell1 + cell2)", "SendTo(1) phase 1 from scratch",
                "SendTo(2) phase 1 from scratch", "Deliver(0) from scratch", "Deliver(1) from scratch", "End"}));
}

TEST(ExpandTest, ReduceTowardsAnyRoot) {
  // Directed towards node 3, node 2 is its child, node 0 is 2's child, node 1 is 0's.
  const CallArguments to_3{.collective = Collective::kReduce, .type = ElementType::kInt32, .count = 2, .root = 3};
  EXPECT_EQ(Lines(SmallTree(Collective::kReduce), BlockShape(4, 1), 0, to_3),
            (std::vector<std::string>{"Start", "RecvLocal(0) phase 0", "RecvFrom(1) phase 0", "Wait phase 0",
                                      "Reduce(scratch = send0 + cell1)", "SendTo(2) phase 0 from scratch", "Release(0)",
                                      "End"}));
  EXPECT_EQ(Lines(SmallTree(Collective::kReduce), BlockShape(4, 1), 3, to_3).back(), "End");
}

TEST(ExpandTest, BcastRootThatSharesItsNodeCopiesOnce) {
  const CallArguments from_1{.collective = Collective::kBcast, .type = ElementType::kInt32, .count = 2, .root = 1};
  EXPECT_EQ(Lines(SmallTree(Collective::kBcast), BlockShape(4, 2), 0, from_1),
            (std::vector<std::string>{"Start", "RecvLocal(1) phase 1", "Wait phase 1", "Copy(scratch = send1)",
                                      "SendTo(1) phase 1 from scratch", "SendTo(2) phase 1 from scratch",
                                      "Deliver(0) from scratch", "Release(1)", "End"}));
}

TEST(ExpandTest, BarrierCarriesNothing) {
  EXPECT_EQ(Lines(SmallTree(Collective::kBarrier), BlockShape(4, 1), 2, {.collective = Collective::kBarrier}),
            (std::vector<std::string>{"Start", "RecvLocal(0) phase 0", "RecvFrom(3) phase 0", "Wait phase 0",
                                      "SendTo(0) phase 0 from nothing", "RecvFrom(0) phase 1", "Wait phase 1",
                                      "SendTo(3) phase 1 from nothing", "Release(0)", "End"}));
}

TEST(ExpandTest, PartnersOfAnExchangeCombineInTheSameOrder) {
  const Plan plan = DoublingPlan(2, 120);
  const std::vector<std::string> low = Lines(plan, BlockShape(2, 1), 0, kSum);
  const std::vector<std::string> high = Lines(plan, BlockShape(2, 1), 1, kSum);
  EXPECT_EQ(low[6], "Wait phase 1");
  EXPECT_EQ(low[7], "Reduce(scratch = scratch + cell1)");
  EXPECT_EQ(high[7], "Reduce(scratch = cell0 + scratch)");
}

TEST(ExpandTest, ARoundSendsAllThenAwaitsAllThenCombinesInNodeOrder) {
  const Plan plan = AllToAllPlan(3, 120);
  const std::vector<std::string> at_1 = Lines(plan, BlockShape(3, 1), 1, kSum);
  EXPECT_EQ(at_1,
            (std::vector<std::string>{"Start", "RecvLocal(0) phase 0", "Wait phase 0", "Copy(scratch = send0)",
                                      "SendTo(2) phase 1 from scratch", "SendTo(0) phase 1 from scratch",
                                      "RecvFrom(0) phase 1", "RecvFrom(2) phase 1", "Wait phase 1",
                                      "Reduce(scratch = cell0 + scratch + cell2)", "Deliver(0) from scratch", "End"}));
  EXPECT_EQ(Lines(plan, BlockShape(3, 1), 2, kSum)[9], "Reduce(scratch = cell0 + cell1 + scratch)");
}

TEST(ExpandTest, MoreThanTheAluTakesAtOnceComeAfterTheAccumulator) {
  Plan plan = ExchangePlan(5, "star", 8, 120);
  for (uint32_t v = 0; v < 7; ++v) {
    plan.steps[v] = {{1, 7, kNobody}, {2, kNobody, 7, false}};
    plan.steps[7].push_back({1, kNobody, 6 - v});
  }
  for (uint32_t v = 0; v < 7; ++v) plan.steps[7].push_back({2, v, kNobody});
  EXPECT_EQ(Lines(plan, BlockShape(8, 1), 7, kSum)[12],
            "Reduce(scratch = scratch + cell0 + cell1 + cell2 + cell3 + cell4 + cell5 + cell6)");
}

TEST(ExpandTest, RefusesWhatDoesNotFit) {
  const Plan plan = SmallTree(Collective::kBcast);
  const TreeIndex index(plan);
  const CallArguments bcast{.collective = Collective::kBcast, .type = ElementType::kUint8, .count = 4096};
  const NodeView view{.node = NodeIndex(1), .local_ranks = 1};
  EXPECT_TRUE(Expand(plan, index, view, bcast).ok());
  CallArguments long_bcast = bcast;
  long_bcast.count = 4097;
  EXPECT_THAT(Expand(plan, index, view, long_bcast), FailsWith(absl::StatusCode::kInvalidArgument, "limit=0-4096"));
  EXPECT_THAT(Expand(plan, index, view, kSum),
              FailsWith(absl::StatusCode::kInvalidArgument, "plan 7", "bcast", "allreduce sum"));
  EXPECT_FALSE(Expand(plan, index, {.node = NodeIndex(4), .local_ranks = 1}, bcast).ok());
  EXPECT_FALSE(Expand(plan, index, {.node = NodeIndex(1), .local_ranks = 1, .root_node = 4}, bcast).ok());
  EXPECT_FALSE(Expand(plan, index, {.node = NodeIndex(1), .local_ranks = 0}, bcast).ok());
  EXPECT_FALSE(Expand(plan, index, {.node = NodeIndex(1), .local_ranks = kLocalRanksMax + 1}, bcast).ok());
}

TEST(TreeIndexTest, TowardsEveryRootIsTheFirstStepOfThePath) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const uint32_t n = 1 + seed * 3;
    const Plan plan = RandomTreePlan(Collective::kBcast, n, seed);
    const TreeIndex index(plan);
    for (uint32_t root = 0; root < n; ++root) {
      for (uint32_t v = 0; v < n; ++v) {
        uint32_t at = v;
        uint32_t steps = 0;
        while (at != root && steps++ < n) at = index.Towards(at, root);
        EXPECT_EQ(at, root) << "seed " << seed << ", from " << v;
      }
      EXPECT_EQ(index.Towards(root, root), kNobody);
    }
  }
}

TEST(SegmentsTest, CoverTheMessageOnce) {
  const Plan plan = SmallTree(Collective::kBcast);
  for (uint64_t bytes : {0u, 1u, 1024u, 1025u, 4096u}) {
    uint64_t next = 0;
    for (const Segment& segment : SegmentsOf(plan, bytes)) {
      EXPECT_EQ(segment.offset, next);
      next += segment.bytes;
    }
    EXPECT_EQ(next, bytes);
  }
}

}  // namespace
}  // namespace copse::schedule
