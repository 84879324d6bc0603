// SPDX-License-Identifier: Apache-2.0
//
// Reads the targets for Copse's results from bench/targets.yaml.
#ifndef COPSE_BENCH_TARGETS_H_
#define COPSE_BENCH_TARGETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/row.h"

namespace copse::bench {

// A Target selects rows by their fields, and has the upper limit of their median.
struct Target {
  std::string bench;
  std::string what;  // the field `case`
  uint32_t nodes;
  uint32_t ppn;
  std::string metric;
  std::string peer;  // for ratios: the system with which Copse is compared
  double limit;
  std::string why;  // source of the limit, or consequence of missing it
};

absl::StatusOr<std::vector<Target>> LoadTargets();

// Sets row->target if there is a target for the row. A cell that was not finished has missed its target.
void SetTarget(const std::vector<Target>& targets, Row* row);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TARGETS_H_
