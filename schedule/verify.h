// SPDX-License-Identifier: Apache-2.0
//
// Verifies plans statically. A plan is neither pushed nor accepted unless it has passed.
#ifndef COPSE_SCHEDULE_VERIFY_H_
#define COPSE_SCHEDULE_VERIFY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Limits a node's neighbors in one plan; each takes an edge of the engine's port.
inline constexpr uint32_t kNeighborsMax = 4096;

// VerifyLimits are the most resources that a plan may use at a node. neighbors_max applies to trees and cycles, and
// phases_max to symmetric schedules, where kExchangeNodesMax limits the neighbors.
struct VerifyLimits {
  uint32_t neighbors_max = kNeighborsMax;
  uint32_t segments_max = kSegmentsMax;
  uint32_t phases_max = kPhasesMax;
};

// Proves for `plan`, for every size and root:
//  - shape: indices in range, links mutual and listed once, a tree spans all nodes without a cycle; rounds ascend;
//  - matching: every packet that is sent is awaited exactly once and in the phase in which it is sent, so thresholds
//    equal arrivals, and no directed edge is used twice in a call, so an eager buffer is written once (on a cycle, the
//    sum and the result of a segment may use the same edge one after the other);
//  - no deadlock: executed symbolically, every node reaches its end;
//  - content: every result has each node's contribution exactly once (a barrier's: at least once);
//  - order: operands follow from the plan alone (by construction of Expand);
//  - resources: segments, phases and neighbors within `limits`, as far as they apply; bytes within plan.h's bounds.
// Trees and cycles are proven by structure, which covers every root, in O(n log n); symmetric schedules, which have no
// root, by execution in O(messages * n / 64).
// Errors: INVALID_ARGUMENT that names the plan and the reason (of an invalid shape: the team). Nothing else.
absl::Status VerifyPlan(const Plan& plan, const TeamShape& shape, const VerifyLimits& limits = {});

// Verifies each of a team's plans; a tree that several plans have is proven once. They must be of one collective class,
// and for each of its collectives the size classes must leave no gap up to kMessageBytesMax. Errors: INVALID_ARGUMENT,
// also if there are no plans.
absl::Status VerifyPlans(absl::Span<const Plan> plans, const TeamShape& shape, const VerifyLimits& limits = {});

// Executes the primitive sequences of all nodes for one barrier, bcast, reduce or allreduce symbolically: deadlock,
// matching and content are checked on the sequences that the engine will run, not on the plan's structure. Content is
// exact for symmetric schedules and up to 256 nodes. Beyond, results are checked up to hash collisions, and content of
// barriers is not checked. `rotation` is that of ViewOf. Preconditions: the plan's structure was verified, and the root
// is a rank. Errors: INVALID_ARGUMENT that names the plan and the reason.
absl::Status VerifyExecution(const Plan& plan, const TeamShape& shape, const CallArguments& arguments,
                             uint32_t rotation = 0);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_VERIFY_H_
