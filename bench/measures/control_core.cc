// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/callgrind.h"
#include "bench/measures/line_field.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

struct Phase {
  const char* name;
  const char* what;
  uint32_t ppn = 1;
  uint32_t most_nodes = 10'000;
};

constexpr Phase kPhases[] = {
    {"register", "all daemons register"},
    {"world", "a team of all nodes forms"},
    {"late", "a team of all nodes forms, addresses on demand"},
    {"ranks", "a team of 8 ranks on every node forms", 8, 8000},  // 65,536 ranks are the limit
    {"teams", "teams of 8 nodes form"},
    {"restart", "all daemons return to a restarted planner, with a team of all nodes"},
};

absl::Status MeasureCell(const Options& options, const Phase& phase, Row row, const Reporter& report,
                         std::vector<double>* per_message) {
  const absl::StatusOr<CountedRun> run =
      RunUnderCallgrind("bench/control/control_core", {phase.name, absl::StrCat(row.nodes)}, options.cell_timeout);
  if (!run.ok()) {
    report(Unfinished(row, std::string(run.status().message())));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const double messages, LineField("control_core", run->output, "messages"));
  ASSIGN_OR_RETURN(const double bytes, LineField("control_core", run->output, "to_daemons_bytes"));
  ASSIGN_OR_RETURN(const double joins_bytes, LineField("control_core", run->output, "joins_bytes"));
  ASSIGN_OR_RETURN(const double allocations, LineField("control_core", run->output, "allocations"));
  const double ranks = row.nodes * row.ppn;
  per_message->push_back(run->instructions / messages);
  report(Figure(row, "instructions", "instructions", {per_message->back()}));
  report(Figure(row, "allocations", "1", {allocations / messages}));
  report(Figure(row, "sent", "B", {bytes / row.nodes}));
  report(Figure(row, "joins", "B", {joins_bytes / row.nodes}));
  report(Figure(row, "messages", "1", {messages / ranks}));
  report(Figure(row, "instructions per rank", "instructions", {run->instructions / ranks}));
  return absl::OkStatus();
}

// Forms one team of very many nodes, with its quick plans, without a network. Nothing is counted, so it is timed.
absl::Status MeasureLargest(const Options& options, const Reporter& report) {
  Row row = {.bench = "control-core",
             .what = "a team of all nodes forms with quick plans",
             .system = "copse",
             .nodes = options.quick ? 4096u : 65'536u,
             .ppn = 1,
             .note = "the coordinator and its daemons in one process; the plans' share is of processor time"};
  if (!Wanted(options, row)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string path, procs::FindProgram("bench/control/control_core"));
  ASSIGN_OR_RETURN(
      const auto program,
      procs::ChildProcess::Start({.arguments = {path, "quick", absl::StrCat(row.nodes)}, .stdout_pipe = true}));
  ASSIGN_OR_RETURN(const std::string line, program->ReadLine(options.cell_timeout));
  ASSIGN_OR_RETURN(const double time_ms, LineField("control_core", line, "time_ms"));
  ASSIGN_OR_RETURN(const double cpu_ms, LineField("control_core", line, "cpu_ms"));
  ASSIGN_OR_RETURN(const double plans_ms, LineField("control_core", line, "plans_cpu_ms"));
  ASSIGN_OR_RETURN(const double memory_mb, LineField("control_core", line, "memory_mb"));
  report(Figure(row, "time", "s", {time_ms / 1000}));
  report(Figure(row, "cpu", "s", {cpu_ms / 1000}));
  report(Figure(row, "plans", "ms", {plans_ms}));
  report(Figure(row, "memory", "MB", {memory_mb}));
  return absl::OkStatus();
}

}  // namespace

// Everything counted is the same in each run, so there is one.
absl::Status RunControlCore(const Options& options, const Contest&, const Reporter& report) {
  RETURN_IF_ERROR(MeasureLargest(options, report));
  for (const Phase& phase : kPhases) {
    const std::vector<uint32_t> sizes =
        options.quick ? std::vector<uint32_t>{64, 256} : std::vector<uint32_t>{1000, 4000, phase.most_nodes};
    std::vector<double> per_message;
    Row row = {.bench = "control-core",
               .what = phase.what,
               .system = "copse",
               .ppn = phase.ppn,
               .note =
                   "callgrind; the coordinator alone, per message to or from it; sent, joins: per node; messages: "
                   "per rank"};
    for (const uint32_t nodes : sizes) {
      row.nodes = nodes;
      if (!Wanted(options, row)) continue;
      RETURN_IF_ERROR(MeasureCell(options, phase, row, report, &per_message));
    }
    if (per_message.size() != sizes.size()) continue;
    row.peer = absl::StrCat(sizes.front(), " nodes");
    row.note = "instructions per message: how they grow with the number of nodes";
    report(Figure(row, "ratio", "1", {per_message.back() / per_message.front()}));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
