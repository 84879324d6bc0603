// SPDX-License-Identifier: Apache-2.0
//
// What Copse is held to, as bench/targets.yaml has it.
#ifndef COPSE_BENCH_TARGETS_H_
#define COPSE_BENCH_TARGETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/row.h"

namespace copse::bench {

// The row that it is about, by these fields, and the most that its median may be.
struct Target {
  std::string bench;
  std::string what;  // the field `case`
  uint32_t nodes;
  uint32_t ppn;
  std::string metric;
  std::string peer;  // of ratios: what Copse is compared with
  double limit;
  std::string why;  // where the figure comes from, or what it would mean to miss it
};

absl::StatusOr<std::vector<Target>> LoadTargets();

// Sets row->target if there is one for it. A cell that was not finished has missed its target.
void SetTarget(const std::vector<Target>& targets, Row* row);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TARGETS_H_
