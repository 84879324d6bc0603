// SPDX-License-Identifier: Apache-2.0
//
// Links of a node go away, and come back, under teams of daemons that talk over Copse's own TCP. No team breaks if they
// come back within node_timeout. Needs root and TUN. COPSE_OUTAGE_SECONDS is how long an outage lasts.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/steady_load.h"
#include "integration_tests/scenarios/scenarios.h"
#include "testbed/netns/test_network.h"

namespace copse::procs {
namespace {

using copse::testing::IsOk;

constexpr absl::Duration kPatience = absl::Seconds(60);
// Calls go on so soon after the links are back: TCP tries to connect again after 1, 3 and 7 s, and so on.
constexpr absl::Duration kRecovers = absl::Seconds(8);
constexpr uint32_t kCut = 2;  // node
// Frames of both lanes.
const CallArguments kShort{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
const CallArguments kLong{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 32768};

// With daemons on four nodes, and a team of them all beside one that does without the node that is cut off.
class OutageTest : public ClusterFixture {
 protected:
  explicit OutageTest(ProcessClusterOptions options) : ClusterFixture(std::move(options)) {}

  void SetUp() override {
    if (const absl::Status possible = netns::CheckNamespaces(true); !possible.ok()) GTEST_SKIP() << possible.message();
    ASSERT_THAT(cluster_.Start({.nodes = 4, .node_timeout = lasts_ + absl::Seconds(20)}), IsOk());
    all_.emplace(&cluster_, LoadOf("all", {0, 1, 2, 3}));
    others_.emplace(&cluster_, LoadOf("others", {0, 1, 3}));
    ExpectAllProgress(kPatience);
  }
  SteadyLoadOptions LoadOf(std::string team, std::vector<uint32_t> nodes) const {
    constexpr absl::Duration kPause = absl::Milliseconds(5);
    return {.team = std::move(team),
            .nodes = std::move(nodes),
            .calls = {kShort, kLong},
            .pause = kPause,
            .rounds = static_cast<size_t>((lasts_ + kPatience) / kPause / 2)};
  }
  void ExpectAllProgress(absl::Duration patience) {
    others_->ExpectProgress(patience);
    all_->ExpectProgress(patience);
  }
  // What is left of the outage, during which those that do not need the node go on.
  void PassOutage(absl::Time since) {
    cluster_.Pass(since + lasts_ - cluster_.Now());
    others_->ExpectProgress(kPatience);
  }
  // The links are back.
  void ExpectRecovery() {
    const absl::Time back = cluster_.Now();
    all_->ExpectProgress(kRecovers);
    RecordProperty("recovered_ms", static_cast<int>(absl::ToInt64Milliseconds(cluster_.Now() - back)));
    EXPECT_THAT(cluster_.AwaitNodeState(kCut, "ready", kPatience), IsOk());
    scenario::ExpectAllSucceed(&cluster_, scenario::TeamPrograms("new", {0, 1, 2, 3}, {kShort, kLong}, 1), kPatience);
    ExpectAllProgress(kPatience);
  }
  void TearDown() override {
    if (all_.has_value()) all_->End();
    if (others_.has_value()) others_->End();
    ClusterFixture::TearDown();
  }

  const absl::Duration lasts_ = absl::Seconds(FromEnvironment("COPSE_OUTAGE_SECONDS", 5));
  std::optional<SteadyLoad> all_, others_;
};

// A fabric drops what comes from the node, and what is for it. The planner sees nothing of it.
class DroppedPacketsTest : public OutageTest {
 protected:
  DroppedPacketsTest() : OutageTest({.one_switch_fabric = true, .transport = "tcp"}) {}
};

TEST_F(DroppedPacketsTest, AnOutageOfTheDataLinkBreaksNoTeam) {
  const absl::Time since = cluster_.Now();
  ASSERT_THAT(cluster_.SetDataLink(kCut, false), IsOk());
  PassOutage(since);
  ASSERT_THAT(cluster_.SetDataLink(kCut, true), IsOk());
  ExpectRecovery();
}

TEST_F(DroppedPacketsTest, ALinkThatFlapsBreaksNoTeam) {
  for (const absl::Time since = cluster_.Now(); cluster_.Now() < since + lasts_;) {
    for (const bool up : {false, true}) {
      ASSERT_THAT(cluster_.SetDataLink(kCut, up), IsOk());
      cluster_.Pass(absl::Milliseconds(400));
    }
  }
  ExpectRecovery();
}

// The node's devices are down: its daemon cannot even send. The planner gives the node up for as long as it is away.
class LinksDownTest : public OutageTest {
 protected:
  LinksDownTest()
      : OutageTest({.planner_settings = {{"node_timeout", "2s"}}, .one_switch_fabric = true, .transport = "tcp"}) {}

  void SetLinks(bool up) {
    for (const char* device : {netns::kControlDevice, netns::kDataDevice}) {
      ASSERT_THAT(cluster_.network()->SetLink(kCut, device, up), IsOk());
    }
  }
};

TEST_F(LinksDownTest, AnOutageOfAllLinksBreaksNoTeam) {
  const absl::Time since = cluster_.Now();
  ASSERT_NO_FATAL_FAILURE(SetLinks(false));
  EXPECT_THAT(cluster_.AwaitNodeState(kCut, "away", kPatience), IsOk());
  PassOutage(since);
  ASSERT_NO_FATAL_FAILURE(SetLinks(true));
  ExpectRecovery();
}

}  // namespace
}  // namespace copse::procs
