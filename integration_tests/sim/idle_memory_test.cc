// SPDX-License-Identifier: Apache-2.0
//
// Measures an idle node's memory in the simulator: daemon core, engine, one client, one team that has made a call.
#include <malloc.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"
#include "integration_tests/sim/sim_cluster.h"

namespace copse::scenario {
namespace {

// Limit for a node; ten thousand of them then fit a small machine. What forms sub-teams takes 0.6 KB of it, what counts
// the holdings of users 1.3 KB, and what keeps the messages of jobs apart 0.2 KB.
constexpr double kNodeBytesMax = 24 * 1024;

size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(IdleMemoryTest, ANodeWithOneClientAndOneTeam) {
  constexpr uint32_t kNodes = 10000;
  const CallArguments sum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
  const size_t before = HeapBytes();
  const auto cluster = MakeSimCluster();
  ASSERT_TRUE(cluster->Start({.nodes = kNodes}).ok());
  std::vector<Program> programs;
  for (uint32_t n = 0; n < kNodes; ++n) {
    // These are teams of two neighbors. All make a call, and then stay attached without another.
    programs.push_back(
        {n, {TeamStep(0, absl::StrCat("pair", n / 2), n % 2, 2), CallStep(0, sum, 1), PauseStep(absl::Hours(1000))}});
  }
  const uint32_t first = cluster->Launch(programs);
  programs = {};
  for (uint32_t p = first; p < first + kNodes; ++p) ASSERT_TRUE(cluster->AwaitOutcomes(p, 2, absl::Minutes(10)).ok());
  cluster->Pass(absl::Seconds(2));
  cluster->KillPlanner();
  cluster->Pass(absl::Seconds(2));
  // The planner is gone, but not its state, about 1 KB per node; network and scripts take little.
  const double bytes = static_cast<double>(HeapBytes() - before) / kNodes;
  RecordProperty("bytes_per_node", absl::StrCat(bytes));
  EXPECT_LT(bytes, kNodeBytesMax);
  for (uint32_t p = first; p < first + kNodes; p += 97) {
    const std::vector<Outcome> outcomes = cluster->Outcomes(p);
    EXPECT_EQ(outcomes[1].failure, schedule::Failure::kNone);
    EXPECT_TRUE(outcomes[1].data_ok);
  }
}

}  // namespace
}  // namespace copse::scenario
