// SPDX-License-Identifier: Apache-2.0
//
// Measures the calls of one cell and combines the times of all ranks.
#ifndef COPSE_CLI_PERFTEST_MEASUREMENT_H_
#define COPSE_CLI_PERFTEST_MEASUREMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/perftest/computation.h"
#include "cli/perftest/options.h"
#include "cli/perftest/session.h"
#include "cli/perftest/statistics.h"

namespace copse::perftest {

struct Metric {
  const char* name;
  const char* unit;
  Spread ranks;       // one value per rank: the mean over its calls
  Percentiles calls;  // one value per call: that of its slowest rank
};

// A Cell holds the results of a collective with a number of elements. It is equal on all ranks, except that `refused`
// has each rank's own reason.
struct Cell {
  Collective collective = Collective::kBarrier;
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint32_t runs = 0;
  std::string refused;          // reason why there are no metrics; empty: there are
  std::vector<Metric> metrics;  // latency alone; or overall, compute, communication and overlap
  // It is the bus bandwidth (BusFactor) at the mean latency, in 10^6 bytes per second. It is unset without data and in
  // mode overlap.
  std::optional<double> bandwidth_mb_s;
  std::optional<uint64_t> errors;       // wrong elements, over all ranks and calls; nothing if data is not checked
  uint32_t first_rank_with_errors = 0;  // lowest one, if `errors` is above 0
};

// Measures a collective of the session's team. All ranks must call this with equal arguments. `computation` may be null
// except in mode overlap. If any rank's library refuses the call, returns a Cell with the reason. After an error the
// team is unusable.
absl::StatusOr<Cell> Measure(Session* session, const Options& options, Collective collective, uint64_t count,
                             Computation* computation);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_MEASUREMENT_H_
