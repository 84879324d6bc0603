// SPDX-License-Identifier: Apache-2.0
#include "bench/taking.h"

#include <utility>

namespace copse::bench {

Taking::Taking(Contender* inner, Take take) : inner_(inner), take_(std::move(take)) {}

absl::Status Taking::Measure(const std::vector<size_t>& cells, const Report& report) {
  if (!take_) return inner_->Measure(cells, report);
  absl::Status refused;  // what comes behind that cell is not looked at: it is measured again
  const absl::Status measured = inner_->Measure(cells, [&](size_t cell, std::vector<double> samples) {
    if (!refused.ok()) return;
    absl::StatusOr<std::vector<double>> taken = take_(cell, std::move(samples));
    refused = taken.status();
    if (taken.ok()) report(cell, *std::move(taken));
  });
  return refused.ok() ? measured : refused;
}

}  // namespace copse::bench
