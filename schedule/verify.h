// SPDX-License-Identifier: Apache-2.0
//
// The static verifier: a plan is neither pushed nor accepted unless it has passed.
#ifndef COPSE_SCHEDULE_VERIFY_H_
#define COPSE_SCHEDULE_VERIFY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Neighbors that a node may have in one plan: the edges of an engine's port.
inline constexpr uint32_t kNeighboursMax = 4096;

// Bounds of a node's resources, the most that a plan may ask for.
struct VerifyLimits {
  uint32_t neighbours_max = kNeighboursMax;
  uint32_t segments_max = kSegmentsMax;
  uint32_t phases_max = kPhasesMax;
};

// Proves for `plan`, for every size and root:
//  - shape: indices in range, links mutual and listed once, a tree spans all nodes without a cycle; rounds ascend;
//  - matching: every packet that is sent is awaited exactly once and in the phase in which it is sent, so thresholds
//    equal arrivals, and no directed edge is used twice in a call (an eager buffer is written once);
//  - no deadlock: executed symbolically, every node reaches its end;
//  - content: every result has each node's contribution exactly once (a barrier's: at least once);
//  - order: operands follow from the plan alone (by construction of Expand);
//  - resources: segments, phases, neighbors and bytes within `limits` and plan.h's bounds.
// Trees are proven by structure, which covers every root; symmetric schedules, which have none, by execution:
// O(messages * n / 64). Errors: INVALID_ARGUMENT that names plan, node and reason. Nothing else.
absl::Status VerifyPlan(const Plan& plan, const TeamShape& shape, const VerifyLimits& limits = {});

// Verifies each of a team's plans, and that the size classes of one collective leave no gap up to kMessageBytesMax.
absl::Status VerifyPlans(absl::Span<const Plan> plans, const TeamShape& shape, const VerifyLimits& limits = {});

// Executes the primitive sequences of all nodes for one call symbolically: deadlock, matching and content are checked
// on the sequences that the engine will run and not on the plan's structure. O(messages), exact for content up to
// hash collisions. `rotation` has the meaning it has in ViewOf.
absl::Status VerifyExecution(const Plan& plan, const TeamShape& shape, const CallArguments& arguments,
                             uint32_t rotation = 0);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_VERIFY_H_
