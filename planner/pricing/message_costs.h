// SPDX-License-Identifier: Apache-2.0
//
// Converts the cost model's figures to the form that the tree algorithms take: costs of one message size between a
// team's nodes.
#ifndef COPSE_PLANNER_PRICING_MESSAGE_COSTS_H_
#define COPSE_PLANNER_PRICING_MESSAGE_COSTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/pricing/team_costs.h"

namespace copse::planner {

// Returns costs of `bytes` from each node of the team to each other, such that a fast broadcast by these costs gives a
// tree that is fast for the collective:
//
// - bcast and scatter: a send costs a node's overhead and its work for the bytes; a receive likewise, after a wake;
// - reduce and gather: the costs are in reversed time, so that a broadcast from the root is a many-to-one tree to the
//   root; the receiver also combines;
// - others: the costs are the mean of these two, since data moves both up and down the tree.
//
// Output:  vertices 0..n-1 are the team's nodes.
// Errors:  INVALID_ARGUMENT if a broadcast could take longer than the algorithms can count. Nothing else.
// Cost:    O(nodes + switches above them).
absl::StatusOr<BroadcastCosts> MessageCosts(const TeamCosts& costs, Collective collective, uint64_t bytes);

// Returns the costs of messages without bytes and wakes, a lower bound for all messages. If `reversed`, time runs
// backwards, as for a reduce. Errors: as MessageCosts.
absl::StatusOr<BroadcastCosts> EmptyMessageCosts(const TeamCosts& costs, bool reversed);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_MESSAGE_COSTS_H_
