// SPDX-License-Identifier: Apache-2.0
//
// Draws a picture of a plan: its tree, and the completion time of each node.
#ifndef COPSE_CLI_CTL_VERBS_PLAN_PICTURE_H_
#define COPSE_CLI_CTL_VERBS_PLAN_PICTURE_H_

#include <cstddef>
#include <string>

#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// Limits the picture's rows, one per node. The nodes of a larger tree that are farthest from the root are left out; the
// title has their number.
inline constexpr size_t kPictureNodesMax = 400;

// Draws an SVG. On the left is the tree from its root, with children in serving order, or a list of nodes for a
// symmetric schedule. On the right, along a time axis, are each node's completion (that of its slowest rank) and the
// critical path. Only the members of `team` are used; without them nodes have no times.
std::string DrawPlan(const v1::ExplainPlanReply& explanation, const v1::TeamRow& team);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_PLAN_PICTURE_H_
