// SPDX-License-Identifier: Apache-2.0
//
// Runs benchmarks that are scripts.
#ifndef COPSE_BENCH_MEASURES_SCRIPT_ROUNDS_H_
#define COPSE_BENCH_MEASURES_SCRIPT_ROUNDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace copse::bench {

struct Script {
  std::string file;                   // its label, such as bench/control/failover.py
  std::vector<std::string> programs;  // labels of programs and files, whose paths are its first arguments
  std::vector<std::string> files;
  std::vector<std::string> arguments;  // then these, and a folder, which is removed at the end with all that is in it
};

// Runs a script that prints a line "round FIELD=VALUE..." for each round, at most `patience` after the last line, and
// "end" at its end; calls `on_round` with each of these. The folder is made in `parent`; empty: in the system's.
// Errors: UNAVAILABLE with any other line of the script, such as "skipped: why"; those of ChildProcess.
absl::Status RunScript(const Script& script, const std::string& parent, absl::Duration patience,
                       const std::function<void(const std::string&)>& on_round);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_SCRIPT_ROUNDS_H_
