// SPDX-License-Identifier: Apache-2.0
//
// Makes plans from the order of a team's nodes alone, without topology and cost model.
#ifndef COPSE_SCHEDULE_POSITIONAL_PLANS_H_
#define COPSE_SCHEDULE_POSITIONAL_PLANS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/ids.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Ids of plans that daemons make begin here; those that a planner issues are smaller, unless there were more than four
// billion terms.
inline constexpr uint64_t kPositionalIdsMin = uint64_t{1} << 52;

// Makes plans for the common collective class, all by the binomial tree of `order` (KnomialNeighbors): every daemon
// that knows the order makes equal ones. `team` gives them ids that no other team's have.
//
// Input:   a permutation of 0 ... n - 1, 0 < n <= kNodeCountMax; order[0] is the root node. Not checked: VerifyPlans
// does. Output:  one plan for a barrier; for each other collective one for messages up to a segment, up to
// kMessageBytesMax, and
//          longer ones. predicted_us is 0.
// Cost:    O(n).
std::vector<Plan> MakePositionalPlans(absl::Span<const uint32_t> order, TeamId team);

// Returns whether MakePositionalPlans has made the plan.
inline bool IsPositional(const Plan& plan) { return plan.id.value() >= kPositionalIdsMin; }

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_POSITIONAL_PLANS_H_
