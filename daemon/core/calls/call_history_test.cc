// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/call_history.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

CallArguments Of(Collective collective, uint64_t count = 1) { return {.collective = collective, .count = count}; }

TEST(CallHistoryTest, RanksOfANodeMustAgree) {
  CallHistory history;
  EXPECT_FALSE(history.Note(Rank(3), Of(Collective::kGather)).has_value());
  EXPECT_FALSE(history.Note(Rank(3), Of(Collective::kBarrier)).has_value());
  EXPECT_EQ(history.noted(), 1u);
  EXPECT_FALSE(history.Note(Rank(5), Of(Collective::kGather)).has_value());
  const auto other = history.Note(Rank(5), Of(Collective::kAlltoall));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->rank, Rank(3));
  EXPECT_EQ(other->arguments, Of(Collective::kBarrier));
  EXPECT_EQ(history.noted(), 1u);
}

TEST(CallHistoryTest, ForgetsWhatIsLongAgo) {
  CallHistory history;
  for (uint64_t n = 0; n <= CallHistory::kCallsMax; ++n) history.Note(Rank(0), Of(Collective::kBcast, n));
  EXPECT_EQ(history.Find(0), nullptr);
  EXPECT_EQ(history.Find(1)->arguments, Of(Collective::kBcast, 1));
  EXPECT_EQ(history.Find(CallHistory::kCallsMax)->arguments, Of(Collective::kBcast, CallHistory::kCallsMax));
  EXPECT_EQ(history.Find(CallHistory::kCallsMax + 1), nullptr);
  EXPECT_FALSE(history.Note(Rank(1), Of(Collective::kGather)).has_value());  // nothing to compare with any more
  const CallHistory::Summary summary = history.Summarize();
  EXPECT_EQ(summary.first, 1u);
  EXPECT_EQ(summary.hashes.size(), size_t{CallHistory::kCallsMax});
}

TEST(CallHistoryTest, FindsTheFirstDifferenceOfWhatBothRemember) {
  CallHistory ours, theirs;
  EXPECT_TRUE(theirs.Summarize().hashes.empty());
  for (int n = 0; n < 5; ++n) {
    ours.Note(Rank(0), Of(Collective::kBarrier));
    theirs.Note(Rank(1), Of(n < 3 ? Collective::kBarrier : Collective::kGather));
  }
  const CallHistory::Summary summary = theirs.Summarize();
  EXPECT_EQ(ours.FirstDifference(summary.first, summary.hashes), 3u);
  EXPECT_EQ(theirs.FirstDifference(summary.first, summary.hashes), std::nullopt);
  // What this node has not come to is no difference.
  ours = CallHistory();
  ours.Note(Rank(0), Of(Collective::kBarrier));
  EXPECT_EQ(ours.FirstDifference(summary.first, summary.hashes), std::nullopt);
  EXPECT_EQ(ours.FirstDifference(~0ull - 1, summary.hashes), std::nullopt);
}

}  // namespace
}  // namespace copse::daemon
