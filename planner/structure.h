// SPDX-License-Identifier: Apache-2.0
//
// The algorithms by name: who talks to whom, before a collective, a size class or a price comes in.
#ifndef COPSE_PLANNER_STRUCTURE_H_
#define COPSE_PLANNER_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/exchange.h"
#include "planner/algorithms/tree.h"
#include "planner/schedule/plan.h"
#include "planner/team_costs.h"

namespace copse::planner {

// Either a tree or an exchange.
struct Structure {
  std::string algorithm;
  uint64_t bytes = 0;  // the message that a tree by cost was made for; 0: others
  schedule::PlanKind kind = schedule::PlanKind::kTree;
  uint32_t root_node = 0;
  Neighbours neighbours;  // kTree
  ExchangeSteps steps;    // kExchange
};

// Names are "flat", "binomial", "knomial-K", "kary-K", "dissemination", "recursive-doubling"; and by cost "mgo",
// "best", "fnf", "fcef", "la", "fef", for which BuildStructureByCost is needed, but for at most two nodes, which have
// one tree. Errors: INVALID_ARGUMENT for another name, or as the algorithm's builder.
absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order);

// Whether the algorithm looks at costs.
bool GoesByCost(std::string_view algorithm);

// A tree for messages of `bytes` from `root`, by one of the names that go by cost: a broadcast's, which all collectives
// use. Children are in serving order. Only overheads, latencies and bandwidths count; who waits for a core, or wakes,
// does not, so that candidates are to be priced (cost_model.h).
// Cost:   "best" 80 ms for 512 nodes; see planner/algorithms.
// Errors: INVALID_ARGUMENT for another name, or if the algorithm needs all pairs and there are more than
//         BroadcastCosts::kMatrixNodesMax nodes, or as BroadcastCosts.
absl::StatusOr<Structure> BuildStructureByCost(std::string_view algorithm, const TeamCosts& costs, uint32_t root,
                                               uint64_t bytes);

// The message for which trees by cost are made in a size class: what a segment of it can be.
uint64_t BytesOfClass(uint64_t bytes_max);

// Any of the names, for a size class: by cost from order[0], or by the order.
absl::StatusOr<Structure> BuildStructureFor(std::string_view algorithm, absl::Span<const uint32_t> order,
                                            const TeamCosts& costs, uint64_t bytes_max);

// Trees carry every collective, dissemination barriers, recursive doubling barriers and allreduces.
bool CanCarry(const Structure& structure, schedule::Collective collective);

// The undirected edges, each (lower node, higher node) once, ascending.
std::vector<std::pair<uint32_t, uint32_t>> EdgesOf(const Structure& structure);

// As `copsectl plan show` prints them: a tree's from parent to child as seen from the plan's root node, parents before
// their children; an exchange's from sender to receiver, by sender and round.
std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_H_
