// SPDX-License-Identifier: Apache-2.0
#include "planner/planner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/candidates.h"
#include "planner/choose.h"
#include "planner/drawing.h"
#include "planner/pricing/call_bound.h"
#include "planner/size_class.h"
#include "planner/structure.h"
#include "planner/structure_table.h"
#include "schedule/positional_plans.h"

namespace copse::planner {
namespace {

// These are the size classes of the common collectives, ascending without gaps from 0 to schedule::kMessageBytesMax:
// messages of one MP packet, of one frame, and of several segments. Longer messages have kLongMessages and
// kLongestMessages in teams of up to kLongNodesMax nodes, and else run by the plan of the last class here. Rules cut
// the classes further.
constexpr SizeClass kSizeClasses[] = {{0, 120}, {121, 8 * 1024}, {8 * 1024 + 1, schedule::kMessageBytesMax}};

absl::StatusOr<TeamCosts> Prepare(const schedule::TeamShape& shape, absl::Span<const std::string> node_names,
                                  const topology::Topology& topology, const CostParameters& parameters) {
  RETURN_IF_ERROR(schedule::CheckShape(shape));
  if (node_names.size() != shape.node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("team: a name for each node (names=", node_names.size(), ", nodes=", shape.node_count, ")"));
  }
  return TeamCosts::Create(node_names, topology, parameters);
}

// Wanted is a plan to be made: its purpose, and the prices of its candidates.
struct Wanted {
  Collective collective;
  SizeClass size_class;
  bool forced = false;
  std::vector<uint32_t> segment_sizes;
  std::vector<Candidate> candidates;
};

std::vector<SizeClass> ClassesOf(const Rules& rules, Collective collective, uint32_t ranks, uint32_t nodes) {
  if (collective == Collective::kBarrier) return {{0, 0}};
  if (HasBlocks(collective)) {
    return CutBySizes(BlockClasses(collective), rules, collective, ranks);
  }
  std::vector<SizeClass> classes(std::begin(kSizeClasses), std::end(kSizeClasses));
  if (nodes == 2) {
    // Two nodes have only one tree, no segment is forwarded, and a message up to one segment is not cut. So some
    // classes would have equal plans, and each plan costs memory on the nodes of every small team.
    classes[1].bytes_max = classes[2].bytes_max;
    classes[2] = {kLongMessages.bytes_min, kLongestMessages.bytes_max};
  } else if (nodes > 2 && nodes <= kLongNodesMax) {
    classes.insert(classes.end(), {kLongMessages, kLongestMessages});
  }
  return CutBySizes(classes, rules, collective, ranks);
}

// Returns the rules for calls of the class, or a ruling without rules if the collective's algorithm is forced.
Ruling RulingOf(const PlannerOptions& options, Collective collective, const SizeClass& size_class, uint32_t ranks) {
  const auto forced = options.forced.find(collective);
  if (forced == options.forced.end()) return RulingFor(options.rules, collective, size_class, ranks);
  return {.algorithm = forced->second, .segment_bytes = {}, .rules = {}};
}

// Returns whether each node's ranks are contiguous and in the nodes' order.
bool RanksInOrder(const schedule::TeamShape& shape) {
  return std::is_sorted(shape.node_of_rank.begin(), shape.node_of_rank.end());
}

// Prices the cheapest tree of each collective and class for all others that have trees among their candidates, so that
// plans can share edges: a tree that was made for one collective and message may serve another as well as its own.
absl::Status PriceWithOthers(const StructureTable& table, const schedule::TeamShape& shape, const TeamCosts& costs,
                             std::vector<Wanted>& wanted) {
  std::set<uint32_t> winners;
  for (const Wanted& item : wanted) {
    if (item.forced || item.candidates.empty()) continue;
    const auto cheapest =
        std::min_element(item.candidates.begin(), item.candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.total_ns < b.total_ns; });
    if (table.structures()[cheapest->structure].kind == schedule::PlanKind::kTree) winners.insert(cheapest->structure);
  }
  for (Wanted& item : wanted) {
    if (item.forced) continue;
    const bool takes_trees = std::any_of(item.candidates.begin(), item.candidates.end(), [&](const Candidate& c) {
      return table.structures()[c.structure].kind == schedule::PlanKind::kTree;
    });
    if (!takes_trees) continue;
    std::vector<uint32_t> which;
    for (const uint32_t winner : winners) {
      const bool has = std::any_of(item.candidates.begin(), item.candidates.end(),
                                   [&](const Candidate& c) { return c.structure == winner; });
      if (!has) which.push_back(winner);
    }
    if (which.empty()) continue;
    const CallArguments arguments = TypicalCall(item.collective, item.size_class);
    ASSIGN_OR_RETURN(
        const std::vector<Candidate> priced,
        PriceCandidates(table.structures(), which,
                        {shape, costs, arguments, item.size_class.bytes_max, item.segment_sizes}, nullptr));
    item.candidates.insert(item.candidates.end(), priced.begin(), priced.end());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<schedule::Plan>> Planner::MakePlans(const schedule::TeamShape& shape,
                                                               absl::Span<const std::string> node_names,
                                                               Family family) const {
  ASSIGN_OR_RETURN(const TeamCosts costs, Prepare(shape, node_names, *topology_, parameters_));
  StructureTable table(&costs, shape.node_of_rank[0].value(), /*all=*/false, RanksInOrder(shape));
  std::vector<Wanted> wanted;
  for (const Collective collective : CollectivesOf(family)) {
    for (const SizeClass& size_class : ClassesOf(options_.rules, collective, shape.size(), shape.node_count)) {
      const Ruling ruling = RulingOf(options_, collective, size_class, shape.size());
      Wanted& item = wanted.emplace_back();
      item.collective = collective;
      item.size_class = size_class;
      item.forced = !ruling.algorithm.empty();
      item.segment_sizes = SegmentSizes(size_class.bytes_max);
      if (family != Family::kCommon) item.segment_sizes = BlockSegmentSizes(collective, size_class.bytes_max);
      if (ruling.segment_bytes.has_value()) item.segment_sizes = {*ruling.segment_bytes};
      // A forced algorithm is not compared with others.
      ASSIGN_OR_RETURN(std::vector<uint32_t> which, item.forced ? table.Named(ruling.algorithm, collective, size_class)
                                                                : table.Candidates(collective, size_class));
      if (size_class == kLongestMessages && !item.forced && wanted.size() > 1) {
        // The many segments of these messages make them the slowest to price.
        which = StillWorthPricing(table.structures(), which, wanted[wanted.size() - 2].candidates);
      }
      const CallArguments arguments = TypicalCall(collective, size_class);
      ASSIGN_OR_RETURN(item.candidates,
                       PriceCandidates(table.structures(), which,
                                       {shape, costs, arguments, size_class.bytes_max, item.segment_sizes}, nullptr));
    }
  }
  RETURN_IF_ERROR(PriceWithOthers(table, shape, costs, wanted));

  std::vector<EdgeList> edges;
  for (const Structure& structure : table.structures()) edges.push_back(UndirectedEdges(structure));
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
        plans.emplace_back(PlanOf(table.structures()[candidate.structure], item.collective, item.size_class.bytes_min,
                                  item.size_class.bytes_max, candidate.segment_bytes));
    plan.id = PlanId(i + 1);
    plan.predicted_us = static_cast<double>(candidate.total_ns) / 1000;
  }
  return plans;
}

namespace {

// Returns the algorithm by position for a plan that is not priced. Binomial trees are at most about twice as slow as
// the tree that is chosen by price, and all trees are one, so their edges are shared. Long blocks and scans take
// cycles, beside which trees are far slower.
const char* QuickAlgorithm(Collective collective, const SizeClass& size_class, const schedule::TeamShape& shape) {
  constexpr uint64_t kTinyBlockBytes = 1024, kShortBlockBytes = 8 * 1024;
  switch (collective) {
    case Collective::kAlltoall:
      return size_class.bytes_max <= kTinyBlockBytes ? "bruck" : "pairwise";  // Named replaces bruck where it must
    case Collective::kAllgather:
      if (size_class.bytes_max <= kTinyBlockBytes) return "bruck";
      return size_class.bytes_max <= kShortBlockBytes ? "binomial" : "ring";
    case Collective::kReduceScatter:
      return size_class.bytes_max <= kShortBlockBytes ? "binomial" : "ring";
    case Collective::kScan:
    case Collective::kExscan:
      if (!RanksInOrder(shape)) return "binomial";
      return size_class.bytes_max <= kShortBlockBytes ? "doubling" : "ring";
    default:
      return "binomial";
  }
}

}  // namespace

bool IsPlannedFast(const schedule::TeamShape& shape, Family family) {
  if (family == Family::kCommon) return shape.node_count + shape.size() / 8 <= 64;
  return uint64_t{shape.node_count} * shape.size() <= 256;
}

absl::StatusOr<std::vector<schedule::Plan>> Planner::MakeQuickPlans(const schedule::TeamShape& shape,
                                                                    absl::Span<const std::string> node_names,
                                                                    Family family) const {
  ASSIGN_OR_RETURN(const TeamCosts costs, Prepare(shape, node_names, *topology_, parameters_));
  StructureTable table(&costs, shape.node_of_rank[0].value(), /*all=*/false, RanksInOrder(shape));
  std::vector<schedule::Plan> plans;
  for (const Collective collective : CollectivesOf(family)) {
    for (const SizeClass& size_class : ClassesOf(options_.rules, collective, shape.size(), shape.node_count)) {
      const Ruling ruling = RulingOf(options_, collective, size_class, shape.size());
      if (IsByCost(ruling.algorithm)) {
        return absl::FailedPreconditionError(
            absl::StrCat("algorithm ", ruling.algorithm, ": is by cost, and takes longer to make"));
      }
      const std::string algorithm =
          ruling.algorithm.empty() ? QuickAlgorithm(collective, size_class, shape) : ruling.algorithm;
      ASSIGN_OR_RETURN(const std::vector<uint32_t> which, table.Named(algorithm, collective, size_class));
      const std::vector<uint32_t> sizes = family == Family::kCommon
                                              ? SegmentSizes(size_class.bytes_max)
                                              : BlockSegmentSizes(collective, size_class.bytes_max);
      plans.push_back(PlanOf(table.structures()[which.front()], collective, size_class.bytes_min, size_class.bytes_max,
                             ruling.segment_bytes.value_or(sizes.front())));
      plans.back().id = PlanId(plans.size());
    }
  }
  return plans;
}

namespace {

bool IsFor(const schedule::Plan& a, const schedule::Plan& b) {
  return a.collective == b.collective && a.bytes_min == b.bytes_min && a.bytes_max == b.bytes_max;
}
bool IsSameSchedule(const schedule::Plan& a, const schedule::Plan& b) {
  return a.algorithm == b.algorithm && a.segment_bytes == b.segment_bytes && a.root_node == b.root_node &&
         a.neighbors == b.neighbors && a.steps == b.steps;
}

std::string Describe(const Alternative& other) {
  return absl::StrCat(other.algorithm, " (",
                      other.segment_bytes > 0 ? absl::StrCat("segments of ", other.segment_bytes, " B, ") : "",
                      FormatMicroseconds(other.total_ns), ")");
}

// Explains why a plan was chosen although another one is cheaper for this call.
std::string WhyNotTheCheapest(const schedule::Plan& plan, const CallArguments& arguments, const Alternative& cheapest) {
  if (const uint64_t made_for = TypicalCall(plan).bytes(); made_for != arguments.bytes()) {
    return absl::StrCat("; it serves calls of ", plan.bytes_min, " to ", plan.bytes_max, " B, and was chosen for ",
                        made_for, " B");
  }
  if (cheapest.new_edges > 0) {
    return absl::StrCat(", which needs ", cheapest.new_edges, " edges that no other plan of the team has");
  }
  return "; a team's plans are chosen together, for few edges";
}

// Explains in one line why the plan was chosen. `alternatives` must be sorted by price.
std::string WhyChosen(const schedule::Plan& plan, const CallArguments& arguments, const Ruling& ruling,
                      absl::Span<const schedule::Plan> now, const std::vector<Alternative>& alternatives,
                      int64_t total_ns, uint32_t new_edges, bool by_formula) {
  std::string text;
  for (const Rule* rule : ruling.rules) {
    absl::StrAppend(&text, "the rule of ", rule->source, " says ", DescribeRule(*rule), "; ");
  }
  if (!ruling.algorithm.empty() && ruling.rules.empty()) absl::StrAppend(&text, ruling.algorithm, " is forced; ");
  const auto current = std::find_if(now.begin(), now.end(), [&](const schedule::Plan& p) { return IsFor(p, plan); });
  if (schedule::IsPositional(plan)) return absl::StrCat(text, "made by the daemons of the team's parent alone");
  if (IsQuickPlan(plan)) {
    absl::StrAppend(&text, "a quick first plan, made in the topology's order before candidates were priced");
    if (current == now.end()) return text;
    return absl::StrCat(text, "; the better one is ", current->algorithm, " (",
                        FormatMicroseconds(static_cast<int64_t>(current->predicted_us * 1000)), ")");
  }
  if (!now.empty() && (current == now.end() || !IsSameSchedule(*current, plan))) {
    return absl::StrCat(text, "not what would be chosen now, ",
                        current == now.end() ? "since sizes are cut otherwise" : current->algorithm,
                        ": asked for by team replan, or older than the topology or the rules");
  }
  if (!ruling.algorithm.empty()) return absl::StrCat(text, "nothing else was compared");
  const Alternative& cheapest = alternatives.front();
  const uint32_t edges = static_cast<uint32_t>(UndirectedEdges(plan).size());
  absl::StrAppend(&text, "by price, of ", alternatives.size(), " candidates",
                  by_formula ? " by formulas, which know no segments and no contention: " : ": ");
  if (total_ns <= cheapest.total_ns) {
    absl::StrAppend(&text, "none is cheaper");
  } else {
    absl::StrAppend(
        &text,
        absl::StrFormat(
            "%.1f %% above the cheapest, ",
            100.0 * (static_cast<double>(total_ns) / static_cast<double>(std::max<int64_t>(cheapest.total_ns, 1)) - 1)),
        Describe(cheapest), WhyNotTheCheapest(plan, arguments, cheapest));
  }
  return absl::StrCat(text, "; ", edges - new_edges, " of its ", edges, " edges are other plans' of the team, too");
}

// Returns a line for the cheapest of each algorithm's candidates, and one for the chosen one if that is another.
// `alternatives` must be sorted by price.
std::string CandidateLines(const std::vector<Alternative>& alternatives) {
  std::string text;
  std::set<std::string> named;
  size_t others = 0;
  for (const Alternative& other : alternatives) {
    const bool is_first = named.insert(other.algorithm).second;
    if (!is_first && !other.chosen) {
      ++others;
      continue;
    }
    absl::StrAppend(&text, "  ", other.algorithm);
    if (other.segment_bytes > 0) absl::StrAppend(&text, ", segments of ", other.segment_bytes, " B");
    if (!is_first && other.built_for_bytes > 0) absl::StrAppend(&text, ", built for ", other.built_for_bytes, " B");
    absl::StrAppend(&text, ": ", FormatMicroseconds(other.total_ns), ", ", other.new_edges, " new edges",
                    other.chosen ? " *\n" : "\n");
  }
  if (others > 0) absl::StrAppend(&text, "  … and ", others, " dearer ones of these algorithms\n");
  return text;
}

}  // namespace

absl::StatusOr<Explanation> Planner::Explain(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                             absl::Span<const std::string> node_names, const CallArguments& arguments,
                                             absl::Span<const schedule::Plan> now) const {
  ASSIGN_OR_RETURN(const TeamCosts costs, Prepare(shape, node_names, *topology_, parameters_));
  Explanation explanation;
  const bool is_common = FamilyOf(plan.collective) == Family::kCommon;
  const bool by_formula = !IsPricedByRunning(plan, shape, arguments);
  if (by_formula) {
    ASSIGN_OR_RETURN(explanation.prediction.total_ns, PredictedNs(plan, shape, costs, arguments));
  } else {
    PriceOptions price_options;
    price_options.timeline = true;
    ASSIGN_OR_RETURN(explanation.prediction, Price(plan, shape, costs, arguments, price_options));
    // The bound is unknown (0) if costs exceed the range of the tree algorithms, and for collectives of blocks.
    if (is_common) explanation.lower_bound_ns = CallLowerBoundNs(costs, shape, arguments).value_or(0);
  }
  StructureTable table(&costs, shape.node_of_rank[0].value(), /*all=*/true, RanksInOrder(shape));
  const SizeClass size_class = {plan.bytes_min, plan.bytes_max};
  ASSIGN_OR_RETURN(const std::vector<uint32_t> which, table.Candidates(plan.collective, size_class));
  const Ruling ruling = RulingOf(options_, plan.collective, size_class, shape.size());
  std::vector<Candidate> every;
  RETURN_IF_ERROR(
      PriceCandidates(table.structures(), which,
                      {shape, costs, arguments, plan.bytes_max,
                       is_common ? SegmentSizes(plan.bytes_max) : std::vector<uint32_t>{plan.segment_bytes}},
                      &every)
          .status());
  std::set<std::pair<uint32_t, uint32_t>> others;
  for (const schedule::Plan& other : now) {
    if (IsFor(other, plan)) continue;
    const auto edges = UndirectedEdges(other);
    others.insert(edges.begin(), edges.end());
  }
  const auto count_new = [&](const schedule::Plan& of) {
    const auto edges = UndirectedEdges(of);
    return static_cast<uint32_t>(
        std::count_if(edges.begin(), edges.end(), [&](const auto& edge) { return others.count(edge) == 0; }));
  };
  bool is_candidate = false;
  for (const Candidate& candidate : every) {
    const Structure& structure = table.structures()[candidate.structure];
    const schedule::Plan as_plan =
        PlanOf(structure, plan.collective, plan.bytes_min, plan.bytes_max, candidate.segment_bytes);
    const bool chosen = !is_candidate && IsSameSchedule(as_plan, plan);
    is_candidate |= chosen;
    explanation.alternatives.push_back({structure.algorithm, candidate.segment_bytes, candidate.total_ns,
                                        table.BuiltForBytes(candidate.structure), count_new(as_plan), chosen});
  }
  // A plan that is no candidate of its own class may have the tree of another one, with which it shares edges.
  if (!is_candidate) {
    explanation.alternatives.push_back(
        {plan.algorithm, plan.segment_bytes, explanation.prediction.total_ns, 0, count_new(plan), true});
  }
  std::stable_sort(explanation.alternatives.begin(), explanation.alternatives.end(),
                   [](const Alternative& a, const Alternative& b) { return a.total_ns < b.total_ns; });
  explanation.why = WhyChosen(plan, arguments, ruling, now, explanation.alternatives, explanation.prediction.total_ns,
                              count_new(plan), by_formula);
  if (by_formula) {
    explanation.text = absl::StrCat(
        plan.algorithm, ", ", DescribeArguments(arguments), ": ", FormatMicroseconds(explanation.prediction.total_ns),
        ", by a formula without segments and contention: too many nodes and segments to run them (limit=",
        kRunSegmentsMax, ")\n");
  } else {
    const Drawing drawing(plan, shape, costs, arguments, explanation.prediction);
    explanation.text = drawing.Text();
    explanation.dot = drawing.Dot();
    absl::StrAppend(&explanation.text, "timeline:\n", drawing.Timeline());
  }
  const int64_t bound = explanation.lower_bound_ns;
  if (is_common) absl::StrAppend(&explanation.text, "lower bound: ", FormatMicroseconds(bound));
  if (bound > 0) {
    absl::StrAppend(&explanation.text,
                    absl::StrFormat(", of which the call takes %.2f times",
                                    static_cast<double>(explanation.prediction.total_ns) / static_cast<double>(bound)));
  }
  if (is_common) absl::StrAppend(&explanation.text, "\n");
  absl::StrAppend(&explanation.text, "why: ", explanation.why, "\ncandidates for this call",
                  is_common    ? ""
                  : by_formula ? ", by formulas"
                               : ", each by running its sequences",
                  ":\n");
  absl::StrAppend(&explanation.text, CandidateLines(explanation.alternatives));
  return explanation;
}

}  // namespace copse::planner
