// SPDX-License-Identifier: Apache-2.0
#include "planner/planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/candidates.h"
#include "planner/choose.h"
#include "planner/drawing.h"
#include "planner/node_order.h"
#include "planner/structure.h"

namespace copse::planner {
namespace {

using schedule::Collective;

absl::Status CheckOptions(const PlannerOptions& options) {
  uint64_t next = 0;
  for (const SizeClass& c : options.size_classes) {
    if (c.bytes_min != next || c.bytes_max < c.bytes_min || c.bytes_max > schedule::kMessageBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("size class: must follow the one before it (bytes=", c.bytes_min,
                                                     "-", c.bytes_max, ", next=", next,
                                                     ", limit=", schedule::kMessageBytesMax, ")"));
    }
    next = c.bytes_max + 1;
  }
  if (next != schedule::kMessageBytesMax + 1) {
    return absl::InvalidArgumentError(absl::StrCat("size classes: must reach the largest message (bytes=", next,
                                                   ", limit=", schedule::kMessageBytesMax, ")"));
  }
  for (const uint32_t k : options.fanouts) {
    if (k < 2) return absl::InvalidArgumentError(absl::StrCat("fanouts: too small (k=", k, ", least=2)"));
  }
  if (!std::isfinite(options.edge_bias) || options.edge_bias < 0 || options.edge_bias > 100) {
    return absl::InvalidArgumentError(
        absl::StrCat("edge_bias: out of range (edge_bias=", options.edge_bias, ", limit=100)"));
  }
  return absl::OkStatus();
}

// What one team is planned with.
struct TeamPlanning {
  TeamCosts costs;
  NodeOrder order;
  std::vector<Structure> structures;

  // Index of the structure for this size class, built if it is not there yet.
  absl::StatusOr<uint32_t> Find(std::string_view algorithm, uint64_t bytes_max) {
    const bool by_cost = GoesByCost(algorithm) && order.size() > 2;
    const uint64_t bytes = by_cost ? BytesOfClass(bytes_max) : 0;
    for (uint32_t i = 0; i < structures.size(); ++i) {
      if (structures[i].algorithm == algorithm && structures[i].bytes == bytes) return i;
    }
    ASSIGN_OR_RETURN(Structure structure, BuildStructureFor(algorithm, order, costs, bytes_max));
    structures.push_back(std::move(structure));
    return static_cast<uint32_t>(structures.size() - 1);
  }
};

// `bytes_max`: of the size classes that candidates are wanted for.
absl::StatusOr<TeamPlanning> Prepare(const schedule::TeamShape& shape, absl::Span<const std::string> node_names,
                                     const topology::Topology& topology, const CostParameters& parameters,
                                     const PlannerOptions& options, absl::Span<const uint64_t> bytes_max) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(schedule::CheckShape(shape));
  if (node_names.size() != shape.node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("team: a name for each node (names=", node_names.size(), ", nodes=", shape.node_count, ")"));
  }
  ASSIGN_OR_RETURN(TeamCosts costs, TeamCosts::Create(node_names, topology, parameters));
  TeamPlanning planning{std::move(costs), {}, {}};
  planning.order = OrderByTopology(planning.costs, shape.node_of_rank[0].value());
  for (const std::string& name : CandidateAlgorithms(shape.node_count, options.fanouts)) {
    for (const uint64_t bytes : bytes_max) RETURN_IF_ERROR(planning.Find(name, bytes).status());
  }
  return planning;
}

// The largest message of the class, from rank 0, in bytes.
schedule::CallArguments LargestCall(Collective collective, const SizeClass& size_class) {
  return {.collective = collective, .count = size_class.bytes_max};
}

}  // namespace

