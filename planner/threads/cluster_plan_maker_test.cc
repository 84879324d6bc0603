// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/cluster_plan_maker.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/topology/topology_yaml.h"
#include "schedule/testing/sample_plans.h"
#include "schedule/verify.h"

namespace copse::planner {
namespace {

schedule::TeamLayout Layout(uint32_t nodes) {
  schedule::TeamLayout layout{.shape = schedule::BlockShape(nodes, 1)};
  for (uint32_t n = 0; n < nodes; ++n) {
    layout.nodes.push_back({.name = "n" + std::to_string(n), .incarnation = Incarnation(n + 1)});
  }
  return layout;
}

topology::Topology Parsed(const std::string& text) {
  return topology::ParseTopologyYaml("version: 1\n" + text, "t.yaml").value();
}

// Without workers, the answers come at once.
absl::StatusOr<double> GainOf(ClusterPlanMaker* maker, const schedule::TeamLayout& layout,
                              const std::vector<schedule::Plan>& plans) {
  absl::StatusOr<double> gain = absl::UnknownError("no answer");
  maker->GainOfReplanning(layout, plans, [&](absl::StatusOr<double> found) { gain = found; });
  return gain;
}
bool Differs(ClusterPlanMaker* maker, const schedule::TeamLayout& layout, const std::vector<schedule::Plan>& plans) {
  absl::StatusOr<bool> differs = absl::UnknownError("no answer");
  maker->WouldDiffer(layout, plans, [&](absl::StatusOr<bool> found) { differs = found; });
  return differs.value();
}

TEST(ClusterPlanMakerTest, PlansPassTheVerifierWithAndWithoutTopology) {
  const topology::Topology topology = Parsed(
      "switches: [{name: core}, {name: r1, parent: core, latency: 1ms}]\n"
      "nodes: [{name: \"n[0-1]\", switch: core}, {name: \"n[2-4]\", switch: r1}]\n");
  for (const auto& given : {std::optional<topology::Topology>(), std::optional<topology::Topology>(topology)}) {
    ClusterPlanMaker maker({.topology = given, .shared_cores = 2});
    const schedule::TeamLayout layout = Layout(6);  // n5 is in no topology
    const auto plans = maker.MakePlans(layout, {}).value();
    EXPECT_TRUE(schedule::VerifyPlans(plans, layout.shape).ok());
    for (const schedule::Plan& plan : plans) {
      const auto explained = maker.Explain(layout, plan, std::nullopt).value();
      EXPECT_NE(explained.text.find("n5"), std::string::npos);
      EXPECT_NE(explained.dot.find("digraph"), std::string::npos);
      EXPECT_FALSE(explained.critical_path.empty());
      EXPECT_NE(explained.json.find("\"ranks\""), std::string::npos);
    }
  }
}

TEST(ClusterPlanMakerTest, PlansOfEveryFamilyAreExplained) {
  ClusterPlanMaker maker({.shared_cores = 2});
  for (const auto family : {Family::kRooted, Family::kSpread, Family::kAlltoall}) {
    schedule::TeamLayout layout = Layout(4);
    layout.identity.family = family;
    const auto plans = maker.MakePlans(layout, {}).value();
    ASSERT_FALSE(plans.empty());
    for (const schedule::Plan& plan : plans) {
      const auto explained = maker.Explain(layout, plan, std::nullopt).value();
      EXPECT_NE(explained.text.find(plan.algorithm), std::string::npos);
      EXPECT_NE(explained.json.find("\"timeline\""), std::string::npos);
    }
  }
}

TEST(ClusterPlanMakerTest, CostsOfTheTopologyFileArePricedWith) {
  const std::string text = "switches: [{name: core}]\nnodes: [{name: \"n[0-3]\", switch: core}]\n";
  ClusterPlanMaker cheap({.topology = Parsed(text)}), dear({.topology = Parsed(text + "costs: {wake_ns: 500000}\n")});
  const schedule::TeamLayout layout = Layout(4);
  const auto cheap_plans = cheap.MakePlans(layout, {}).value(), dear_plans = dear.MakePlans(layout, {}).value();
  EXPECT_LT(cheap_plans.front().predicted_us, 500);
  // A wake delays a rank's daemon, and a rank. Daemons that exchange messages at once find each other awake.
  EXPECT_GT(dear_plans.front().predicted_us, 1000);
  const auto explained = dear.Explain(layout, dear_plans.front(), std::nullopt).value();
  EXPECT_NE(explained.json, cheap.Explain(layout, dear_plans.front(), std::nullopt)->json);
  EXPECT_EQ((*dear.TopologyWith({"n9"}))->costs().wake_ns, 500'000);  // an unknown node does not change it
}

TEST(ClusterPlanMakerTest, UnknownNodesShareThisMachineIfOnlyItCanReachThePlanner) {
  const topology::Topology topology = Parsed("switches: [{name: core}]\nnodes: [{name: n0, switch: core}]\n");
  ClusterPlanMaker local({.topology = topology, .shared_cores = 2}), remote({.topology = topology});
  const auto shared = local.TopologyWith({"n0", "n1", "n2"}).value(), apart = remote.TopologyWith({"n0", "n1"}).value();
  EXPECT_EQ(shared->nodes()[0].cores, 0u);
  EXPECT_EQ(shared->nodes()[1].cores, 2u);
  EXPECT_FALSE(shared->nodes()[1].host.empty());
  EXPECT_EQ(shared->nodes()[1].host, shared->nodes()[2].host);
  EXPECT_EQ(apart->nodes()[1].cores, 0u);
  EXPECT_TRUE(apart->nodes()[1].host.empty());
}

TEST(ClusterPlanMakerTest, WhatIsAskedForComesBeforeRules) {
  ClusterPlanMaker maker({.rules = {{.collective = Collective::kBcast, .algorithm = "flat"},
                                    {.collective = Collective::kReduce, .algorithm = "flat"}}});
  const auto plans = maker.MakePlans(Layout(9), {.algorithm = "kary-2", .collective = Collective::kBcast}).value();
  for (const schedule::Plan& plan : plans) {
    if (plan.collective == Collective::kBcast) {
      EXPECT_EQ(plan.algorithm, "kary-2");
    }
    if (plan.collective == Collective::kReduce) {
      EXPECT_EQ(plan.algorithm, "flat");
    }
  }
  EXPECT_FALSE(maker.MakePlans(Layout(9), {.algorithm = "bush"}).ok());
}

TEST(ClusterPlanMakerTest, GainsOfReplanningAreThoseOfThePresentTopology) {
  const auto parse = [](const std::string& far) {
    return Parsed(
        "switches: [{name: core}, {name: far, parent: core, latency: 20ms, bandwidth: 10Mbit}]\nnodes: [{name: \"" +
        far + "\", switch: far}, {name: \"" + (far == "n[0-3]" ? "n[4-7]" : "n[0,2,4,6]") + "\", switch: core}]\n");
  };
  ClusterPlanMaker maker({.topology = parse("n[0-3]")});
  const schedule::TeamLayout layout = Layout(8);
  const auto plans = maker.MakePlans(layout, {}).value();
  const auto none = GainOf(&maker, layout, plans).value();
  EXPECT_EQ(none, 1);
  // Every second node is elsewhere: trees cross the long link more often than necessary.
  maker.SetTopology(parse("n[1,3,5,7]"));
  const auto gain = GainOf(&maker, layout, plans).value();
  EXPECT_GT(gain, 1.3);
  EXPECT_EQ(*GainOf(&maker, layout, *maker.MakePlans(layout, {})), 1);
}

TEST(ClusterPlanMakerTest, ANodeThatDrainsIsSlowWhilePlansAreMadeAndNotInPredictions) {
  ClusterPlanMaker maker(
      {.topology = Parsed("switches: [{name: core}]\nnodes: [{name: \"n[0-8]\", switch: core, overhead: 20us}]\n")});
  const schedule::TeamLayout layout = Layout(9);
  const auto before = maker.MakePlans(layout, {}).value();
  for (int node = 1; node < 9; ++node) {
    const std::string name = "n" + std::to_string(node);
    EXPECT_TRUE(maker.SetDraining(name, true));
    EXPECT_FALSE(maker.SetDraining(name, true));
    EXPECT_TRUE(GainOf(&maker, layout, before).ok());
    const auto during = maker.MakePlans(layout, {}).value();
    EXPECT_TRUE(schedule::VerifyPlans(during, layout.shape).ok());
    EXPECT_TRUE(maker.SetDraining(name, false));
    // The prediction is the true time, and no better than the optimum without the drain.
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_LT(during[i].predicted_us, 8 * before[i].predicted_us);
    }
    EXPECT_EQ(*GainOf(&maker, layout, before), 1);
  }
}

// Eight nodes of one rack, of another rack that is as fast, of a slower rack, and of both racks.
TEST(ClusterPlanMakerTest, TeamsThatAreConnectedAlikeArePlannedOnce) {
  ClusterPlanMaker maker(
      {.topology = Parsed("switches: [{name: core}, {name: r1, parent: core, latency: 1us},\n"
                          "  {name: r2, parent: core, latency: 2us}]\n"
                          "nodes: [{name: \"n[0-15]\", switch: r1}, {name: \"n[16-31]\", switch: r2},\n"
                          "  {name: \"n[32-39]\", switch: r2, latency: 9us}]\n")});
  const auto plans_of = [&](const std::vector<int>& numbers) {
    schedule::TeamLayout layout = Layout(8);
    for (size_t i = 0; i < 8; ++i) layout.nodes[i].name = "n" + std::to_string(numbers[i]);
    return maker.MakePlans(layout, {}).value();
  };
  const auto first = plans_of({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(plans_of({8, 15, 2, 3, 14, 5, 6, 7}), first);
  EXPECT_EQ(plans_of({16, 17, 18, 19, 20, 21, 22, 23}), first);
  EXPECT_EQ(maker.sets_made(), 1u);
  plans_of({32, 33, 34, 35, 36, 37, 38, 39});
  EXPECT_EQ(maker.sets_made(), 2u);
  const auto both = plans_of({0, 1, 2, 3, 16, 17, 18, 19});
  EXPECT_EQ(maker.sets_made(), 3u);
  EXPECT_EQ(plans_of({7, 5, 3, 1, 19, 20, 30, 31}), both);
  EXPECT_EQ(maker.sets_made(), 3u);
}

class PlansOnWorkersTest : public ::testing::Test {
 protected:
  void Ask(uint32_t nodes) {
    maker_.MakePlansLater(Layout(nodes), {}, [this](absl::StatusOr<std::vector<schedule::Plan>> plans) {
      answers_.push_back(*std::move(plans));
    });
  }
  void Await(size_t answers) {
    while (answers_.size() < answers) queue_.RunUntil(absl::InfiniteFuture());
  }

  MonotonicClock clock_;
  TaskQueue queue_{&clock_};
  ClusterPlanMaker maker_{{}};
  PlanWorkers workers_{&queue_, 2};
  std::vector<std::vector<schedule::Plan>> answers_;
};

TEST_F(PlansOnWorkersTest, EqualTasksAreWorkedOnOnceAndTheResultIsKept) {
  maker_.SetWorkers(&workers_);
  for (int i = 0; i < 3; ++i) Ask(9);
  EXPECT_TRUE(answers_.empty());
  Await(3);
  EXPECT_EQ(maker_.sets_made(), 1u);
  ClusterPlanMaker at_once({});
  EXPECT_EQ(answers_, std::vector(3, at_once.MakePlans(Layout(9), {}).value()));
  Ask(9);
  EXPECT_EQ(answers_.size(), 4u) << "it was kept";
  EXPECT_EQ(maker_.counts().sets_reused, 3u);
  EXPECT_GT(maker_.counts().cpu, absl::ZeroDuration());
}

TEST_F(PlansOnWorkersTest, RulesThatChangeMeanwhileCount) {
  maker_.SetWorkers(&workers_);
  Ask(9);
  maker_.SetRules({{.collective = Collective::kBcast, .algorithm = "flat"}});
  Await(1);
  ClusterPlanMaker at_once({.rules = {{.collective = Collective::kBcast, .algorithm = "flat"}}});
  EXPECT_EQ(answers_[0], at_once.MakePlans(Layout(9), {}).value());
}

TEST_F(PlansOnWorkersTest, GainsAndDifferencesAreFoundThere) {
  ClusterPlanMaker at_once({});
  const std::vector<schedule::Plan> flat = at_once.MakePlans(Layout(40), {.algorithm = "flat"}).value();
  maker_.SetWorkers(&workers_);
  std::optional<double> gain;
  std::optional<bool> differ;
  maker_.GainOfReplanning(Layout(40), flat, [&](absl::StatusOr<double> found) { gain = found.value(); });
  maker_.WouldDiffer(Layout(40), flat, [&](absl::StatusOr<bool> found) { differ = found.value(); });
  EXPECT_FALSE(gain.has_value() || differ.has_value());
  while (!gain.has_value() || !differ.has_value()) queue_.RunUntil(absl::InfiniteFuture());
  EXPECT_EQ(gain, GainOf(&at_once, Layout(40), flat).value());
  EXPECT_GT(gain, 1);
  EXPECT_EQ(differ, true);
  EXPECT_EQ(maker_.sets_made(), 1u);
}

class QuickFirstTest : public PlansOnWorkersTest {
 protected:
  static constexpr uint32_t kNodes = 80;  // more than are planned fast

  QuickFirstTest() { maker_.SetWorkers(&workers_, &better_); }
  schedule::TeamLayout Team(uint64_t id, uint32_t nodes = kNodes) {
    schedule::TeamLayout layout = Layout(nodes);
    layout.id = TeamId(id);
    return layout;
  }
  void Order(uint64_t id, uint32_t nodes = kNodes) {
    maker_.PlanBetter(Team(id, nodes), [this, id](const absl::StatusOr<std::vector<double>>& savings) {
      savings_.emplace(id, savings);
    });
  }
  void AwaitSavings(size_t count) {
    while (savings_.size() < count) queue_.RunUntil(absl::InfiniteFuture());
  }

  std::map<uint64_t, absl::StatusOr<std::vector<double>>> savings_;
  PlanWorkers better_{&queue_, 1, 19};
};

TEST_F(QuickFirstTest, ATeamStartsWithQuickPlansAndTheNextOfItsShapeWithBetterOnes) {
  const auto first = maker_.QuickPlans(Team(1));
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->may_be_better);
  EXPECT_TRUE(schedule::VerifyPlans(first->plans, Team(1).shape).ok());
  EXPECT_EQ(maker_.counts().sets_quick, 1u);
  EXPECT_EQ(maker_.sets_made(), 0u);
  Order(1);
  Order(2);  // of another team of this shape
  AwaitSavings(2);
  EXPECT_EQ(maker_.sets_made(), 1u);
  const std::vector<double>& savings = *savings_.at(1);
  EXPECT_EQ(savings, *savings_.at(2));
  ASSERT_EQ(savings.size(), first->plans.size());
  EXPECT_GT(*std::max_element(savings.begin(), savings.end()), 0);
  const auto next = maker_.QuickPlans(Team(3));
  ASSERT_TRUE(next.has_value());
  EXPECT_FALSE(next->may_be_better);
  ClusterPlanMaker at_once({});
  EXPECT_EQ(next->plans, at_once.MakePlans(Team(3), {}).value());
  for (size_t i = 0; i < savings.size(); ++i) EXPECT_EQ(next->plans[i].collective, first->plans[i].collective);
  // The savings can be asked for again, and nothing is planned.
  Order(4);
  AwaitSavings(3);
  EXPECT_EQ(*savings_.at(4), savings);
  EXPECT_EQ(maker_.sets_made(), 1u);
}

TEST_F(QuickFirstTest, BetterPlansAreThoseOfTheModelWhenTheyAreOrdered) {
  const auto shared = [this] {  // whether two teams wait for the same plans
    const uint64_t before = maker_.counts().sets_reused;
    Order(1);
    Order(2);
    maker_.DropBetter(TeamId(1));
    maker_.DropBetter(TeamId(2));
    return maker_.counts().sets_reused == before + 1;
  };
  ASSERT_TRUE(maker_.QuickPlans(Team(1)).has_value());
  EXPECT_TRUE(shared());
  ASSERT_TRUE(maker_.QuickPlans(Team(1)).has_value());
  EXPECT_TRUE(maker_.SetDraining(Team(1).nodes[1].name, true));
  EXPECT_TRUE(shared());
  ASSERT_TRUE(maker_.QuickPlans(Team(1)).has_value());
  maker_.SetCores(Team(1).nodes[1].name, 3);
  EXPECT_TRUE(shared());
}

TEST_F(QuickFirstTest, NoQuickPlansWherePlanningIsFastOrARuleIsByCost) {
  EXPECT_FALSE(maker_.QuickPlans(Team(1, 4)).has_value());
  maker_.SetRules({{.collective = Collective::kBcast, .algorithm = "mgo"}});
  EXPECT_FALSE(maker_.QuickPlans(Team(1)).has_value());
  maker_.SetRules({{.collective = Collective::kBcast, .algorithm = "kary-2"}});
  ASSERT_TRUE(maker_.QuickPlans(Team(1)).has_value());
  EXPECT_EQ(maker_.QuickPlans(Team(1))->plans[1].algorithm, "kary-2");
  maker_.SetWorkers(&workers_);
  EXPECT_FALSE(maker_.QuickPlans(Team(1)).has_value());
}

TEST_F(QuickFirstTest, OrdersOfEndedTeamsAreSkippedAndMayComeBack) {
  Order(1, 90);  // occupies the worker
  Order(2);
  maker_.DropBetter(TeamId(2));
  AwaitSavings(1);
  EXPECT_TRUE(savings_.contains(1));
  Order(3);
  AwaitSavings(2);
  EXPECT_TRUE(savings_.contains(3));
  EXPECT_EQ(maker_.sets_made(), 2u);
  EXPECT_FALSE(savings_.contains(2));
}

TEST_F(QuickFirstTest, RulesThatChangeMeanwhileCount) {
  Order(1);
  maker_.SetRules({{.collective = Collective::kBcast, .algorithm = "flat"}});
  AwaitSavings(1);
  EXPECT_EQ(maker_.MakePlans(Team(1), {})->at(1).algorithm, "flat");
  EXPECT_EQ(maker_.sets_made(), 1u);
}

TEST_F(QuickFirstTest, TheTasksAreLimited) {
  for (uint32_t i = 0; i <= kBetterTasksMax; ++i) Order(i, 11 + i);
  ASSERT_EQ(savings_.size(), 1u);
  EXPECT_THAT(savings_.at(kBetterTasksMax).status(),
              testing::FailsWith(absl::StatusCode::kResourceExhausted, "limit=64"));
  for (uint32_t i = 0; i < kBetterTasksMax; ++i) maker_.DropBetter(TeamId(i));
}

TEST_F(QuickFirstTest, ExplanationsNameThem) {
  const auto first = maker_.QuickPlans(Team(1));
  const auto explained = maker_.Explain(Team(1), first->plans[0], std::nullopt).value();
  EXPECT_NE(explained.text.find("quick first plan"), std::string::npos);
  EXPECT_NE(explained.json.find("quick first plan"), std::string::npos);
  EXPECT_EQ(maker_.sets_made(), 0u) << "an explanation does not wait for them";
  Order(1);
  AwaitSavings(1);
  const std::string better = maker_.QuickPlans(Team(2))->plans[0].algorithm;
  EXPECT_NE(maker_.Explain(Team(1), first->plans[0], std::nullopt)->text.find("the better one is " + better),
            std::string::npos);
}

TEST_F(QuickFirstTest, ExplanationsAreMadeOnAWorker) {
  const auto first = maker_.QuickPlans(Team(1));
  schedule::Plan plan = first->plans[1];
  plan.predicted_us = 1;  // not a quick one: the plans that would be made now are made to compare with
  std::vector<coordinator::PlanExplanation> explained;
  std::vector<std::vector<std::string>> paths;
  maker_.ExplainLater(Team(1), plan, std::nullopt,
                      [&](const auto& explanation) { explained.push_back(explanation.value()); });
  maker_.CriticalPathLater(Team(1), plan, [&](const auto& path) { paths.push_back(path.value()); });
  EXPECT_TRUE(explained.empty() && paths.empty());
  EXPECT_EQ(maker_.sets_made(), 0u) << "nothing is made on the caller's thread";
  while (explained.empty() || paths.empty()) queue_.RunUntil(absl::InfiniteFuture());
  EXPECT_EQ(maker_.sets_made(), 1u);
  EXPECT_EQ(explained[0].critical_path, paths[0]);
  EXPECT_EQ(explained[0].text, maker_.Explain(Team(1), plan, std::nullopt)->text);
  EXPECT_EQ(maker_.sets_made(), 1u) << "those plans are kept";
}

TEST_F(QuickFirstTest, WhatWaitsToBeExplainedIsLimited) {
  const auto first = maker_.QuickPlans(Team(1));
  size_t done = 0, refused = 0;
  for (size_t i = 0; i < kExplainingMax + 2; ++i) {
    maker_.CriticalPathLater(Team(1), first->plans[0], [&](const auto& path) {
      ++done;
      refused += absl::IsResourceExhausted(path.status());
    });
  }
  EXPECT_EQ(refused, 2u);
  while (done < kExplainingMax + 2) queue_.RunUntil(absl::InfiniteFuture());
  EXPECT_EQ(refused, 2u);
}

TEST(ClusterPlanMakerTest, TheSameMembersArePlannedOnce) {
  ClusterPlanMaker maker({});
  const auto first = maker.MakePlans(Layout(9), {}).value();
  EXPECT_EQ(maker.MakePlans(Layout(9), {}).value(), first);
  EXPECT_EQ(maker.sets_made(), 1u);
  ASSERT_TRUE(maker.MakePlans(Layout(8), {}).ok());
  ASSERT_TRUE(maker.MakePlans(Layout(9), {.algorithm = "flat"}).ok());
  EXPECT_EQ(maker.sets_made(), 3u);
  EXPECT_EQ(Differs(&maker, Layout(9), first), false);
  EXPECT_EQ(maker.sets_made(), 3u);
  // Every input of plans changes in turn: they are made again.
  maker.SetRules({{.collective = Collective::kBcast, .algorithm = "bt"}});
  EXPECT_EQ(Differs(&maker, Layout(9), first), true);
  EXPECT_EQ(maker.sets_made(), 4u);
  maker.SetCores("n3", 4);
  ASSERT_TRUE(maker.MakePlans(Layout(9), {}).ok());
  maker.SetCores("n3", 4);
  ASSERT_TRUE(maker.MakePlans(Layout(9), {}).ok());
  EXPECT_EQ(maker.sets_made(), 5u);
  maker.SetDraining("n3", true);
  ASSERT_TRUE(maker.MakePlans(Layout(9), {}).ok());
  EXPECT_EQ(maker.sets_made(), 6u);
  // Only a limited number is cached.
  for (uint32_t nodes = 1; nodes <= kKeptPlanSetsMax + 1; ++nodes) {
    ASSERT_TRUE(maker.MakePlans(Layout(2 + nodes % 2), {.algorithm = "kary-" + std::to_string(nodes + 1)}).ok());
  }
  const uint64_t made = maker.sets_made();
  ASSERT_TRUE(maker.MakePlans(Layout(9), {}).ok());
  EXPECT_EQ(maker.sets_made(), made + 1);
}

TEST(ClusterPlanMakerTest, ExplainsWithBoundTimelineCandidatesAndReason) {
  ClusterPlanMaker maker({.rules = {{.collective = Collective::kReduce,
                                     .bytes_min = 1'000,
                                     .algorithm = "knomial-3",
                                     .source = "rules.yaml:7"}}});
  const schedule::TeamLayout layout = Layout(9);
  const auto plans = maker.MakePlans(layout, {}).value();
  for (const schedule::Plan& plan : plans) {
    const auto explained = maker.Explain(layout, plan, std::nullopt).value();
    const bool ruled = plan.collective == Collective::kReduce && plan.bytes_min >= 1'000;
    EXPECT_EQ(explained.text.find("rules.yaml:7") != std::string::npos, ruled) << explained.text;
    EXPECT_EQ(explained.text.find("by price, of ") != std::string::npos, !ruled) << explained.text;
    for (const char* key : {"lower_bound_us", "candidates", "timeline", "why", "alternatives", "ranks"}) {
      EXPECT_NE(explained.json.find("\"" + std::string(key) + "\""), std::string::npos) << key;
    }
    EXPECT_EQ(*maker.CriticalPath(layout, plan), explained.critical_path);
  }
  // A plan of another origin may cut so finely that running it would keep the planner busy for seconds.
  const auto blocks = maker.MakePlans(layout, {.collective = Collective::kAllgather}).value();
  for (schedule::Plan plan : blocks) {
    if (plan.collective != Collective::kAllgather || plan.bytes_max <= schedule::kMessageBytesMax) continue;
    plan.segment_bytes = schedule::kSegmentUnitBytes;
    EXPECT_TRUE(maker.CriticalPath(layout, plan)->empty());
    EXPECT_TRUE(maker.Explain(layout, plan, std::nullopt)->critical_path.empty());
  }
  // The forced plan is one that the planner would not choose.
  const auto forced = maker.MakePlans(layout, {.algorithm = "chain", .collective = Collective::kBcast}).value();
  EXPECT_NE(maker.Explain(layout, forced[1], std::nullopt)->text.find("not what would be chosen now"),
            std::string::npos);
}

TEST(ClusterPlanMakerTest, AnExchangeForAllIsUsedWhereItCanBe) {
  ClusterPlanMaker maker({});
  const auto plans = maker.MakePlans(Layout(6), {.algorithm = "dissemination"}).value();
  EXPECT_EQ(plans[0].algorithm, "dissemination");
  EXPECT_NE(plans[1].algorithm, "dissemination");
}

TEST(ClusterPlanMakerTest, TeamsWhoseNodesAreNamedShareOneTopology) {
  const std::vector<std::string> names = {"a", "b", "c"};
  ClusterPlanMaker maker({.topology = *topology::FlatTopology(names)});
  const ClusterTopologies::Shared shared = *maker.TopologyWith({"a", "b"});
  EXPECT_EQ(*maker.TopologyWith({"c", "a"}), shared);
  EXPECT_EQ(*maker.TopologyWith({}), shared);
  // A shared topology stays unchanged.
  const ClusterTopologies::Shared with_d = *maker.TopologyWith({"a", "d"});
  EXPECT_TRUE(with_d->FindNode("d").has_value());
  EXPECT_FALSE(shared->FindNode("d").has_value());
  EXPECT_EQ(*maker.TopologyWith({"d", "c"}), with_d);
  // A change of the topology takes effect.
  const ClusterTopologies::Shared before = *maker.TopologyWith(names);
  maker.SetCores("b", 3);
  const ClusterTopologies::Shared with_cores = *maker.TopologyWith(names);
  EXPECT_EQ(before->nodes()[1].cores, 0u);
  EXPECT_EQ(with_cores->nodes()[1].cores, 3u);
  maker.SetCores("b", 3);
  EXPECT_EQ(*maker.TopologyWith(names), with_cores);
  maker.SetTopology(topology::FlatTopology({"a", "b"}).value());
  EXPECT_EQ((*maker.TopologyWith({"a"}))->nodes().size(), 2u);
  // A draining node is slow in plans, not in the cluster.
  maker.SetDraining("a", true);
  EXPECT_EQ(*maker.TopologyWith({"a"}), *maker.TopologyWith({"b"}));
}

TEST(ClusterTopologyTest, DaemonsSayHowManyCoresIfTheTopologyDoesNot) {
  const topology::Topology topology = Parsed(
      "switches: [{name: core}]\n"
      "nodes: [{name: a, switch: core}, {name: b, switch: core, cores: 3}, {name: c, switch: core, host: h}]\n");
  ClusterModel model{.topology = topology, .announced_cores = {{"a", 8}, {"b", 8}, {"c", 8}, {"d", 16}}};
  const auto cores = [&](const char* name) {
    const auto with = ClusterTopology(model, {"a", "d", "e"}).value();
    return with.nodes()[*with.FindNode(name)].cores;
  };
  EXPECT_EQ(cores("a"), 8u);
  EXPECT_EQ(cores("b"), 3u);
  EXPECT_EQ(cores("c"), 0u) << "the cores of a host are not its daemons' to say";
  EXPECT_EQ(cores("d"), 16u);
  EXPECT_EQ(cores("e"), 0u);
  // Daemons that share this machine each see all of its cores.
  model.shared_cores = 2;
  EXPECT_EQ(cores("a"), 0u);
  EXPECT_EQ(cores("d"), 2u);
}

}  // namespace
}  // namespace copse::planner
