// SPDX-License-Identifier: Apache-2.0
//
// The management network is away, and the planner is stopped or replaced, under jobs that need neither.
// COPSE_ABSENCE_SECONDS is how long each absence lasts, COPSE_ABSENCE_TIMES how many follow one another.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/steady_load.h"
#include "testbed/netns/test_network.h"

namespace copse::procs {
namespace {

using copse::testing::IsOk;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint32_t kNodes = 4;
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
constexpr absl::Duration kBetweenCalls = absl::Milliseconds(20);

class AbsenceTest : public NetnsFixture {
 protected:
  void SetUp() override {
    NetnsFixture::SetUp();
    if (IsSkipped()) return;
    ASSERT_THAT(
        cluster_.Start({.nodes = kNodes, .heartbeat = absl::Milliseconds(500), .node_timeout = absl::Seconds(4)}),
        IsOk());
    load_.emplace(&cluster_,
                  SteadyLoadOptions{.team = "load",
                                    .nodes = {0, 1, 2, 3},
                                    .calls = {kSum},
                                    .pause = kBetweenCalls,
                                    .rounds = static_cast<size_t>(times_ * (lasts_ + kPatience) / kBetweenCalls)});
    ExpectProgress();
  }

  void ExpectProgress() { load_->ExpectProgress(kPatience); }
  void ExpectAll(const std::string& state) {
    for (uint32_t node = 0; node < kNodes; ++node) {
      EXPECT_THAT(cluster_.AwaitNodeState(node, state, kPatience), IsOk());
    }
  }
  void TearDown() override {
    if (!load_.has_value()) return NetnsFixture::TearDown();
    RecordProperty("calls", static_cast<int>(load_->checked()));
    // The planner knows the team, and can do with it what it could before.
    EXPECT_THAT(cluster_.Replan("load", ""), IsOk());
    ExpectProgress();
    load_->End();
    NetnsFixture::TearDown();
  }

  const absl::Duration lasts_ = absl::Seconds(FromEnvironment("COPSE_ABSENCE_SECONDS", 6));
  const int times_ = FromEnvironment("COPSE_ABSENCE_TIMES", 1);
  std::optional<SteadyLoad> load_;
};

TEST_F(AbsenceTest, OfTheManagementNetworkOfTwoNodes) {
  for (int i = 0; i < times_ && !HasFailure(); ++i) {
    for (const uint32_t node : {1, 2})
      ASSERT_TRUE(cluster_.network()->SetLink(node, netns::kControlDevice, false).ok());
    for (const uint32_t node : {1, 2}) ASSERT_TRUE(cluster_.AwaitNodeState(node, "away", kPatience).ok());
    cluster_.Pass(lasts_);
    ExpectProgress();
    for (const uint32_t node : {1, 2}) ASSERT_TRUE(cluster_.network()->SetLink(node, netns::kControlDevice, true).ok());
    ExpectAll("ready");
    ExpectProgress();
  }
}

TEST_F(AbsenceTest, OfAPlannerThatIsStopped) {
  for (int i = 0; i < times_ && !HasFailure(); ++i) {
    cluster_.StopPlanner();
    cluster_.Pass(lasts_);
    cluster_.ContinuePlanner();
    ExpectAll("ready");
    ExpectProgress();
  }
}

TEST_F(AbsenceTest, OfThePlannersStore) {
  for (int i = 0; i < times_ && !HasFailure(); ++i) {
    ASSERT_THAT(cluster_.ReplacePlanner(), IsOk());
    ExpectAll("ready");
    ExpectProgress();
  }
}

}  // namespace
}  // namespace copse::procs
