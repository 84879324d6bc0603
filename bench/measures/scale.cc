// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "cli/sim/cluster/block_data.h"
#include "cli/sim/cluster/plan_run.h"
#include "planner/candidates.h"
#include "planner/node_order.h"
#include "planner/pricing/team_costs.h"
#include "planner/size_class.h"
#include "planner/structure.h"
#include "planner/topology/generate.h"
#include "schedule/block_program.h"
#include "schedule/select_plan.h"

namespace copse::bench {
namespace {

constexpr char kCluster[] = "racks";
constexpr uint64_t kSeed = 1;
// How many a root may hear itself, as in the gathervs of libraries, for a comparison.
constexpr uint32_t kLinearNodes = 256;

struct Cell {
  Collective collective;
  std::string algorithm;
  uint32_t nodes;
  uint64_t bytes;
  std::string counts = {};  // of irregular collectives
  bool counts_known = false;
};

absl::StatusOr<sim::PlanRunResult> Simulate(const Cell& cell) {
  ASSIGN_OR_RETURN(const auto topology, topology::GenerateTopology(kCluster, cell.nodes, kSeed));
  std::vector<std::string> names;
  schedule::TeamShape shape{.node_of_rank = {}, .node_count = cell.nodes};
  for (uint32_t v = 0; v < cell.nodes; ++v) {
    names.push_back(topology.nodes()[v].name);
    shape.node_of_rank.push_back(NodeIndex(v));
  }
  ASSIGN_OR_RETURN(const auto costs, planner::TeamCosts::Create(names, topology, topology.costs()));
  const Collective regular = PlanCollective(cell.collective);
  planner::NodeOrder order = planner::OrderByTopology(costs, 0);
  // Scans go in the order of ranks.
  if (IsScan(regular)) std::iota(order.begin(), order.end(), 0);
  ASSIGN_OR_RETURN(const planner::Structure structure, planner::BuildStructure(cell.algorithm, order));
  const bool blocks = HasBlocks(regular);
  CallArguments call = {.collective = cell.collective, .type = ElementType::kUint64, .count = cell.bytes / 8};
  sim::PlanRunOptions options;
  if (IsIrregular(cell.collective)) {
    if (cell.counts_known) call.options |= kCountsKnown;
    ASSIGN_OR_RETURN(options.counts,
                     sim::MakeBlockCounts(cell.counts, cell.collective, shape.size(), cell.bytes, 8, kSeed));
    call = sim::WithCounts(call, options.counts);
  }
  const uint64_t bytes_max =
      blocks ? planner::BlockClassOf(regular, schedule::PlanBytesOf(call, shape.size())).bytes_max : cell.bytes;
  schedule::Plan plan =
      planner::PlanOf(structure, regular, 0, bytes_max, blocks ? schedule::SegmentBytesMax(regular) : 0);
  plan.id = PlanId(1);
  return sim::RunPlan(plan, shape, costs, call, options);
}

Cell CellOf(const Case& each) {
  return {.collective = *CollectiveFromName(each.row.collective),
          .algorithm = each.line.at("algorithm"),
          .nodes = each.row.nodes,
          .bytes = each.row.bytes,
          .counts = TextOf(each.line, "counts"),
          .counts_known = each.line.contains("known")};
}

double KilobytesOf(const sim::DaemonUse& use) {
  return static_cast<double>(use.staging_bytes + use.notes_bytes + use.list_bytes) / 1024;
}

}  // namespace

absl::Status RunScale(const Options& options, const Contest& contest, const Reporter& report) {
  std::map<std::string, std::pair<uint32_t, double>> last;  // nodes, us
  std::map<std::string, double> linear_us;                  // by counts
  for (const Case& each : contest.cases) {
    Row row = each.row;
    if (!Wanted(options, row)) continue;
    const Cell cell = CellOf(each);
    row.system = "copse";
    row.algorithm = cell.algorithm;
    row.seed = kSeed;
    ASSIGN_OR_RETURN(const sim::PlanRunResult run, Simulate(cell));
    const double time_us = static_cast<double>(run.total_ns) / 1000;
    row.note = absl::StrFormat("%d messages; simulated in %.1f s", run.packets, run.setup_seconds + run.run_seconds);
    report(Figure(row, "time", "us", {time_us}));
    row.note = HasRoot(cell.collective) ? "of the root's daemon" : "of node 0's daemon";
    report(Figure(row, "connections", "nodes", {static_cast<double>(run.root.connections)}));
    row.note =
        absl::StrFormat("the most of any daemon: staging %d KiB of %d KiB reserved, counts %d KiB, copy lists %d KiB",
                        run.most.staging_bytes >> 10, run.most.reserved_bytes >> 10, run.most.notes_bytes >> 10,
                        run.most.list_bytes >> 10);
    report(Figure(row, "memory", "KiB", {KilobytesOf(run.most)}));
    row.note.clear();
    const auto [last_nodes, last_us] = last[row.what];
    if (2 * last_nodes == cell.nodes) {
      row.note = "beside half the ranks";
      report(Figure(row, "growth", "times", {time_us / last_us}));
    }
    last[row.what] = {cell.nodes, time_us};
    if (cell.nodes != kLinearNodes) continue;
    if (cell.algorithm == "flat") {
      linear_us[cell.counts] = time_us;
    } else if (linear_us.count(cell.counts) > 0) {
      row.note = "beside the same call by flat";
      report(Figure(row, "beside linear", "times", {time_us / linear_us[cell.counts]}));
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
