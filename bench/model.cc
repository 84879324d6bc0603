// SPDX-License-Identifier: Apache-2.0
#include "bench/model.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/machine.h"
#include "bench/timed_team.h"
#include "integration_tests/procs/process_cluster.h"
#include "planner/calibration.h"

namespace copse::bench {
namespace {

using procs::ProcessCluster;
using schedule::Collective;

constexpr absl::Duration kEndTimeout = absl::Seconds(20);
constexpr double kTargetPercent = 20;
constexpr uint32_t kRounds = 3;  // in which a cell is measured, on a new cluster each, with all other cells between

struct Extent {
  std::vector<std::pair<uint32_t, uint32_t>> clusters;  // nodes, ranks a node
  std::vector<std::string> algorithms;
  std::vector<uint64_t> bytes;
  uint32_t flat_nodes;  // of the flat tree that the costs are calibrated on, beside pings
  uint32_t calls;       // a cell and round
};

Extent ExtentOf(bool quick) {
  if (quick) return {{{2, 1}, {4, 1}}, {"flat", "binomial"}, {48}, 4, 20};
  return {{{2, 1}, {4, 1}, {8, 1}, {16, 1}, {4, 4}, {8, 2}},
          {"flat", "binomial", "knomial-4", "kary-2", "recursive-doubling"},
          {48, 4096, 65'536},
          8,
          40};
}

struct Cell {
  uint32_t nodes = 0, ppn = 0;
  std::string algorithm;
  planner::Observation observation;
  std::vector<double> round_us;  // medians
};

// What the costs are calibrated on; nothing else is. Pings of two nodes, and a barrier and two allreduces on one flat
// tree.
bool Calibrates(const Cell& cell, const Extent& extent) {
  if (cell.ppn != 1 || cell.algorithm != "flat") return false;
  const schedule::CallArguments& call = cell.observation.arguments;
  if (cell.nodes == 2) return true;
  return cell.nodes == extent.flat_nodes && call.bytes() <= 4096 &&
         (call.collective == Collective::kBarrier || call.collective == Collective::kAllreduce);
}

// Trees of two nodes are all the same, and so would be what is calibrated on and what is judged.
bool IsWorthwhile(uint32_t nodes, const std::string& algorithm) {
  return nodes > 2 || algorithm == "flat" || algorithm == "recursive-doubling";
}

// All nodes are processes of this machine, which they share.
planner::ClusterCosts DefaultCosts() {
  planner::ClusterCosts costs;
  cpu_set_t usable;
  costs.nodes.cores =
      sched_getaffinity(0, sizeof(usable), &usable) == 0 ? static_cast<uint32_t>(CPU_COUNT(&usable)) : 1;
  costs.nodes.host = "here";
  return costs;
}

// Nobody spins; as long as clients do at most; as long as daemons do by default.
const std::vector<int64_t> kSpinsNs = {0, 20'000, 200'000};

Row EmptyRow(uint32_t nodes, uint32_t ppn) {
  Row row;
  row.bench = "model";
  row.system = "copse";
  row.nodes = nodes;
  row.ppn = ppn;
  row.unit = "%";
  return row;
}

double MedianOf(std::vector<double> values) {
  Row row;
  Summarize(std::move(values), &row);
  return row.median;
}

using Cells = std::vector<Cell>;  // of one cluster and algorithm

// The cells that `algorithm` carries.
absl::StatusOr<Cells> ListCells(const TimedTeam& team, uint32_t nodes, uint32_t ppn, const std::string& algorithm,
                                const Extent& extent) {
  Cells cells;
  ASSIGN_OR_RETURN(const schedule::Plan barrier, team.PlanFor(Collective::kBarrier, 0));
  for (int c = 0; c < schedule::kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    const std::vector<uint64_t> none = {0};
    for (const uint64_t bytes : collective == Collective::kBarrier ? none : extent.bytes) {
      ASSIGN_OR_RETURN(schedule::Plan plan, team.PlanFor(collective, bytes));
      if (plan.algorithm != algorithm) continue;
      Cell& cell = cells.emplace_back();
      cell.nodes = nodes;
      cell.ppn = ppn;
      cell.algorithm = algorithm;
      cell.observation.shape = team.shape();
      cell.observation.plan = std::move(plan);
      cell.observation.arguments = {.collective = collective, .count = bytes};
      cell.observation.barrier = barrier;
    }
  }
  return cells;
}

// One round. DEADLINE_EXCEEDED: a call took too long.
absl::Status Measure(TimedTeam* team, const std::string& algorithm, uint32_t nodes, uint32_t ppn, const Extent& extent,
                     absl::Duration timeout, Cells* cells) {
  RETURN_IF_ERROR(team->Force(algorithm));
  RETURN_IF_ERROR(team->Time(Collective::kBarrier, 0, TimedTeam::kCallsToSwitch, 1, timeout).status());
  if (cells->empty()) {
    ASSIGN_OR_RETURN(*cells, ListCells(*team, nodes, ppn, algorithm, extent));
  }
  for (Cell& cell : *cells) {
    const schedule::CallArguments& call = cell.observation.arguments;
    ASSIGN_OR_RETURN(const std::vector<double> ns, team->Time(call.collective, call.bytes(), 5, extent.calls, timeout));
    cell.round_us.push_back(MedianOf(ns) / 1000);
  }
  return absl::OkStatus();
}

absl::Status RunCluster(const Options& options, uint32_t nodes, uint32_t ppn, const Extent& extent,
                        std::map<std::string, Cells>* cells) {
  ProcessCluster cluster({.parent = options.folder});
  RETURN_IF_ERROR(cluster.Start({.nodes = nodes}));
  ASSIGN_OR_RETURN(const auto team, TimedTeam::Start(&cluster, nodes, ppn, kEndTimeout));
  for (const std::string& algorithm : extent.algorithms) {
    if (!IsWorthwhile(nodes, algorithm)) continue;
    RETURN_IF_ERROR(Measure(team.get(), algorithm, nodes, ppn, extent, options.cell_timeout, &(*cells)[algorithm]));
  }
  return team->Stop(kEndTimeout);
}

std::string DescribeFit(const planner::Calibration& fit) {
  std::string text = absl::StrFormat("spin_ns %d", fit.costs.parameters.spin_ns);
  for (const planner::FittedParameter& one : fit.parameters) {
    absl::StrAppendFormat(&text, ", %s %d", one.name, one.value);
    if (!one.determined) {
      text += " (not determined)";
    } else {
      absl::StrAppendFormat(&text, " (x/ %.2f)", one.doubt);
    }
  }
  return text;
}

Row RowOf(const Cell& cell, bool calibrates, double predicted_us, const std::string& machine) {
  Row row = EmptyRow(cell.nodes, cell.ppn);
  const schedule::CallArguments& call = cell.observation.arguments;
  row.collective = std::string(schedule::CollectiveName(call.collective));
  row.what = absl::StrFormat("%s%s, loopback, %s", row.collective,
                             call.bytes() > 0 ? absl::StrFormat(" %d B", call.bytes()) : "",
                             calibrates ? "calibrated on" : "predicted");
  row.algorithm = cell.algorithm;
  row.bytes = call.bytes();
  row.metric = calibrates ? "residual" : "error";
  const double measured_us = cell.observation.measured_ns / 1000;
  Summarize({100 * std::abs(predicted_us - measured_us) / measured_us}, &row);
  row.runs = static_cast<uint32_t>(cell.round_us.size());
  const auto [least, most] = std::minmax_element(cell.round_us.begin(), cell.round_us.end());
  row.note = absl::StrFormat("predicted %.1f us, measured %.1f us, medians of rounds %.1f to %.1f us; %s", predicted_us,
                             measured_us, *least, *most, machine);
  return row;
}

// Calibrates, predicts the rest, and reports.
absl::Status Judge(std::vector<Cell> cells, const Extent& extent, const std::string& machine,
                   const std::function<void(const Row&)>& report) {
  Row summary = EmptyRow(0, 0);
  summary.what = "all predicted cells, loopback";
  summary.metric = "unfinished";
  summary.target = kTargetPercent;
  summary.note = machine;
  std::vector<planner::Observation> pings;
  for (Cell& cell : cells) {
    // What disturbs the machine makes calls longer: the round that it disturbed least.
    cell.observation.measured_ns = 1000 * *std::min_element(cell.round_us.begin(), cell.round_us.end());
    if (Calibrates(cell, extent)) pings.push_back(cell.observation);
  }
  if (pings.empty()) {
    report(summary);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const planner::Calibration fit, planner::Calibrate(pings, DefaultCosts(), {.spins_ns = kSpinsNs}));
  std::vector<double> errors, default_errors;
  for (const Cell& cell : cells) {
    const bool calibrates = Calibrates(cell, extent);
    ASSIGN_OR_RETURN(const double predicted_ns, planner::PredictNs(cell.observation, fit.costs));
    const Row row = RowOf(cell, calibrates, predicted_ns / 1000, machine);
    report(row);
    if (calibrates) continue;
    errors.push_back(row.median);
    ASSIGN_OR_RETURN(const double default_ns, planner::PredictNs(cell.observation, DefaultCosts()));
    const double measured_ns = cell.observation.measured_ns;
    default_errors.push_back(100 * std::abs(default_ns - measured_ns) / measured_ns);
  }
  Row residual = EmptyRow(0, 0);
  residual.what = "what the costs were calibrated on, loopback";
  residual.metric = "residual";
  Summarize({100 * fit.median_residual}, &residual);
  residual.runs = static_cast<uint32_t>(pings.size());
  residual.note = absl::StrFormat("%s; %s", DescribeFit(fit), machine);
  report(residual);
  if (!errors.empty()) {
    Summarize(errors, &summary);
    summary.metric = "error";
    summary.note = absl::StrFormat("%s; with the planner's defaults %.0f %%; %s",
                                   summary.median <= kTargetPercent ? "met" : "not met",
                                   MedianOf(std::move(default_errors)), machine);
  }
  report(summary);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunModel(const Options& options, const std::function<void(const Row&)>& report) {
  const Extent extent = ExtentOf(options.quick);
  const std::string machine = DescribeMachine();  // before we load it ourselves
  std::vector<std::map<std::string, Cells>> cells(extent.clusters.size());
  std::vector<bool> given_up(extent.clusters.size(), false);
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < extent.clusters.size(); ++i) {
      if (given_up[i]) continue;
      const auto& [nodes, ppn] = extent.clusters[i];
      const absl::Status status = RunCluster(options, nodes, ppn, extent, &cells[i]);
      if (!absl::IsDeadlineExceeded(status)) {
        RETURN_IF_ERROR(status);
        continue;
      }
      given_up[i] = true;
      Row row = EmptyRow(nodes, ppn);
      row.what = "a call and a barrier before it, loopback";
      row.metric = "unfinished";
      row.note = machine;
      report(row);
    }
  }
  std::vector<Cell> measured;
  for (const auto& of_cluster : cells) {
    for (const std::string& algorithm : extent.algorithms) {
      const auto found = of_cluster.find(algorithm);
      if (found == of_cluster.end()) continue;
      for (const Cell& cell : found->second) {
        if (!cell.round_us.empty()) measured.push_back(cell);
      }
    }
  }
  return Judge(std::move(measured), extent, machine, report);
}

}  // namespace copse::bench
