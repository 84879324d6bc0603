// SPDX-License-Identifier: Apache-2.0
//
// Teams of processes that make random calls of libcopse, and check them (client/testing/every_collective.h).
#ifndef COPSE_INTEGRATION_TESTS_PROCS_RANDOM_TEAM_H_
#define COPSE_INTEGRATION_TESTS_PROCS_RANDOM_TEAM_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "testbed/processes/process_cluster.h"

namespace copse::procs {

struct RandomTeam {
  std::vector<uint32_t> nodes;  // of each rank
  uint64_t seed = 1;
  int rounds = 100;  // calls
  uint64_t bytes_max = 3000;
  absl::Duration patience = absl::Seconds(100);
};

// Starts the ranks and awaits their ends, through gtest.
void RunRandomTeam(ProcessCluster* cluster, const RandomTeam& team);

}  // namespace copse::procs

#endif  // COPSE_INTEGRATION_TESTS_PROCS_RANDOM_TEAM_H_
