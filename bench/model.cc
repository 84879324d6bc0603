// SPDX-License-Identifier: Apache-2.0
#include "bench/model.h"

#include <sched.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/machine.h"
#include "bench/timed_team.h"
#include "integration_tests/procs/process_cluster.h"
#include "planner/cost_model.h"
#include "planner/team_costs.h"
#include "planner/topology/topology.h"

namespace copse::bench {
namespace {

using procs::ProcessCluster;
using schedule::Collective;

constexpr absl::Duration kEndTimeout = absl::Seconds(20);
constexpr double kTargetPercent = 20;
constexpr uint32_t kRounds = 3;  // in which a cell is measured, others between

struct Extent {
  std::vector<std::pair<uint32_t, uint32_t>> clusters;  // nodes, ranks a node
  std::vector<std::string> algorithms;
  std::vector<uint64_t> bytes;
  uint32_t calls;  // a cell and round
};

Extent ExtentOf(bool quick) {
  if (quick) return {{{4, 1}}, {"flat", "binomial"}, {48}, 20};
  return {{{2, 1}, {4, 1}, {8, 1}, {16, 1}, {4, 4}, {8, 2}},
          {"flat", "binomial", "knomial-4", "kary-2", "recursive-doubling"},
          {48, 4096, 65'536},
          60};
}

struct Cell {
  schedule::Plan plan;
  uint64_t bytes = 0;
  std::vector<double> measured_us;
};

// All nodes are processes of this machine, which they share.
absl::StatusOr<double> PredictUs(const Cell& cell, const schedule::TeamShape& shape) {
  topology::FlatCosts flat;
  cpu_set_t usable;
  flat.cores = sched_getaffinity(0, sizeof(usable), &usable) == 0 ? static_cast<uint32_t>(CPU_COUNT(&usable)) : 1;
  flat.host = "here";
  std::vector<std::string> names;
  for (uint32_t v = 0; v < shape.node_count; ++v) names.push_back(absl::StrFormat("n%d", v));
  ASSIGN_OR_RETURN(const topology::Topology topology, topology::FlatTopology(names, flat));
  ASSIGN_OR_RETURN(const planner::TeamCosts costs, planner::TeamCosts::Create(names, topology, {}));
  const schedule::CallArguments arguments = {.collective = cell.plan.collective, .count = cell.bytes};
  ASSIGN_OR_RETURN(const planner::Prediction prediction,
                   planner::Price(cell.plan, shape, costs, arguments, {.critical_path = false}));
  return static_cast<double>(prediction.total_ns) / 1000;
}

Row EmptyRow(uint32_t nodes, uint32_t ppn) {
  Row row;
  row.bench = "model";
  row.system = "copse";
  row.nodes = nodes;
  row.ppn = ppn;
  row.unit = "%";
  return row;
}

// The cells that `algorithm` carries, in rounds. DEADLINE_EXCEEDED: one took too long.
absl::StatusOr<std::vector<Cell>> Measure(TimedTeam* team, const std::string& algorithm, const Extent& extent,
                                          absl::Duration timeout) {
  RETURN_IF_ERROR(team->Force(algorithm));
  RETURN_IF_ERROR(team->Time(Collective::kBarrier, 0, TimedTeam::kCallsToSwitch, 1, timeout).status());
  std::vector<Cell> cells;
  for (int c = 0; c < schedule::kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    const std::vector<uint64_t> none = {0};
    for (const uint64_t bytes : collective == Collective::kBarrier ? none : extent.bytes) {
      ASSIGN_OR_RETURN(schedule::Plan plan, team->PlanFor(collective, bytes));
      if (plan.algorithm == algorithm) cells.push_back({std::move(plan), bytes, {}});
    }
  }
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (Cell& cell : cells) {
      ASSIGN_OR_RETURN(const std::vector<double> ns,
                       team->Time(cell.plan.collective, cell.bytes, 5, extent.calls, timeout));
      for (const double value : ns) cell.measured_us.push_back(value / 1000);
    }
  }
  return cells;
}

absl::Status RunCluster(const Options& options, uint32_t nodes, uint32_t ppn, const Extent& extent,
                        const std::string& machine, const std::function<void(const Row&)>& report,
                        std::vector<double>* errors) {
  ProcessCluster cluster({.parent = options.folder});
  RETURN_IF_ERROR(cluster.Start({.nodes = nodes}));
  ASSIGN_OR_RETURN(const auto team, TimedTeam::Start(&cluster, nodes, ppn, kEndTimeout));
  for (const std::string& algorithm : extent.algorithms) {
    const absl::StatusOr<std::vector<Cell>> cells = Measure(team.get(), algorithm, extent, options.cell_timeout);
    if (absl::IsDeadlineExceeded(cells.status())) {
      Row row = EmptyRow(nodes, ppn);
      row.what = "a call and a barrier before it, loopback";
      row.algorithm = algorithm;
      row.metric = "unfinished";
      row.note = machine;
      report(row);
      return absl::OkStatus();  // what is left of the team is of no use
    }
    RETURN_IF_ERROR(cells.status());
    for (const Cell& cell : *cells) {
      ASSIGN_OR_RETURN(const double predicted, PredictUs(cell, team->shape()));
      Row measured;
      Summarize(cell.measured_us, &measured);
      Row row = EmptyRow(nodes, ppn);
      row.collective = std::string(schedule::CollectiveName(cell.plan.collective));
      row.what = absl::StrFormat("%s%s, loopback, default costs", row.collective,
                                 cell.bytes > 0 ? absl::StrFormat(" %d B", cell.bytes) : "");
      row.algorithm = algorithm;
      row.bytes = cell.bytes;
      row.metric = "error";
      const double error = 100 * std::abs(predicted - measured.median) / measured.median;
      Summarize({error}, &row);
      row.runs = measured.runs;
      row.note = absl::StrFormat("predicted %.1f us, measured p10 %.1f, median %.1f, p90 %.1f us; %s", predicted,
                                 measured.p10, measured.median, measured.p90, machine);
      errors->push_back(error);
      report(row);
    }
  }
  return team->Stop(kEndTimeout);
}

}  // namespace

absl::Status RunModel(const Options& options, const std::function<void(const Row&)>& report) {
  const Extent extent = ExtentOf(options.quick);
  const std::string machine = DescribeMachine();  // before we load it ourselves
  std::vector<double> errors;
  for (const auto& [nodes, ppn] : extent.clusters) {
    RETURN_IF_ERROR(RunCluster(options, nodes, ppn, extent, machine, report, &errors));
  }
  Row summary = EmptyRow(0, 0);
  summary.what = "all cells, loopback, default costs";
  summary.metric = errors.empty() ? "unfinished" : "error";
  summary.target = kTargetPercent;
  summary.note = "the costs are the planner's defaults, not calibrated; " + machine;
  if (!errors.empty()) Summarize(errors, &summary);
  report(summary);
  return absl::OkStatus();
}

}  // namespace copse::bench
