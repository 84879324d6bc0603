// SPDX-License-Identifier: Apache-2.0
//
// What the coordinator does for a message, in instructions: the same in each run, and no more in a larger cluster.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/measures/callgrind.h"
#include "bench/measures/line_field.h"

namespace copse::bench {
namespace {

constexpr uint32_t kFew = 300, kMany = 1200;
constexpr double kGrowthMax = 1.3;  // bench/targets.yaml has it for more nodes
constexpr double kDifferenceMax = 0.01;

class ControlCoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access("/usr/bin/valgrind", X_OK) != 0) GTEST_SKIP() << "valgrind is not installed";
  }
  // Returns the instructions for each message of the phase.
  static double PerMessage(const std::string& phase, uint32_t nodes) {
    const auto run =
        RunUnderCallgrind("bench/control/control_core", {phase, absl::StrCat(nodes)}, absl::InfiniteDuration());
    EXPECT_TRUE(run.ok()) << run.status();
    if (!run.ok()) return 0;
    const auto messages = LineField("control_core", run->output, "messages");
    EXPECT_TRUE(messages.ok()) << messages.status();
    return messages.ok() ? run->instructions / *messages : 0;
  }
};

// One phase stands for the others.
TEST_F(ControlCoreTest, AMessageCostsTheSameInEachRun) {
  const double few = PerMessage("restart", kFew);
  EXPECT_GT(few, 0);
  EXPECT_NEAR(PerMessage("restart", kFew), few, kDifferenceMax * few);
}

class ControlCorePhaseTest : public ControlCoreTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ControlCorePhaseTest, AMessageCostsTheSameInALargerCluster) {
  const double few = PerMessage(GetParam(), kFew), many = PerMessage(GetParam(), kMany);
  EXPECT_GT(few, 0);
  EXPECT_GT(many, 0);
  EXPECT_LT(many, kGrowthMax * few);
}

INSTANTIATE_TEST_SUITE_P(Phases, ControlCorePhaseTest,
                         ::testing::Values("register", "world", "late", "ranks", "teams", "restart"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace copse::bench
