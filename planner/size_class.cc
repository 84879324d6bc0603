// SPDX-License-Identifier: Apache-2.0
#include "planner/size_class.h"

#include <algorithm>
#include <cmath>

namespace copse::planner {

namespace {

// At this size the cost per byte dominates the cost per message.
constexpr uint64_t kTypicalOfLong = 256 * 1024;
// Pricing takes time and memory for each segment of a message. Longer ones are alike, as bandwidth decides.
constexpr uint64_t kTypicalOfLongest = kLongestMessages.bytes_min;
// Latency dominates for blocks below the first length, bandwidth above the second.
constexpr uint64_t kShortBlockBytes = 1024;
constexpr uint64_t kLongBlockBytes = 8 * 1024;
constexpr SizeClass kBlockClasses[] = {
    {0, kShortBlockBytes},
    {kShortBlockBytes + 1, kLongBlockBytes},
    {kLongBlockBytes + 1, schedule::kMessageBytesMax},
    {schedule::kMessageBytesMax + 1, schedule::kCallBytesMax},
};
constexpr SizeClass kAlltoallClasses[] = {
    {0, kShortBlockBytes},
    {kShortBlockBytes + 1, schedule::kMessageBytesMax},
    {schedule::kMessageBytesMax + 1, schedule::kCallBytesMax},
};

// Returns TypicalBytes but for the limit of messages.
uint64_t MiddleBytes(Collective collective, const SizeClass& size_class) {
  if (size_class.bytes_min > schedule::kMessageBytesMax) {
    const bool is_longest = !HasBlocks(collective) && size_class.bytes_max > kLongMessages.bytes_max;
    return std::clamp(is_longest ? kTypicalOfLongest : kTypicalOfLong, size_class.bytes_min, size_class.bytes_max);
  }
  if (HasBlocks(collective) && size_class.bytes_min > kLongBlockBytes) return size_class.bytes_max;
  if (size_class.bytes_max == 0) return 0;
  // A plan that a daemon reported may have a class with arbitrary bounds, so the result is clamped. The product is
  // exact below 2^53, which includes all classes that this planner makes.
  const double product =
      static_cast<double>(std::max<uint64_t>(size_class.bytes_min, 1)) * static_cast<double>(size_class.bytes_max);
  return std::clamp(static_cast<uint64_t>(std::sqrt(product)), size_class.bytes_min, size_class.bytes_max);
}

}  // namespace

absl::Span<const SizeClass> BlockClasses(Collective collective) {
  if (FamilyOf(collective) == Family::kAlltoall) return kAlltoallClasses;
  return kBlockClasses;
}

SizeClass BlockClassOf(Collective collective, uint64_t bytes) {
  const absl::Span<const SizeClass> classes = BlockClasses(collective);
  return *std::find_if(classes.begin(), classes.end() - 1, [&](const SizeClass& c) { return bytes <= c.bytes_max; });
}

uint64_t TypicalBytes(Collective collective, const SizeClass& size_class) {
  const uint64_t bytes = MiddleBytes(collective, size_class);
  return HasBlocks(collective) ? bytes : std::min(bytes, kTypicalOfLongest);
}

CallArguments TypicalCall(Collective collective, const SizeClass& size_class) {
  return {.collective = collective, .count = TypicalBytes(collective, size_class)};
}

CallArguments TypicalCall(const schedule::Plan& plan) {
  return TypicalCall(plan.collective, {plan.bytes_min, plan.bytes_max});
}

CallArguments CallOfBytes(const schedule::Plan& plan, uint64_t bytes) {
  bytes = std::clamp(bytes, plan.bytes_min, plan.bytes_max);
  if (!HasBlocks(plan.collective)) bytes = std::min(bytes, kTypicalOfLongest);
  return {.collective = plan.collective, .count = bytes};
}

}  // namespace copse::planner
