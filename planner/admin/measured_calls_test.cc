// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/measured_calls.h"

#include "base/histogram.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

schedule::LatencyStatus Row(Collective collective, uint64_t bytes_min, schedule::CallPart part, uint64_t ns,
                            uint64_t count = 10) {
  return {.collective = collective,
          .bytes_min = bytes_min,
          .bytes_max = bytes_min == 0 ? 0 : 2 * bytes_min - 1,
          .part = part,
          .sum_ns = ns * count,
          .min_ns = ns,
          .max_ns = ns,
          .buckets = {{Histogram::BucketOf(ns), count}}};
}
schedule::LatencyStatus Call(Collective collective, uint64_t bytes_min, uint64_t ns, uint64_t count = 10) {
  return Row(collective, bytes_min, schedule::CallPart::kCall, ns, count);
}

schedule::Plan PlanFor(Collective collective, uint64_t bytes_min, uint64_t bytes_max) {
  schedule::Plan plan;
  plan.collective = collective;
  plan.bytes_min = bytes_min;
  plan.bytes_max = bytes_max;
  return plan;
}

// A team of four ranks on n0 and n1.
schedule::TeamLayout Layout() {
  schedule::TeamLayout layout;
  layout.shape.node_count = 2;
  layout.shape.node_of_rank = {NodeIndex(0), NodeIndex(0), NodeIndex(1), NodeIndex(1)};
  layout.nodes = {{.name = "n0"}, {.name = "n1"}};
  return layout;
}

MeasuredCalls Two(const std::vector<schedule::LatencyStatus>& at_n0,
                  const std::vector<schedule::LatencyStatus>& at_n1) {
  MeasuredCalls calls;
  calls.Add({.node = "n0", .clients = 2, .teams = 1, .latencies = at_n0});
  calls.Add({.node = "n1", .clients = 2, .teams = 3, .latencies = at_n1});
  return calls;
}

TEST(MeasuredCallsTest, TheSlowestNodeCounts) {
  const MeasuredCalls calls =
      Two({Call(Collective::kAllreduce, 8, 40'000)},
          {Call(Collective::kAllreduce, 8, 90'000), Row(Collective::kAllreduce, 8, schedule::CallPart::kRanks, 30'000),
           Row(Collective::kAllreduce, 8, schedule::CallPart::kNetwork, 200'000)});
  const auto call = calls.Of(Layout(), PlanId(1), PlanFor(Collective::kAllreduce, 0, 120));
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->node, "n1");
  EXPECT_EQ(call->median_us, 90);
  EXPECT_EQ(call->apart_us, 30);
  EXPECT_EQ(call->count, 10u);
  EXPECT_EQ(call->plan_bytes, 8u);
  EXPECT_EQ(call->teams, 3u);
  EXPECT_EQ(calls.clients(), 4u);
}

TEST(MeasuredCallsTest, TheSizeThatRanMostCounts) {
  const MeasuredCalls calls = Two({Call(Collective::kBcast, 8, 1000, 5), Call(Collective::kBcast, 64, 2000, 6)},
                                  {Call(Collective::kBcast, 8, 1000, 5), Call(Collective::kBcast, 64, 2000, 5)});
  EXPECT_EQ(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kBcast, 0, 120))->plan_bytes, 64u);
}

TEST(MeasuredCallsTest, CallsOfOtherPlansAndOtherNodesDoNot) {
  MeasuredCalls calls = Two({Call(Collective::kBcast, 8, 1000)}, {});
  calls.Add({.node = "n2", .latencies = {Call(Collective::kReduce, 8, 1000)}});
  EXPECT_TRUE(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kBcast, 0, 8)).has_value());
  EXPECT_FALSE(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kBcast, 0, 7)).has_value());
  EXPECT_FALSE(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kBcast, 9, 100)).has_value());
  EXPECT_FALSE(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kReduce, 0, 100)).has_value());
}

// Histograms are of all teams, but how many calls a team has made by each plan is told of teams that are asked for.
TEST(MeasuredCallsTest, APlanThatNoCallOfTheTeamHasUsedWasNotMeasured) {
  schedule::TeamLayout layout = Layout();
  layout.id = TeamId(7);
  const auto measured = [&](TeamId asked_of, std::vector<schedule::PlanCalls> calls_by_plan) {
    MeasuredCalls calls;
    schedule::DaemonStatus status{.node = "n1", .teams = 2};
    status.plan_calls = std::move(calls_by_plan);
    calls.AddPlanCalls(asked_of, status);  // answers come in any order
    status.latencies = {Call(Collective::kBcast, 8, 1000, 6), Call(Collective::kBcast, 16, 1000, 4)};
    calls.Add(status);
    return calls.Of(layout, PlanId(70), PlanFor(Collective::kBcast, 0, 100));
  };
  EXPECT_FALSE(measured(TeamId(7), {}).has_value());
  EXPECT_FALSE(measured(TeamId(7), {{PlanId(71), 5}}).has_value());
  ASSERT_TRUE(measured(TeamId(7), {{PlanId(70), 2}}).has_value());
  EXPECT_EQ(measured(TeamId(7), {{PlanId(70), 2}})->others, 10u - 2 * 2) << "two ranks are on the node";
  EXPECT_EQ(measured(TeamId(7), {{PlanId(70), 5}})->others, 0u);
  EXPECT_EQ(measured(TeamId(7), {{PlanId(70), 6}})->others, 0u) << "one is in flight";
  // Nothing is known of another team than the one that was asked for, nor by daemons that do not tell.
  ASSERT_TRUE(measured(TeamId(8), {}).has_value());
  EXPECT_EQ(measured(TeamId(8), {})->others, std::nullopt);
}

