// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/sweep.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "cli/sim/cluster/block_run.h"
#include "cli/sim/cluster/plan_run.h"
#include "cli/sim/plan_maker.h"
#include "planner/algorithms/block_costs.h"
#include "planner/pricing/cost_model.h"

namespace copse::simcli {
namespace {

constexpr std::string_view kMethodNames[] = {"replay", "costs", "run"};

absl::StatusOr<int64_t> TimeOf(const SweepRequest& request, const SimTeam& team, const std::string& algorithm,
                               uint64_t bytes, const planner::BroadcastCosts* broadcast) {
  const uint32_t root_node = team.shape.node_of_rank[request.root].value();
  if (request.method == Method::kReplay) {
    ASSIGN_OR_RETURN(const planner::BroadcastTree tree, MakeBroadcast(algorithm, team, *broadcast, root_node));
    return tree.completion_ns;
  }
  const CallArguments call = CallOf(request.collective, bytes, request.root);
  ASSIGN_OR_RETURN(const schedule::Plan plan, MakePlan({.algorithm = algorithm, .call = call}, team));
  if (request.method == Method::kCosts) {
    ASSIGN_OR_RETURN(const planner::Prediction prediction,
                     planner::Price(plan, team.shape, team.costs, call, {.critical_path = false, .post_ns = {}}));
    return prediction.total_ns;
  }
  ASSIGN_OR_RETURN(const sim::PlanRunResult run, sim::RunPlan(plan, team.shape, team.costs, call));
  return run.total_ns;
}

absl::StatusOr<int64_t> BlockTimeOf(const SweepRequest& request, const SimTeam& team, const std::string& algorithm,
                                    const planner::BlockCosts& costs) {
  ASSIGN_OR_RETURN(const planner::BlockTrees trees,
                   MakeBlockTrees(algorithm, team, costs, *request.blocks, request.root));
  if (request.method == Method::kReplay) return trees.completion_ns;
  ASSIGN_OR_RETURN(const sim::BlockRunResult run, sim::RunBlocks(trees, costs, *request.blocks));
  return run.total_ns;
}

// Checks that the method supports the collective and the number of ranks per node.
absl::Status CheckMethod(const SweepRequest& request) {
  if (request.blocks.has_value()) {
    if (request.method != Method::kCosts && request.ranks_per_node == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("by: this collective is replayed or run, of one rank a node (collective=",
                     AbslView(planner::BlockCollectiveName(*request.blocks)),
                     ", by=", AbslView(MethodName(request.method)), ", ppn=", request.ranks_per_node, ")"));
  }
  if (request.method == Method::kReplay && (request.collective != Collective::kBcast || request.ranks_per_node != 1)) {
    return absl::InvalidArgumentError(absl::StrCat("by: the replay is for broadcasts of one rank a node (collective=",
                                                   AbslView(CollectiveName(request.collective)),
                                                   ", ppn=", request.ranks_per_node, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Method> MethodOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kMethodNames); ++i) {
    if (name == kMethodNames[i]) return static_cast<Method>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("by: unknown (value=", AbslView(name), ", known=replay costs run)"));
}

std::string_view MethodName(Method method) { return kMethodNames[static_cast<size_t>(method)]; }

SweepCell Summarize(const SweepPoint& point, const std::string& algorithm, std::vector<int64_t> times_ns) {
  CHECK(!times_ns.empty());
  std::sort(times_ns.begin(), times_ns.end());
  const auto count = static_cast<double>(times_ns.size());
  const auto nearest = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * count));
    return times_ns[std::clamp<size_t>(rank, 1, times_ns.size()) - 1];
  };
  SweepCell cell{.point = point, .algorithm = algorithm, .runs = static_cast<uint32_t>(times_ns.size())};
  for (const int64_t ns : times_ns) cell.mean_ns += static_cast<double>(ns) / count;
  cell.least_ns = times_ns.front();
  cell.p10_ns = nearest(0.1);
  cell.median_ns = nearest(0.5);
  cell.p90_ns = nearest(0.9);
  cell.most_ns = times_ns.back();
  if (times_ns.size() > 1) {
    double squares = 0;
    for (const int64_t ns : times_ns) squares += std::pow(static_cast<double>(ns) - cell.mean_ns, 2);
    cell.deviation_ns = std::sqrt(squares / (count - 1));
  }
  return cell;
}

absl::StatusOr<std::vector<SweepCell>> Sweep(const SweepRequest& request) {
  RETURN_IF_ERROR(CheckMethod(request));
  std::vector<SweepCell> cells;
  uint64_t done = 0;
  const uint64_t all = uint64_t{request.points.size()} * request.seeds.size() * request.algorithms.size();
  for (const SweepPoint& point : request.points) {
    std::vector<std::vector<int64_t>> times(request.algorithms.size());
    for (const uint64_t seed : request.seeds) {
      ASSIGN_OR_RETURN(const topology::Topology topology, request.cluster(point.nodes, seed));
      ASSIGN_OR_RETURN(const SimTeam team, MakeTeam(topology, AllNodeNames(topology), request.ranks_per_node));
      if (request.root >= team.shape.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("root: no such rank (root=", request.root, ", ranks=", team.shape.size(), ")"));
      }
      std::optional<planner::BlockCosts> blocks;
      std::optional<planner::BroadcastCosts> broadcast;
      if (request.blocks.has_value()) {
        ASSIGN_OR_RETURN(blocks, BlockCostsOf(team, point.bytes));
      } else {
        ASSIGN_OR_RETURN(broadcast, BroadcastCostsOf(team, std::max<uint64_t>(point.bytes, 1)));
        broadcast->FillMatrix();
      }
      for (size_t i = 0; i < request.algorithms.size(); ++i) {
        const absl::StatusOr<int64_t> ns = blocks.has_value()
                                               ? BlockTimeOf(request, team, request.algorithms[i], *blocks)
                                               : TimeOf(request, team, request.algorithms[i], point.bytes, &*broadcast);
        RETURN_IF_ERROR(ns.status());
        times[i].push_back(*ns);
        if (request.progress) request.progress(++done, all);
      }
    }
    for (size_t i = 0; i < request.algorithms.size(); ++i) {
      cells.push_back(Summarize(point, request.algorithms[i], std::move(times[i])));
    }
  }
  return cells;
}

}  // namespace copse::simcli
