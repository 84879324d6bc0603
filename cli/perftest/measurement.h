// SPDX-License-Identifier: Apache-2.0
//
// One cell's calls, and what all ranks measured of them.
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

// The same on all ranks.
struct Cell {
  const Measured* collective = nullptr;
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint32_t runs = 0;
  std::string refused;          // why there are no metrics
  std::vector<Metric> metrics;  // latency alone; or overall, compute, communication and overlap
  // What the collective moves by the mean latency, 10^6 bytes a second.
  std::optional<double> bandwidth_mb_s;
  std::optional<uint64_t> errors;  // wrong elements, of all ranks and calls
  uint32_t first_rank_with_errors = 0;
};

// A collective of the session's team. `computation` is used in mode overlap alone. What is refused is a Cell that says
// so; any error means that the team is of no more use.
absl::StatusOr<Cell> Measure(Session* session, const Options& options, const Measured& collective, uint64_t count,
                             Computation* computation);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_MEASUREMENT_H_
