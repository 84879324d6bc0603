// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/pair_results.h"

#include <utility>

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using measure::NodePair;

constexpr int64_t kWakeNs = 10'000;
constexpr NodePair kPair{0, 1}, kOther{0, 2};

schedule::MeasureReply Reply(uint32_t pings, int64_t round_trip_ns, int64_t bulk_ns = 0) {
  return {.pings = pings,
          .round_trip_ns = round_trip_ns,
          .round_trip_median_ns = round_trip_ns + 100,
          .send_ns = 100,
          .receive_ns = 200,
          .peer_send_ns = 300,
          .peer_receive_ns = 400,
          .bulk_bytes = bulk_ns == 0 ? 0u : 1000u,
          .bulk_ns = bulk_ns};
}

TEST(PairResultsTest, TheShortestRoundTripAndTheHighestBandwidthCount) {
  PairResults results(kWakeNs);
  results.Fail(kPair, absl::UnavailableError("no answer"));
  EXPECT_FALSE(results.IsMeasured(kPair));
  EXPECT_TRUE(results.Measurements().empty());
  results.Add(kPair, Reply(9, 5'000, 1000));
  results.Add(kPair, Reply(1, 4'000, 500));
  results.Add(kPair, Reply(1, 6'000, 2000));
  ASSERT_EQ(results.Measurements().size(), 1u);
  const measure::PairMeasurement measured = results.Measurements()[0];
  EXPECT_EQ(measured.latency_ns, (4'000 - 1'000) / 2);
  EXPECT_EQ(measured.latency_spread_ns, (5'100 - 4'000) / 2) << "the median is that of the reply with the most pings";
  EXPECT_EQ(measured.bandwidth_bytes_per_s, 2'000'000'000);
}

TEST(PairResultsTest, AWakeIsNoPartOfALatency) {
  PairResults results(kWakeNs);
  results.Add(kPair, Reply(9, 301'000));
  EXPECT_EQ(results.Measurements()[0].latency_ns, 150'000 - kWakeNs);
}

TEST(PairResultsTest, RenumberedPairsAreMergedIntoThoseThatAreKept) {
  PairResults results(kWakeNs);
  results.Add(kPair, Reply(9, 5'000));
  PairResults kept = results.Take();
  EXPECT_TRUE(results.all().empty());
  results.Add(kPair, Reply(9, 7'000));
  results.Add(kOther, Reply(9, 9'000));
  results.Add({1, 2}, Reply(9, 9'000));
  results.Renumber([](const NodePair& pair) -> std::optional<NodePair> {
    if (pair.a != 0) return std::nullopt;
    return pair == kPair ? kPair : NodePair{3, 4};
  });
  kept.Merge(std::move(results));
  ASSERT_EQ(kept.all().size(), 2u);
  EXPECT_EQ(kept.all().at(kPair).round_trip_ns, 5'000);
  EXPECT_EQ(kept.all().at({3, 4}).round_trip_ns, 9'000);
}

}  // namespace
}  // namespace copse::planner
