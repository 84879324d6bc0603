// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/call_bound.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/candidates.h"
#include "planner/pricing/cost_model.h"
#include "planner/structure.h"
#include "schedule/testing/sample_plans.h"

namespace copse::planner {
namespace {

// The links are all that costs time, so a broadcast is as close to the bound as it can be. Each segment's time on a
// link is rounded down, and a long call has many segments.
TEST(CallBoundTest, NoCallIsPricedBelowItHoweverManySegmentsItHas) {
  CostParameters parameters;
  for (const topology::CostParameterField& field : topology::CostParameterFields()) parameters.*field.member = 0;
  const std::vector<std::string> names = {"a", "b"};
  const schedule::TeamShape shape = schedule::BlockShape(2, 1);
  for (const int64_t bandwidth : {1'000'000'000, 1'300'000'000, 1'999'000'000}) {
    const auto topology = topology::FlatTopology(
        names, {.overhead_ns = 1, .receive_overhead_ns = 1, .latency_ns = 1, .bandwidth_bytes_per_s = bandwidth});
    const TeamCosts costs = *TeamCosts::Create(names, *topology, parameters);
    for (const uint64_t bytes : {1, 8192, 65'536, 100'000, 1'000'000, 30'000'000}) {
      const CallArguments call{.collective = Collective::kBcast, .count = bytes};
      const int64_t bound = CallLowerBoundNs(costs, shape, call).value();
      for (const uint32_t segment_bytes : SegmentSizes(bytes)) {
        const schedule::Plan plan =
            PlanOf(*BuildStructure("flat", {0, 1}), Collective::kBcast, 0, bytes, segment_bytes);
        const int64_t price = Price(plan, shape, costs, call).value().total_ns;
        EXPECT_LE(bound, price) << bytes << " bytes in segments of " << segment_bytes << " at " << bandwidth;
        EXPECT_LE(price - bound, 50 + price / 1000);
      }
    }
  }
}

}  // namespace
}  // namespace copse::planner
