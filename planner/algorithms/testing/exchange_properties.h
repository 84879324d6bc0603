// SPDX-License-Identifier: Apache-2.0
//
// What every symmetric schedule must do, for the algorithms' tests.
#ifndef COPSE_PLANNER_ALGORITHMS_TESTING_EXCHANGE_PROPERTIES_H_
#define COPSE_PLANNER_ALGORITHMS_TESTING_EXCHANGE_PROPERTIES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/ids.h"
#include "collectives/collective.h"
#include "planner/algorithms/exchanges/exchange.h"
#include "schedule/plan.h"
#include "schedule/testing/sample_plans.h"
#include "schedule/verify.h"

namespace copse::planner {

// Proves that nodes of one rank each can run `collective`, a barrier or an allreduce, by these steps: see VerifyPlan.
inline absl::Status VerifyExchange(const ExchangeSteps& steps, Collective collective) {
  schedule::Plan plan;
  plan.id = PlanId(1);
  plan.collective = collective;
  plan.bytes_max = collective == Collective::kBarrier ? 0 : 120;
  plan.algorithm = "exchange";
  plan.kind = schedule::PlanKind::kExchange;
  plan.node_count = static_cast<uint32_t>(steps.size());
  plan.steps = steps;
  return schedule::VerifyPlan(plan, schedule::BlockShape(plan.node_count, 1));
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TESTING_EXCHANGE_PROPERTIES_H_
