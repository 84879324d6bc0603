// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/exchanges/exchange.h"

namespace copse::planner {

// Splits a cluster into groups: the nodes below each child of the deepest switch that is above all nodes. Nodes that
// are children of that switch form one group together, or one group each if the switch has no other children. Nodes
// ascend in a group, and groups ascend by their least node. Cost: O(nodes * depth).
std::vector<std::vector<uint32_t>> GroupsOf(const BroadcastCosts& costs);

// Builds a hierarchical symmetric schedule: each group of GroupsOf reduces to its leader, the leaders exchange their
// partial results, and each group receives the result from its leader. A result waits for one latency of the network
// between the groups (sites, for example); in a tree it waits for two, up and down.
//
// Input:   costs of a message of the call.
// Output:  the plan's steps. A group's leader is its center (CenterOf). The tree of a group is BuildBest's without
//          search, from the leader: a node of height h receives from its children in round h, so that leaves send in
//          round 1 or later. With H the greatest height, up to kRoundPartnersMax + 1 leaders all exchange with each
//          other in round H + 1 (X = 1 round, or 0 for one leader); more leaders do recursive doubling in X rounds from
//          H + 1 on. A node of depth d receives the result, which replaces its value, from its parent in round H + X +
//          d.
// Cost:    that of BuildBest without search, for each group.
// Errors:  INVALID_ARGUMENT for more than schedule::kExchangeNodesMax nodes, or if there are more rounds than a plan
//          may have. Nothing else.
// Source:  Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective operation
//          performance", IPDPS 2000, and Kielmann et al., "MagPIe: MPI's collective communication operations for
//          clustered wide area systems", PPoPP 1999: every link between sites is crossed once. Differs: groups have
//          trees by cost, and the contributions that MagPIe sends from each leader to all others are reduced in the
//          same order by all leaders.
absl::StatusOr<ExchangeSteps> BuildHierarchicalExchange(const BroadcastCosts& costs);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_HIERARCHICAL_EXCHANGE_H_
