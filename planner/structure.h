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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/exchanges/exchange.h"
#include "planner/algorithms/tree.h"
#include "schedule/plan.h"

namespace copse::planner {

// A tree, an exchange, or a cycle with distances.
struct Structure {
  std::string algorithm;
  schedule::PlanKind kind = schedule::PlanKind::kTree;
  uint32_t root_node = 0;
  uint64_t built_for_bytes = 0;  // trees by cost: the message that they are made for; 0: the same for all
  Neighbours neighbours;         // kTree, and as schedule::Plan has them for kCirculant
  ExchangeSteps steps;           // kExchange
};

// By position. Names are "flat", "chain", "binomial", "knomial-K", "kary-K", "dissemination", "recursive-doubling", and
// those of algorithms/circulant.h: "ring", "bruck", "doubling", "rotated-binomial", "pairwise". Errors:
// INVALID_ARGUMENT for another name, or as the algorithm's builder.
absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order);

// Whether the name is one of BuildByCost's.
bool IsByCost(std::string_view algorithm);

// Exchanges by cost are "hierarchical" (algorithms/hierarchical_exchange.h), for which `root` means nothing; trees are
// by what messages cost (message_costs.h). Names are those of algorithms/broadcast_algorithms.h in small letters with
// "-": "fnf", "fef-latency", "fef-cost" or "fef", "fcef", "fcef-bhat", "la", "la-bhat", "mgo", "mgo-jackson",
// "optimal", "best", and by node number "ft" and "bt"; and "pipeline-K" (algorithms/pipeline_tree.h).
//
// Cost:    as the algorithm; `best` searches PlanningSteps long.
// Errors:  INVALID_ARGUMENT for another name, for more than kBestThoroughNodesMax nodes where time grows by their
//          square, or as the algorithm.
absl::StatusOr<Structure> BuildByCost(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root);
int64_t PlanningSteps(uint32_t node_count);

// Whether there is an algorithm of this name that can carry the collective, in a team that is not too large for it.
// Errors: INVALID_ARGUMENT.
absl::Status CheckAlgorithm(std::string_view algorithm, Collective collective);

// Of any of its nodes, as a tree or a cycle; 0 of an exchange. What is beyond schedule::kNeighboursMax, the verifier
// refuses.
uint32_t MostNeighbours(const Structure& structure);

// Trees carry every collective but alltoall, dissemination barriers, other exchanges barriers and allreduces, cycles
// what schedule::VerifyPlan lets them.
bool CanCarry(const Structure& structure, Collective collective);

// The undirected edges, each (lower node, higher node) once, ascending.
std::vector<std::pair<uint32_t, uint32_t>> EdgesOf(const Structure& structure);

// As `copsectl plan show` prints them: a tree's from parent to child as seen from the plan's root node, parents before
// their children; an exchange's from sender to receiver, by sender and round; a cycle's from sender to receiver, by
// both.
std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_H_
