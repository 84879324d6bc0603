// SPDX-License-Identifier: Apache-2.0
//
// Counts the instructions of a program.
#ifndef COPSE_BENCH_MEASURES_CALLGRIND_H_
#define COPSE_BENCH_MEASURES_CALLGRIND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse::bench {

struct CountedRun {
  double instructions = 0;  // those of the parts that the program collects (valgrind/callgrind.h)
  std::string output;       // the first line that the program printed; empty if it printed none
};

// Runs `program`, named as in procs::FindProgram, under callgrind. Errors: NOT_FOUND if there is no such program;
// DEADLINE_EXCEEDED; UNAVAILABLE if it ends without a count.
absl::StatusOr<CountedRun> RunUnderCallgrind(const std::string& program, const std::vector<std::string>& arguments,
                                             absl::Duration timeout);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_CALLGRIND_H_