absl::StatusOr<std::vector<schedule::Plan>> Planner::MakePlans(const schedule::TeamShape& shape,
                                                               absl::Span<const std::string> node_names) const {
  std::vector<uint64_t> bytes_max = {0};
  for (const SizeClass& size_class : options_.size_classes) bytes_max.push_back(size_class.bytes_max);
  ASSIGN_OR_RETURN(TeamPlanning planning, Prepare(shape, node_names, *topology_, parameters_, options_, bytes_max));

  struct Wanted {
    Collective collective;
    SizeClass size_class;
    std::vector<Candidate> candidates;
  };
  std::vector<Wanted> wanted;
  const size_t compared = planning.structures.size();  // a forced one may join, for its own collective only
  for (int c = 0; c < schedule::kCollectiveCount; ++c) {
    const Collective collective = static_cast<Collective>(c);
    // With a forced algorithm nothing else is compared.
    uint32_t forced_index = 0;
    const auto forced = options_.forced.find(collective);
    const auto force = [&](uint64_t class_bytes_max) -> absl::Status {
      ASSIGN_OR_RETURN(forced_index, planning.Find(forced->second, class_bytes_max));
      if (!CanCarry(planning.structures[forced_index], collective)) {
        return absl::InvalidArgumentError(absl::StrCat("algorithm ", forced->second, ": cannot carry it (collective=",
                                                       AbslView(schedule::CollectiveName(collective)), ")"));
      }
      return absl::OkStatus();
    };
    const std::vector<SizeClass> barrier_class = {{0, 0}};
    for (const SizeClass& size_class : collective == Collective::kBarrier ? barrier_class : options_.size_classes) {
      if (forced != options_.forced.end()) RETURN_IF_ERROR(force(size_class.bytes_max));
      const auto all = absl::MakeConstSpan(planning.structures);
      const auto structures = forced != options_.forced.end() ? all.subspan(forced_index, 1) : all.first(compared);
      ASSIGN_OR_RETURN(std::vector<Candidate> candidates,
                       PriceCandidates(structures, shape, planning.costs, LargestCall(collective, size_class),
                                       size_class.bytes_max, nullptr));
      if (forced != options_.forced.end()) candidates[0].structure = forced_index;
      wanted.push_back({collective, size_class, std::move(candidates)});
    }
  }

  std::vector<EdgeList> edges;
  for (const Structure& structure : planning.structures) edges.push_back(EdgesOf(structure));
  std::vector<Slot> slots;
  for (const Wanted& item : wanted) {
    Slot& slot = slots.emplace_back();
    for (const Candidate& candidate : item.candidates) slot.push_back({candidate.structure, candidate.total_ns});
  }
  ASSIGN_OR_RETURN(const std::vector<uint32_t> chosen,
                   ChoosePlanSet(slots, edges, shape.node_count,
                                 {.edge_bias = options_.edge_bias, .edges_max = options_.edges_max}));
  std::vector<schedule::Plan> plans;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Wanted& item = wanted[i];
    const Candidate& candidate = item.candidates[chosen[i]];
    schedule::Plan& plan =
        plans.emplace_back(PlanOf(planning.structures[candidate.structure], item.collective, item.size_class.bytes_min,
                                  item.size_class.bytes_max, candidate.segment_bytes));
    plan.id = PlanId(options_.plan_id_first + i);
    plan.predicted_us = static_cast<double>(candidate.total_ns) / 1000;
  }
  return plans;
}

absl::StatusOr<Explanation> Planner::Explain(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                             absl::Span<const std::string> node_names,
                                             const schedule::CallArguments& arguments) const {
  ASSIGN_OR_RETURN(const TeamPlanning planning,
                   Prepare(shape, node_names, *topology_, parameters_, options_, {plan.bytes_max}));
  Explanation explanation;
  ASSIGN_OR_RETURN(explanation.prediction, Price(plan, shape, planning.costs, arguments));
  std::vector<Candidate> every;
  RETURN_IF_ERROR(
      PriceCandidates(planning.structures, shape, planning.costs, arguments, plan.bytes_max, &every).status());
  for (const Candidate& candidate : every) {
    explanation.alternatives.push_back(
        {planning.structures[candidate.structure].algorithm, candidate.segment_bytes, candidate.total_ns});
  }
  std::stable_sort(explanation.alternatives.begin(), explanation.alternatives.end(),
                   [](const Alternative& a, const Alternative& b) { return a.total_ns < b.total_ns; });
  const Drawing drawing(plan, shape, planning.costs, arguments, explanation.prediction);
  explanation.text = drawing.Text();
  explanation.dot = drawing.Dot();
  if (!explanation.alternatives.empty()) {
    absl::StrAppend(&explanation.text, "candidates for this call:\n");
    for (const Alternative& other : explanation.alternatives) {
      absl::StrAppend(&explanation.text, "  ", other.algorithm);
      if (other.segment_bytes > 0) absl::StrAppend(&explanation.text, ", segments of ", other.segment_bytes, " B");
      absl::StrAppend(&explanation.text, ": ", FormatMicroseconds(other.total_ns), "\n");
    }
  }
  return explanation;
}

}  // namespace copse::planner
