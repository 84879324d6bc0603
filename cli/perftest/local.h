// SPDX-License-Identifier: Apache-2.0
//
// Runs ranks on this node without a launcher.
#ifndef COPSE_CLI_PERFTEST_LOCAL_H_
#define COPSE_CLI_PERFTEST_LOCAL_H_

#include <cstdint>
#include <functional>
#include <string>

namespace copse::perftest {

// An Outcome is the result of a rank's process. If `exit_code` is above 0 and `error` is empty, another rank reports
// the reason.
struct Outcome {
  int exit_code = 0;
  std::string error;  // one line, without a newline
};

// Runs `run_rank` in a child process for each rank in [0, ranks), and waits for all of them. Returns the outcome of the
// lowest rank that failed, if any; exit codes other than 1 take precedence, since 1 may be a consequence of another
// rank's failure. Children that still run 5 s after one failed are killed, since they may wait for it; so are all if
// one cannot be started, or when this process ends. This process must have only one thread.
Outcome RunLocally(uint32_t ranks, const std::function<Outcome(uint32_t rank)>& run_rank);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_LOCAL_H_
