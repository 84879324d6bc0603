// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

using procs::ChildProcess;

constexpr char kValgrind[] = "/usr/bin/valgrind";

// "==12== Collected : 123456"
absl::StatusOr<double> CollectedInstructions(ChildProcess* valgrind, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  constexpr absl::string_view kMark = "Collected : ";
  for (;;) {
    ASSIGN_OR_RETURN(const std::string line, valgrind->ReadLine(deadline - absl::Now()));
    const size_t at = line.find(kMark.data());
    double instructions = 0;
    if (at != std::string::npos && absl::SimpleAtod(line.substr(at + kMark.size()), &instructions)) return instructions;
  }
}

absl::StatusOr<double> CountInstructions(uint64_t packets, absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/pairs/engine_packets"));
  ASSIGN_OR_RETURN(const auto valgrind,
                   ChildProcess::Start(
                       {.arguments = {kValgrind, "--tool=callgrind", "--collect-atstart=no",
                                      "--callgrind-out-file=/dev/null", "--log-fd=1", program, absl::StrCat(packets)},
                        .stdout_pipe = true}));
  ASSIGN_OR_RETURN(const double instructions, CollectedInstructions(valgrind.get(), timeout));
  return instructions / static_cast<double>(packets);
}

}  // namespace

// Instructions are the same in each run, so there is one.
absl::Status RunHopInstructions(const Options& options, const Contest&, const Reporter& report) {
  const Row row = {.bench = "hop",
                   .what = "engine, a packet from client to client",
                   .system = "copse",
                   .collective = "packet",
                   .nodes = 2,
                   .ppn = 1,
                   .bytes = 128,
                   .metric = "instructions",
                   .unit = "instructions",
                   .note = "callgrind; the engines alone, sent and received"};
  if (!Wanted(options, row)) return absl::OkStatus();
  const absl::StatusOr<double> counted = CountInstructions(options.quick ? 1000 : 10'000, options.cell_timeout);
  report(counted.ok() ? Figure(row, row.metric, row.unit, {*counted})
                      : Unfinished(row, std::string(counted.status().message())));
  return absl::OkStatus();
}

}  // namespace copse::bench
