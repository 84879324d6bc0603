// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace copse {

void Histogram::Merge(const Histogram& other) {
  for (uint32_t i = 0; i < kBucketCount; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::Percentile(double p) const {
  if (count_ == 0) return 0;
  const double rank = std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t wanted = std::clamp<uint64_t>(static_cast<uint64_t>(rank), 1, count_);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < kBucketCount; ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return i + 1 == kBucketCount ? max_ : std::clamp(HighestOf(i), min_, max_);
  }
  return max_;
}

absl::Status Histogram::Restore(uint32_t bucket, uint64_t count) {
  if (bucket >= kBucketCount) {
    return absl::InvalidArgumentError(absl::StrCat("histogram: bucket ", bucket, " (limit ", kBucketCount - 1, ")"));
  }
  buckets_[bucket] += count;
  count_ += count;
  return absl::OkStatus();
}

absl::Status Histogram::RestoreTotals(uint64_t sum, uint64_t min, uint64_t max) {
  if (count_ == 0) return absl::OkStatus();
  uint32_t first = 0;
  while (buckets_[first] == 0) ++first;
  uint32_t last = kBucketCount - 1;
  while (buckets_[last] == 0) --last;
  if (BucketOf(min) != first || BucketOf(max) != last) {
    return absl::InvalidArgumentError(
        absl::StrCat("histogram: extremes ", min, " and ", max, " are not those of its buckets"));
  }
  sum_ = sum;
  min_ = min;
  max_ = max;
  return absl::OkStatus();
}

}  // namespace copse
