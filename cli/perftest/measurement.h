// SPDX-License-Identifier: Apache-2.0
//
// The calls of one cell, and the measurements of all ranks.
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
  Spread ranks;       // of the ranks' means over their calls
  Percentiles calls;  // of each call's slowest rank
};

// Cell is equal on all ranks.
struct Cell {
  Collective collective = Collective::kBarrier;
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint32_t runs = 0;
  std::string refused;          // reason for missing metrics
  std::vector<Metric> metrics;  // latency alone; or overall, compute, communication and overlap
  // Bytes that the collective moves divided by the mean latency, in 10^6 bytes a second.
  std::optional<double> bandwidth_mb_s;
  std::optional<uint64_t> errors;  // wrong elements, over all ranks and calls
  uint32_t first_rank_with_errors = 0;
};

// Measures a collective of the session's team. `computation` is used in mode overlap only. A refused call gives a Cell
// with the reason; after an error the team is unusable.
absl::StatusOr<Cell> Measure(Session* session, const Options& options, Collective collective, uint64_t count,
                             Computation* computation);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_MEASUREMENT_H_
