// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/fabric/link_settings.h"

#include <string>

#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

std::string ErrorOf(std::string_view key, std::string_view value) {
  LinkSettings settings;
  const absl::Status status = SetLinkSetting(key, value, &settings);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(settings, LinkSettings{}) << "changed by what was refused";
  return std::string(status.message());
}

TEST(LinkSettingsTest, EveryKeySetsItsOwn) {
  LinkSettings settings;
  EXPECT_TRUE(SetLinkSetting("latency", "1.5ms", &settings).ok());
  EXPECT_TRUE(SetLinkSetting("jitter", "20us", &settings).ok());
  EXPECT_TRUE(SetLinkSetting("rate", "100Mbit", &settings).ok());
  EXPECT_TRUE(SetLinkSetting("loss", "1%", &settings).ok());
  EXPECT_TRUE(SetLinkSetting("queue", "256KiB", &settings).ok());
  EXPECT_TRUE(SetLinkSetting("queue", "100p", &settings).ok());
  EXPECT_TRUE(SetLinkSetting("reorder", "true", &settings).ok());
  const LinkSettings expected = {.latency_ns = 1'500'000,
                                 .bytes_per_s = 12'500'000,
                                 .jitter_ns = 20'000,
                                 .loss = 0.01,
                                 .queue_bytes = 262'144,
                                 .queue_packets = 100,
                                 .reorder = true};
  EXPECT_EQ(settings, expected);
  EXPECT_TRUE(SetLinkSetting("bandwidth", "1GB/s", &settings).ok());
  EXPECT_EQ(settings.bytes_per_s, 1'000'000'000);
  EXPECT_TRUE(SetLinkSetting("loss", "0.5", &settings).ok());
  EXPECT_EQ(settings.loss, 0.5);
}

TEST(LinkSettingsTest, ErrorsNameValueAndLimit) {
  EXPECT_EQ(ErrorOf("latency", "2000s"), "latency: too long (value=2000s, limit=1000s)");
  EXPECT_EQ(ErrorOf("jitter", "soon"), "jitter: duration 'soon': does not start with a decimal number (value=soon)");
  EXPECT_EQ(ErrorOf("rate", "2000TB"), "rate: too large (value=2000TB, limit=1000000000000000B/s)");
  EXPECT_EQ(ErrorOf("rate", "0bit"), "rate: must be at least 1 B/s (value=0bit, least=1B/s)");
  EXPECT_EQ(ErrorOf("loss", "1.5"), "loss: must be a probability, such as 0.01 or 1% (value=1.5, limit=1)");
  EXPECT_EQ(ErrorOf("loss", "nan"), "loss: must be a probability, such as 0.01 or 1% (value=nan, limit=1)");
  EXPECT_EQ(ErrorOf("loss", "101%"), "loss: must be a probability, such as 0.01 or 1% (value=101%, limit=1)");
  EXPECT_EQ(ErrorOf("queue", "0p"), "queue: must be from 1p (value=0p, limit=1000000p)");
  EXPECT_EQ(ErrorOf("queue", "long"), "queue: must be bytes, such as 256KiB, or packets, such as 100p (value=long)");
  EXPECT_EQ(ErrorOf("queue", "2GiB"), "queue: must be from 1 byte (value=2GiB, limit=1GiB)");
  EXPECT_EQ(ErrorOf("reorder", "1"), "reorder: must be true or false (value=1)");
  EXPECT_EQ(ErrorOf("delay", "1ms"), "delay: unknown setting (known=latency bandwidth rate jitter loss queue reorder)");
}

}  // namespace
}  // namespace copse::fabric
