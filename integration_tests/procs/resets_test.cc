// SPDX-License-Identifier: Apache-2.0
//
// Connections between daemons that talk over Copse's own TCP are reset at random under load: no team breaks. Needs
// root. COPSE_RESETS is how many, COPSE_RESETS_SEED chooses which and when.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/reset_connection.h"
#include "integration_tests/procs/steady_load.h"
#include "integration_tests/scenarios/scenarios.h"
#include "testbed/netns/test_network.h"

namespace copse::procs {
namespace {

using copse::testing::IsOk;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint32_t kNodes = 4;
constexpr int kPauseMsMax = 100;  // between resets
const CallArguments kShort{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
const CallArguments kLong{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 32768};

class ResetsTest : public NetnsFixture {
 protected:
  ResetsTest() : NetnsFixture("tcp") {}

  // Resets a connection of a node's daemon, once there is one.
  void ResetOne(uint32_t node) {
    const std::string address = netns::TestNetwork::DataAddress(node);
    for (const absl::Time until = cluster_.Now() + kPatience; cluster_.Now() < until;) {
      const absl::StatusOr<bool> reset = ResetConnection(cluster_.DaemonPid(node), address, &prng_);
      ASSERT_THAT(reset, IsOk());
      if (*reset) return;
      cluster_.Pass(absl::Milliseconds(1));
    }
    FAIL() << "node " << node << " has no connections";
  }

  const int resets_ = FromEnvironment("COPSE_RESETS", 50);
  const int seed_ = FromEnvironment("COPSE_RESETS_SEED", 20261128);
  Prng prng_{static_cast<uint64_t>(seed_)};
};

TEST_F(ResetsTest, OfConnectionsUnderLoadBreakNoTeam) {
  SCOPED_TRACE(absl::StrCat("COPSE_RESETS_SEED=", seed_));
  ASSERT_THAT(cluster_.Start({.nodes = kNodes}), IsOk());
  const absl::Duration lasts = resets_ * absl::Milliseconds(kPauseMsMax) + kPatience;
  SteadyLoad load(&cluster_, {.team = "load",
                              .nodes = {0, 1, 2, 3},
                              .calls = {kShort, kLong, kShort, kLong},
                              .rounds = static_cast<size_t>(lasts / absl::Milliseconds(4))});
  load.ExpectProgress(kPatience);
  for (int i = 0; i < resets_ && !HasFailure(); ++i) {
    ResetOne(static_cast<uint32_t>(prng_.Below(kNodes)));
    cluster_.Pass(absl::Milliseconds(prng_.Below(kPauseMsMax)));
    if (i % 10 == 9) load.ExpectProgress(kPatience);
  }
  RecordProperty("calls", static_cast<int>(load.checked()));
  scenario::ExpectAllSucceed(&cluster_, scenario::TeamPrograms("new", {0, 1, 2, 3}, {kShort, kLong}, 1), kPatience);
  load.ExpectProgress(kPatience);
  load.End();
}

}  // namespace
}  // namespace copse::procs
