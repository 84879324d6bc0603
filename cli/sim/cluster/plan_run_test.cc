// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/plan_run.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/candidates.h"
#include "planner/pricing/cost_model.h"
#include "planner/structure.h"
#include "planner/topology/topology.h"
#include "schedule/verify.h"

namespace copse::sim {
namespace {

using planner::CostParameters;
using planner::TeamCosts;
using schedule::Plan;
using testing::FailsWith;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct Team {
  schedule::TeamShape shape;
  std::unique_ptr<topology::Topology> topology;  // at a fixed address: costs point to it
  std::unique_ptr<TeamCosts> costs;
  planner::NodeOrder order;
};

Team MakeTeam(topology::Topology topology, uint32_t ranks_per_node) {
  Team team;
  team.topology = std::make_unique<topology::Topology>(std::move(topology));
  std::vector<std::string> names;
  team.shape.node_count = static_cast<uint32_t>(team.topology->nodes().size());
  for (uint32_t v = 0; v < team.shape.node_count; ++v) {
    names.push_back(team.topology->nodes()[v].name);
    team.order.push_back(v);
    for (uint32_t i = 0; i < ranks_per_node; ++i) team.shape.node_of_rank.push_back(NodeIndex(v));
  }
  team.costs = std::make_unique<TeamCosts>(*TeamCosts::Create(names, *team.topology, team.topology->costs()));
  return team;
}

// Makes racks of about four nodes under one core; no two figures are equal, so no two events coincide.
topology::Topology Racks(uint32_t nodes, uint64_t seed, const CostParameters& parameters = {}) {
  Prng prng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(prng.Below(static_cast<uint64_t>(high - low)));
  };
  std::vector<topology::Switch> switches = {{.name = "core"}};
  const uint32_t racks = nodes / 4 + 1;
  for (uint32_t r = 0; r < racks; ++r) {
    switches.push_back({absl::StrCat("rack", r), 0, between(5'000, 50'000), between(100'000'000, 1'000'000'000)});
  }
  std::vector<topology::Node> list;
  for (uint32_t v = 0; v < nodes; ++v) {
    topology::Node node;
    node.name = absl::StrCat("n", v);
    node.parent = 1 + static_cast<uint32_t>(prng.Below(racks));
    node.overhead_ns = between(1'000, 10'000);
    node.receive_overhead_ns = between(1'000, 10'000);
    node.latency_ns = between(500, 5'000);
    node.bandwidth_bytes_per_s = between(500'000'000, 3'000'000'000);
    list.push_back(node);
  }
  return *topology::Topology::Create(switches, list, parameters);
}

Plan MakePlan(const Team& team, const std::string& algorithm, Collective collective, uint64_t bytes,
              uint32_t segment_bytes = 0) {
  return planner::PlanOf(*planner::BuildStructure(algorithm, team.order), collective, 0, bytes, segment_bytes);
}

CallArguments Call(Collective collective, uint64_t bytes, uint32_t root = 0) {
  CallArguments call{.collective = collective, .root = root};
  if (collective == Collective::kBarrier) return call;
  call.type = bytes % 8 == 0 ? ElementType::kUint64 : ElementType::kUint8;
  call.count = bytes % 8 == 0 ? bytes / 8 : bytes;
  return call;
}

// Returns parameters without cost for copies: another test covers the order of ranks' copies.
CostParameters WithoutCopies() {
  CostParameters parameters;
  parameters.copy_ps_per_byte = 0;
  return parameters;
}

std::string Describe(const Plan& plan, const Team& team, const CallArguments& call) {
  return absl::StrCat(plan.algorithm, ", ", DescribeArguments(call), ", nodes ", team.shape.node_count, ", ranks ",
                      team.shape.size());
}

int64_t Priced(const Plan& plan, const Team& team, const CallArguments& call) {
  const auto price = planner::Price(plan, team.shape, *team.costs, call);
  EXPECT_TRUE(price.ok()) << price.status();
  return price.ok() ? price->total_ns : -1;
}

PlanRunResult RunOrDie(const Plan& plan, const Team& team, const CallArguments& call,
                       const PlanRunOptions& options = {}) {
  auto run = RunPlan(plan, team.shape, *team.costs, call, options);
  EXPECT_TRUE(run.ok()) << run.status() << ": " << Describe(plan, team, call);
  return run.ok() ? *std::move(run) : PlanRunResult();
}

TEST(RunPlanTest, ATreeTakesWhatTheCostModelSaysToTheNanosecond) {
  int calls = 0;
  for (const uint32_t nodes : {1, 2, 3, 8, 13, 40}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Team team = MakeTeam(Racks(nodes, seed, WithoutCopies()), 1);
      for (const char* algorithm : {"flat", "binomial", "knomial-4", "kary-3"}) {
        for (const Collective collective :
             {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
          for (const uint64_t bytes : {1, 48, 120, 1000, 8192}) {
            if (collective == Collective::kBarrier && bytes > 1) continue;
            const uint64_t message = collective == Collective::kBarrier ? 0 : bytes;
            const Plan plan = MakePlan(team, algorithm, collective, message);
            const CallArguments call = Call(collective, message, static_cast<uint32_t>(seed) % nodes);
            EXPECT_EQ(RunOrDie(plan, team, call).total_ns, Priced(plan, team, call)) << Describe(plan, team, call);
            ++calls;
          }
        }
      }
    }
  }
  EXPECT_GT(calls, 1000);
}

TEST(RunPlanTest, TheEngineServesItsOwnRanksBeforeFramesLeave) {
  // The model sends first and then copies; the engine runs all ready descriptors and flushes its outboxes last. So each
  // node on the way adds a copy, and nothing else.
  CostParameters parameters;
  parameters.copy_ps_per_byte = 1000;
  const Team team = MakeTeam(Racks(16, 7, parameters), 1);
  const Plan plan = MakePlan(team, "kary-2", Collective::kBcast, 1000);
  const CallArguments call = Call(Collective::kBcast, 1000);
  const int64_t late_ns = RunOrDie(plan, team, call).total_ns - Priced(plan, team, call);
  EXPECT_GT(late_ns, 0);
  EXPECT_EQ(late_ns % 1000, 0);  // a copy takes 1000 ns
  EXPECT_LE(late_ns, 3 * 1000);  // inner nodes of a path
}

TEST(RunPlanTest, RanksOfANodeAndSegmentsStayNearTheCostModel) {
  // The engine fills a frame with segments, so a segment may wait for the next; the model ignores that.
  for (const uint32_t ranks_per_node : {1, 2, 5}) {
    const Team team = MakeTeam(Racks(11, ranks_per_node), ranks_per_node);
    for (const char* algorithm : {"binomial", "kary-2", "dissemination", "recursive-doubling"}) {
      for (const Collective collective :
           {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
        const auto structure = planner::BuildStructure(algorithm, team.order);
        ASSERT_TRUE(structure.ok());
        if (!planner::CanCarry(*structure, collective)) continue;
        for (const uint64_t bytes : {48, 20'000, 65'536}) {
          const uint64_t message = collective == Collective::kBarrier ? 0 : bytes;
          const Plan plan = MakePlan(team, algorithm, collective, message, 8192);
          const CallArguments call = Call(collective, message, team.shape.size() - 1);
          const auto taken = static_cast<double>(RunOrDie(plan, team, call).total_ns);
          const auto priced = static_cast<double>(Priced(plan, team, call));
          EXPECT_NEAR(taken / priced, 1, 0.2) << Describe(plan, team, call);
        }
      }
    }
  }
}

TEST(RunPlanTest, PartsOfAClusterExchangeWhatTheyHave) {
  for (const uint32_t nodes : {1, 2, 3, 8, 13, 40}) {  // up to 11 racks: beyond the limit of one round
    for (const uint32_t ranks_per_node : {1, 3}) {
      const Team team = MakeTeam(Racks(nodes, nodes), ranks_per_node);
      for (const uint64_t bytes : {0, 48, 8'192, 65'536}) {
        const Collective collective = bytes == 0 ? Collective::kBarrier : Collective::kAllreduce;
        const auto costs = planner::BroadcastCosts::FromTopology(*team.topology, std::max<uint64_t>(bytes, 1));
        const auto structure = planner::BuildByCost("hierarchical", *costs, 0);
        ASSERT_TRUE(structure.ok()) << structure.status();
        const Plan plan = planner::PlanOf(*structure, collective, 0, bytes, bytes > 8'192 ? 8'192 : 0);
        const CallArguments call = Call(collective, bytes);
        const auto taken = static_cast<double>(RunOrDie(plan, team, call).total_ns);
        EXPECT_NEAR(taken / static_cast<double>(Priced(plan, team, call)), 1, 0.2) << Describe(plan, team, call);
      }
    }
  }
}

TEST(RunPlanTest, TheEngineTakesTheGreatestFanOutThatTheVerifierLetsPass) {
  const Team team = MakeTeam(Racks(schedule::kNeighborsMax + 1, 1), 1);
  const Plan plan = MakePlan(team, "flat", Collective::kBcast, 8);
  EXPECT_EQ(RunOrDie(plan, team, Call(Collective::kBcast, 8)).packets, schedule::kNeighborsMax);
  const Team larger = MakeTeam(Racks(schedule::kNeighborsMax + 2, 1), 1);
  const Plan refused = MakePlan(larger, "flat", Collective::kBcast, 8);
  EXPECT_THAT(
      std::string(RunPlan(refused, larger.shape, *larger.costs, Call(Collective::kBcast, 8)).status().message()),
      HasSubstr("fan-out of node 0 (neighbors=4097, limit=4096)"));
}

TEST(RunPlanTest, SharedCoresAreWaitedFor) {
  topology::FlatCosts flat;
  const std::vector<std::string> names = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
  const Team idle = MakeTeam(*topology::FlatTopology(names, flat), 2);
  flat.host = "box";
  flat.cores = 2;
  const Team busy = MakeTeam(*topology::FlatTopology(names, flat), 2);
  const Plan plan = MakePlan(idle, "binomial", Collective::kBarrier, 0);
  const CallArguments call = Call(Collective::kBarrier, 0);
  const int64_t taken = RunOrDie(plan, busy, call).total_ns;
  EXPECT_GT(taken, RunOrDie(plan, idle, call).total_ns);
  EXPECT_NEAR(static_cast<double>(taken) / static_cast<double>(Priced(plan, busy, call)), 1, 0.05);
}

// Replays RT_s += o_s + T_sr, then RT_r = RT_s + L_sr + o_r, along the plan's edges.
int64_t ReplayBroadcast(const Plan& plan, const TeamCosts& costs, uint64_t bytes) {
  std::vector<int64_t> ready(plan.node_count, 0);
  for (const auto& [from, to] : planner::PlanEdges(plan)) {
    const topology::Path path = costs.PathBetween(from, to);
    ready[from] += costs.node(from).send_overhead_ns + planner::StreamNs(bytes, path.bandwidth_bytes_per_s);
    ready[to] = ready[from] + path.latency_ns + costs.node(to).receive_overhead_ns;
  }
  return *std::max_element(ready.begin(), ready.end());
}

TEST(RunPlanTest, ABroadcastTakesWhatMgosSectionSaysToTheNanosecond) {
  for (const uint32_t nodes : {1, 2, 5, 17, 64, 200}) {
    const Team team = MakeTeam(Racks(nodes, nodes), 1);
    for (const char* algorithm : {"flat", "binomial", "knomial-3", "kary-4"}) {
      for (const uint64_t bytes : {1, 1000, 8000}) {
        const Plan plan = MakePlan(team, algorithm, Collective::kBcast, bytes);
        const CallArguments call = Call(Collective::kBcast, bytes);
        const PlanRunResult run = RunOrDie(plan, team, call, {.charging = Charging::kMgo, .progress = {}});
        EXPECT_EQ(run.total_ns, ReplayBroadcast(plan, *team.costs, bytes)) << Describe(plan, team, call);
      }
    }
  }
}

TEST(RunPlanTest, HeadersCostTimeIfTheyAreCharged) {
  const Team team = MakeTeam(Racks(9, 1), 1);
  const Plan plan = MakePlan(team, "binomial", Collective::kBcast, 8);
  const CallArguments call = Call(Collective::kBcast, 8);
  EXPECT_GT(RunOrDie(plan, team, call, {.charge_headers = true, .progress = {}}).total_ns,
            RunOrDie(plan, team, call).total_ns);
}

TEST(RunPlanTest, CountsPacketsAndRepeatsExactly) {
  const Team team = MakeTeam(Racks(30, 3), 2);
  const Plan plan = MakePlan(team, "binomial", Collective::kAllreduce, 48);
  const CallArguments call = Call(Collective::kAllreduce, 48);
  uint32_t told = 0;
  const PlanRunResult run = RunOrDie(plan, team, call, {.progress = [&](uint32_t done, uint32_t ranks) {
                                       told = done;
                                       EXPECT_EQ(ranks, 60u);
                                     }});
  EXPECT_EQ(run.packets, 2u * 29);  // up and down each edge
  EXPECT_EQ(run.frames, 2u * 29);
  EXPECT_EQ(told, 60u);
  EXPECT_EQ(RunOrDie(plan, team, call).trace_hash, run.trace_hash);
  EXPECT_NE(RunOrDie(MakePlan(team, "flat", Collective::kAllreduce, 48), team, call).trace_hash, run.trace_hash);
}

TEST(RunPlanTest, RefusesWhatDoesNotFit) {
  const Team team = MakeTeam(Racks(6, 1), 1);
  const Plan plan = MakePlan(team, "binomial", Collective::kBcast, 64);
  const auto error = [&](const Plan& p, const Team& t, const CallArguments& call) {
    return RunPlan(p, t.shape, *t.costs, call).status();
  };
  EXPECT_THAT(error(plan, team, Call(Collective::kBcast, 64, 6)), FailsWith(kInvalid, "root=6", "ranks=6"));
  EXPECT_THAT(error(plan, team, Call(Collective::kBcast, 128)), FailsWith(kInvalid, "bytes=128"));
  EXPECT_THAT(error(plan, team, Call(Collective::kReduce, 64)), FailsWith(kInvalid, "plan 0", "reduce"));
  EXPECT_FALSE(error(plan, MakeTeam(Racks(7, 1), 1), Call(Collective::kBcast, 64)).ok());
  Plan orphan = plan;
  orphan.neighbors[0].clear();
  EXPECT_FALSE(error(orphan, team, Call(Collective::kBcast, 64)).ok());
  schedule::TeamShape shape = team.shape;
  shape.node_count = kSimulatedNodesMax + 1;
  for (uint32_t v = 6; v < shape.node_count; ++v) shape.node_of_rank.push_back(NodeIndex(v));
  EXPECT_THAT(RunPlan(plan, shape, *team.costs, Call(Collective::kBcast, 64)),
              FailsWith(absl::StatusCode::kResourceExhausted, "nodes=200001", "limit=200000"));
  schedule::TeamShape small = team.shape;
  small.node_count = 5;
  small.node_of_rank.pop_back();
  EXPECT_THAT(RunPlan(plan, small, *team.costs, Call(Collective::kBcast, 64)),
              FailsWith(kInvalid, "nodes=5", "costs=6"));
}

TEST(RunPlanTest, TenThousandNodesTakeSeconds) {
  const Team team = MakeTeam(Racks(10'000, 1, WithoutCopies()), 1);
  const Plan plan = MakePlan(team, "knomial-4", Collective::kAllreduce, 48);
  const CallArguments call = Call(Collective::kAllreduce, 48);
  const PlanRunResult run = RunOrDie(plan, team, call);
  EXPECT_EQ(run.packets, 2u * 9'999);
  EXPECT_EQ(run.total_ns, Priced(plan, team, call));
}

}  // namespace
}  // namespace copse::sim
