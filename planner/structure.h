// SPDX-License-Identifier: Apache-2.0
//
// The algorithms by name: a structure has edges and order, independent of collective, size class and price.
#ifndef COPSE_PLANNER_STRUCTURE_H_
#define COPSE_PLANNER_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/exchanges/exchange.h"
#include "planner/algorithms/tree.h"
#include "schedule/plan.h"

namespace copse::planner {

// A Structure is a plan that is not yet for a collective and its sizes, and has no price: a tree, a symmetric schedule,
// or a cycle with distances.
using Structure = schedule::Plan;

// Builds a structure by position. Names are "flat", "chain", "binomial", "knomial-K", "kary-K", "dissemination",
// "recursive-doubling", and those of algorithms/circulant.h: "ring", "bruck", "doubling", "rotated-binomial",
// "pairwise". Errors: INVALID_ARGUMENT for another name, and those of the algorithm's builder.
absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order);

// Returns whether the name is one of BuildByCost's.
bool IsByCost(std::string_view algorithm);

// Builds a structure by cost. The symmetric schedule is "hierarchical" (algorithms/hierarchical_exchange.h), which
// ignores `root`; trees are built by the costs of messages (message_costs.h). Names are those of
// algorithms/broadcast_algorithms.h in small letters with "-": "fnf", "fef-latency", "fef-cost" or "fef", "fcef",
// "fcef-bhat", "la", "la-bhat", "mgo", "mgo-jackson", "optimal", "best", and by node number "ft" and "bt"; and
// "pipeline-K" (algorithms/pipeline_tree.h).
//
// Cost:    that of the algorithm; `best` searches for PlanningSteps.
// Errors:  INVALID_ARGUMENT for another name, for more than kBestThoroughNodesMax nodes where time grows by their
//          square, and from the algorithm.
absl::StatusOr<Structure> BuildByCost(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root);
int64_t PlanningSteps(uint32_t node_count);

// Checks that an algorithm of this name exists that can carry the collective, in a team that is not too large for it.
// Errors: INVALID_ARGUMENT.
absl::Status CheckAlgorithm(std::string_view algorithm, Collective collective);

// Returns the largest number of neighbors of any node in a tree or cycle; 0 for a symmetric schedule. The verifier
// refuses more than schedule::kNeighboursMax.
uint32_t MostNeighbours(const Structure& structure);

// Returns whether the structure can carry the collective: trees carry every collective but alltoall; dissemination
// carries barriers, other symmetric schedules carry barriers and allreduces; cycles carry the collectives that
// schedule::VerifyPlan accepts.
bool CanCarry(const Structure& structure, Collective collective);
// Returns INVALID_ARGUMENT unless CanCarry.
absl::Status CheckCarries(const Structure& structure, Collective collective);

// Returns the edges that `copsectl plan show` prints: a tree's from parent to child as seen from the plan's root node,
// parents before their children; a symmetric schedule's from sender to receiver, by sender and round; a cycle's from
// sender to receiver, by both.
std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan);
// Returns the same undirected, each (lower node, higher node) once, ascending.
std::vector<std::pair<uint32_t, uint32_t>> UndirectedEdges(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_H_