// Plans of blocks are selected by the length of one block; counts of an allgatherv are of all blocks together.
TEST(MeasuredCallsTest, BlocksOfDifferentLengthsAreMeansOrOfNoKnownSize) {
  const MeasuredCalls calls =
      Two({Call(Collective::kAllgatherv, 4096, 1000), Call(Collective::kAlltoallv, 64, 1000)}, {});
  EXPECT_EQ(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kAllgather, 1000, 2000))->plan_bytes, 1024u);
  EXPECT_FALSE(calls.Of(Layout(), PlanId(1), PlanFor(Collective::kAlltoall, 0, 1024)).has_value());
  const auto unknown = calls.Of(Layout(), PlanId(1), PlanFor(Collective::kAlltoall, 65537, schedule::kCallBytesMax));
  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(unknown->plan_bytes, std::nullopt);
  EXPECT_EQ(unknown->bytes_min, 64u);
}

// A daemon is believed to send sound histograms, and harms nobody if it does not.
TEST(MeasuredCallsTest, DamagedHistogramsAreNoCalls) {
  schedule::LatencyStatus damaged = Call(Collective::kBcast, 8, 1000);
  damaged.buckets = {{Histogram::kBucketCount, 5}};
  EXPECT_FALSE(Two({damaged}, {}).Of(Layout(), PlanId(1), PlanFor(Collective::kBcast, 0, 8)).has_value());
}

bool Says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(WhyOffTest, NothingUpToTwoTimes) {
  const Surroundings worst = {.links = "defaults", .processes = 9, .cores = 2};
  const MeasuredCall call = {.node = "n1", .count = 1, .median_us = 100, .apart_us = 90, .teams = 2};
  EXPECT_EQ(WhyOff(50, call, worst), "");
  EXPECT_EQ(WhyOff(200, call, worst), "");
  EXPECT_EQ(WhyOff(0, call, worst), "") << "a quick plan is not priced";
  EXPECT_NE(WhyOff(49, call, worst), "");
  EXPECT_NE(WhyOff(201, call, worst), "");
}

TEST(WhyOffTest, NamesWhatIsKnown) {
  const MeasuredCall slow = {.node = "n1", .count = 1, .median_us = 500, .least_us = 300, .teams = 1};
  const Surroundings plain = {.processes = 2, .cores = 2};
  EXPECT_TRUE(WhyOff(100, slow, plain).starts_with("5.0 times")) << WhyOff(100, slow, plain);
  EXPECT_FALSE(Says(WhyOff(100, slow, plain), "="));
  EXPECT_TRUE(Says(WhyOff(100, slow, {.processes = 3, .cores = 2}), "processes=3, cores=2"));
  EXPECT_FALSE(Says(WhyOff(100, slow, {.processes = 3, .cores = 0}), "cores="));
  EXPECT_TRUE(Says(WhyOff(100, slow, {.links = "defaults"}), "figures=defaults"));
  MeasuredCall call = slow;
  call.apart_us = 260;
  EXPECT_TRUE(Says(WhyOff(100, call, plain), "node=n1, median=260.0us"));
  call = slow;
  call.least_us = 120;
  EXPECT_TRUE(Says(WhyOff(100, call, plain), "node=n1, least=120.0us"));
  call = slow;
  call.teams = 4;
  EXPECT_TRUE(Says(WhyOff(100, call, plain), "node=n1, teams=4"));
  call.others = 17;
  EXPECT_TRUE(Says(WhyOff(100, call, plain), "node=n1, others=17"));
  call.others = 0;
  EXPECT_FALSE(Says(WhyOff(100, call, plain), "node=")) << "all calls were the team's own";
}

// More ranks than cores make no call faster.
TEST(WhyOffTest, CallsThatAreFasterHaveOtherCauses) {
  const MeasuredCall fast = {.node = "n1", .count = 1, .median_us = 10, .least_us = 1, .apart_us = 9, .teams = 1};
  const std::string why = WhyOff(100, fast, {.links = "defaults", .processes = 9, .cores = 2});
  EXPECT_TRUE(why.starts_with("0.1 times")) << why;
  EXPECT_TRUE(Says(why, "figures=defaults"));
  EXPECT_FALSE(Says(why, "node="));
}

}  // namespace
}  // namespace copse::planner
