// SPDX-License-Identifier: Apache-2.0
#include "planner/size_class.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace copse::planner {

namespace {

// By then what a byte costs decides, not what a message costs.
constexpr uint64_t kTypicalOfLong = 256 * 1024;

}  // namespace

uint64_t TypicalBytes(const SizeClass& size_class) {
  if (size_class.bytes_min > schedule::kMessageBytesMax) {
    return std::clamp(kTypicalOfLong, size_class.bytes_min, size_class.bytes_max);
  }
  if (size_class.bytes_max == 0) return 0;
  const uint64_t product = std::max<uint64_t>(size_class.bytes_min, 1) * size_class.bytes_max;
  CHECK(product < uint64_t{1} << 52);  // the root is exact
  return static_cast<uint64_t>(std::sqrt(static_cast<double>(product)));
}

schedule::CallArguments TypicalCall(schedule::Collective collective, const SizeClass& size_class) {
  return {.collective = collective, .count = TypicalBytes(size_class)};
}

schedule::CallArguments TypicalCall(const schedule::Plan& plan) {
  return TypicalCall(plan.collective, {plan.bytes_min, plan.bytes_max});
}

}  // namespace copse::planner
