// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/plan_maker.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "planner/candidates.h"
#include "planner/node_order.h"
#include "planner/planner.h"
#include "planner/size_class.h"
#include "planner/structure.h"
#include "schedule/select_plan.h"

namespace copse::simcli {

namespace {

// Plans for up to this many nodes are priced to select a segment size or to explain a choice. For more nodes that would
// take longer than the choice itself.
constexpr uint32_t kExplainedNodesMax = 2000;

// Returns the call's bytes. Errors: INVALID_ARGUMENT if there are too many, or if the root is no rank.
absl::StatusOr<uint64_t> CheckedBytes(const CallArguments& call, const SimTeam& team) {
  const uint64_t bytes = call.collective == Collective::kBarrier ? 0 : call.bytes();
  if (!HasBlocks(call.collective) && bytes > schedule::kMessageBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes: too many (bytes=", bytes, ", limit=", schedule::kMessageBytesMax, ")"));
  }
  if (call.root >= team.shape.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("root: no such rank (root=", call.root, ", ranks=", team.shape.size(), ")"));
  }
  return bytes;
}

// Returns the call with the count of all blocks together in place of that of a mean block, for collectives that count
// so.
CallArguments CountedCall(const CallArguments& call, const SimTeam& team) {
  CallArguments counted = call;
  if (CountsAllBlocks(call.collective)) {
    counted.count *= team.shape.size();
  }
  return counted;
}

// Lists the algorithms of planner::BuildStructure, except knomial-K and kary-K.
constexpr const char* kStructures[] = {"flat", "chain", "binomial", "dissemination",    "recursive-doubling",
                                       "ring", "bruck", "doubling", "rotated-binomial", "pairwise"};

// Returns whether planner::BuildStructure knows the algorithm.
bool IsStructure(const std::string& algorithm) {
  return std::find(std::begin(kStructures), std::end(kStructures), algorithm) != std::end(kStructures) ||
         absl::StartsWith(algorithm, "knomial-") || absl::StartsWith(algorithm, "kary-");
}

// Calls BuildBroadcast. Adds the other algorithms to the error that lists known names.
absl::StatusOr<planner::BroadcastTree> BuildTree(const std::string& algorithm, const planner::BroadcastCosts& costs,
                                                 uint32_t root_node) {
  absl::StatusOr<planner::BroadcastTree> tree = planner::BuildBroadcast(algorithm, costs, root_node);
  if (tree.ok()) return tree;
  const std::string known = absl::StrCat("known=", absl::StrJoin(kStructures, " "), " hierarchical ");
  return absl::Status(tree.status().code(),
                      absl::StrReplaceAll(tree.status().message(), {{"known=", absl::string_view(known)}}));
}

// Returns the nodes' indices in the topology, by node of the team.
std::vector<uint32_t> PlacesOf(const SimTeam& team) {
  std::vector<uint32_t> places(team.costs.node_count());
  for (uint32_t v = 0; v < places.size(); ++v) places[v] = team.costs.PlaceOf(v);
  return places;
}

absl::StatusOr<planner::Structure> MakeStructure(const std::string& algorithm, const SimTeam& team, uint32_t root_node,
                                                 uint64_t bytes, Collective collective) {
  if (IsStructure(algorithm)) {
    planner::NodeOrder order = planner::OrderByTopology(team.costs, root_node);
    // A scan reduces in the order of ranks.
    if (IsScan(collective)) std::iota(order.begin(), order.end(), 0);
    return planner::BuildStructure(algorithm, order);
  }
  ASSIGN_OR_RETURN(const planner::BroadcastCosts costs, BroadcastCostsOf(team, bytes));
  if (algorithm == "hierarchical") return planner::BuildByCost(algorithm, costs, root_node);
  ASSIGN_OR_RETURN(const planner::BroadcastTree tree, BuildTree(algorithm, costs, root_node));
  planner::Structure structure;
  structure.algorithm = algorithm;
  structure.root_node = NodeIndex(root_node);
  structure.node_count = costs.node_count();
  structure.neighbors = planner::NeighborsOf(tree);
  return structure;
}

}  // namespace

