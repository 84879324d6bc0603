// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/exchanges/exchange.h"

namespace copse::planner {

// The parts of a cluster: the nodes below each child of the deepest switch that is above all nodes; those that hang on
// it directly are one part, or, if all do, a part each. Nodes ascend, as do the parts' least nodes. `costs.has_tree()`.
// Cost: O(nodes * depth).
std::vector<std::vector<uint32_t>> GroupsOf(const BroadcastCosts& costs);

// Builds a hierarchical exchange: each group of GroupsOf reduces to its leader, leaders exchange what they have, and
// each group hears of it from its leader. What lies between the groups (sites, say) is crossed once; a tree crosses it
// up and down.
//
// Input:   costs.has_tree(): of a message that goes both ways.
// Output:  steps. A group's leader is its node from which the farthest of the group is nearest (ties: the least). In a
//          group the tree is `best` without search, from the leader: a node of height h hears from its children in
//          round h, so that leaves send in round 1 or later. With H the greatest height, up to kRoundPartnersMax + 1
//          leaders tell each other all in the one round H + 1; more of them do recursive doubling, in X rounds from
//          H + 1 on. A node of depth d hears the result from its parent in round H + X + d, which replaces.
// Units:   as the costs.          Cost: as BuildBest without search, by group.
// Errors:  INVALID_ARGUMENT for more than schedule::kExchangeNodesMax nodes, without a tree of the cluster, or if there
//          are more rounds than a plan may have. Nothing else.
// Source:  Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective operation
//          performance", IPDPS 2000, and Kielmann et al., "MagPIe: MPI's collective communication operations for
//          clustered wide area systems", PPoPP 1999: every link between sites is crossed once. Differs: groups have
//          trees by cost, and what MagPIe sends from each leader to all others is added up in one order by all.
absl::StatusOr<ExchangeSteps> BuildHierarchicalExchange(const BroadcastCosts& costs);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_
