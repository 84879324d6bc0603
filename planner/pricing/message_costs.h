// SPDX-License-Identifier: Apache-2.0
//
// What messages of one size cost between a team's nodes: the cost model's figures as the tree algorithms want them.
#ifndef COPSE_PLANNER_PRICING_MESSAGE_COSTS_H_
#define COPSE_PLANNER_PRICING_MESSAGE_COSTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/pricing/team_costs.h"

namespace copse::planner {

// Costs of `bytes` from each node of the team to each other, such that a broadcast that is fast with them makes a tree
// that is fast for the collective:
//
// - bcast: sending is a node's overhead and its work for the bytes; receiving likewise, and a wake before it;
// - reduce: that of time reversed, so that a broadcast from the root is a many-to-one tree to it; the receiver also
//   combines;
// - barrier, allreduce: the mean of both, since one tree is used both ways.
//
// Output:  vertices 0..n-1 are the team's nodes; has_tree().
// Errors:  INVALID_ARGUMENT if a broadcast could take longer than the algorithms can count. Nothing else.
// Cost:    O(nodes + switches above them).
absl::StatusOr<BroadcastCosts> MessageCosts(const TeamCosts& costs, Collective collective, uint64_t bytes);

// Of messages without bytes, without wakes: what nobody can beat. `reversed`: time runs backwards, as for a reduce.
absl::StatusOr<BroadcastCosts> EmptyMessageCosts(const TeamCosts& costs, bool reversed);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_MESSAGE_COSTS_H_
