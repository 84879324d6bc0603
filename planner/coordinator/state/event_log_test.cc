// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/event_log.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

TEST(EventLogTest, TheOldestEventsAreForgottenAndNumbersGoOn) {
  EventLog log;
  for (size_t i = 1; i <= EventLog::kMax + 3; ++i) log.Note(absl::UnixEpoch(), "node n1", "away", absl::StrCat(i));
  ASSERT_EQ(log.events().size(), EventLog::kMax);
  EXPECT_EQ(log.events().front().number, 4u);
  EXPECT_EQ(log.events().back().number, EventLog::kMax + 3);
  EXPECT_EQ(log.events().back().detail, absl::StrCat(EventLog::kMax + 3));
}

}  // namespace
}  // namespace copse::coordinator
