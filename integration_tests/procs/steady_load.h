// SPDX-License-Identifier: Apache-2.0
//
// A team that makes calls all the time, while a test disturbs its cluster.
#ifndef COPSE_INTEGRATION_TESTS_PROCS_STEADY_LOAD_H_
#define COPSE_INTEGRATION_TESTS_PROCS_STEADY_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "testbed/processes/process_cluster.h"

namespace copse::procs {

struct SteadyLoadOptions {
  std::string team;
  std::vector<uint32_t> nodes;       // each rank's
  std::vector<CallArguments> calls;  // of a round
  absl::Duration pause;              // of each rank, after each call
  size_t rounds = 0;                 // more than the test lasts
};

// A SteadyLoad launches one team and checks its calls, through gtest. Its processes end with End(), or with the
// cluster.
class SteadyLoad {
 public:
  // `*cluster` must run, and outlive it.
  SteadyLoad(ProcessCluster* cluster, const SteadyLoadOptions& options);

  // Expects that each rank ends a round of calls within `patience`, and that all calls that have ended were right.
  void ExpectProgress(absl::Duration patience);
  // Returns the number of calls that the slowest rank has made and that were right.
  size_t checked() const;
  // Kills the processes.
  void End();

 private:
  void Check(uint32_t rank);

  ProcessCluster* const cluster_;
  const size_t calls_;  // of a round
  size_t steps_ = 0;
  uint32_t first_ = 0;  // process
  std::vector<size_t> checked_;
};

}  // namespace copse::procs

#endif  // COPSE_INTEGRATION_TESTS_PROCS_STEADY_LOAD_H_
