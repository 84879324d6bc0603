// SPDX-License-Identifier: Apache-2.0
//
// Random calls of libcopse on real daemons: collectives, types, roots, counts, displacements, kinds of memory.
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/random_team.h"
#include "schedule/plan.h"

namespace copse::procs {
namespace {

constexpr uint64_t kBytesMax = 4 * schedule::kMessageBytesMax;

using RandomCallsTest = ClusterFixture;

TEST_F(RandomCallsTest, UnevenNodes) {
  ASSERT_TRUE(cluster_.Start({.nodes = 3}).ok());
  RunRandomTeam(&cluster_, {.nodes = {0, 1, 1, 2, 0, 1, 1}, .seed = 1, .rounds = 300});
  RunRandomTeam(&cluster_, {.nodes = {2, 0, 0}, .seed = 2, .rounds = 100, .bytes_max = kBytesMax});
}

TEST_F(RandomCallsTest, OneNode) {
  ASSERT_TRUE(cluster_.Start({.nodes = 1}).ok());
  RunRandomTeam(&cluster_, {.nodes = {0, 0, 0, 0}, .seed = 3, .rounds = 300});
  RunRandomTeam(&cluster_, {.nodes = {0}, .seed = 4, .rounds = 300, .bytes_max = kBytesMax});
}

}  // namespace
}  // namespace copse::procs
