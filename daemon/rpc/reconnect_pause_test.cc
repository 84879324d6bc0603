// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/reconnect_pause.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kNever = absl::ZeroDuration();
constexpr ReconnectPauseOptions kOptions{.first = absl::Milliseconds(100), .longest = absl::Seconds(1)};

// Returns the longest of many daemons' pauses after streams with these times: about the bound.
absl::Duration Bound(const std::vector<absl::Duration>& stood) {
  absl::Duration longest;
  for (uint64_t daemon = 1; daemon <= 1000; ++daemon) {
    ReconnectPause pause(kOptions, Mix64(daemon));
    absl::Duration last;
    for (const absl::Duration each : stood) last = pause.Next(each);
    longest = std::max(longest, last);
  }
  return longest;
}

void ExpectAbout(absl::Duration value, absl::Duration expected) {
  EXPECT_LE(value, expected);
  EXPECT_GT(value, 0.98 * expected);
}

TEST(ReconnectPauseTest, DaemonsThatLoseThePlannerAtOnceComeBackAllOverThePause) {
  constexpr int kDaemons = 10'000, kParts = 20;
  std::vector<int> parts(kParts);
  for (uint64_t daemon = 1; daemon <= kDaemons; ++daemon) {
    ReconnectPause pause(kOptions, Mix64(daemon));
    const auto part = static_cast<size_t>(absl::FDivDuration(pause.Next(absl::Hours(1)), kOptions.first) * kParts);
    ASSERT_LT(part, parts.size());
    ++parts[part];
  }
  for (const int part : parts) {
    EXPECT_GT(part, kDaemons / kParts * 8 / 10);
    EXPECT_LT(part, kDaemons / kParts * 12 / 10);
  }
}

TEST(ReconnectPauseTest, GrowsToItsLimit) {
  ExpectAbout(Bound({kNever}), absl::Milliseconds(100));
  ExpectAbout(Bound({kNever, kNever}), absl::Milliseconds(200));
  ExpectAbout(Bound({kNever, kNever, kNever}), absl::Milliseconds(400));
  ExpectAbout(Bound(std::vector<absl::Duration>(5, kNever)), absl::Seconds(1));
  ExpectAbout(Bound(std::vector<absl::Duration>(100, kNever)), absl::Seconds(1));
}

TEST(ReconnectPauseTest, BeginsAgainAfterAStreamThatStood) {
  ExpectAbout(Bound({kNever, kNever, kNever, absl::Minutes(1)}), absl::Milliseconds(100));
  ExpectAbout(Bound({kNever, kNever, kNever, absl::Minutes(1), kNever}), absl::Milliseconds(200));
}

TEST(ReconnectPauseTest, GrowsWhileThePlannerEndsSoonAfterItsStart) {
  const absl::Duration soon = absl::Milliseconds(50);
  ExpectAbout(Bound({soon, soon, soon}), absl::Milliseconds(400));
}

TEST(ReconnectPauseTest, APlannerThatRefusesIsAskedSlowlyByAll) {
  absl::Duration shortest = absl::InfiniteDuration(), longest;
  for (uint64_t daemon = 1; daemon <= 1000; ++daemon) {
    const absl::Duration pause = ReconnectPause(kOptions, Mix64(daemon)).NextWhenRefused();
    shortest = std::min(shortest, pause);
    longest = std::max(longest, pause);
  }
  EXPECT_GE(shortest, absl::Milliseconds(500));
  EXPECT_LT(shortest, absl::Milliseconds(520));
  ExpectAbout(longest, absl::Seconds(1));
}

}  // namespace
}  // namespace copse::daemon
