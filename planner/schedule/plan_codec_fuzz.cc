// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "planner/schedule/plan.h"
#include "planner/schedule/sample_plans.h"
#include "planner/schedule/verify.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const uint32_t nodes : {1u, 2u, 5u, 17u}) {
    seeds.push_back(schedule::EncodePlan(schedule::RandomTreePlan(schedule::Collective::kAllreduce, nodes, nodes)));
    seeds.push_back(schedule::EncodePlan(schedule::RandomTreePlan(schedule::Collective::kBcast, nodes, nodes + 1)));
    seeds.push_back(schedule::EncodePlan(schedule::DisseminationPlan(nodes)));
  }
  return seeds;
}

// What decodes is encoded to bytes that decode to the same, and the verifier has an opinion of it.
void OneInput(std::string_view bytes) {
  const auto plan = schedule::DecodePlan(bytes);
  if (!plan.ok()) return;
  const std::string encoded = schedule::EncodePlan(*plan);
  const auto again = schedule::DecodePlan(encoded);
  CHECK(again.ok());
  CHECK(schedule::EncodePlan(*again) == encoded);
  // Proving an exchange costs its square: larger ones are its own test's.
  constexpr uint32_t kVerifiedNodesMax = 64;
  if (plan->node_count == 0 || plan->node_count > kVerifiedNodesMax) return;
  (void)schedule::VerifyPlan(*plan, schedule::BlockShape(plan->node_count, 1));
}

}  // namespace copse::fuzzing
