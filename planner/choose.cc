// SPDX-License-Identifier: Apache-2.0
#include "planner/choose.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace copse::planner {
namespace {

// EdgeTable numbers the distinct edges of all structures.
struct EdgeTable {
  std::vector<std::pair<uint32_t, uint32_t>> ends;  // by edge number
  std::vector<std::vector<uint32_t>> of_structure;  // by structure: the numbers of its edges
};

EdgeTable NumberEdges(const std::vector<EdgeList>& edges) {
  EdgeTable table;
  table.of_structure.resize(edges.size());
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  for (size_t i = 0; i < edges.size(); ++i) {
    for (const auto& edge : edges[i]) {
      const auto [it, is_new] = numbers.emplace(edge, static_cast<uint32_t>(table.ends.size()));
      if (is_new) table.ends.push_back(edge);
      table.of_structure[i].push_back(it->second);
    }
  }
  return table;
}

// TakenEdges holds the edges that a choice has taken so far.
class TakenEdges {
 public:
  TakenEdges(const EdgeTable& table, uint32_t node_count, uint32_t edges_max)
      : table_(table), taken_(table.ends.size(), false), degree_(node_count, 0), edges_max_(edges_max) {}

  // Returns the number of edges of the structure that are not taken, or nullopt if a node would exceed edges_max.
  std::optional<uint32_t> CountNew(uint32_t structure) {
    uint32_t count = 0;
    bool fits = true;
    for (const uint32_t e : table_.of_structure[structure]) {
      if (taken_[e]) continue;
      ++count;
      fits &= ++degree_[table_.ends[e].first] <= edges_max_;
      fits &= ++degree_[table_.ends[e].second] <= edges_max_;
    }
    for (const uint32_t e : table_.of_structure[structure]) {
      if (taken_[e]) continue;
      --degree_[table_.ends[e].first];
      --degree_[table_.ends[e].second];
    }
    if (!fits) return std::nullopt;
    return count;
  }

  void Take(uint32_t structure) {
    for (const uint32_t e : table_.of_structure[structure]) {
      if (taken_[e]) continue;
      taken_[e] = true;
      ++degree_[table_.ends[e].first];
      ++degree_[table_.ends[e].second];
    }
  }

 private:
  const EdgeTable& table_;
  std::vector<bool> taken_;
  std::vector<uint32_t> degree_;
  const uint32_t edges_max_;
};

struct Choice {
  std::vector<uint32_t> options;
  double score = 0;
};

std::optional<Choice> ChooseFrom(uint32_t anchor, const std::vector<Slot>& slots, const EdgeTable& table,
                                 uint32_t node_count, const ChoiceOptions& options) {
  const double tree_edges = std::max(node_count, 2u) - 1;
  TakenEdges expected(table, node_count, options.edges_max);  // edges of the anchor and of the choice
  TakenEdges taken(table, node_count, options.edges_max);     // edges of the choice alone, for the score
  if (!expected.CountNew(anchor).has_value()) return std::nullopt;
  expected.Take(anchor);
  Choice choice;
  for (const Slot& slot : slots) {
    std::optional<uint32_t> best;
    double best_price = 0, cheapest = 0;
    for (uint32_t i = 0; i < slot.size(); ++i) {
      const double price = static_cast<double>(slot[i].total_ns);
      if (i == 0 || price < cheapest) cheapest = price;
      const auto count = expected.CountNew(slot[i].structure);
      if (!count.has_value()) continue;
      const double biased = price * (1 + options.edge_bias * *count / tree_edges);
      if (!best.has_value() || biased < best_price) {
        best = i;
        best_price = biased;
      }
    }
    if (!best.has_value()) return std::nullopt;
    const PricedOption& chosen = slot[*best];
    // CountNew succeeds here, since `expected` has all edges of `taken`.
    const double used = *taken.CountNew(chosen.structure);
    choice.score +=
        static_cast<double>(chosen.total_ns) / std::max(cheapest, 1.0) + options.edge_bias * used / tree_edges;
    expected.Take(chosen.structure);
    taken.Take(chosen.structure);
    choice.options.push_back(*best);
  }
  return choice;
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ChoosePlanSet(const std::vector<Slot>& slots, const std::vector<EdgeList>& edges,
                                                    uint32_t node_count, const ChoiceOptions& options) {
  for (const Slot& slot : slots) CHECK(!slot.empty());
  const EdgeTable table = NumberEdges(edges);
  std::optional<Choice> best;
  for (uint32_t anchor = 0; anchor < edges.size(); ++anchor) {
    auto choice = ChooseFrom(anchor, slots, table, node_count, options);
    if (choice.has_value() && (!best.has_value() || choice->score < best->score)) best = std::move(choice);
  }
  if (!best.has_value()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "plans: none within the limit of neighbors per node (nodes=", node_count, ", limit=", options.edges_max, ")"));
  }
  return std::move(best->options);
}

}  // namespace copse::planner
