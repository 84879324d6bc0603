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

namespace copse::planner {

// Either a tree or an exchange.
struct Structure {
  std::string algorithm;
  schedule::PlanKind kind = schedule::PlanKind::kTree;
  uint32_t root_node = 0;
  Neighbours neighbours;  // kTree
  ExchangeSteps steps;    // kExchange
};

// Names are "flat", "binomial", "knomial-K", "kary-K", "dissemination", "recursive-doubling".
// Errors: INVALID_ARGUMENT for another name, or as the algorithm's builder.
absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order);

// Trees carry every collective, dissemination barriers, recursive doubling barriers and allreduces.
bool CanCarry(const Structure& structure, schedule::Collective collective);

// The undirected edges, each (lower node, higher node) once, ascending.
std::vector<std::pair<uint32_t, uint32_t>> EdgesOf(const Structure& structure);

// As `copsectl plan show` prints them: a tree's from parent to child as seen from the plan's root node, parents before
// their children; an exchange's from sender to receiver, by sender and round.
std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STRUCTURE_H_
