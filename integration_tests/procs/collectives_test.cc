// SPDX-License-Identifier: Apache-2.0
//
// Runs the scenarios in which nothing goes wrong on real processes.
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::procs {
namespace {

using CollectivesTest = ClusterFixture;

TEST_F(CollectivesTest, EveryCollective) { scenario::EveryCollective(&cluster_, 3, 5, {3}, 1); }
TEST_F(CollectivesTest, EveryCollectiveOnOneNode) { scenario::EveryCollective(&cluster_, 1, 3, {0, 6}, 2); }
TEST_F(CollectivesTest, RandomCalls) { scenario::RandomCalls(&cluster_, 5, 9, 200, 3); }
TEST_F(CollectivesTest, BackToBackSkewed) { scenario::BackToBackSkewed(&cluster_, 5, 9, 2000, 3); }
TEST_F(CollectivesTest, TwoTeamsAtOnce) { scenario::TwoTeamsAtOnce(&cluster_, 11); }
TEST_F(CollectivesTest, SubTeams) { scenario::SubTeams(&cluster_); }

}  // namespace
}  // namespace copse::procs
