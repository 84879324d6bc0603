// SPDX-License-Identifier: Apache-2.0
#include "schedule/select_plan.h"

#include <algorithm>

#include "schedule/folds.h"

namespace copse::schedule {

uint64_t PlanBytesOf(const CallArguments& arguments, uint64_t ranks) {
  const Collective c = arguments.collective;
  if (c == Collective::kBarrier) return 0;
  if (FoldsInOrder(arguments)) return kCallBytesMax;
  if (!HasBlocks(c)) return arguments.bytes();
  const bool has_sum = CountsAllBlocks(c);
  if (IsIrregular(c) && !has_sum) return kCallBytesMax;
  return has_sum ? arguments.bytes() / ranks : arguments.bytes();
}

const Plan* PlanFor(absl::Span<const Plan> plans, const CallArguments& arguments, uint64_t ranks) {
  const Collective collective = PlanCollectiveOf(arguments);
  const uint64_t bytes = PlanBytesOf(arguments, ranks);
  if (const Plan* plan = SelectPlan(plans, collective, bytes); plan != nullptr) return plan;
  return SelectPlan(plans, collective, std::min(bytes, kMessageBytesMax));
}

}  // namespace copse::schedule