std::vector<std::string> AllNodeNames(const topology::Topology& topology) {
  std::vector<std::string> names;
  names.reserve(topology.nodes().size());
  for (const topology::Node& node : topology.nodes()) names.push_back(node.name);
  return names;
}

absl::StatusOr<SimTeam> MakeTeam(const topology::Topology& topology, absl::Span<const std::string> node_names,
                                 uint32_t ranks_per_node) {
  if (ranks_per_node == 0 || ranks_per_node > schedule::kLocalRanksMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("ppn: out of range (value=", ranks_per_node, ", limit=", schedule::kLocalRanksMax, ")"));
  }
  ASSIGN_OR_RETURN(planner::TeamCosts costs, planner::TeamCosts::Create(node_names, topology, topology.costs()));
  schedule::TeamShape shape{.node_of_rank = {}, .node_count = static_cast<uint32_t>(node_names.size())};
  shape.node_of_rank.reserve(size_t{shape.node_count} * ranks_per_node);
  for (uint32_t v = 0; v < shape.node_count; ++v) {
    for (uint32_t i = 0; i < ranks_per_node; ++i) shape.node_of_rank.push_back(NodeIndex(v));
  }
  return SimTeam{.shape = std::move(shape), .costs = std::move(costs)};
}

CallArguments CallOf(Collective collective, uint64_t bytes, uint32_t root) {
  CallArguments call{.collective = collective, .root = HasRoot(collective) ? root : 0};
  if (collective == Collective::kBarrier) return call;
  call.type = bytes % 8 == 0 ? ElementType::kUint64 : bytes % 4 == 0 ? ElementType::kUint32 : ElementType::kUint8;
  call.count = bytes / ElementBytes(call.type);
  return call;
}

absl::StatusOr<schedule::Plan> MakePlan(const PlanRequest& request, const SimTeam& team) {
  const CallArguments& call = request.call;
  ASSIGN_OR_RETURN(const uint64_t bytes, CheckedBytes(call, team));
  if (request.segment_bytes > schedule::SegmentBytesMax(request.call.collective) ||
      request.segment_bytes % schedule::kSegmentUnitBytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment: not a multiple of 16 in range (bytes=", request.segment_bytes,
                     ", limit=", schedule::SegmentBytesMax(request.call.collective), ")"));
  }
  const uint32_t root_node = team.shape.node_of_rank[call.root].value();
  const Collective collective = PlanCollective(call.collective);
  ASSIGN_OR_RETURN(const planner::Structure structure,
                   MakeStructure(request.algorithm, team, root_node, std::max<uint64_t>(bytes, 1), collective));
  if (!planner::CanCarry(structure, collective)) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm: does not do this collective (algorithm=", request.algorithm,
                     ", collective=", AbslView(CollectiveName(call.collective)), ")"));
  }
  const uint32_t segment_bytes = request.segment_bytes > 0 ? request.segment_bytes : schedule::kSegmentBytesUsual;
  // Blocks are segmented even if one is short, since all of them together are long.
  const bool blocks = HasBlocks(collective);
  uint64_t bytes_max = bytes;
  if (blocks) {
    const uint64_t of_block = schedule::PlanBytesOf(CountedCall(call, team), team.shape.size());
    bytes_max = planner::BlockClassOf(collective, of_block).bytes_max;
  }
  schedule::Plan plan =
      planner::PlanOf(structure, collective, 0, bytes_max, blocks || bytes > segment_bytes ? segment_bytes : 0);
  plan.id = PlanId(1);
  return plan;
}

