// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/histograms.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace copse::exporter {
namespace {

// Three values: 2 us, 100 us and an hour.
v1::LatencyRow Row(const std::string& collective, const std::string& part) {
  v1::LatencyRow row;
  row.set_collective(collective);
  row.set_part(part);
  const uint64_t values[] = {2'000, 100'000, Histogram::kValueMax};
  for (const uint64_t value : values) {
    row.add_bucket(Histogram::BucketOf(value));
    row.add_count(1);
  }
  row.set_sum_ns(2'000 + 100'000 + Histogram::kValueMax);
  row.set_min_ns(2'000);
  row.set_max_ns(Histogram::kValueMax);
  return row;
}

TEST(HistogramsTest, BucketsCountWhatIsBelowTheirBounds) {
  const std::string text =
      prometheus::TextSerializer().Serialize({DurationFamily("copse_x_seconds", "x", Row("", ""))});
  for (const char* line :
       {"# TYPE copse_x_seconds histogram\n", "copse_x_seconds_count 3\n", "copse_x_seconds_sum 3600.000102",
        "copse_x_seconds_bucket{le=\"4.096e-06\"} 1\n", "copse_x_seconds_bucket{le=\"6.5536e-05\"} 1\n",
        "copse_x_seconds_bucket{le=\"0.000262144\"} 2\n", "copse_x_seconds_bucket{le=\"4.294967296\"} 2\n",
        "copse_x_seconds_bucket{le=\"+Inf\"} 3\n"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(line));
  }
}

TEST(HistogramsTest, SizesOfOneCollectiveAreAddedUp) {
  google::protobuf::RepeatedPtrField<v1::LatencyRow> rows;
  for (const char* part : {"call", "call", "ranks"}) *rows.Add() = Row("bcast", part);
  v1::LatencyRow broken = Row("scan", "call");
  broken.add_bucket(0);
  *rows.Add() = broken;
  const std::string text = prometheus::TextSerializer().Serialize({CallDurations(rows)});
  EXPECT_THAT(text, ::testing::HasSubstr("copse_call_duration_seconds_count{collective=\"bcast\",part=\"call\"} 6\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("copse_call_duration_seconds_count{collective=\"bcast\",part=\"ranks\"} 3\n"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("scan")));
}

TEST(HistogramsTest, ARowThatIsNotSoundIsEmpty) {
  v1::LatencyRow row = Row("", "");
  row.set_min_ns(1);
  EXPECT_EQ(DurationFamily("copse_x_seconds", "x", row).metric[0].histogram.sample_count, 0u);
}

}  // namespace
}  // namespace copse::exporter
