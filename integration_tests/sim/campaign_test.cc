// SPDX-License-Identifier: Apache-2.0
//
// Runs random teams that make random calls of all collectives, checked against the reference: 20,000 calls in a
// thousand clusters. Environment: COPSE_SIM_SEED, the first seed; COPSE_SIM_TEAMS, the number of teams.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"
#include "integration_tests/sim/sim_cluster.h"
#include "sim/virtual_network.h"

namespace copse::scenario {
namespace {

constexpr uint32_t kCallsPerTeam = 20;
constexpr uint64_t kBytesMax = uint64_t{8} << 20;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

TEST(SimCampaignTest, RandomTeams) {
  SetLogLevel(LogLevel::kError);
  const uint64_t first = FromEnvironment("COPSE_SIM_SEED", 1);
  const uint64_t teams = FromEnvironment("COPSE_SIM_TEAMS", 1000);
  ASSERT_GT(teams, 0u);
  std::printf("seeds %llu to %llu, %u calls each\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + teams - 1), kCallsPerTeam);
  for (uint64_t seed = first; seed < first + teams; ++seed) {
    // Every other network reorders, repeats and jitters.
    const auto cluster = MakeSimCluster(seed % 2 == 0 ? sim::LinkProperties{}
                                                      : sim::LinkProperties{.jitter_max = absl::Microseconds(100),
                                                                            .duplicate_probability = 0.02,
                                                                            .reorder_probability = 0.1});
    RandomTeam(cluster.get(), kCallsPerTeam, kBytesMax, seed);
    ASSERT_FALSE(HasFailure()) << "again: COPSE_SIM_SEED=" << seed << " COPSE_SIM_TEAMS=1";
  }
}

}  // namespace
}  // namespace copse::scenario
