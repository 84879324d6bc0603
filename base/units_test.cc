// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace copse {
namespace {

using ::testing::HasSubstr;

template <typename StatusOr>
std::string ErrorOf(const StatusOr& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  return std::string(result.status().message());
}

// What no parser of amounts accepts, with a unit that all of them would.
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
    EXPECT_THAT(ErrorOf(ParseDuration(std::string(number) + "s")), HasSubstr("duration '" + std::string(number)));
  }
  EXPECT_EQ(ErrorOf(ParseDuration("-2us")), "duration '-2us': does not start with a decimal number");
  EXPECT_EQ(ErrorOf(ParseDuration("5")), "duration '5': no unit (one of ns, us, ms, s)");
  EXPECT_EQ(ErrorOf(ParseDuration("5h")), "duration '5h': unknown unit (one of ns, us, ms, s)");
  EXPECT_EQ(ErrorOf(ParseDuration("5s 3")), "duration '5s 3': unknown unit (one of ns, us, ms, s)");
  EXPECT_EQ(ErrorOf(ParseDuration("9223372037s")), "duration '9223372037s': too long (limit 292 years)");
  EXPECT_EQ(ErrorOf(ParseDuration("12345678901234567890ns")),
            "duration '12345678901234567890ns': too many digits (limit 19)");
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
    EXPECT_THAT(ErrorOf(ParseBandwidth(std::string(number) + "Mbit")), HasSubstr("bandwidth '" + std::string(number)));
  }
  EXPECT_THAT(ErrorOf(ParseBandwidth("10")), HasSubstr("bandwidth '10': no unit (one of bit, kbit,"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10Gb")), HasSubstr("bandwidth '10Gb': unknown unit"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10/s")), HasSubstr("bandwidth '10/s': unknown unit"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10Gbit/s/s")), HasSubstr("unknown unit"));
  EXPECT_THAT(ErrorOf(ParseBandwidth("10Gbit/h")), HasSubstr("unknown unit"));
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
    EXPECT_THAT(ErrorOf(ParseBytes(std::string(number) + "B")), HasSubstr("size '" + std::string(number)));
  }
  EXPECT_THAT(ErrorOf(ParseBytes("1XB")), HasSubstr("size '1XB': unknown unit (one of B, kB,"));
  EXPECT_EQ(ErrorOf(ParseBytes("0.5B")), "size '0.5B': not a whole number of bytes");
  EXPECT_EQ(ErrorOf(ParseBytes("9223372036854775808")), "size '9223372036854775808': too large (limit 2^63 - 1 bytes)");
  EXPECT_THAT(ErrorOf(ParseBytes("8388608T")), HasSubstr("too large"));
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
