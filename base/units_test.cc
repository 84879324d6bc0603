// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/testing/status_matchers.h"

namespace copse {
namespace {

using testing::Names;

template <typename StatusOr>
std::string ErrorOf(const StatusOr& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  return std::string(result.status().message());
}

// Texts that no parser of amounts accepts; each test appends a unit.
constexpr std::string_view kNotNumbers[] = {"",     " ",   "-",   "-1",  "+1",   ".",   "1.",
                                            "1..2", "nan", "inf", "1e3", "0x10", "1,5", "x"};

TEST(ParseDurationTest, KnowsItsUnits) {
  EXPECT_EQ(*ParseDuration("2ns"), absl::Nanoseconds(2));
  EXPECT_EQ(*ParseDuration("2us"), absl::Microseconds(2));
  EXPECT_EQ(*ParseDuration("500 ms"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseDuration(" 1.5s "), absl::Milliseconds(1500));
  EXPECT_EQ(*ParseDuration("0.5ns"), absl::Nanoseconds(1) / 2);
  EXPECT_EQ(*ParseDuration(".5s"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseDuration("0s"), absl::ZeroDuration());
  EXPECT_EQ(*ParseDuration("9223372036s"), absl::Seconds(9223372036));
}

TEST(ParseDurationTest, RefusesWithTheValueNamed) {
  for (const std::string_view number : kNotNumbers) {
    EXPECT_THAT(ErrorOf(ParseDuration(std::string(number) + "s")), Names("'" + std::string(number) + "s'"));
  }
  EXPECT_THAT(ErrorOf(ParseDuration("-2us")), Names("'-2us'"));
  EXPECT_THAT(ErrorOf(ParseDuration("5")), Names("'5'"));
  EXPECT_THAT(ErrorOf(ParseDuration("5h")), Names("'5h'"));
  EXPECT_THAT(ErrorOf(ParseDuration("5s 3")), Names("'5s 3'"));
  EXPECT_THAT(ErrorOf(ParseDuration("9223372037s")), Names("'9223372037s'", "limit 292"));
  EXPECT_THAT(ErrorOf(ParseDuration("12345678901234567890ns")), Names("'12345678901234567890ns'", "limit 19"));
}

TEST(ParseBandwidthTest, BitsAndBytesPerSecond) {
  EXPECT_EQ(*ParseBandwidth("10Gbit"), 1.25e9);
  EXPECT_EQ(*ParseBandwidth("200Mbit/s"), 25e6);
  EXPECT_EQ(*ParseBandwidth("1.2GB/s"), 1.2e9);
  EXPECT_EQ(*ParseBandwidth("8 bit/s"), 1);
  EXPECT_EQ(*ParseBandwidth("100kB"), 1e5);
  EXPECT_EQ(*ParseBandwidth("1Tbit"), 125e9);
  EXPECT_EQ(*ParseBandwidth("0B/s"), 0);
}

TEST(ParseBandwidthTest, RefusesWithTheValueNamed) {
  for (const std::string_view number : kNotNumbers) {
    EXPECT_THAT(ErrorOf(ParseBandwidth(std::string(number) + "Mbit")), Names("'" + std::string(number) + "Mbit'"));
  }
  EXPECT_THAT(ErrorOf(ParseBandwidth("10")), Names("'10'"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10Gb")), Names("'10Gb'"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10/s")), Names("'10/s'"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10Gbit/s/s")), Names("'10Gbit/s/s'"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10Gbit/h")), Names("'10Gbit/h'"));
}

TEST(ParseBytesTest, PowersOf1000And1024) {
  EXPECT_EQ(*ParseBytes("4096"), 4096);
  EXPECT_EQ(*ParseBytes("0"), 0);
  EXPECT_EQ(*ParseBytes("12B"), 12);
  EXPECT_EQ(*ParseBytes("64MiB"), 64 << 20);
  EXPECT_EQ(*ParseBytes("1G"), 1 << 30);
  EXPECT_EQ(*ParseBytes("1GB"), 1000000000);
  EXPECT_EQ(*ParseBytes("1.5 KiB"), 1536);
  EXPECT_EQ(*ParseBytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytesTest, RefusesWithTheValueNamed) {
  for (const std::string_view number : kNotNumbers) {
    EXPECT_THAT(ErrorOf(ParseBytes(std::string(number) + "B")), Names("'" + std::string(number) + "B'"));
  }
  EXPECT_THAT(ErrorOf(ParseBytes("1XB")), Names("'1XB'"));
  EXPECT_THAT(ErrorOf(ParseBytes("0.5B")), Names("'0.5B'"));
  EXPECT_THAT(ErrorOf(ParseBytes("9223372036854775808")), Names("'9223372036854775808'", "limit 2^63 - 1"));
  EXPECT_THAT(ErrorOf(ParseBytes("8388608T")), Names("'8388608T'"));
}

TEST(FormatBytesTest, TakesTheLargestFittingUnit) {
  EXPECT_EQ(FormatBytes(0), "0B");
  EXPECT_EQ(FormatBytes(1023), "1023B");
  EXPECT_EQ(FormatBytes(1536), "1.5KiB");
  EXPECT_EQ(FormatBytes(64 << 20), "64MiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1MiB");
  EXPECT_EQ(FormatBytes(INT64_MAX), "8EiB");
  EXPECT_EQ(FormatBytes(-2048), "-2KiB");
}

TEST(FormatShortDurationTest, TakesTheLargestFittingUnit) {
  EXPECT_EQ(FormatShortDuration(absl::ZeroDuration()), "0s");
  EXPECT_EQ(FormatShortDuration(absl::Nanoseconds(12)), "12ns");
  EXPECT_EQ(FormatShortDuration(absl::Microseconds(2)), "2us");
  EXPECT_EQ(FormatShortDuration(absl::Microseconds(1500)), "1.5ms");
  EXPECT_EQ(FormatShortDuration(absl::Seconds(86400)), "86400s");
  EXPECT_EQ(FormatShortDuration(-absl::Milliseconds(3)), "-3ms");
  EXPECT_EQ(FormatShortDuration(absl::InfiniteDuration()), "inf");
  EXPECT_EQ(FormatShortDuration(-absl::InfiniteDuration()), "-inf");
}

}  // namespace
}  // namespace copse
