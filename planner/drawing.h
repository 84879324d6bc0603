// SPDX-License-Identifier: Apache-2.0
//
// Pictures of one call of a plan, for display.
#ifndef COPSE_PLANNER_DRAWING_H_
#define COPSE_PLANNER_DRAWING_H_

#include <cstdint>
#include <set>
#include <string>

#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// Limit of lines of a tree or symmetric schedule, and of a critical path, in a text; the rest is counted.
inline constexpr uint32_t kDrawnLinesMax = 256;
// Limit of ranks per node whose times are shown one by one.
inline constexpr uint32_t kDrawnRanksMax = 8;

inline constexpr uint32_t kTimelineColumns = 60;

// Formats "12.345 us".
std::string FormatMicroseconds(int64_t ns);

// A Drawing borrows all its inputs. Thread-compatible.
class Drawing {
 public:
  Drawing(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
          const CallArguments& arguments, const Prediction& prediction);

  // Returns the plan in words; its tree as seen from the call's root, its rounds or its cycle, each node with its ranks
  // and their completion times, '*' where the critical path passes; and the critical path.
  std::string Text() const;
  // Returns the activities over time: a line per rank, with its daemon's work and its own in kTimelineColumns columns.
  // Requires a prediction with a timeline.
  std::string Timeline() const;
  // Returns a Graphviz digraph with the critical path in red.
  std::string Dot() const;

 private:
  std::string NodeLabel(uint32_t node) const;
  void AppendTree(std::string& text) const;
  void AppendExchange(std::string& text) const;
  void AppendCycle(std::string& text) const;
  void AppendCriticalPath(std::string& text) const;

  const schedule::Plan& plan_;
  const schedule::ShapeIndex shape_;
  const TeamCosts& costs_;
  const CallArguments& arguments_;
  const Prediction& prediction_;
  uint32_t root_;  // node
  std::set<uint32_t> critical_nodes_;
  std::set<std::pair<uint32_t, uint32_t>> critical_edges_;  // sender, receiver
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_DRAWING_H_
