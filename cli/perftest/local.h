// SPDX-License-Identifier: Apache-2.0
//
// Runs ranks on this node without a launcher.
#ifndef COPSE_CLI_PERFTEST_LOCAL_H_
#define COPSE_CLI_PERFTEST_LOCAL_H_

#include <cstdint>
#include <functional>
#include <string>

namespace copse::perftest {

// Outcome is the end of a rank. An empty error with a code above 0: another rank has the reason.
struct Outcome {
  int exit_code = 0;
  std::string error;  // one line, without its end
};

// Runs `run_rank` in a process for each rank in [0, ranks) and returns the outcome of the lowest one that failed, if
// any; other exit codes take precedence over 1, which may be a consequence. The processes end with this one. Processes
// that still run some seconds after one failed are killed: they may wait for it. Must be called while this process has
// one thread.
Outcome RunLocally(uint32_t ranks, const std::function<Outcome(uint32_t rank)>& run_rank);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_LOCAL_H_
