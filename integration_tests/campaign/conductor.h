// SPDX-License-Identifier: Apache-2.0
//
// Runs one case of a campaign on a cluster, and checks the outcome.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_CONDUCTOR_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_CONDUCTOR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "integration_tests/campaign/case.h"
#include "testbed/script/cluster.h"

namespace copse::campaign {

struct Findings {
  std::vector<std::string> complaints;  // empty: no errors
  uint64_t programs = 0;
  uint64_t ended_well = 0;
  uint64_t calls = 0;                               // posted before any rank of the team received a failure
  std::vector<std::pair<FaultKind, State>> faults;  // those made while a call was in flight
};

// Precondition: `cluster` has not been started.
Findings Conduct(const Case& c, const Scale& scale, scenario::Cluster* cluster);

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_CONDUCTOR_H_
