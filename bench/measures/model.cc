// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

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
#include "bench/measures/timed_team.h"
#include "bench/plans.h"
#include "bench/testbed.h"
#include "planner/pricing/calibration.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/admin_client.h"

namespace copse::bench {
namespace {

constexpr absl::Duration kEndTimeout = absl::Seconds(20);
constexpr uint32_t kRounds = 3;  // in which a cell is measured, on a new cluster each, with all other cells between

// Where calls are measured.
struct Place {
  uint32_t nodes;
  uint32_t ppn;
  absl::Duration latency;  // of the fabric, from node to node; 0: on loopback

  std::string Name() const {
    if (latency == absl::ZeroDuration()) return "loopback";
    return absl::StrFormat("fabric %g ms", absl::ToDoubleMilliseconds(latency));
  }
};

// In place of an algorithm: each call with the plan that the planner has chosen for it.
constexpr char kChosen[] = "";

struct Extent {
  std::vector<Place> places;
  std::vector<std::string> algorithms;
  std::vector<uint64_t> bytes;
  uint32_t flat_nodes;  // of the flat tree that the costs are calibrated on, beside pings
  uint32_t calls;       // a cell and round
};

Extent ExtentOf(bool quick) {
  if (quick) return {{{2, 1, {}}, {4, 1, {}}}, {"flat", "binomial", kChosen}, {48}, 4, 20};
  return {{{2, 1, {}}, {4, 1, {}}, {8, 1, {}}, {16, 1, {}}, {4, 4, {}}, {8, 2, {}}, {8, 1, absl::Milliseconds(1)}},
          {"flat", "binomial", "knomial-4", "kary-2", "recursive-doubling", kChosen},
          {48, 4096, 65'536},
          8,
          40};
}

struct Cell {
  Place place;
  std::string asked;  // algorithm, or kChosen
  planner::Observation observation;
  std::vector<double> round_us;  // medians
};

// What the costs are calibrated on; nothing else is. Pings of two nodes, and a barrier and two allreduces on one flat
// tree.
bool Calibrates(const Cell& cell, const Extent& extent) {
  if (cell.place.latency > absl::ZeroDuration() || cell.place.ppn != 1 || cell.asked != "flat") return false;
  const CallArguments& call = cell.observation.arguments;
  if (cell.place.nodes == 2) return true;
  return cell.place.nodes == extent.flat_nodes && call.bytes() <= 4096 &&
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

// On a fabric packets also take its delay, half of it on each node's link.
planner::ClusterCosts CostsAt(const Place& place, planner::ClusterCosts costs) {
  costs.nodes.latency_ns += absl::ToInt64Nanoseconds(place.latency) / 2;
  return costs;
}

// Nobody spins; as long as clients do at most; as long as daemons do by default.
const std::vector<int64_t> kSpinsNs = {0, 20'000, 200'000};

Row EmptyRow(uint32_t nodes, uint32_t ppn) {
  return {.bench = "model", .system = "copse", .nodes = nodes, .ppn = ppn, .unit = "%"};
}

using Cells = std::vector<Cell>;  // of one place and algorithm

// The cells that `algorithm` carries.
absl::StatusOr<Cells> ListCells(const TimedTeam& team, const Place& place, const std::string& algorithm,
                                const Extent& extent) {
  Cells cells;
  ASSIGN_OR_RETURN(const schedule::Plan barrier, ReadPlan(team.cluster().admin(), Collective::kBarrier, 0));
  for (int c = 0; c < kCommonCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    const std::vector<uint64_t> none = {0};
    for (const uint64_t bytes : collective == Collective::kBarrier ? none : extent.bytes) {
      ASSIGN_OR_RETURN(schedule::Plan plan, ReadPlan(team.cluster().admin(), collective, bytes));
      if (algorithm != kChosen && plan.algorithm != algorithm) continue;
      Cell& cell = cells.emplace_back();
      cell.place = place;
      cell.asked = algorithm;
      cell.observation.shape = team.shape();
      cell.observation.plan = std::move(plan);
      cell.observation.arguments = {.collective = collective, .count = bytes};
      cell.observation.barrier = barrier;
    }
  }
  return cells;
}

// One round. DEADLINE_EXCEEDED: a call took too long.
absl::Status Measure(TimedTeam* team, const std::string& algorithm, const Place& place, const Extent& extent,
                     absl::Duration timeout, Cells* cells) {
  RETURN_IF_ERROR(team->Force(algorithm));
  RETURN_IF_ERROR(team->Time(Collective::kBarrier, 0, TimedTeam::kCallsToSwitch, 1, timeout).status());
  if (cells->empty()) {
    ASSIGN_OR_RETURN(*cells, ListCells(*team, place, algorithm, extent));
  }
  for (Cell& cell : *cells) {
    const CallArguments& call = cell.observation.arguments;
    ASSIGN_OR_RETURN(const std::vector<double> us, team->Time(call.collective, call.bytes(), 5, extent.calls, timeout));
    cell.round_us.push_back(Median(us));
  }
  return absl::OkStatus();
}

absl::Status RunPlace(const Options& options, const Place& place, const Extent& extent,
                      std::map<std::string, Cells>* cells) {
  ASSIGN_OR_RETURN(const auto testbed, Testbed::Open({.nodes = place.nodes,
                                                      .parent = options.folder,
                                                      .loopback = place.latency == absl::ZeroDuration(),
                                                      .latency = place.latency}));
  ASSIGN_OR_RETURN(const auto team, TimedTeam::Start(testbed->cluster(), place.nodes, place.ppn, kEndTimeout));
  for (const std::string& algorithm : extent.algorithms) {
    if (!IsWorthwhile(place.nodes, algorithm)) continue;
    RETURN_IF_ERROR(Measure(team.get(), algorithm, place, extent, options.cell_timeout, &(*cells)[algorithm]));
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

double ErrorOf(double predicted, double measured) { return 100 * std::abs(predicted - measured) / measured; }

Row RowOf(const Cell& cell, bool calibrates, double predicted_us, const std::string& machine) {
  Row row = EmptyRow(cell.place.nodes, cell.place.ppn);
  const CallArguments& call = cell.observation.arguments;
  row.collective = std::string(CollectiveName(call.collective));
  row.what = absl::StrFormat(
      "%s%s, %s, %s%s", row.collective, call.bytes() > 0 ? absl::StrFormat(" %d B", call.bytes()) : "",
      cell.place.Name(), cell.asked == kChosen ? "planner's choice, " : "", calibrates ? "calibrated on" : "predicted");
  row.algorithm = cell.observation.plan.algorithm;
  row.bytes = call.bytes();
  const double measured_us = cell.observation.measured_ns / 1000;
  row = Figure(row, calibrates ? "residual" : "error", "%", {ErrorOf(predicted_us, measured_us)});
  row.runs = static_cast<uint32_t>(cell.round_us.size());
  const auto [least, most] = std::minmax_element(cell.round_us.begin(), cell.round_us.end());
  row.note = absl::StrFormat("predicted %.1f us, measured %.1f us, medians of rounds %.1f to %.1f us; %s", predicted_us,
                             measured_us, *least, *most, machine);
  return row;
}

// A predicted cell, and what came of it.
struct Judged {
  const Cell* cell;
  double predicted_ns;
};

Row SummaryOf(const std::vector<Judged>& judged, const std::string& place, const std::string& machine) {
  Row row = EmptyRow(0, 0);
  row.what = "all predicted cells, " + place;
  row.note = machine;
  if (judged.empty()) return Unfinished(row, machine);
  std::vector<double> errors;
  for (const Judged& each : judged) {
    errors.push_back(ErrorOf(each.predicted_ns, each.cell->observation.measured_ns));
  }
  return Figure(row, "error", "%", std::move(errors));
}

// Two plans for the same call whose measured times differ by less are as good as each other.
constexpr double kAsGood = 1.2;

// How often the model takes the slower of two plans for the faster one.
Row OrderOf(const std::vector<Judged>& judged, const std::string& place, const std::string& machine) {
  uint32_t pairs = 0, wrong = 0;
  for (const Judged& fast : judged) {
    for (const Judged& slow : judged) {
      const auto &a = fast.cell->observation, &b = slow.cell->observation;
      if (fast.cell->place.nodes != slow.cell->place.nodes || fast.cell->place.ppn != slow.cell->place.ppn ||
          a.arguments.collective != b.arguments.collective || a.arguments.bytes() != b.arguments.bytes() ||
          b.measured_ns < kAsGood * a.measured_ns) {
        continue;
      }
      ++pairs;
      wrong += fast.predicted_ns >= slow.predicted_ns;
    }
  }
  Row row = EmptyRow(0, 0);
  row.what = "pairs of plans for one call, " + place;
  row = Figure(row, "misordered", "%", {pairs > 0 ? 100.0 * wrong / pairs : 0});
  row.runs = pairs;
  row.note = absl::StrFormat("%d of %d that differ by 20 %% or more; %s", wrong, pairs, machine);
  return row;
}

// Calibrates, predicts the rest, and reports.
absl::Status Judge(std::vector<Cell> cells, const Extent& extent, const std::string& machine, const Reporter& report) {
  std::vector<planner::Observation> pings;
  for (Cell& cell : cells) {
    // What disturbs the machine makes calls longer: the round that it disturbed least.
    cell.observation.measured_ns = 1000 * *std::min_element(cell.round_us.begin(), cell.round_us.end());
    if (Calibrates(cell, extent)) pings.push_back(cell.observation);
  }
  std::map<std::string, std::vector<Judged>> judged;  // by place
  for (const Place& place : extent.places) judged[place.Name()];
  if (!pings.empty()) {
    ASSIGN_OR_RETURN(const planner::Calibration fit, planner::Calibrate(pings, DefaultCosts(), kSpinsNs));
    for (const Cell& cell : cells) {
      ASSIGN_OR_RETURN(const double predicted_ns, planner::PredictNs(cell.observation, CostsAt(cell.place, fit.costs)));
      const bool calibrates = Calibrates(cell, extent);
      report(RowOf(cell, calibrates, predicted_ns / 1000, machine));
      if (!calibrates) judged[cell.place.Name()].push_back({&cell, predicted_ns});
    }
    Row residual = EmptyRow(0, 0);
    residual.what = "what the costs were calibrated on, loopback";
    residual = Figure(residual, "residual", "%", {100 * fit.median_residual});
    residual.runs = static_cast<uint32_t>(pings.size());
    residual.note = absl::StrFormat("%s; %s", DescribeFit(fit), machine);
    report(residual);
  }
  for (const auto& [place, of_place] : judged) {
    if (!of_place.empty()) report(OrderOf(of_place, place, machine));
    report(SummaryOf(of_place, place, machine));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunModel(const Options& options, const Contest&, const Reporter& report) {
  const Extent extent = ExtentOf(options.quick);
  const std::string machine = DescribeMachine();  // before we load it ourselves
  std::vector<std::map<std::string, Cells>> cells(extent.places.size());
  std::vector<bool> given_up(extent.places.size(), false);
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < extent.places.size(); ++i) {
      if (given_up[i]) continue;
      const Place& place = extent.places[i];
      const absl::Status status = RunPlace(options, place, extent, &cells[i]);
      if (status.ok()) continue;
      // Without namespaces there is no fabric, and the other places do without.
      const bool no_fabric = place.latency > absl::ZeroDuration() && !netns::CheckNamespaces(true).ok();
      if (!absl::IsDeadlineExceeded(status) && !no_fabric) return status;
      given_up[i] = true;
      Row row = EmptyRow(place.nodes, place.ppn);
      row.what = "a call and a barrier before it, " + place.Name();
      report(Unfinished(row, no_fabric ? std::string(status.message()) : machine));
    }
  }
  std::vector<Cell> measured;
  for (const auto& of_place : cells) {
    for (const std::string& algorithm : extent.algorithms) {
      const auto found = of_place.find(algorithm);
      if (found == of_place.end()) continue;
      for (const Cell& cell : found->second) {
        if (!cell.round_us.empty()) measured.push_back(cell);
      }
    }
  }
  return Judge(std::move(measured), extent, machine, report);
}

}  // namespace copse::bench
