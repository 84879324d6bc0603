// SPDX-License-Identifier: Apache-2.0
#include "bench/measures/callgrind.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {

absl::StatusOr<CountedRun> RunUnderCallgrind(const std::string& program, const std::vector<std::string>& arguments,
                                             absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string path, procs::FindProgram(program));
  procs::ChildOptions options = {.arguments = {"/usr/bin/valgrind", "--tool=callgrind", "--collect-atstart=no",
                                               "--callgrind-out-file=/dev/null", "--log-fd=1", path},
                                 .stdout_pipe = true};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(const auto valgrind, procs::ChildProcess::Start(options));
  const absl::Time deadline = absl::Now() + timeout;
  constexpr absl::string_view kMark = "Collected : ";  // "==12== Collected : 123456"
  CountedRun run;
  for (;;) {
    ASSIGN_OR_RETURN(const std::string line, valgrind->ReadLine(deadline - absl::Now()));
    const size_t at = line.find(kMark.data());
    if (at != std::string::npos && absl::SimpleAtod(line.substr(at + kMark.size()), &run.instructions)) return run;
    if (run.output.empty() && !absl::StartsWith(line, "==")) run.output = line;
  }
}

}  // namespace copse::bench
