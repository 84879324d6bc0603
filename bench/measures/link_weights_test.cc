// SPDX-License-Identifier: Apache-2.0
//
// Two users broadcast over one slow link at the same time. Needs root.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/measures/timed_team.h"
#include "bench/testbed.h"
#include "collectives/collective.h"

namespace copse::bench {
namespace {

constexpr uint32_t kNodes = 2;
constexpr int64_t kRateBits = 200'000'000;
constexpr uint64_t kBytes = 8 << 20;
constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr uint32_t kOtherUser = 65534;

// Returns how many of these calls, which followed each other, were over after `time_us`; a part of one counts as such.
double CallsWithin(const std::vector<double>& calls_us, double time_us) {
  double calls = 0;
  for (const double call_us : calls_us) {
    calls += std::min(1.0, time_us / call_us);
    time_us = std::max(0.0, time_us - call_us);
  }
  return calls;
}

// Returns how much more the other user sends than this one while both broadcast, `other` and `own` times.
absl::StatusOr<double> RatioOfRates(const std::string& quotas, uint32_t other, uint32_t own) {
  ASSIGN_OR_RETURN(const auto testbed, Testbed::Open({.nodes = kNodes,
                                                      .rate_bits_per_s = kRateBits,
                                                      .congestion_control = "cubic",
                                                      .daemon_settings = {{"quotas", quotas}},
                                                      .transport = "tcp"}));
  ASSIGN_OR_RETURN(const auto others, TimedTeam::Start(testbed->cluster(), kNodes, 1, kPatience, "other", kOtherUser));
  ASSIGN_OR_RETURN(const auto owns, TimedTeam::Start(testbed->cluster(), kNodes, 1, kPatience, "own"));
  const auto broadcast = [](TimedTeam& team, uint32_t calls) {
    return team.Time(Collective::kBcast, kBytes, 0, calls, kPatience);
  };
  absl::StatusOr<std::vector<double>> others_us;
  std::thread beside([&] { others_us = broadcast(*others, other); });
  const absl::StatusOr<std::vector<double>> owns_us = broadcast(*owns, own);
  beside.join();
  RETURN_IF_ERROR(others_us.status());
  RETURN_IF_ERROR(owns_us.status());
  RETURN_IF_ERROR(others->Stop(kPatience));
  RETURN_IF_ERROR(owns->Stop(kPatience));
  const auto sum = [](const std::vector<double>& calls) { return std::accumulate(calls.begin(), calls.end(), 0.0); };
  const double both_us = std::min(sum(*others_us), sum(*owns_us));
  const double ratio = CallsWithin(*others_us, both_us) / CallsWithin(*owns_us, both_us);
  std::printf("quotas=%s seconds=%.2f ratio=%.2f\n", quotas.c_str(), both_us / 1e6, ratio);
  return ratio;
}

TEST(LinkWeightsTest, ALinkIsSharedByWeight) {
  const auto ratio = RatioOfRates(absl::StrCat("{users: {'", kOtherUser, "': {weight: 4}}}"), 12, 3);
  ASSERT_TRUE(ratio.ok()) << ratio.status();
  EXPECT_GT(*ratio, 3.2);
  EXPECT_LT(*ratio, 4.8);
}

TEST(LinkWeightsTest, ALinkIsSharedByHalvesWithoutWeights) {
  const auto ratio = RatioOfRates("", 6, 6);
  ASSERT_TRUE(ratio.ok()) << ratio.status();
  EXPECT_GT(*ratio, 0.8);
  EXPECT_LT(*ratio, 1.25);
}

}  // namespace
}  // namespace copse::bench