absl::StatusOr<schedule::Plan> MakeCheapestPlan(const PlanRequest& request, const SimTeam& team) {
  ASSIGN_OR_RETURN(const schedule::Plan usual, MakePlan(request, team));
  const std::vector<uint32_t> sizes = HasBlocks(usual.collective)
                                          ? planner::BlockSegmentSizes(usual.collective, usual.bytes_max)
                                          : planner::SegmentSizes(usual.bytes_max);
  std::optional<schedule::Plan> cheapest;
  int64_t least_ns = 0;
  for (const uint32_t size : sizes) {
    PlanRequest sized = request;
    sized.segment_bytes = size;
    ASSIGN_OR_RETURN(schedule::Plan plan, MakePlan(sized, team));
    if (sizes.size() == 1 || team.shape.node_count > kExplainedNodesMax) return plan;
    CallArguments regular = request.call;
    regular.collective = usual.collective;
    ASSIGN_OR_RETURN(const int64_t ns, planner::PredictedNs(plan, team.shape, team.costs, regular));
    if (cheapest.has_value() && ns >= least_ns) continue;
    cheapest = std::move(plan);
    least_ns = ns;
  }
  return cheapest.value_or(usual);
}

absl::StatusOr<ChosenPlan> ChoosePlan(const CallArguments& call, const SimTeam& team,
                                      absl::Span<const std::string> node_names) {
  RETURN_IF_ERROR(CheckedBytes(call, team).status());
  const topology::Topology& topology = team.costs.topology();
  const planner::Planner planner(&topology, topology.costs());
  ASSIGN_OR_RETURN(const std::vector<schedule::Plan> plans,
                   planner.MakePlans(team.shape, node_names, FamilyOf(call.collective)));
  CallArguments regular = call;
  regular.collective = PlanCollective(call.collective);
  const schedule::Plan* const plan = schedule::PlanFor(plans, CountedCall(call, team), team.shape.size());
  CHECK(plan != nullptr);
  if (team.shape.node_count > kExplainedNodesMax) return ChosenPlan{*plan, "by price"};
  ASSIGN_OR_RETURN(planner::Explanation explanation, planner.Explain(*plan, team.shape, node_names, regular, plans));
  return ChosenPlan{*plan, std::move(explanation.why)};
}

absl::StatusOr<planner::BroadcastCosts> BroadcastCostsOf(const SimTeam& team, uint64_t bytes) {
  return planner::BroadcastCosts::FromTopology(team.costs.topology(), PlacesOf(team), bytes);
}

absl::StatusOr<planner::BlockCosts> BlockCostsOf(const SimTeam& team, uint64_t block_bytes) {
  return planner::BlockCosts::Create(&team.costs.topology(), PlacesOf(team), block_bytes);
}

absl::StatusOr<planner::BlockTrees> MakeBlockTrees(const std::string& algorithm, const SimTeam& team,
                                                   const planner::BlockCosts& costs,
                                                   planner::BlockCollective collective, uint32_t root_node) {
  if (!IsStructure(algorithm)) return planner::BuildBlockTrees(algorithm, costs, collective, root_node);
  ASSIGN_OR_RETURN(const planner::BroadcastTree tree, MakeBroadcast(algorithm, team, costs.OfOne(), root_node));
  return planner::BlockTreesOf(tree, costs, collective);
}

absl::StatusOr<planner::BroadcastTree> MakeBroadcast(const std::string& algorithm, const SimTeam& team,
                                                     const planner::BroadcastCosts& costs, uint32_t root_node) {
  if (!IsStructure(algorithm)) return BuildTree(algorithm, costs, root_node);
  ASSIGN_OR_RETURN(const planner::Structure structure,
                   planner::BuildStructure(algorithm, planner::OrderByTopology(team.costs, root_node)));
  if (!planner::CanCarry(structure, Collective::kBcast)) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm: is no tree (algorithm=", algorithm, ")"));
  }
  return planner::TreeOfNeighbors(costs, root_node, structure.neighbors);
}

absl::StatusOr<int64_t> ReplayNs(const schedule::Plan& plan, const SimTeam& team, uint32_t root_node, uint64_t bytes) {
  ASSIGN_OR_RETURN(const planner::BroadcastCosts costs, BroadcastCostsOf(team, std::max<uint64_t>(bytes, 1)));
  return planner::TreeOfNeighbors(costs, root_node, plan.neighbors).completion_ns;
}

}  // namespace copse::simcli
