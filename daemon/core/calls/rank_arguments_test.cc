// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/rank_arguments.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using testing::Names;

TEST(MismatchReportTest, NamesTheRanksInTheirOrder) {
  const RankArguments first{Rank(3), {.collective = Collective::kAllreduce, .count = 8}};
  const RankArguments other{Rank(1), {.collective = Collective::kBarrier}};
  const schedule::FailureReport why = MismatchReport(4, first, "n0", other, "n1");
  EXPECT_EQ(why.failure, schedule::Failure::kMismatch);
  EXPECT_EQ(why.cause, FailureCause::kRanksDiffer);
  EXPECT_EQ(why.node, "n0");
  EXPECT_EQ(why.rank, Rank(3));
  EXPECT_THAT(why.text, Names("call 4", "rank 1 on node n1 gave barrier", "rank 3 on node n0 gave allreduce"));
  EXPECT_EQ(MismatchReport(4, other, "n1", first, "n0"), why);
}

}  // namespace
}  // namespace copse::daemon
