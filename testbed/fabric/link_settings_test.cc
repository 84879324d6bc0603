// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/link_settings.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

using copse::testing::Names;

std::string ErrorOf(std::string_view key, std::string_view value) {
  LinkSettings settings;
  const absl::Status status = SetLinkSetting(key, value, &settings);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
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
  EXPECT_THAT(ErrorOf("latency", "2000s"), Names("latency: ", "value=2000s", "limit=1000s"));
  EXPECT_THAT(ErrorOf("jitter", "soon"), Names("jitter: ", "value=soon"));
  EXPECT_THAT(ErrorOf("rate", "2000TB"), Names("rate: ", "value=2000TB", "limit=1000000000000000B/s"));
  EXPECT_THAT(ErrorOf("rate", "0bit"), Names("rate: ", "value=0bit", "least=1B/s"));
  EXPECT_THAT(ErrorOf("loss", "1.5"), Names("loss: ", "value=1.5", "limit=1"));
  EXPECT_THAT(ErrorOf("loss", "nan"), Names("loss: ", "value=nan", "limit=1"));
  EXPECT_THAT(ErrorOf("loss", "101%"), Names("loss: ", "value=101%", "limit=1"));
  EXPECT_THAT(ErrorOf("queue", "0p"), Names("queue: ", "value=0p", "limit=1000000p"));
  EXPECT_THAT(ErrorOf("queue", "long"), Names("queue: ", "value=long"));
  EXPECT_THAT(ErrorOf("queue", "2GiB"), Names("queue: ", "value=2GiB", "limit=1GiB"));
  EXPECT_THAT(ErrorOf("reorder", "1"), Names("reorder: ", "value=1"));
  EXPECT_THAT(ErrorOf("delay", "1ms"), Names("delay: ", "known=latency bandwidth rate jitter loss queue reorder"));
}

}  // namespace
}  // namespace copse::fabric
