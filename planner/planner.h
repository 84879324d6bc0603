// SPDX-License-Identifier: Apache-2.0
//
// Defines the Planner, which chooses a team's plans by price: the duration that the cost model predicts.
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
  // It forces an algorithm (names: structure.h) on all size classes of a collective, whose rules are then ignored.
  std::map<Collective, std::string> forced;
  // Each rule has passed CheckRule, and no two contradict each other. Without a rule, a plan is chosen by price.
  Rules rules;
  // Every edge reserves eager buffers at both of its ends. Plans are therefore compared by price * (1 + edge_bias * new
  // edges / (nodes - 1)): a plan that needs a whole tree of new edges is chosen only if it is faster by this share.
  double edge_bias = 0.05;
  // Limits the distinct neighbors of any node over all plans of a collective class.
  uint32_t edges_max = 65536;
};

// An Alternative is a candidate for the explained call: an algorithm and a segment size, with the price.
struct Alternative {
  std::string algorithm;
  uint32_t segment_bytes = 0;
  int64_t total_ns = 0;
  uint64_t built_for_bytes = 0;  // StructureTable::BuiltForBytes
  uint32_t new_edges = 0;        // edges that no plan for another collective or size class has
  bool chosen = false;           // true for the explained plan
};

// Explanation describes how a call of a plan runs, for display and for tools. A call that is priced by a formula
// (IsPricedByRunning) has only total_ns in its prediction, and neither a drawing nor a lower bound.
struct Explanation {
  Prediction prediction;                  // with its timeline
  int64_t lower_bound_ns = 0;             // no plan is faster (call_bound.h); 0: unknown
  std::string why;                        // the reason for which this plan was chosen, in one line
  std::vector<Alternative> alternatives;  // by price, the plan itself included
  std::string text;                       // all of the above in UTF-8, with a drawing; '*' marks critical nodes
  std::string dot;                        // the drawing as a Graphviz digraph
};

// A Planner makes plans for teams of one cluster. It is deterministic: equal input gives equal plans on every machine.
// All methods are const and thread-safe. `*topology` must outlive it.
class Planner {
 public:
  Planner(const topology::Topology* topology, CostParameters parameters = {}, PlannerOptions options = {})
      : topology_(topology), parameters_(parameters), options_(std::move(options)) {}

  // Makes plans for all collectives of the class (Family): one plan for a barrier and one for each other collective and
  // size class, with ids from 1. Plans are rooted at node 0, which has rank 0, but trees of collectives without a root
  // may have another root node; a call with another root directs the plan's tree from there. structure_table.h lists
  // the candidates. `node_names`[v] is the name, in the topology, of the team's node v.
  // Errors: INVALID_ARGUMENT if the shape or the parameters are invalid, or if an algorithm of the options cannot serve
  //         this team; NOT_FOUND if a node is not in the topology; RESOURCE_EXHAUSTED if no plans stay within
  //         edges_max, or an alltoall has too many nodes.
  // Cost:   16 nodes below 20 ms, 512 nodes below 1 s (one rank each); then about n log n: 65,536 nodes half a minute.
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamShape& shape,
                                                        absl::Span<const std::string> node_names,
                                                        Family family = Family::kCommon) const;

  // Makes the plans of MakePlans without pricing anything: one structure by position for each collective and size
  // class, in the topology's order (QuickAlgorithm), or the one that a rule says. predicted_us is 0. Errors: those of
  // MakePlans, except for edges_max, which is not checked; FAILED_PRECONDITION if a rule wants an
  //         algorithm by cost.
  // Cost:   linear, about a millisecond of processor time per 1,000 nodes.
  absl::StatusOr<std::vector<schedule::Plan>> MakeQuickPlans(const schedule::TeamShape& shape,
                                                             absl::Span<const std::string> node_names,
                                                             Family family = Family::kCommon) const;

  // Explains `plan` for one call: prices the call with it and with every candidate, including the trees that MakePlans
  // leaves to the algorithm "best". `plan` must have passed schedule::VerifyPlan; `now` holds the plans that MakePlans
  // returns at present, if known. Errors: those of MakePlans and Price.
  absl::StatusOr<Explanation> Explain(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      absl::Span<const std::string> node_names, const CallArguments& arguments,
                                      absl::Span<const schedule::Plan> now = {}) const;

  const PlannerOptions& options() const { return options_; }

 private:
  const topology::Topology* topology_;
  CostParameters parameters_;
  PlannerOptions options_;
};

// Returns whether MakePlans takes some 160 ms at most, which is little beside the start of a job. Measured: 2.5 ms for
// each node and each 8 ranks; for collectives of blocks about 0.6 ms for each pair of a node and a rank, since the
// calls are run with a block of every rank.
bool IsPlannedFast(const schedule::TeamShape& shape, Family family);

// Returns whether MakeQuickPlans has made the plan, which is then not priced.
inline bool IsQuickPlan(const schedule::Plan& plan) { return plan.predicted_us == 0 && plan.node_count > 1; }

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PLANNER_H_
