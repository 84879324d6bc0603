// SPDX-License-Identifier: Apache-2.0
//
// Plans of small teams, for tests and fuzz targets of a daemon's core.
#ifndef COPSE_DAEMON_CORE_TESTING_TEST_PLAN_H_
#define COPSE_DAEMON_CORE_TESTING_TEST_PLAN_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "collectives/collective.h"
#include "schedule/plan.h"

namespace copse::daemon {

// A plan of as many nodes as there are lists of neighbors, whose number is the collective's.
inline schedule::Plan TestPlan(Collective collective, std::vector<std::vector<uint32_t>> neighbors) {
  return {.id = PlanId(1 + static_cast<uint64_t>(collective)),
          .collective = collective,
          .bytes_max = collective == Collective::kBarrier ? 0 : schedule::kMessageBytesMax,
          .algorithm = "test",
          .node_count = static_cast<uint32_t>(neighbors.size()),
          .segment_bytes = schedule::kSegmentBytesUsual,
          .neighbors = std::move(neighbors)};
}

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TESTING_TEST_PLAN_H_
