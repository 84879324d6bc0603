// SPDX-License-Identifier: Apache-2.0
//
// Defines a histogram of durations in nanoseconds that needs a fixed amount of memory.
#ifndef COPSE_BASE_HISTOGRAM_H_
#define COPSE_BASE_HISTOGRAM_H_

#include <array>
#include <bit>
#include <cstdint>

#include "absl/status/status.h"

namespace copse {

// A Histogram counts values in log-linear buckets: each octave (from a power of two to the next) is split into
// kBucketsPerOctave buckets of equal width, and values below kBucketsPerOctave have a bucket each. So the error of a
// percentile is less than an eighth of it, at 1 ns as at 1 h. Counts, sum and extremes are exact.
//
// It takes about 2.6 KB, whatever is recorded; Record costs a few ns and allocates nothing. Thread-compatible.
class Histogram {
 public:
  static constexpr int kOctaveBits = 3;
  static constexpr uint32_t kBucketsPerOctave = 1u << kOctaveBits;
  // A value above an hour, in nanoseconds, counts as this one in the buckets, and as itself in sum() and max().
  static constexpr uint64_t kValueMax = uint64_t{3600} * 1'000'000'000;

  // Return the bucket of a value, and the least and the greatest value of a bucket.
  static constexpr uint32_t BucketOf(uint64_t value) {
    if (value > kValueMax) value = kValueMax;
    if (value < kBucketsPerOctave) return static_cast<uint32_t>(value);
    const int shift = std::bit_width(value) - 1 - kOctaveBits;
    return static_cast<uint32_t>(shift) * kBucketsPerOctave + static_cast<uint32_t>(value >> shift);
  }
  static constexpr uint64_t LowestOf(uint32_t bucket) {
    if (bucket < 2 * kBucketsPerOctave) return bucket;
    const uint32_t shift = bucket / kBucketsPerOctave - 1;
    return uint64_t{bucket % kBucketsPerOctave + kBucketsPerOctave} << shift;
  }
  static constexpr uint64_t HighestOf(uint32_t bucket) { return LowestOf(bucket + 1) - 1; }
  static constexpr uint32_t kBucketCount = 39 * kBucketsPerOctave + 6;

  void Record(uint64_t value) {
    ++buckets_[BucketOf(value)];
    ++count_;
    sum_ += value;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  // Adds everything recorded in `other`.
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  uint64_t bucket(uint32_t index) const { return buckets_[index]; }

  // Returns a value such that at least the share `p` (0 to 1) of all values is not above it: the greatest value of the
  // bucket that reaches this share, limited to [min(), max()]; of the last bucket, max(). Returns 0 if nothing was
  // recorded.
  uint64_t Percentile(double p) const;

  // --- Decoding: Restore each bucket, then RestoreTotals ---
  // Returns INVALID_ARGUMENT if there is no such bucket.
  absl::Status Restore(uint32_t bucket, uint64_t count);
  // Returns INVALID_ARGUMENT if the extremes do not lie in the outermost buckets that were restored. Ignores the
  // arguments if none was.
  absl::Status RestoreTotals(uint64_t sum, uint64_t min, uint64_t max);

 private:
  std::array<uint64_t, kBucketCount> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
};

static_assert(Histogram::BucketOf(Histogram::kValueMax) + 1 == Histogram::kBucketCount);

}  // namespace copse

#endif  // COPSE_BASE_HISTOGRAM_H_
