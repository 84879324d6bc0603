// SPDX-License-Identifier: Apache-2.0
//
// A plan as a picture: its tree, and when each of its nodes is done.
#ifndef COPSE_CLI_CTL_PLAN_PICTURE_H_
#define COPSE_CLI_CTL_PLAN_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// Rows of a picture. Of a larger tree subtrees farthest from the root are left out and counted.
inline constexpr size_t kPictureNodesMax = 400;

// SVG. To the left the tree as seen from the plan's root, children in serving order (of an exchange only its nodes); to
// the right, on a line of time, when each node's slowest rank is done and the critical path. `explanation` is of the
// plan; of `team` the members are used: without them nodes have no times.
std::string DrawPlan(const v1::ExplainPlanReply& explanation, const v1::TeamRow& team);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PLAN_PICTURE_H_
