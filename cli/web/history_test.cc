// SPDX-License-Identifier: Apache-2.0
#include "cli/web/history.h"

#include "gtest/gtest.h"

namespace copse::web {
namespace {

TEST(HistoryTest, AnHourIsKeptAndNoMore) {
  History history;
  const absl::Time start = absl::FromUnixSeconds(1'000'000);
  for (int second = 0; second <= 7200; ++second) {
    history.Add(start + absl::Seconds(second), {{"sessions", static_cast<uint64_t>(second)}});
  }
  const ctl::Json json = history.ToJson();
  ASSERT_EQ(json["times"].size(), 721u);
  EXPECT_EQ(json["times"].front(), 1'003'600);
  EXPECT_EQ(json["times"].back(), 1'007'200);
  EXPECT_EQ(json["series"]["sessions"].back(), 7200);
  EXPECT_EQ(json["series"]["nodes.ready"].back(), 0);
}

TEST(HistoryTest, TimeWithoutAnswersIsAGap) {
  History history;
  history.Add(absl::FromUnixSeconds(10), {{"sessions", 3}});
  history.Add(absl::FromUnixSeconds(20), {});
  const ctl::Json json = history.ToJson();
  EXPECT_EQ(json["series"]["sessions"], (ctl::Json{3, nullptr}));
  EXPECT_TRUE(json["series"]["nodes.away"][1].is_null());
}

}  // namespace
}  // namespace copse::web
