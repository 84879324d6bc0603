// SPDX-License-Identifier: Apache-2.0
//
// Builds structures by the name of an algorithm. A structure has edges and their order, but no collective, size class
// or price.
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

// A Structure is a plan without id, collective, sizes and price: a tree, a symmetric schedule, or a cycle with
// distances.
using Structure = schedule::Plan;

// Builds a structure by the positions of nodes in `order`; order[0] is the root. Names are "flat", "chain", "binomial",
// "knomial-K", "kary-K", "dissemination", "recursive-doubling", and those of algorithms/exchanges/circulant.h: "ring",
// "bruck", "doubling", "rotated-binomial", "pairwise".
//
// Errors:  INVALID_ARGUMENT for another name, for a symmetric schedule of more than schedule::kExchangeNodesMax nodes,
//          and from the algorithm.
absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order);

// Returns whether BuildByCost knows the name; the algorithms of all other names are BuildStructure's.
bool IsByCost(std::string_view algorithm);

// Builds a structure by the costs of messages between nodes (pricing/message_costs.h). Names are "hierarchical", a
// symmetric schedule (algorithms/exchanges/hierarchical_exchange.h); "pipeline-K" (algorithms/trees/pipeline_tree.h);
// and those of algorithms/trees/broadcast_algorithms.h in lower case with "-": "fnf", "fef-latency", "fef-cost" or
// "fef", "fcef", "fcef-bhat", "la", "la-bhat", "mgo", "mgo-jackson", "optimal", "best", and "ft" and "bt", which order
// nodes by number. All but "hierarchical" are trees from `root`.
//
// Cost:    that of the algorithm; "best" searches for PlanningSteps, so its result is the same on every machine.
// Errors:  INVALID_ARGUMENT for another name, for more than kBestThoroughNodesMax nodes if the algorithm's time grows
//          by their square, and from the algorithm.
absl::StatusOr<Structure> BuildByCost(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root);
int64_t PlanningSteps(uint32_t node_count);

// Returns INVALID_ARGUMENT unless an algorithm of this name exists and can carry the collective. Limits of the number
// of nodes are not checked.
absl::Status CheckAlgorithm(std::string_view algorithm, Collective collective);

// Returns the largest number of neighbors of any node: in a cycle twice the number of distances, an upper bound; 0 for
// a symmetric schedule. The verifier refuses trees and cycles with more than schedule::kNeighborsMax.
uint32_t MostNeighbors(const Structure& structure);

// Returns whether the structure can carry the collective, which must not be irregular. Trees carry every collective but
// alltoall; dissemination carries barriers, other symmetric schedules carry barriers and allreduces; cycles carry the
// collectives for which schedule::VerifyPlan accepts their distances.
bool CanCarry(const Structure& structure, Collective collective);
// Returns INVALID_ARGUMENT if CanCarry returns false.
absl::Status CheckCarries(const Structure& structure, Collective collective);

// Returns the plan's edges in the order in which `copsectl plan show` prints them: a tree's from parent to child as
// seen from the plan's root node, parents before their children; a symmetric schedule's from sender to receiver, by
// sender and round; a cycle's from sender to receiver, by sender and then receiver.
std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan);
// Returns the plan's edges without direction: each pair (lower node, higher node) once, ascending.
std::vector<std::pair<uint32_t, uint32_t>> UndirectedEdges(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_H_
