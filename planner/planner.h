// SPDX-License-Identifier: Apache-2.0
//
// The planner: chooses a team's plans by price.
#ifndef COPSE_PLANNER_PLANNER_H_
#define COPSE_PLANNER_PLANNER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "planner/rules.h"
#include "planner/topology/topology.h"
#include "schedule/plan.h"

namespace copse::planner {

struct PlannerOptions {
  // Algorithm by collective (names: structure.h), for all its size classes; before rules.
  std::map<Collective, std::string> forced;
  // What they say nothing of is chosen by price. Checked, and without contradictions.
  Rules rules;
  // Cut further where rules begin and end. Ascending, without gaps, from 0 to schedule::kMessageBytesMax; longer calls
  // have kLongMessages and kLongestMessages in teams of up to kLongNodesMax nodes, else they run as the last one. Two
  // nodes have fewer, for which the last two defaults are one, and longer calls another. A barrier has one class, of 0
  // bytes. The defaults: one MP packet; one frame; segments.
  std::vector<SizeClass> size_classes = {{0, 120}, {121, 8 * 1024}, {8 * 1024 + 1, schedule::kMessageBytesMax}};
  // Of the k-nomial and k-ary candidates; what exceeds the team is the flat tree and left out.
  std::vector<uint32_t> fanouts = {2, 3, 4, 8, 16, 32};
  // Every edge reserves cells at both of its ends. So a plan counts as price * (1 + edge_bias * new edges / (nodes -
  // 1)): one that needs a whole tree of new edges is taken only if it is faster by the bias.
  double edge_bias = 0.05;
  // Distinct neighbours that any node may have over all plans of the team.
  uint32_t edges_max = 65536;
  uint64_t plan_id_first = 1;
};

// What another algorithm or segment size would have cost.
struct Alternative {
  std::string algorithm;
  uint32_t segment_bytes = 0;
  int64_t total_ns = 0;
  uint64_t built_for_bytes = 0;  // as Structure
  uint32_t new_edges = 0;        // that none of the team's other plans has
  bool chosen = false;           // it is the plan that is explained
};

// How a call of a plan runs, for people and for tools.
struct Explanation {
  Prediction prediction;                  // with its timeline
  int64_t lower_bound_ns = 0;             // no plan is faster (call_bound.h)
  std::string why;                        // this plan: one line
  std::vector<Alternative> alternatives;  // by price; the plan itself is among them if it is a candidate
  std::string text;                       // a tree drawn with box characters; critical nodes are marked
  std::string dot;                        // Graphviz
};

// A Planner makes plans for teams of one cluster. Pure: the same input gives the same plans, on every machine. All
// methods are const and thread-safe. The topology must outlive it.
class Planner {
 public:
  Planner(const topology::Topology* topology, CostParameters parameters = {}, PlannerOptions options = {})
      : topology_(topology), parameters_(parameters), options_(std::move(options)) {}

  // For all collectives of the family: one plan for a barrier and one for each other collective and size class, ids
  // ascending. Rooted at node 0, where
  // rank 0 lives, but trees of barriers and allreduces may grow from another; a call with another root directs the same
  // tree from there. structure_table.h has what is compared. `node_names`[v]: the name, in the
  // topology, of the team's node v. Errors: INVALID_ARGUMENT if the shape or the options make no sense; NOT_FOUND if a
  // node is not in the topology;
  //         RESOURCE_EXHAUSTED if no plans stay within edges_max.
  // Cost:   16 nodes below 20 ms, 512 nodes below 1 s (one rank each); then about n log n: 65,536 nodes half a minute.
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamShape& shape,
                                                        absl::Span<const std::string> node_names,
                                                        Family family = Family::kCommon) const;

  // Prices the call, and every other candidate for it, also those that MakePlans leaves to `best`. `plan` must have
  // been verified; `now`: what MakePlans gives now, if that is known. Errors: as MakePlans and Price.
  absl::StatusOr<Explanation> Explain(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      absl::Span<const std::string> node_names, const CallArguments& arguments,
                                      absl::Span<const schedule::Plan> now = {}) const;

  const PlannerOptions& options() const { return options_; }

 private:
  const topology::Topology* topology_;
  CostParameters parameters_;
  PlannerOptions options_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PLANNER_H_
