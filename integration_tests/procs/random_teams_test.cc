// SPDX-License-Identifier: Apache-2.0
//
// A thousand random calls in forty random teams of 1 to 24 processes on six nodes, uneven; up to 8 MiB. Every seed is a
// test, so that --gtest_filter runs one again.
#include <cstdint>
#include <cstdio>

#include "base/prng.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/random_team.h"

namespace copse::procs {
namespace {

constexpr uint32_t kNodes = 6;
constexpr int kCallsPerTeam = 25;

class RandomTeamsTest : public ClusterFixture, public testing::WithParamInterface<uint64_t> {};

TEST_P(RandomTeamsTest, FourTeams) {
  ASSERT_TRUE(cluster_.Start({.nodes = kNodes}).ok());
  for (uint64_t seed = 4 * GetParam(); seed < 4 * GetParam() + 4; ++seed) {
    Prng prng(seed);
    RandomTeam team{.seed = seed, .rounds = kCallsPerTeam, .patience = absl::Minutes(10)};
    team.nodes.resize(1 + prng.Below(24));
    // Some nodes get many, some none.
    const uint64_t nodes = 1 + prng.Below(kNodes);
    for (uint32_t& node : team.nodes) node = static_cast<uint32_t>(prng.Below(prng.Chance(0.3) ? 1 : nodes));
    constexpr uint64_t kBytes[] = {1000, 20'000, 70'000, 300'000, 1 << 20, 8 << 20};
    team.bytes_max = kBytes[seed % 6];
    std::printf("seed %llu: %zu ranks on up to %llu nodes, up to %llu bytes\n", static_cast<unsigned long long>(seed),
                team.nodes.size(), static_cast<unsigned long long>(nodes),
                static_cast<unsigned long long>(team.bytes_max));
    std::fflush(stdout);
    SCOPED_TRACE(seed);
    RunRandomTeam(&cluster_, team);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTeamsTest, testing::Range(uint64_t{0}, uint64_t{10}));

}  // namespace
}  // namespace copse::procs
