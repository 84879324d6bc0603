// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_model.h"

#include <algorithm>
#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/candidates.h"
#include "planner/structure.h"
#include "schedule/testing/sample_plans.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Team is a team on a flat topology.
struct Team {
  std::vector<std::string> names;
  schedule::TeamShape shape;
  std::unique_ptr<topology::Topology> topology;  // at a fixed address: costs point to it
  std::unique_ptr<TeamCosts> costs;
  NodeOrder order;
};

Team MakeTeamOn(topology::Topology topology, uint32_t ranks_per_node, const CostParameters& parameters) {
  Team team;
  team.topology = std::make_unique<topology::Topology>(std::move(topology));
  const uint32_t nodes = static_cast<uint32_t>(team.topology->nodes().size());
  team.shape = schedule::BlockShape(nodes, ranks_per_node);
  for (uint32_t v = 0; v < nodes; ++v) {
    team.names.push_back(team.topology->nodes()[v].name);
    team.order.push_back(v);
  }
  team.costs = std::make_unique<TeamCosts>(*TeamCosts::Create(team.names, *team.topology, parameters));
  return team;
}

Team MakeTeam(uint32_t nodes, const CostParameters& parameters, const topology::FlatCosts& flat,
              uint32_t ranks_per_node = 1) {
  std::vector<std::string> names;
  for (uint32_t v = 0; v < nodes; ++v) names.push_back(absl::StrCat("n", v));
  return MakeTeamOn(*topology::FlatTopology(names, flat), ranks_per_node, parameters);
}

schedule::Plan MakePlan(const Team& team, const std::string& algorithm, Collective collective, uint64_t bytes_max = 0,
                        uint32_t segment_bytes = 0) {
  return PlanOf(*BuildStructure(algorithm, team.order), collective, 0, bytes_max, segment_bytes);
}

Prediction PriceOrDie(const schedule::Plan& plan, const Team& team, const CallArguments& arguments) {
  return Price(plan, team.shape, *team.costs, arguments).value();
}

// Prices a call of `bytes` by an algorithm's plan for it.
Prediction PriceCall(const Team& team, const std::string& algorithm, Collective collective, uint64_t bytes = 0,
                     uint32_t segment_bytes = 0) {
  return PriceOrDie(MakePlan(team, algorithm, collective, bytes, segment_bytes), team,
                    {.collective = collective, .count = bytes});
}

// Puts all nodes on one host with these cores; 0: each node is its own host.
topology::FlatCosts OnOneHost(uint32_t cores, topology::FlatCosts flat = {}) {
  flat.cores = cores;
  flat.host = cores > 0 ? "box" : "";
  return flat;
}

