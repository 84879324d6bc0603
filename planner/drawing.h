// SPDX-License-Identifier: Apache-2.0
//
// Renders one call of a plan for display: as text, as a timeline and as a Graphviz digraph.
#ifndef COPSE_PLANNER_DRAWING_H_
#define COPSE_PLANNER_DRAWING_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// Limits the nodes in a text, the steps of its critical path, and the ranks in a timeline; the number of those left out
// is printed.
inline constexpr uint32_t kDrawnLinesMax = 256;
// The tree of a team of more nodes is folded: a line stands for the subtrees beside each other that the critical path
// does not pass. The timeline of more ranks has only the first ones of the nodes that it passes.
inline constexpr uint32_t kUnfoldedNodesMax = 32;
// Up to this many of a node's ranks, and of a cycle's distances, are printed one by one; above it, a range is printed.
inline constexpr uint32_t kDrawnRanksMax = 8;

inline constexpr uint32_t kTimelineColumns = 60;

// Formats 12345 as "12.345 us". Requires `ns` >= 0.
std::string FormatMicroseconds(int64_t ns);

// A Drawing renders a call that was priced by running it (Price). Its inputs must outlive it. Thread-compatible.
class Drawing {
 public:
  Drawing(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
          const CallArguments& arguments, const Prediction& prediction);

  // Returns lines of UTF-8: the plan in words; its tree as seen from the call's root, its rounds or its cycle, each
  // node with its ranks and their completion times, and '*' where the critical path passes; and the critical path.
  std::string Text() const;
  // Returns a line for each rank, or for some of many, whose kTimelineColumns columns show over time what the rank and
  // its node's daemon do. Requires a prediction with a timeline.
  std::string Timeline() const;
  // Returns a Graphviz digraph with the critical path in red.
  std::string Dot() const;

 private:
  std::string NodeLabel(uint32_t node) const;
  // What a line of a tree stands for: a node, or the subtrees of several nodes beside each other.
  struct TreeLine {
    std::vector<uint32_t> nodes;  // first of each subtree
    std::string prefix;           // text before the node's own branch
    bool is_last = true;          // of its parent's
    bool is_folded = false;
  };
  // Calls `visit` with each node of the subtree of `node`, whose parent is `parent`, parents first.
  template <typename Visit>
  void ForSubtree(uint32_t node, const std::vector<uint32_t>& parent, Visit visit) const;
  bool IsCriticalBelow(uint32_t node, const std::vector<uint32_t>& parent) const;
  std::string FoldedLabel(const std::vector<uint32_t>& subtrees, const std::vector<uint32_t>& parent) const;
  // Returns the lines of the children of `node`, in their order.
  std::vector<TreeLine> LinesBelow(uint32_t node, const std::vector<uint32_t>& parent) const;
  void AppendTree(std::string& text) const;
  std::vector<Rank> TimelineRanks() const;
  void AppendExchange(std::string& text) const;
  void AppendCycle(std::string& text) const;
  void AppendCriticalPath(std::string& text) const;

  const schedule::Plan& plan_;
  const schedule::ShapeIndex shape_;
  const TeamCosts& costs_;
  const CallArguments& arguments_;
  const Prediction& prediction_;
  uint32_t root_;  // node of the call's root
  std::set<uint32_t> critical_nodes_;
  std::set<std::pair<uint32_t, uint32_t>> critical_edges_;  // sender, receiver
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_DRAWING_H_
