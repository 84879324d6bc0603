// SPDX-License-Identifier: Apache-2.0
#include "rpc/insecure_warning.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace copse::rpc {
namespace {

// Returns whether the warning is logged at this time.
bool IsLogged(InsecureWarning* warning, absl::Time now) {
  ::testing::internal::CaptureStderr();
  warning->Tick(now);
  const std::string log = ::testing::internal::GetCapturedStderr();
  return absl::StrContains(log, "insecure: true") && absl::StrContains(log, "listen=here");
}

TEST(InsecureWarningTest, IsLoggedAtOnceAndEachHour) {
  InsecureWarning warning;
  const absl::Time begin = absl::UnixEpoch() + absl::Minutes(7);
  EXPECT_FALSE(IsLogged(&warning, begin));
  EXPECT_EQ(warning.NextDeadline(), absl::InfiniteFuture());
  warning.Begin(begin, "nothing is encrypted (listen=here)");
  for (int hour = 0; hour < 3; ++hour) {
    const absl::Time due = begin + hour * absl::Hours(1);
    EXPECT_EQ(warning.NextDeadline(), due);
    EXPECT_FALSE(IsLogged(&warning, due - absl::Nanoseconds(1)));
    EXPECT_TRUE(IsLogged(&warning, due));
    EXPECT_FALSE(IsLogged(&warning, due));
  }
}

}  // namespace
}  // namespace copse::rpc
