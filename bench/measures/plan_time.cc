// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/cpu_time.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "planner/planner.h"
#include "planner/topology/generate.h"
#include "schedule/plan.h"

namespace copse::bench {
namespace {

constexpr uint64_t kSeed = 1;
constexpr uint64_t kBytes = 1024;

struct Cell {
  const char* algorithm;
  uint32_t nodes;
  uint32_t runs;
};

std::vector<Cell> CellsOf(bool quick) {
  if (quick) return {{"MGO", 1024, 3}, {"MGO", 65'536, 1}};
  return {{"MGO", 1024, 9}, {"MGO", 65'536, 9}, {"MGO", 1'000'000, 3}, {"best", 1024, 3}, {"best", 65'536, 3}};
}

Row RowOf(const std::string& kind, const Cell& cell) {
  return {.bench = "plan-time",
          .what = absl::StrFormat("%s, cluster \"%s\"", cell.algorithm, kind),
          .system = "copse",
          .collective = "bcast",
          .algorithm = cell.algorithm,
          .nodes = cell.nodes,
          .ppn = 1,
          .bytes = kBytes,
          .metric = "time",
          .unit = "ms",
          .seed = kSeed};
}

// From the topology to the tree. The topology is there: reading it is another matter.
absl::Status Measure(const topology::Topology& topology, const Cell& cell, Row* row) {
  std::vector<double> times_ms;
  int64_t completion_ns = 0;
  for (uint32_t run = 0; run < cell.runs; ++run) {
    const absl::Duration start = ThreadCpuTime();
    ASSIGN_OR_RETURN(const auto costs, planner::BroadcastCosts::FromTopology(topology, kBytes));
    ASSIGN_OR_RETURN(const auto tree, planner::BuildBroadcast(cell.algorithm, costs, 0));
    times_ms.push_back(absl::ToDoubleMilliseconds(ThreadCpuTime() - start));
    completion_ns = tree.completion_ns;
  }
  Summarize(times_ms, row);
  row->note = absl::StrFormat("processor time of one thread; its tree takes %.3f ms",
                              1e-6 * static_cast<double>(completion_ns));
  return absl::OkStatus();
}

// Measures the quick first plans of the common collectives, of a team with one rank on each node of the cluster.
absl::Status MeasureQuickPlans(const Options& options, const std::string& kind, const Reporter& report) {
  for (const uint32_t nodes : {1000u, 10'000u, 65'536u}) {
    Row row = RowOf(kind, {"binomial", nodes, 1});
    row.what = absl::StrFormat("quick plans, cluster \"%s\"", kind);
    row.collective.clear();
    row.bytes = 0;
    if (!Wanted(options, row)) continue;
    ASSIGN_OR_RETURN(const auto topology, topology::GenerateTopology(kind, nodes, kSeed));
    std::vector<std::string> names;
    schedule::TeamShape shape{.node_of_rank = {}, .node_count = nodes};
    for (uint32_t v = 0; v < nodes; ++v) {
      names.push_back(topology.nodes()[v].name);
      shape.node_of_rank.push_back(NodeIndex(v));
    }
    const planner::Planner planner(&topology, topology.costs());
    std::vector<double> times_ms;
    for (int run = 0; run < (options.quick ? 3 : 9); ++run) {
      const absl::Duration start = ThreadCpuTime();
      ASSIGN_OR_RETURN(const auto plans, planner.MakeQuickPlans(shape, names));
      times_ms.push_back(absl::ToDoubleMilliseconds(ThreadCpuTime() - start));
    }
    Summarize(times_ms, &row);
    row.note = "processor time of one thread, for all plans of the common collectives; nothing is priced";
    report(row);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunPlanTime(const Options& options, const Contest&, const Reporter& report) {
  for (const std::string& kind : topology::GeneratedKinds()) {
    RETURN_IF_ERROR(MeasureQuickPlans(options, kind, report));
    std::map<uint32_t, double> mgo_ms;
    for (const Cell& cell : CellsOf(options.quick)) {
      Row row = RowOf(kind, cell);
      if (!Wanted(options, row)) continue;
      ASSIGN_OR_RETURN(const auto topology, topology::GenerateTopology(kind, cell.nodes, kSeed));
      RETURN_IF_ERROR(Measure(topology, cell, &row));
      report(row);
      if (row.algorithm == "MGO") mgo_ms[cell.nodes] = row.median;
    }
    const auto least = mgo_ms.find(65'536), most = mgo_ms.find(1'000'000);
    if (least == mgo_ms.end() || most == mgo_ms.end()) continue;
    const auto n_log_n = [](double n) { return n * std::log2(n); };
    Row row = RowOf(kind, {"MGO", 1'000'000, 1});
    row.what = absl::StrFormat("MGO, growth from 65,536, cluster \"%s\"", kind);
    row.note = "1: time grows as n log n";
    report(
        Figure(row, "growth", "of n log n", {most->second / least->second / (n_log_n(1'000'000) / n_log_n(65'536))}));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
