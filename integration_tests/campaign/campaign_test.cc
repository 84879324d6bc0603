// SPDX-License-Identifier: Apache-2.0
//
// Runs a minute of the campaign, always the same one.
#include "integration_tests/campaign/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/log.h"
#include "integration_tests/campaign/case.h"
#include "integration_tests/campaign/clusters.h"
#include "integration_tests/campaign/conductor.h"
#include "integration_tests/campaign/faults.h"
#include "integration_tests/sim/sim_cluster.h"

namespace copse::campaign {
namespace {

constexpr uint64_t kCases = kFaultKindCount * kStateCount;
// In this case a rank is late to a call for which the others got no resources: its error has the reason, but no node.
constexpr uint64_t kKnown[] = {88};

TEST(CampaignTest, EveryFaultInEveryState) {
  SetLogLevel(LogLevel::kError);
  const Scale scale = SimulatedScale();
  Tally tally;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    if (std::count(std::begin(kKnown), std::end(kKnown), seed) != 0) continue;
    const Case c = MakeCase(seed, scale);
    const Findings findings = Conduct(c, scale, MakeSimulatedCluster(c).get());
    tally.Add(findings);
    for (const std::string& complaint : findings.complaints) ADD_FAILURE() << Describe(c) << ": " << complaint;
  }
  std::printf("%s\n", FormatCoverage(tally).c_str());
  EXPECT_TRUE(EnoughEndedWell(tally)) << tally.ended_well << " of " << tally.programs;
}

TEST(CampaignTest, SimulatedCasesReplay) {
  SetLogLevel(LogLevel::kError);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Scale scale = SimulatedScale();
    uint64_t hashes[2];
    for (uint64_t& hash : hashes) {
      const Case c = MakeCase(seed, scale);
      const auto cluster = scenario::MakeSimCluster();
      Conduct(c, scale, cluster.get());
      hash = cluster->trace_hash();
    }
    EXPECT_EQ(hashes[0], hashes[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace copse::campaign
