// SPDX-License-Identifier: Apache-2.0
#include "schedule/positional_plans.h"

#include "collectives/collective.h"
#include "schedule/knomial.h"

namespace copse::schedule {
namespace {

// These are size classes with the first segment sizes that a planner tries.
struct SegmentedClass {
  uint64_t bytes_min, bytes_max;
  uint32_t segment_bytes;
};
constexpr SegmentedClass kBarrierClass = {0, 0, 0};
constexpr SegmentedClass kClasses[] = {{0, kSegmentBytesUsual, 0},
                                       {kSegmentBytesUsual + 1, kMessageBytesMax, kSegmentBytesUsual},
                                       {kMessageBytesMax + 1, kCallBytesMax, 32 * 1024}};

constexpr uint64_t kPlansMax = 16;  // of a team

}  // namespace

std::vector<Plan> MakePositionalPlans(absl::Span<const uint32_t> order, TeamId team) {
  const std::vector<std::vector<uint32_t>> neighbors = KnomialNeighbors(order, 2);
  std::vector<Plan> plans;
  for (const Collective collective : CollectivesOf(Family::kCommon)) {
    const bool is_barrier = collective == Collective::kBarrier;
    for (const SegmentedClass& c :
         is_barrier ? absl::MakeConstSpan(&kBarrierClass, 1) : absl::MakeConstSpan(kClasses)) {
      const uint64_t number = team.value() * kPlansMax + plans.size();
      plans.push_back({.id = PlanId(kPositionalIdsMin + number % kPositionalIdsMin),
                       .collective = collective,
                       .bytes_min = c.bytes_min,
                       .bytes_max = c.bytes_max,
                       .algorithm = "binomial",
                       .node_count = static_cast<uint32_t>(order.size()),
                       .segment_bytes = c.segment_bytes,
                       .root_node = NodeIndex(order[0]),
                       .neighbors = neighbors});
    }
  }
  return plans;
}

}  // namespace copse::schedule
