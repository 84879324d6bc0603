// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/exchanges/exchange.h"

namespace copse::planner {

// Splits a cluster into groups: the nodes below each child of the deepest switch that is above all nodes. Nodes
// directly on that switch form one group, or, if all are, one group each. Nodes ascend in a group, and groups ascend by
// their least node. Cost: O(nodes * depth).
std::vector<std::vector<uint32_t>> GroupsOf(const BroadcastCosts& costs);

// Builds a hierarchical symmetric schedule: each group of GroupsOf reduces to its leader, the leaders exchange their
// partial results, and each group receives the result from its leader. The network between the groups (sites, say) is
// crossed once; a tree crosses it up and down.
//
// Input:   costs for a message that goes both ways.
// Output:  steps. A group's leader is its node from which the farthest of the group is nearest (ties: the least). In a
//          group the tree is `best` without search, from the leader: a node of height h receives from its children in
//          round h, so that leaves send in round 1 or later. With H the greatest height, up to kRoundPartnersMax + 1
//          leaders exchange pairwise in the single round H + 1; more of them do recursive doubling, in X rounds from
//          H + 1 on. A node of depth d receives the result from its parent in round H + X + d, which replaces.
// Units:   the same as the costs'.  Cost: that of BuildBest without search, by group.
// Errors:  INVALID_ARGUMENT for more than schedule::kExchangeNodesMax nodes, or if there
//          are more rounds than a plan may have. Nothing else.
// Source:  Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective operation
//          performance", IPDPS 2000, and Kielmann et al., "MagPIe: MPI's collective communication operations for
//          clustered wide area systems", PPoPP 1999: every link between sites is crossed once. Differs: groups have
//          trees by cost, and the contributions that MagPIe sends from each leader to all others are reduced in the
//          same order by all leaders.
absl::StatusOr<ExchangeSteps> BuildHierarchicalExchange(const BroadcastCosts& costs);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_
