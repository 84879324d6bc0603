// SPDX-License-Identifier: Apache-2.0
//
// Encodes rows of lists of plans.
#ifndef COPSE_PLANNER_ADMIN_PLAN_ROW_ENCODER_H_
#define COPSE_PLANNER_ADMIN_PLAN_ROW_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "planner/coordinator/views/cluster_view.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::planner {

// A PlanShape is a plan that several teams can have, each with ids of its own, its edges, and the part of its
// v1::PlanRow that does not depend on the team, encoded.
struct PlanShape {
  schedule::Plan plan;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::string row;
};

// A PlanRowEncoder encodes plans of many teams as rows. Teams that are connected alike have plans alike: these are
// decoded once. Thread-compatible.
class PlanRowEncoder {
 public:
  // Encoded plans of at most so many bytes, or one, are kept with what they decode to, which is some times as large.
  static constexpr size_t kKeptBytesMax = 4 << 20;

  // Returns what the plan has in common with others; null if it cannot be read. Valid until the next call.
  const PlanShape* ShapeOf(const std::string& encoded);
  // Returns the encoded v1::PlanRow of FillPlan, without edges and critical path.
  static std::string RowOf(const coordinator::ListedPlan& listed, const PlanShape& shape);
  // Appends the edges of a plan with this shape to its encoded v1::PlanRow.
  void AppendEdges(const schedule::TeamLayout& layout, const PlanShape& shape, std::string* row);
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  // The names of a team's nodes, encoded as fields of edges.
  struct Names {
    TeamId team{0};
    std::vector<std::string> from, to;
    size_t edge_bytes_max = 0;
  };

  // Finds texts without making strings of them.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, PlanShape, TextHash, std::equal_to<>> shapes_;  // by the encoded plan behind its id
  size_t kept_bytes_ = 0;
  Names names_;  // of the last row's team
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_PLAN_ROW_ENCODER_H_
