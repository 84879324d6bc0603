// SPDX-License-Identifier: Apache-2.0
//
// Checks that planner, store and daemons of a random run agree when all its faults are healed.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_END_CHECKS_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_END_CHECKS_H_

namespace copse::coordinator {

struct World;

void CheckEnd(World& world);

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_END_CHECKS_H_