// Returns figures that are easy to add up: send 100, receive 70, path 30 + 30; wake 1000; hop 10; descriptor 1.
topology::FlatCosts PlainFlat() {
  return {.overhead_ns = 100, .receive_overhead_ns = 70, .latency_ns = 30, .bandwidth_bytes_per_s = 1'000'000'000};
}
CostParameters Plain() {
  CostParameters parameters;
  parameters.wake_ns = parameters.takeover_ns = 1000;
  parameters.client_hop_ns = 10;
  parameters.arm_ns = 1;
  parameters.send_ps_per_byte = parameters.receive_ps_per_byte = 0;
  parameters.copy_ps_per_byte = parameters.alu_ps_per_byte = 0;
  return parameters;
}

TEST(PriceTest, BarrierOfTwoNodes) {
  const Team team = MakeTeam(2, Plain(), PlainFlat());
  const Prediction prediction = PriceCall(team, "flat", Collective::kBarrier);
  // Node 1 has 8 primitives: Start RecvLocal Wait SendTo RecvFrom Wait Release End; node 0 has 7.
  const int64_t sent_up = 10 + 1000 + 1 + 8 + 100;   // post, wake, take the rank, arm, send
  const int64_t at_root = sent_up + 60 + 1000 + 70;  // transfer, wake, receive
  const int64_t sent_down = at_root + 100;
  EXPECT_EQ(prediction.completion_ns[0], sent_down + 1000 + 10);
  EXPECT_EQ(prediction.completion_ns[1], sent_down + 60 + 1000 + 70 + 1000 + 10);
  EXPECT_EQ(prediction.total_ns, 4489);
}

TEST(PriceTest, WhoSpinsNeedsNoWake) {
  CostParameters parameters = Plain();
  parameters.spin_ns = 161;  // node 0 is idle from 1018 to 1179
  const Team team = MakeTeam(2, parameters, PlainFlat());
  const auto price = [](const Team& t) { return PriceCall(t, "flat", Collective::kBarrier).total_ns; };
  EXPECT_EQ(price(team), 4489 - 1000);
  parameters.spin_ns = 160;
  EXPECT_EQ(price(MakeTeam(2, parameters, PlainFlat())), 4489);
  parameters.spin_ns = 10'000;
  EXPECT_EQ(price(MakeTeam(2, parameters, PlainFlat())), 4489 - 3000);  // nor does rank 1
}

TEST(PriceTest, NobodySpinsOnACoreThatOthersWant) {
  CostParameters parameters = Plain();
  const topology::FlatCosts flat = OnOneHost(1, PlainFlat());
  const auto price = [&] {
    const Team team = MakeTeam(4, parameters, flat);
    return PriceCall(team, "flat", Collective::kBarrier).total_ns;
  };
  const int64_t sleeping = price();
  parameters.spin_ns = 1'000'000;
  const int64_t spinning = price();
  EXPECT_LE(spinning, sleeping);
  EXPECT_GT(spinning, sleeping - 4 * 1000);  // only a few wakes are saved
}

TEST(PriceTest, ACoreThatWasWaitedForNeedsATakeoverOnly) {
  CostParameters parameters = Plain();
  parameters.takeover_ns = 300;
  const topology::FlatCosts flat = OnOneHost(1, PlainFlat());
  const Team team = MakeTeam(2, parameters, flat);
  // Node 1's daemon waited for node 0's; rank 0 and node 1's packet did too (see CoresThatAreSharedSerialize).
  const int64_t all_wakes = 6457;
  const int64_t total = PriceCall(team, "flat", Collective::kBarrier).total_ns;
  EXPECT_LT(total, all_wakes);
  EXPECT_EQ((all_wakes - total) % 700, 0) << total;
}

TEST(PriceTest, RanksMayPostOneAfterAnother) {
  const Team team = MakeTeam(2, Plain(), PlainFlat());
  const schedule::Plan plan = MakePlan(team, "flat", Collective::kBarrier);
  const CallArguments barrier = {.collective = Collective::kBarrier};
  const auto late = Price(plan, team.shape, *team.costs, barrier, {.post_ns = {0, 50'000}}).value();
  EXPECT_EQ(late.total_ns, 50'000 + 4489);  // node 1 is on the path from its post on
  EXPECT_EQ(late.critical_path.front().start_ns, 50'000);
  EXPECT_THAT(Price(plan, team.shape, *team.costs, barrier, {.post_ns = {0}}),
              FailsWith(kInvalid, "posts=1", "ranks=2"));
  EXPECT_THAT(Price(plan, team.shape, *team.costs, barrier, {.post_ns = {0, -1}}), FailsWith(kInvalid, "ns=-1"));
}

CostParameters OneNsPerByte() {
  CostParameters parameters = Plain();
  parameters.send_ps_per_byte = parameters.receive_ps_per_byte = parameters.copy_ps_per_byte = 1000;
  return parameters;
}

TEST(PriceTest, BytesCostAtBothEndsAndOnTheLink) {
  const Team team = MakeTeam(2, OneNsPerByte(), PlainFlat());
  const Prediction prediction = PriceCall(team, "flat", Collective::kBcast, 1001);
  // Node 0: Start RecvLocal Wait SendTo Release End; node 1: Start RecvFrom Wait Deliver End.
  const int64_t sent = 10 + 1000 + 1 + 6 + 100 + 1001;
  EXPECT_EQ(prediction.completion_ns[0], sent + 1010);
  const int64_t arrived = sent + 60 + 1000;  // (1001 - 1) bytes at 1 GB/s
  EXPECT_EQ(prediction.completion_ns[1], arrived + 1000 + 70 + 1001 + /*it has landed*/ 0 + 1010);
  EXPECT_EQ(prediction.total_ns, 6259);
}

TEST(PriceTest, OnlyALeafsLoneRankNeedsNoCopy) {
  CostParameters free = OneNsPerByte();
  free.copy_ps_per_byte = 0;
  const auto copies_ns = [&](uint32_t ranks_per_node) {
    const auto total_ns = [&](const CostParameters& parameters) {
      const Team team = MakeTeam(2, parameters, PlainFlat(), ranks_per_node);
      return PriceCall(team, "flat", Collective::kBcast, 1001).total_ns;
    };
    return total_ns(OneNsPerByte()) - total_ns(free);
  };
  EXPECT_EQ(copies_ns(1), 0);
  EXPECT_EQ(copies_ns(2), 3 * 1001);  // from the root's buffer, and to each rank of node 1
}

TEST(PriceTest, SegmentsShareTheNode) {
  const Team team = MakeTeam(2, OneNsPerByte(), PlainFlat());
  const Prediction prediction = PriceCall(team, "flat", Collective::kBcast, 2000, 1000);
  const int64_t sent_0 = 10 + 1000 + 1 + 2 * 6 + 100 + 1000, sent_1 = sent_0 + 1100;
  EXPECT_EQ(prediction.completion_ns[0], sent_1 + 1010);
  const int64_t arrived_0 = sent_0 + 60 + 999;
  const int64_t landed_0 = arrived_0 + 1000 + 1070;
  EXPECT_GT(landed_0, sent_1 + 60 + 999);  // segment 1 has arrived already: no wake
  EXPECT_EQ(prediction.completion_ns[1], landed_0 + 1070 + 1010);
  EXPECT_EQ(prediction.total_ns, 7332);
}

TEST(PriceTest, ALinkCarriesOnePacketAtATime) {
  CostParameters parameters = Plain();
  parameters.wake_ns = 0;
  const Team team = MakeTeam(3, parameters, PlainFlat());
  const Prediction prediction = PriceCall(team, "flat", Collective::kReduce, 1001);
  const int64_t sent = 10 + 1 + 6 + 100;    // both leaves send
  const int64_t head_2 = sent + 30 + 1000;  // the second must let the first pass on the root's link
  EXPECT_EQ(prediction.completion_ns[0], head_2 + 30 + 1000 + 70 + 10);
  EXPECT_EQ(prediction.completion_ns[1], sent + 10);
}

TEST(PriceTest, LinksBetweenSwitchesAreShared) {
  // There are two racks of two nodes; 4 nodes reduce over the same uplink.
  const auto node = [](const char* name, uint32_t parent) { return topology::MakeNode(name, parent, PlainFlat()); };
  const auto topology =
      topology::Topology::Create(
          {{"core", topology::kNoParent, 0, 0}, {"r0", 0, 500, 100'000'000}, {"r1", 0, 500, 100'000'000}},
          {node("a", 1), node("b", 2), node("c", 2)})
          .value();
  CostParameters parameters = Plain();
  parameters.wake_ns = 0;
  const Team team = MakeTeamOn(std::move(topology), 1, parameters);
  const Prediction prediction = PriceCall(team, "flat", Collective::kReduce, 1001);
  const int64_t sent = 10 + 1 + 6 + 100;
  // The head of the second waits on r1's link for 1000 bytes at 100 MB/s; its tail is 10 us behind it.
  EXPECT_EQ(prediction.completion_ns[0], sent + 30 + 10'000 + 500 + 500 + 30 + 10'000 + 70 + 10);
}

TEST(PriceTest, CoresThatAreSharedSerialize) {
  const topology::FlatCosts flat = OnOneHost(1, PlainFlat());
  const Team team = MakeTeam(2, Plain(), flat);
  const Prediction prediction = PriceCall(team, "flat", Collective::kBarrier);
  const int64_t posted = 20;  // both ranks, one after the other
  const int64_t armed_0 = posted + 1000 + 1 + 7;
  const int64_t sent_up = armed_0 + 1000 + 1 + 8 + 100;  // node 1 had to wait for node 0
  const int64_t sent_down = sent_up + 60 + 1000 + 70 + 100;
  const int64_t done_0 = sent_down + 1000 + 10;  // rank 0 gets the core before node 1's packet arrives
  EXPECT_EQ(prediction.completion_ns[0], done_0);
  EXPECT_EQ(prediction.completion_ns[1], done_0 + 1000 + 70 + 1000 + 10);
  EXPECT_EQ(prediction.total_ns, 6457);
}

TEST(PriceTest, NodesOfOneHostOnlyShareItsCores) {
  topology::FlatCosts flat = PlainFlat();
  flat.cores = 2;  // each node its own host: a rank and a daemon fit
  const Team team = MakeTeam(2, Plain(), flat);
  EXPECT_EQ(PriceCall(team, "flat", Collective::kBarrier).total_ns, 4489);
}

// This holds as long as takeover_ns is not below wake_ns; otherwise waiting for a core can pay off.
TEST(PriceTest, FewerCoresAreNeverFaster) {
  CostParameters parameters;
  parameters.takeover_ns = parameters.wake_ns;
  for (const std::string algorithm : {"flat", "binomial", "knomial-4", "kary-2", "recursive-doubling"}) {
    int64_t before = 0;
    for (const uint32_t cores : {0u, 64u, 16u, 8u, 4u, 2u, 1u}) {
      const Team team = MakeTeam(16, parameters, OnOneHost(cores), 2);
      const int64_t total = PriceCall(team, algorithm, Collective::kAllreduce, 64).total_ns;
      EXPECT_GE(total, before) << algorithm << " on " << cores << " cores";
      before = total;
    }
  }
}

TEST(PriceTest, ALateLocalRankOnlyKeepsItself) {
  // Rank 1 is taken after the root rank; it gets its copy when it has arrived.
  const Team team = MakeTeam(1, OneNsPerByte(), PlainFlat(), 2);
  const Prediction prediction = PriceCall(team, "flat", Collective::kBcast, 100);
  // The sequence is Start RecvLocal Wait Copy Release Deliver End: rank 0 is free after the copy; then rank 1 is taken.
  const int64_t copied = 10 + 1000 + 1 + 7 + 100;
  EXPECT_EQ(prediction.completion_ns[0], copied + 1010);
  EXPECT_EQ(prediction.completion_ns[1], copied + 1 + 100 + 1010);
}

TEST(PriceTest, OperandsCostTheAlu) {
  CostParameters parameters = Plain();
  parameters.alu_ps_per_byte = 2000;
  const Team team = MakeTeam(1, parameters, PlainFlat(), 3);
  const Prediction prediction = PriceCall(team, "flat", Collective::kReduce, 50);
  // The sequence is Start, 3 RecvLocal, Wait, Reduce, Deliver, 2 Release, End; of three operands two are combined with
  // the first.
  EXPECT_EQ(prediction.completion_ns[0], 10 + 1000 + 1 + 10 + 2 * 1 + 2 * 50 * 2 + 1010);
}

// The MGO model for messages of one byte is RT_s += o_s; RT_r = RT_s + L_sr + o_r.
TEST(PriceTest, AgreesWithTheMgoModelOnShortBroadcasts) {
  Prng prng(5);
  CostParameters nothing = Plain();
  nothing.wake_ns = nothing.client_hop_ns = nothing.arm_ns = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<topology::Switch> switches = {{"core", topology::kNoParent, 0, 0}};
    for (uint32_t s = 1; s < 6; ++s) {
      switches.push_back({absl::StrCat("s", s), static_cast<uint32_t>(prng.Below(s)),
                          1 + static_cast<int64_t>(prng.Below(100'000)), 1 + static_cast<int64_t>(prng.Below(1000))});
    }
    std::vector<topology::Node> nodes(2 + prng.Below(30));
    for (size_t v = 0; v < nodes.size(); ++v) {
      nodes[v].name = absl::StrCat("n", v);
      nodes[v].parent = static_cast<uint32_t>(prng.Below(switches.size()));
      nodes[v].overhead_ns = 1 + static_cast<int64_t>(prng.Below(20'000));
      nodes[v].latency_ns = 1 + static_cast<int64_t>(prng.Below(10'000));
      nodes[v].bandwidth_bytes_per_s = 1 + static_cast<int64_t>(prng.Below(1000));
    }
    const Team team = MakeTeamOn(*topology::Topology::Create(switches, nodes), 1, nothing);
    for (const std::string algorithm : {"flat", "binomial", "knomial-3", "kary-2"}) {
      const schedule::Plan plan = MakePlan(team, algorithm, Collective::kBcast, 1);
      const uint32_t root = static_cast<uint32_t>(prng.Below(nodes.size()));
      const std::vector<uint32_t> parent = DirectFrom(plan.neighbors, root);
      std::vector<int64_t> free(nodes.size(), 0);
      std::vector<uint32_t> queue = {root};
      for (size_t i = 0; i < queue.size(); ++i) {
        const uint32_t s = queue[i];
        for (const uint32_t r : plan.neighbors[s]) {
          if (r == parent[s]) continue;
          free[s] += nodes[s].overhead_ns;
          free[r] = free[s] + team.topology->PathBetween(s, r).latency_ns + nodes[r].overhead_ns;
          queue.push_back(r);
        }
      }
      // A rank gets its data after its node has forwarded it.
      const std::vector<int64_t>& expected = free;
      const Prediction prediction =
          PriceOrDie(plan, team, {.collective = Collective::kBcast, .count = 1, .root = root});
      EXPECT_EQ(prediction.completion_ns, expected) << algorithm;
    }
  }
}

TEST(PriceTest, CriticalPathIsGaplessWithoutSharedCores) {
  const Team team = MakeTeam(13, {}, {}, 2);
  for (const std::string algorithm : {"flat", "knomial-3", "kary-2", "recursive-doubling"}) {
    const Prediction prediction = PriceCall(team, algorithm, Collective::kAllreduce, 16'384, 4096);
    ASSERT_FALSE(prediction.critical_path.empty());
    EXPECT_EQ(prediction.critical_path.front().what, "post");
    EXPECT_EQ(prediction.critical_path.back().what, "pick up");
    EXPECT_EQ(prediction.critical_path.back().end_ns, prediction.total_ns);
    int64_t now = 0;
    for (const PathStep& step : prediction.critical_path) {
      EXPECT_EQ(step.start_ns, now) << algorithm << " " << step.what;
      EXPECT_GE(step.end_ns, step.start_ns);
      now = step.end_ns;
    }
    EXPECT_EQ(prediction.total_ns, *std::max_element(prediction.completion_ns.begin(), prediction.completion_ns.end()));
  }
}

TEST(PriceTest, CriticalPathOnSharedCoresRunsForward) {
  const Team team = MakeTeam(9, {}, OnOneHost(2), 2);
  const Prediction prediction = PriceCall(team, "binomial", Collective::kBarrier);
  ASSERT_FALSE(prediction.critical_path.empty());
  int64_t now = 0;
  for (const PathStep& step : prediction.critical_path) {
    EXPECT_GE(step.start_ns, now);
    now = step.end_ns;
  }
  EXPECT_EQ(now, prediction.total_ns);
}

TEST(PriceTest, CriticalPathOfTwoNodesStepByStep) {
  const Team team = MakeTeam(2, Plain(), PlainFlat());
  const Prediction prediction = PriceCall(team, "flat", Collective::kBarrier);
  std::vector<std::string> steps;
  for (const PathStep& step : prediction.critical_path) {
    steps.push_back(absl::StrCat(step.rank.has_value() ? "rank" : "node", step.node.value(), " ", step.what));
  }
  EXPECT_THAT(steps,
              ::testing::ElementsAre("rank1 post", "node1 wake", "node1 take rank 1", "node1 arm", "node1 send",
                                     "node1 transfer", "node0 wake", "node0 receive", "node0 send", "node0 transfer",
                                     "node1 wake", "node1 receive", "rank1 wake", "rank1 pick up"));
}

TEST(PriceTest, TracingDoesNotChangeTimes) {
  for (const uint32_t cores : {0u, 2u}) {
    const Team team = MakeTeam(11, {}, OnOneHost(cores), 3);
    const schedule::Plan plan = MakePlan(team, "kary-3", Collective::kReduce, 65'536, 8192);
    const CallArguments arguments = {.collective = Collective::kReduce, .count = 65'536, .root = 17};
    const Prediction with = PriceOrDie(plan, team, arguments);
    const auto without = Price(plan, team.shape, *team.costs, arguments, {.critical_path = false}).value();
    EXPECT_EQ(with.completion_ns, without.completion_ns);
    EXPECT_TRUE(without.critical_path.empty());
    EXPECT_EQ(with.critical_path, PriceOrDie(plan, team, arguments).critical_path) << "deterministic";
  }
}

// Trees without segments, shared cores and sleep have no scheduling anomalies: a higher cost is never faster. (A daemon
// that works longer may save a wake.)
TEST(PriceTest, MoreCostIsNeverFaster) {
  const CallArguments arguments = {.collective = Collective::kAllreduce, .count = 1000};
  const auto price = [&](const std::string& algorithm, const CostParameters& parameters,
                         const topology::FlatCosts& flat) {
    const Team team = MakeTeam(23, parameters, flat);
    return PriceOrDie(MakePlan(team, algorithm, Collective::kAllreduce, 1000), team, arguments).total_ns;
  };
  for (const std::string algorithm : {"flat", "binomial", "knomial-4", "kary-3"}) {
    CostParameters awake;
    awake.wake_ns = 0;
    const int64_t base = price(algorithm, awake, {});
    EXPECT_GT(price(algorithm, {}, {}), base);
    CostParameters spins;
    spins.spin_ns = 1'000'000;
    EXPECT_LT(price(algorithm, spins, {}), price(algorithm, {}, {}));
    for (int64_t CostParameters::*field :
         {&CostParameters::client_hop_ns, &CostParameters::arm_ns, &CostParameters::send_ps_per_byte,
          &CostParameters::receive_ps_per_byte, &CostParameters::alu_ps_per_byte}) {
      CostParameters more = awake;
      more.*field *= 3;
      EXPECT_GT(price(algorithm, more, {}), base) << algorithm;
    }
    CostParameters copies = awake;
    copies.copy_ps_per_byte *= 3;
    EXPECT_GE(price(algorithm, copies, {}), base) << "leaves have no copies to make";
    for (int64_t topology::FlatCosts::*field : {&topology::FlatCosts::overhead_ns, &topology::FlatCosts::latency_ns}) {
      topology::FlatCosts more;
      more.*field *= 3;
      EXPECT_GT(price(algorithm, awake, more), base);
    }
    topology::FlatCosts narrow;
    narrow.bandwidth_bytes_per_s /= 100;
    EXPECT_GT(price(algorithm, awake, narrow), base);
  }
}

TEST(PriceTest, AnyRootHasAPrice) {
  const Team team = MakeTeam(7, {}, {}, 2);
  for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
    const schedule::Plan plan = MakePlan(team, "binomial", collective, 100);
    for (uint32_t root = 0; root < team.shape.size(); ++root) {
      EXPECT_GT(PriceOrDie(plan, team, {.collective = collective, .count = 100, .root = root}).total_ns, 0);
    }
  }
}

TEST(PriceTest, SixtyFourThousandNodesTakeSeconds) {
  const Team team = MakeTeam(65'536, {}, {});
  const std::clock_t start = std::clock();  // CPU time of this process: the machine may be busy
  for (const std::string algorithm : {"flat", "knomial-8"}) {
    const auto prediction = Price(MakePlan(team, algorithm, Collective::kAllreduce, 64), team.shape, *team.costs,
                                  {.collective = Collective::kAllreduce, .count = 64}, {.critical_path = false})
                                .value();
  }
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);
}

TEST(PriceTest, RefusesWhatDoesNotFit) {
  const Team team = MakeTeam(3, {}, {}), other = MakeTeam(4, {}, {});
  const schedule::Plan plan = MakePlan(team, "flat", Collective::kBcast, 100);
  const CallArguments arguments = {.collective = Collective::kBcast, .count = 100};
  EXPECT_THAT(Price(plan, other.shape, *other.costs, arguments), FailsWith(kInvalid, "nodes=3", "team=4"));
  EXPECT_THAT(Price(plan, team.shape, *other.costs, arguments), FailsWith(kInvalid, "nodes=3", "costs=4"));
  schedule::Plan bad = plan;
  bad.neighbors.pop_back();
  EXPECT_THAT(Price(bad, team.shape, *team.costs, arguments), FailsWith(kInvalid, "nodes=3", "rows=2"));
  bad = plan;
  bad.root_node = NodeIndex(3);
  EXPECT_THAT(Price(bad, team.shape, *team.costs, arguments), FailsWith(kInvalid, "root_node=3"));
  EXPECT_THAT(Price(plan, team.shape, *team.costs, {.collective = Collective::kBcast, .count = 1, .root = 3}),
              FailsWith(kInvalid, "root_node=0", "root=3"));
  EXPECT_THAT(Price(plan, team.shape, *team.costs, {.collective = Collective::kReduce, .count = 1}),
              FailsWith(kInvalid, "plan 0", "bcast", "reduce sum"));
  EXPECT_THAT(Price(plan, team.shape, *team.costs, {.collective = Collective::kBcast, .count = 101}),
              FailsWith(kInvalid, "bytes=101", "limit=0-100"));
  schedule::TeamShape empty_node = team.shape;
  empty_node.node_of_rank.pop_back();
  EXPECT_FALSE(Price(plan, empty_node, *team.costs, arguments).ok());
}

TEST(PriceTest, TellsOfPlansThatCannotRun) {
  const Team team = MakeTeam(2, {}, {});
  schedule::Plan plan = MakePlan(team, "dissemination", Collective::kBarrier);
  const auto price = [&] {
    return Price(plan, team.shape, *team.costs, {.collective = Collective::kBarrier}).status();
  };
  plan.steps = {{{.round = 1, .receive_from = 1}}, {}};
  EXPECT_THAT(price(), FailsWith(absl::StatusCode::kFailedPrecondition, "node 0", "segment=0", "wait=1"));
  plan.steps = {{}, {{.round = 1, .send_to = 0}}};
  EXPECT_THAT(price(), FailsWith(absl::StatusCode::kFailedPrecondition, "node 0", "from=1", "phase=1"));
  plan.steps = {{{.round = 1, .receive_from = 1}}, {{.round = 1, .send_to = 0}, {.round = 1, .send_to = 0}}};
  EXPECT_THAT(price(), FailsWith(absl::StatusCode::kFailedPrecondition, "node 0", "segment=0"));
  plan.steps = {{}, {{.round = 1, .send_to = 2}}};
  EXPECT_THAT(price(), FailsWith(absl::StatusCode::kFailedPrecondition, "node 1", "to=2"));
}

TEST(PriceTest, RefusesTimesBeyondItsRange) {
  const Team team = MakeTeam(20'000, {}, {.bandwidth_bytes_per_s = 1});
  const auto prediction = Price(MakePlan(team, "flat", Collective::kBcast, 65'536, 8192), team.shape, *team.costs,
                                {.collective = Collective::kBcast, .count = 65'536}, {.critical_path = false});
  EXPECT_EQ(prediction.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(prediction,
              FailsWith(absl::StatusCode::kOutOfRange, "ns=1310486281008012198", "limit=1152921504606846976"));
}

}  // namespace
}  // namespace copse::planner
