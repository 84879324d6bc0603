// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/callgrind.h"
#include "bench/measures/line_field.h"

namespace copse::bench {
namespace {

struct Phase {
  const char* name;
  const char* what;
};

constexpr Phase kPhases[] = {
    {"register", "all daemons register"},
    {"world", "a team of all nodes forms"},
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
  ASSIGN_OR_RETURN(const double allocations, LineField("control_core", run->output, "allocations"));
  per_message->push_back(run->instructions / messages);
  report(Figure(row, "instructions", "instructions", {per_message->back()}));
  report(Figure(row, "allocations", "1", {allocations / messages}));
  report(Figure(row, "sent", "B", {bytes / row.nodes}));
  return absl::OkStatus();
}

}  // namespace

// Everything counted is the same in each run, so there is one.
absl::Status RunControlCore(const Options& options, const Contest&, const Reporter& report) {
  const std::vector<uint32_t> sizes =
      options.quick ? std::vector<uint32_t>{64, 256} : std::vector<uint32_t>{1000, 4000, 10'000};
  for (const Phase& phase : kPhases) {
    std::vector<double> per_message;
    Row row = {.bench = "control-core",
               .what = phase.what,
               .system = "copse",
               .ppn = 1,
               .note = "callgrind; the coordinator alone, per message to or from it; sent: per node"};
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
