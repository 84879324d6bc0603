// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/topology_probe.h"

#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/fake_clock.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/testing/fake_plan_maker.h"
#include "planner/measure/switch_search.h"
#include "planner/measure/testing/random_tree.h"
#include "planner/measure/testing/same_tree.h"

namespace copse::planner {
namespace {

using coordinator::SessionId;
using testing::FailsWith;
using testing::Names;
using topology::Topology;

constexpr int64_t kOverheadNs = 1'500;

// TopologyProbeTest has a coordinator whose daemons measure in a known cluster: session i + 1 is that of node i.
class TopologyProbeTest : public ::testing::Test, public coordinator::SessionSink {
 protected:
  void Begin(const Topology& cluster) {
    truth = std::make_unique<Topology>(cluster);
    coordinator = std::make_unique<coordinator::Coordinator>(&clock, &store, &plan_maker, this,
                                                             coordinator::CoordinatorOptions{});
    ASSERT_TRUE(coordinator->Start().ok());
    for (SessionId session = 1; session <= truth->nodes().size(); ++session) {
      schedule::NodeAnnouncement node{.name = NameOf(session), .incarnation = Incarnation(session)};
      node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
      coordinator->OnConnected(session);
      coordinator->OnMessage(session, schedule::Register{.node = node, .teams = {}});
    }
    asked.clear();
  }
  const std::string& NameOf(SessionId session) const { return truth->nodes()[session - 1].name; }

  void Send(SessionId session, const schedule::ToDaemon& message) override {
    const auto* query = std::get_if<schedule::MeasureQuery>(&message);
    if (query == nullptr || !query->active) return;
    asked.emplace_back(session, *query);
    at_once_max = std::max(at_once_max, asked.size());
  }
  void Close(SessionId, const std::string&) override {}

  ProbeOptions Options(bool known) const {
    ProbeOptions options;
    if (known) {
      std::vector<topology::Switch> switches = truth->switches();
      std::vector<topology::Node> nodes = truth->nodes();
      for (topology::Switch& s : switches) s.latency_ns = 77, s.bandwidth_bytes_per_s = 77'000;
      for (topology::Node& n : nodes) n.latency_ns = 77, n.bandwidth_bytes_per_s = 77'000;
      topology::CostParameters costs;
      costs.wake_ns = 0;
      options.tree = *Topology::Create(switches, nodes, costs);
    }
    for (const topology::Node& node : truth->nodes()) options.nodes.push_back(node.name);
    options.costs.wake_ns = 0;
    return options;
  }

  // Disturbance changes one measurement of a pair.
  struct Disturbance {
    int64_t slower = 1;     // factor on the time
    int64_t longer_ns = 0;  // each way
    bool fails = false;
  };

  // Answers for the daemon after `took`. `mute` daemons send nothing, and `broken` ones report that they cannot
  // connect.
  void Answer(absl::Duration took) {
    clock.Advance(took);
    const auto [session, query] = asked.front();
    asked.pop_front();
    ++measured;
    if (mute.count(NameOf(session)) != 0) return;
    schedule::MeasureReply reply{.query = query.query};
    Disturbance now;
    std::deque<Disturbance>& script = scripts[{NameOf(session), query.peer.name}];
    ++times[{NameOf(session), query.peer.name}];
    if (!script.empty()) {
      now = script.front();
      script.pop_front();
    }
    if (now.fails || mute.count(query.peer.name) != 0 || broken.count({NameOf(session), query.peer.name}) != 0) {
      reply.why = {schedule::Failure::kTimedOut, "no answer within 5s"};
      coordinator->OnMessage(session, reply);
      return;
    }
    const topology::Path path =
        truth->PathBetween(static_cast<uint32_t>(session - 1), *truth->FindNode(query.peer.name));
    const int64_t wakes = 2 * path.latency_ns + 4 * kOverheadNs > 200'000 ? wake_ns : 0;
    reply.pings = query.pings;
    reply.round_trip_ns = 2 * (path.latency_ns + now.longer_ns + wakes) + 4 * kOverheadNs;
    reply.round_trip_median_ns = reply.round_trip_ns + 2'000;
    reply.send_ns = reply.receive_ns = reply.peer_send_ns = reply.peer_receive_ns = kOverheadNs;
    if (query.bulk_bytes_max > 0) {
      reply.bulk_bytes = static_cast<uint64_t>(path.bandwidth_bytes_per_s / 10 / now.slower);
      reply.bulk_ns = 100'000'000;
      reply.bulk_steady = true;
    }
    coordinator->OnMessage(session, reply);
  }

