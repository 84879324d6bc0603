// SPDX-License-Identifier: Apache-2.0
//
// The cluster changes while a team calls: it is switched to new plans, and no call is lost or wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/processes/admin_client.h"

namespace copse::procs {
namespace {

using scenario::TeamPrograms;

constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr uint32_t kNodes = 6;
// How long a team calls depends on the machine: what must happen meanwhile may need several.
constexpr int kTeamsMax = 50;

// One node is far away.
std::string FarAway(uint32_t node) {
  std::string text = "version: 1\nswitches: [{name: core}, {name: far, parent: core, latency: 50ms}]\nnodes:\n";
  for (uint32_t n = 0; n < kNodes; ++n) {
    absl::StrAppend(&text, "  - {name: n", n, ", switch: ", n == node ? "far" : "core", "}\n");
  }
  return text;
}

class ReplanTest : public ClusterFixture {
 protected:
  // Teams one after the other, whose ranks make calls of every kind and check them, while `change` is called with 0, 1,
  // ... until the team is over; no further team once there was `enough`.
  void CallWhile(const std::function<void(int)>& change, const std::function<bool()>& enough) {
    std::vector<CallArguments> calls;
    for (int i = 0; i < 400; ++i) {
      calls.push_back({.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6});
      calls.push_back({.collective = Collective::kBarrier});
      calls.push_back({.collective = Collective::kBcast,
                       .type = ElementType::kDouble,
                       .count = 500,
                       .root = static_cast<uint32_t>(i) % kNodes});
      calls.push_back({.collective = Collective::kReduce,
                       .type = ElementType::kInt32,
                       .op = ElementOp::kMin,
                       .count = 3000,
                       .root = static_cast<uint32_t>(i) % kNodes});
    }
    int changes = 0;
    for (int team = 0; team < kTeamsMax && !enough() && !HasFailure(); ++team) {
      const std::string name = absl::StrCat("team", team);
      std::atomic<bool> over = false;
      std::thread changing([&] {
        // A node that drains takes no part in new teams.
        while (!over && Epoch(name) == 0) {
        }
        while (!over) change(changes++);
      });
      scenario::ExpectAllSucceed(&cluster_, TeamPrograms(name, {0, 1, 2, 3, 4, 5}, calls, 1), kPatience);
      over = true;
      changing.join();
      EXPECT_TRUE(cluster_.admin().DrainNode("n2", true, kPatience).ok());
    }
    EXPECT_TRUE(enough()) << "after " << changes << " changes beside " << kTeamsMax << " teams";
  }
  // 0: the team is not ready.
  uint32_t Epoch(const std::string& name) {
    const auto teams = cluster_.admin().ListTeams(kPatience);
    if (!teams.ok()) return 0;
    for (const v1::TeamRow& team : teams->teams()) {
      if (team.name() == name && team.state() == "ready") return team.epoch();
    }
    return 0;
  }
};

TEST_F(ReplanTest, ImportedTopologiesSwitchARunningTeam) {
  ASSERT_TRUE(cluster_.Start({.nodes = kNodes}).ok());
  int replanned = 0;
  CallWhile(
      [&](int i) {
        const auto reply = cluster_.admin().ImportTopology(FarAway(static_cast<uint32_t>(i) % kNodes), kPatience);
        ASSERT_TRUE(reply.ok()) << reply.status();
        replanned += reply->replanned_size();
      },
      [&] { return replanned >= 2; });
}

TEST_F(ReplanTest, ADrainedNodeAndAProbeDisturbNobody) {
  ASSERT_TRUE(cluster_.Start({.nodes = kNodes}).ok());
  int changes = 0;
  CallWhile(
      [&](int i) {
        if (i % 3 == 2) {
          v1::ProbeTopologyRequest request;
          request.set_seconds(5);
          request.set_apply(true);
          const auto probed = cluster_.admin().ProbeTopology(request, kPatience);
          ASSERT_TRUE(probed.ok()) << probed.status();
          EXPECT_TRUE(probed->applied());
        } else {
          const absl::Status drained = cluster_.admin().DrainNode("n2", i % 3 == 1, kPatience);
          EXPECT_TRUE(drained.ok()) << drained;
        }
        ++changes;
      },
      [&] { return changes >= 3; });
}

}  // namespace
}  // namespace copse::procs
