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
  // Algorithm by collective (names: structure.h), for all its size classes; takes precedence over rules.
  std::map<Collective, std::string> forced;
  // Calls without a rule are chosen by price. The rules are checked, and without contradictions.
  Rules rules;
  // Every edge reserves eager buffers at both of its ends. So a plan counts as price * (1 + edge_bias * new edges /
  // (nodes - 1)): one that needs a whole tree of new edges is chosen only if it is faster by the bias.
  double edge_bias = 0.05;
  // Limit of distinct neighbors of any node over all plans of the team.
  uint32_t edges_max = 65536;
};

// Alternative is the cost of another algorithm or segment size.
struct Alternative {
  std::string algorithm;
  uint32_t segment_bytes = 0;
  int64_t total_ns = 0;
  uint64_t built_for_bytes = 0;  // StructureTable::BuiltForBytes
  uint32_t new_edges = 0;        // edges that none of the team's other plans has
  bool chosen = false;           // true for the explained plan
};

// Explanation describes how a call of a plan runs, for display and for tools.
struct Explanation {
  Prediction prediction;                  // with its timeline
  int64_t lower_bound_ns = 0;             // no plan is faster (call_bound.h)
  std::string why;                        // why this plan was chosen: one line
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

  // Makes plans for all collectives of the class (Family): one plan for a barrier and one for each other collective and
  // size class, ids ascending. Plans are rooted at node 0, which has rank 0, but trees of barriers and allreduces may
  // grow from another; a call with another root directs the same tree from there. structure_table.h lists the
  // candidates. `node_names`[v] is the name, in the topology, of the team's node v.
  // Errors: INVALID_ARGUMENT if the shape or the options are invalid; NOT_FOUND if a node is not in the topology;
  //         RESOURCE_EXHAUSTED if no plans stay within edges_max.
  // Cost:   16 nodes below 20 ms, 512 nodes below 1 s (one rank each); then about n log n: 65,536 nodes half a minute.
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamShape& shape,
                                                        absl::Span<const std::string> node_names,
                                                        Family family = Family::kCommon) const;

  // Prices the call, and every other candidate for it, including those that MakePlans leaves to `best`. `plan` must
  // have been verified; `now` is the result that MakePlans gives now, if known. Errors: those of MakePlans and Price.
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