  // Runs until the probe has reported; the clock advances where no daemon answers.
  absl::StatusOr<ProbeReport> Run(ProbeOptions options, absl::Duration took = absl::Milliseconds(1)) {
    absl::StatusOr<ProbeReport> report = absl::UnknownError("no report");
    bool reported = false;
    TopologyProbe probe(&clock, coordinator.get(), std::move(options), [&](const absl::StatusOr<ProbeReport>& got) {
      EXPECT_FALSE(reported);
      reported = true;
      report = got;
    });
    probe.Start();
    for (int i = 0; i < 100'000 && !reported; ++i) {
      if (!asked.empty()) {
        Answer(took);
      } else {
        clock.AdvanceTo(std::max(clock.Now(), coordinator->NextDeadline()));
        coordinator->Tick(clock.Now());
      }
    }
    return report;
  }

  FakeClock clock;
  coordinator::MemoryStore store;
  coordinator::FakePlanMaker plan_maker;
  std::unique_ptr<Topology> truth;
  std::unique_ptr<coordinator::Coordinator> coordinator;
  std::deque<std::pair<SessionId, schedule::MeasureQuery>> asked;
  size_t at_once_max = 0, measured = 0;
  std::set<std::string> mute;
  std::set<std::pair<std::string, std::string>> broken;
  std::map<std::pair<std::string, std::string>, std::deque<Disturbance>> scripts;  // consumed one after the other
  std::map<std::pair<std::string, std::string>, int> times;                        // number of measurements
  int64_t wake_ns = 0;
};

TEST_F(TopologyProbeTest, AKnownTreeGetsItsFigures) {
  measure::ForRandomTrees(30, 3, [&](const Topology& cluster, Prng*) {
    Begin(cluster);
    at_once_max = measured = 0;
    const auto report = Run(Options(true)).value();
    EXPECT_EQ(report.topology.nodes().size(), truth->nodes().size());
    for (uint32_t n = 0; n < truth->nodes().size(); ++n) {
      EXPECT_NEAR(report.topology.nodes()[n].latency_ns, truth->nodes()[n].latency_ns, 200);
      EXPECT_LE(report.topology.nodes()[n].bandwidth_bytes_per_s, truth->nodes()[n].bandwidth_bytes_per_s);
      EXPECT_EQ(report.topology.nodes()[n].overhead_ns, kOverheadNs);
      EXPECT_EQ(report.topology.nodes()[n].receive_overhead_ns, kOverheadNs);
    }
    EXPECT_TRUE(report.notes.empty());
    EXPECT_LE(report.fit.latency_error_ns_max, 200);
    EXPECT_LT(measured, 4 * (truth->nodes().size() + truth->switches().size()));
    EXPECT_LE(at_once_max, 4u);
  });
}

TEST_F(TopologyProbeTest, ATreeIsFound) {
  int same = 0;
  measure::ForRandomTrees(20, 2, [&](const Topology& cluster, Prng*) {
    Begin(cluster);
    if (truth->nodes().size() > measure::kAllPairsNodesMax) return;
    const auto report = Run(Options(false)).value();
    same += measure::SameTree(report.topology, *truth);
    for (const ProbedPair& pair : report.pairs) EXPECT_TRUE(pair.measured);
  });
  EXPECT_GE(same, 19);
}

TEST_F(TopologyProbeTest, InALargeClusterSomeStandForTheRest) {
  // The cluster has five racks of 20.
  std::vector<topology::Switch> switches = {{.name = "core"}};
  std::vector<topology::Node> nodes;
  for (uint32_t rack = 1; rack <= 5; ++rack) {
    switches.push_back({.name = absl::StrCat("rack", rack),
                        .parent = 0,
                        .latency_ns = 50'000,
                        .bandwidth_bytes_per_s = 1'250'000'000});
    for (int i = 0; i < 20; ++i) {
      nodes.push_back({.name = absl::StrCat("n", nodes.size()),
                       .parent = rack,
                       .overhead_ns = 1,
                       .latency_ns = 5'000,
                       .bandwidth_bytes_per_s = 1'250'000'000});
    }
  }
  Begin(*Topology::Create(switches, nodes));
  const auto report = Run(Options(false)).value();
  EXPECT_TRUE(measure::SameTree(report.topology, *truth));
  EXPECT_LT(measured, 1'800u) << "of 4950 pairs";
  for (const topology::Node& node : report.topology.nodes()) EXPECT_NEAR(node.latency_ns, 5'000, 200);
}

TEST_F(TopologyProbeTest, WakesOfLongWaitsAreNoLatency) {
  Begin(*topology::FlatTopology({"a", "b", "c"}, {.latency_ns = 400'000}));
  wake_ns = 30'000;
  ProbeOptions options = Options(false);
  options.costs.wake_ns = 30'000;
  const auto report = Run(options).value();
  for (const topology::Node& node : report.topology.nodes()) EXPECT_NEAR(node.latency_ns, 400'000, 100);
  EXPECT_EQ(report.topology.costs().wake_ns, 30'000);
}

TEST_F(TopologyProbeTest, ASilentNodeIsLeftOutOfTheTree) {
  Begin(*topology::FlatTopology({"a", "b", "c", "d"}, {.latency_ns = 10'000}));
  mute = {"c"};
  const auto report = Run(Options(false)).value();
  EXPECT_EQ(report.topology.nodes().size(), 3u);
  EXPECT_FALSE(report.topology.FindNode("c").has_value());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "node c is left out: not measured to all others (pairs missing=3)");
}

TEST_F(TopologyProbeTest, ASilentNodeOfAKnownTreeKeepsItsFigures) {
  Begin(*topology::FlatTopology({"a", "b", "c", "d"}, {.latency_ns = 10'000}));
  mute = {"d"};
  const auto report = Run(Options(true)).value();
  EXPECT_EQ(report.topology.nodes()[3].latency_ns, 77);
  EXPECT_EQ(report.fit.nodes[3].latency_doubt, measure::LatencyDoubt::kUnmeasured);
  EXPECT_FALSE(report.nodes[3].measured);
  EXPECT_NEAR(report.topology.nodes()[0].latency_ns, 10'000, 10);
  size_t failed = 0;
  for (const ProbedPair& pair : report.pairs) {
    if (pair.measured) continue;
    ++failed;
    EXPECT_THAT(pair.why, ::testing::AnyOf(Names("node d"), Names("within 5s")));
  }
  EXPECT_GE(failed, 1u);
}

// Returns two fast nodes and two slow ones: a single pair determines the rate of the fast ones.
Topology TwoFastNodes() {
  const auto node = [](const char* name, int64_t rate) {
    return topology::Node{.name = name, .overhead_ns = 1, .latency_ns = 10'000, .bandwidth_bytes_per_s = rate};
  };
  return *Topology::Create({{.name = "core"}}, {node("a", 1'000'000'000), node("b", 1'000'000'000),
                                                node("c", 10'000'000), node("d", 10'000'000)});
}

TEST_F(TopologyProbeTest, APairThatAloneTellsARateIsMeasuredTwice) {
  const Disturbance stalled{.slower = 5, .longer_ns = 400'000}, dead{.slower = 1'000, .longer_ns = 400'000};
  // The pair is disturbed the first time, so much that other pairs across its links are faster, the second time, or
  // never.
  for (const std::deque<Disturbance>& script : {std::deque<Disturbance>{stalled}, {dead}, {{}, stalled}, {}}) {
    Begin(TwoFastNodes());
    times.clear();
    measured = 0;
    scripts[{"a", "b"}] = script;
    const auto report = Run(Options(true)).value();
    for (const uint32_t fast : {0, 1}) {
      EXPECT_EQ(report.topology.nodes()[fast].bandwidth_bytes_per_s, 1'000'000'000);
      EXPECT_NEAR(report.topology.nodes()[fast].latency_ns, 10'000, 10);
    }
    EXPECT_EQ((times[{"a", "b"}]), 2);
    EXPECT_EQ(measured, times.size() + 1) << "the others once";
    EXPECT_TRUE(report.notes.empty());
  }
}

TEST_F(TopologyProbeTest, WithoutItsSecondMeasurementAPairKeepsItsFirst) {
  Begin(TwoFastNodes());
  scripts[{"a", "b"}] = {{.slower = 2}, {.fails = true}};
  ProbeReport report = Run(Options(true)).value();
  EXPECT_EQ(report.topology.nodes()[0].bandwidth_bytes_per_s, 500'000'000);
  EXPECT_EQ((times[{"a", "b"}]), 2) << "not once more";
  for (const ProbedPair& pair : report.pairs) EXPECT_TRUE(pair.measured) << pair.why;

  ProbeOptions options = Options(true);
  options.budget = absl::Seconds(times.size());
  scripts[{"a", "b"}] = {{.slower = 2}};
  report = Run(options, absl::Seconds(1)).value();
  EXPECT_EQ(report.topology.nodes()[0].bandwidth_bytes_per_s, 500'000'000);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], Names("left=1"));
}

TEST_F(TopologyProbeTest, ANodeThatIsLostMeanwhileIsPartOfTheResult) {
  Begin(*topology::FlatTopology({"a", "b", "c", "d"}, {.latency_ns = 10'000}));
  absl::StatusOr<ProbeReport> report = absl::UnknownError("");
  TopologyProbe probe(&clock, coordinator.get(), Options(true),
                      [&](const absl::StatusOr<ProbeReport>& got) { report = got; });
  probe.Start();
  Answer(absl::Milliseconds(1));
  coordinator->OnDisconnected(4);
  while (!asked.empty()) Answer(absl::Milliseconds(1));
  ASSERT_TRUE(report.ok()) << report.status();
  bool told = false;
  for (const ProbedPair& pair : report->pairs) told |= !pair.measured && testing::NamesThing(pair.why, "node d");
  EXPECT_TRUE(told);
}

TEST_F(TopologyProbeTest, WhenTheTimeIsOverWhatIsThereIsReported) {
  Prng prng(5);
  Begin(measure::RandomTree(&prng, 3));
  ProbeOptions options = Options(true);
  options.budget = absl::Seconds(10);
  const auto report = Run(options, absl::Seconds(1)).value();
  EXPECT_GE(report.pairs.size(), 10u);
  EXPECT_LE(report.pairs.size(), 10u + options.pairs_at_once + 4);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], Names("left="));
  options = Options(false);
  options.budget = absl::Seconds(1);
  const auto none = Run(options, absl::Seconds(1));
  EXPECT_TRUE(none.ok() || absl::IsDeadlineExceeded(none.status())) << none.status();
}

TEST_F(TopologyProbeTest, NothingMeasuredIsAnError) {
  Begin(*topology::FlatTopology({"a", "b", "c"}));
  mute = {"a", "b", "c"};
  for (const bool known : {true, false}) {
    const auto report = Run(Options(known));
    EXPECT_TRUE(absl::IsDeadlineExceeded(report.status())) << report.status();
  }
  ProbeOptions one = Options(true);
  one.nodes = {"a"};
  EXPECT_THAT(Run(one), FailsWith(absl::StatusCode::kFailedPrecondition, "probe", "nodes=1", "limit=2"));
}

TEST_F(TopologyProbeTest, OnlyAskedNodesTakePart) {
  Begin(*topology::FlatTopology({"a", "b", "c", "d"}, {.latency_ns = 10'000}));
  ProbeOptions options = Options(true);
  options.nodes = {"a", "b", "d"};
  const auto report = Run(options).value();
  EXPECT_EQ(report.topology.nodes().size(), 4u);
  EXPECT_EQ(report.topology.nodes()[2].latency_ns, 77);
  EXPECT_NEAR(report.topology.nodes()[3].latency_ns, 10'000, 10);
  EXPECT_EQ(measured, 3u) << "all pairs of the three";
}

}  // namespace
}  // namespace copse::planner
