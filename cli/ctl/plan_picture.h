// SPDX-License-Identifier: Apache-2.0
//
// A plan as a picture: its tree, and the completion time of each of its nodes.
#ifndef COPSE_CLI_CTL_PLAN_PICTURE_H_
#define COPSE_CLI_CTL_PLAN_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// Limit of rows; in a larger tree the subtrees farthest from the root are left out and counted.
inline constexpr size_t kPictureNodesMax = 400;

// Draws SVG. On the left is the tree as seen from the plan's root, children in serving order (for a symmetric schedule
// only its nodes); on the right, along a time axis, each node's completion (its slowest rank's) and the critical path.
// `explanation` is that of the plan; the members of `team` are used: without them nodes have no times.
std::string DrawPlan(const v1::ExplainPlanReply& explanation, const v1::TeamRow& team);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PLAN_PICTURE_H_
