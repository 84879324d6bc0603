// SPDX-License-Identifier: Apache-2.0
//
// Real daemons measure between them: what comes of it, and what does not while some of them are down.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/processes/admin_client.h"

namespace copse::procs {
namespace {

using copse::testing::Names;

using copse::testing::FailsWith;

using scenario::TeamPrograms;

constexpr absl::Duration kPatience = absl::Seconds(120);
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

class ProbeTest : public ClusterFixture {
 protected:
  absl::StatusOr<v1::ProbeTopologyReply> Probe(const std::string& tree, double seconds = 60) {
    v1::ProbeTopologyRequest request;
    request.set_tree(tree);
    request.set_seconds(seconds);
    return cluster_.admin().ProbeTopology(request, kPatience);
  }
  absl::Status ProbeNodes(const std::vector<std::string>& nodes) {
    v1::ProbeTopologyRequest request;
    for (const std::string& node : nodes) request.add_nodes(node);
    return cluster_.admin().ProbeTopology(request, kPatience).status();
  }
};

TEST_F(ProbeTest, OneMachineIsOneSwitchAndCallsGoOn) {
  ASSERT_TRUE(cluster_.Start({.nodes = 4}).ok());
  absl::StatusOr<v1::ProbeTopologyReply> reply = absl::UnknownError("");
  std::thread probe([&] { reply = Probe("find"); });
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("busy", {0, 1, 2, 3}, std::vector<CallArguments>(2'000, kSum), 1),
                             kPatience);
  probe.join();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->tree(), "found");
  EXPECT_EQ(reply->pairs_size(), 6);
  for (const v1::ProbedPairRow& pair : reply->pairs()) {
    EXPECT_TRUE(pair.measured()) << pair.from() << " " << pair.to() << ": " << pair.why();
    EXPECT_LT(pair.latency_ns(), 20e6);
  }
  EXPECT_EQ(reply->nodes_size(), 4);
  for (const v1::ProbedNodeRow& node : reply->nodes()) {
    EXPECT_TRUE(node.measured());
    EXPECT_GT(node.overhead_ns(), 50) << "no message is sent for nothing";
    EXPECT_LT(node.overhead_ns(), 5e6);
  }
  const auto topology = topology::ParseTopologyYaml(reply->topology(), "probe");
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->nodes().size(), 4u);
  double fastest = 0;
  for (const v1::ProbedPairRow& pair : reply->pairs()) fastest = std::max(fastest, pair.bandwidth_bps());
  EXPECT_GT(fastest, 20e6) << "loopback";
}

TEST_F(ProbeTest, AStoppedDaemonIsMissingAndBreaksNobody) {
  ASSERT_TRUE(cluster_.Start({.nodes = 4, .node_timeout = absl::Seconds(60)}).ok());
  cluster_.StopDaemon(3);
  const absl::Time began = absl::Now();
  const auto reply = Probe("find");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_LT(absl::Now() - began, absl::Seconds(60));
  std::set<std::string> in_tree;
  for (const v1::ProbedNodeRow& node : reply->nodes()) in_tree.insert(node.name());
  EXPECT_EQ(in_tree, (std::set<std::string>{"n0", "n1", "n2"}));
  ASSERT_EQ(reply->notes_size(), 1);
  EXPECT_THAT(reply->notes(0), Names("node n3", "missing=3"));
  cluster_.ContinueDaemon(3);
  // On a busy machine the daemon may take longer than a pair's time limit to work off what it has missed.
  absl::StatusOr<v1::ProbeTopologyReply> again = absl::UnknownError("");
  for (int tries = 0; tries < 5 && !(again.ok() && again->notes_size() == 0); ++tries) again = Probe("find");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->nodes_size(), 4);
  EXPECT_EQ(again->notes_size(), 0);
}

TEST_F(ProbeTest, ADaemonThatDiesMeanwhileIsAPartialResult) {
  ASSERT_TRUE(cluster_.Start({.nodes = 5}).ok());
  absl::StatusOr<v1::ProbeTopologyReply> reply = absl::UnknownError("");
  std::thread probe([&] { reply = Probe("find"); });
  // Whenever it hits: the probe ends, and knows the others.
  cluster_.KillDaemon(4);
  probe.join();
  ASSERT_TRUE(reply.ok()) << reply.status();
  std::set<std::string> in_tree;
  for (const v1::ProbedNodeRow& node : reply->nodes()) in_tree.insert(node.name());
  for (const char* node : {"n0", "n1", "n2", "n3"}) EXPECT_EQ(in_tree.count(node), 1u) << node;
}

TEST_F(ProbeTest, RefusesWhatMakesNoSense) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  EXPECT_THAT(Probe("known").status(), FailsWith(absl::StatusCode::kFailedPrecondition, "probe: ", "tree=known"));
  EXPECT_THAT(Probe("bush").status(), FailsWith(absl::StatusCode::kInvalidArgument, "probe: ", "tree=bush"));
  EXPECT_THAT(Probe("find", -1).status(),
              FailsWith(absl::StatusCode::kInvalidArgument, "probe: ", "seconds=-1", "limit=3600"));
  EXPECT_THAT(ProbeNodes({"n0", "n7"}), FailsWith(absl::StatusCode::kNotFound, "probe: node n7"));
  EXPECT_THAT(ProbeNodes({"n0", "n0"}),
              FailsWith(absl::StatusCode::kFailedPrecondition, "probe: ", "nodes=1", "limit=2"));
  cluster_.KillDaemon(1);
  ASSERT_TRUE(cluster_.AwaitNodeState(1, "away", absl::Seconds(60)).ok());
  EXPECT_THAT(ProbeNodes({"n0", "n1"}), FailsWith(absl::StatusCode::kUnavailable, "probe: node n1"));
  EXPECT_EQ(Probe("").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace copse::procs
