// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "cli/sim/cluster/block_data.h"
#include "cli/sim/cluster/plan_run.h"
#include "offload_emu/alu.h"
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

// What a cell's process tells.
struct Told {
  bool ok = false;
  char error[256] = {};
  int64_t total_ns = 0;
  uint64_t packets = 0;
  sim::DaemonUse root, most;
  double seconds = 0;
  int64_t memory_bytes = 0;
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

// In a process of its own, so that its memory is its own, and is gone afterwards.
absl::StatusOr<Told> SimulateApart(const Cell& cell) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError(absl::StrCat("scale: no pipe: ", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) return absl::InternalError(absl::StrCat("scale: no process: ", std::strerror(errno)));
  if (child == 0) {
    Told told;
    const absl::StatusOr<sim::PlanRunResult> run = Simulate(cell);
    told.ok = run.ok();
    if (run.ok()) {
      told.total_ns = run->total_ns;
      told.packets = run->packets;
      told.root = run->root;
      told.most = run->most;
      told.seconds = run->setup_seconds + run->run_seconds;
    } else {
      std::strncpy(told.error, std::string(run.status().message()).c_str(), sizeof(told.error) - 1);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    told.memory_bytes = int64_t{usage.ru_maxrss} * 1024;
    _exit(write(ends[1], &told, sizeof(told)) == sizeof(told) ? 0 : 1);
  }
  close(ends[1]);
  Told told;
  const ssize_t got = read(ends[0], &told, sizeof(told));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != sizeof(told))
    return absl::InternalError(absl::StrCat("scale: a simulation ended early (status=", status, ")"));
  if (!told.ok) return absl::InternalError(told.error);
  return told;
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
    ASSIGN_OR_RETURN(const Told told, SimulateApart(cell));
    const double time_us = static_cast<double>(told.total_ns) / 1000;
    row.note = absl::StrFormat("%d messages; simulated in %.1f s and %d MiB", told.packets, told.seconds,
                               told.memory_bytes >> 20);
    report(Figure(row, "time", "us", {time_us}));
    row.note = HasRoot(cell.collective) ? "of the root's daemon" : "of node 0's daemon";
    report(Figure(row, "connections", "nodes", {static_cast<double>(told.root.connections)}));
    row.note =
        absl::StrFormat("the most of any daemon: staging %d KiB of %d KiB reserved, counts %d KiB, copy lists %d KiB",
                        told.most.staging_bytes >> 10, told.most.reserved_bytes >> 10, told.most.notes_bytes >> 10,
                        told.most.list_bytes >> 10);
    report(Figure(row, "memory", "KiB", {KilobytesOf(told.most)}));
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
