// SPDX-License-Identifier: Apache-2.0
//
// Defines the type that the builders of symmetric schedules return.
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_EXCHANGE_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_EXCHANGE_H_

#include <vector>

#include "schedule/plan.h"

namespace copse::planner {

// ExchangeSteps is the `steps` of a schedule::Plan: steps[v] lists the steps of node v, and their rounds never fall. A
// round is a phase; phase 0 is the arrival of a node's own ranks, so the first round is 1.
using ExchangeSteps = std::vector<std::vector<schedule::ExchangeStep>>;
inline constexpr uint16_t kFirstRound = 1;

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_EXCHANGE_H_
