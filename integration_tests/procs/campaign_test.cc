// SPDX-License-Identifier: Apache-2.0
//
// Deaths at many random points, on real processes: hours of bad luck in minutes.
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::procs {
namespace {

class CampaignTest : public ClusterFixture, public testing::WithParamInterface<uint64_t> {};

TEST_P(CampaignTest, KilledProcess) { scenario::KilledProcess(&cluster_, GetParam()); }
TEST_P(CampaignTest, KilledDaemon) { scenario::KilledDaemonRejoins(&cluster_, GetParam()); }
TEST_P(CampaignTest, KilledPlanner) { scenario::KilledPlanner(&cluster_, GetParam()); }
TEST_P(CampaignTest, KilledDuringFormation) {
  scenario::KilledDuringFormation(&cluster_, GetParam(), absl::Milliseconds(GetParam() * 3));
}
TEST_P(CampaignTest, RandomCalls) {
  scenario::RandomCalls(&cluster_, 1 + GetParam() % 6, 1 + GetParam() * 7 % 10, 100, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CampaignTest, testing::Range(uint64_t{2}, uint64_t{22}));

}  // namespace
}  // namespace copse::procs
