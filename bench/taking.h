// SPDX-License-Identifier: Apache-2.0
//
// A contest's side of which not all that its ranks say counts.
#ifndef COPSE_BENCH_TAKING_H_
#define COPSE_BENCH_TAKING_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/contest.h"

namespace copse::bench {

// Passes on what `take` makes of another contender's samples; an error of it is the cell's. `*inner` outlives this.
class Taking final : public Contender {
 public:
  // Null: all, as it is.
  using Take = std::function<absl::StatusOr<std::vector<double>>(size_t cell, std::vector<double> samples)>;
  Taking(Contender* inner, Take take);

  std::string system_name() const override { return inner_->system_name(); }
  std::string algorithm(size_t cell) const override { return inner_->algorithm(cell); }
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override;

 private:
  Contender* const inner_;
  const Take take_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_TAKING_H_
