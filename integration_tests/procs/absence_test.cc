// SPDX-License-Identifier: Apache-2.0
//
// The management network is away, and the planner is stopped or replaced, under jobs that need neither.
// COPSE_ABSENCE_SECONDS is how long each absence lasts, COPSE_ABSENCE_TIMES how many follow one another.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "testbed/netns/test_network.h"
#include "testbed/script/script.h"

namespace copse::procs {
namespace {

using copse::testing::IsOk;
using scenario::Outcome;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint32_t kNodes = 4;
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
constexpr absl::Duration kBetweenCalls = absl::Milliseconds(20);

int FromEnvironment(const char* name, int otherwise) {
  int value = 0;
  const char* text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

class AbsenceTest : public NetnsFixture {
 protected:
  void SetUp() override {
    NetnsFixture::SetUp();
    if (IsSkipped()) return;
    ASSERT_THAT(
        cluster_.Start({.nodes = kNodes, .heartbeat = absl::Milliseconds(500), .node_timeout = absl::Seconds(4)}),
        IsOk());
    const absl::Duration all = times_ * (lasts_ + kPatience);
    std::vector<scenario::Program> programs;
    for (uint32_t rank = 0; rank < kNodes; ++rank) {
      scenario::Program program{.node = rank, .script = {scenario::TeamStep(1, "load", rank, kNodes)}};
      for (absl::Duration d; d < all; d += kBetweenCalls) {
        program.script.push_back(scenario::CallStep(1, kSum, 1));
        program.script.push_back(scenario::PauseStep(kBetweenCalls));
      }
      programs.push_back(std::move(program));
    }
    steps_ = programs[0].script.size();
    cluster_.Launch(programs);
    ExpectProgress();
  }

  // Calls are made, now, and all that were made are right.
  void ExpectProgress() {
    for (uint32_t rank = 0; rank < kNodes; ++rank) {
      const size_t before = cluster_.Outcomes(rank).size();
      ASSERT_THAT(cluster_.AwaitOutcomes(rank, before + 3, kPatience), IsOk());
      const std::vector<Outcome> outcomes = cluster_.Outcomes(rank);
      EXPECT_LT(2 * outcomes.size(), steps_) << "the program is too short";
      for (size_t i = checked_; i < outcomes.size(); ++i) {
        ASSERT_EQ(outcomes[i].failure, schedule::Failure::kNone) << "call " << i << ": " << outcomes[i].text;
        ASSERT_TRUE(outcomes[i].data_ok) << "call " << i;
      }
    }
    checked_ = cluster_.Outcomes(0).size();
  }
  void ExpectAll(const std::string& state) {
    for (uint32_t node = 0; node < kNodes; ++node) {
      EXPECT_THAT(cluster_.AwaitNodeState(node, state, kPatience), IsOk());
    }
  }
  void TearDown() override {
    if (IsSkipped()) return;
    RecordProperty("calls", static_cast<int>(checked_));
    // The planner knows the team, and can do with it what it could before.
    EXPECT_THAT(cluster_.Replan("load", ""), IsOk());
    ExpectProgress();
    for (uint32_t rank = 0; rank < kNodes; ++rank) cluster_.KillProcess(rank);
    NetnsFixture::TearDown();
  }

  const absl::Duration lasts_ = absl::Seconds(FromEnvironment("COPSE_ABSENCE_SECONDS", 6));
  const int times_ = FromEnvironment("COPSE_ABSENCE_TIMES", 1);
  size_t steps_ = 0, checked_ = 0;
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
