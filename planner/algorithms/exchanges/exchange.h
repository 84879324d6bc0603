// SPDX-License-Identifier: Apache-2.0
//
// What the exchange schedules share.
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_EXCHANGE_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_EXCHANGE_H_

#include <vector>

#include "schedule/plan.h"

namespace copse::planner {

// steps[v] of a schedule::Plan, rounds never falling. A round is a phase, and phase 0 is a node's own ranks arriving:
// the first round is 1.
using ExchangeSteps = std::vector<std::vector<schedule::ExchangeStep>>;
inline constexpr uint16_t kFirstRound = 1;

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_EXCHANGE_H_
