// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/bulk_rounds.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

class BulkRoundsTest : public ::testing::Test {
 protected:
  BulkRoundsTest() { rounds_.Start(uint64_t{1} << 30, kMillisecond); }

  // Sends what may be sent, which the peer acknowledges `took` later. Returns the bytes.
  uint64_t Pass(int64_t took) {
    const uint64_t before = sent_;
    while (rounds_.may_send()) {
      rounds_.OnSent();
      sent_ += kMeterBulkBytes;
    }
    now_ += took;
    EXPECT_TRUE(Acknowledge(sent_, now_));
    return sent_ - before;
  }
  bool Acknowledge(uint64_t bytes, int64_t at_ns) {
    return rounds_.OnAck({.query = 1, .bytes = bytes, .at_ns = at_ns});
  }

  // Passes windows at one bandwidth until the growth is over.
  void Settle() {
    while (rounds_.growing()) Pass(10 * kMillisecond);
  }

  BulkRounds rounds_;
  uint64_t sent_ = 0;
  int64_t now_ = 0;
};

TEST_F(BulkRoundsTest, TheWindowGrowsWithTheBandwidth) {
  const uint64_t first = Pass(10 * kMillisecond);
  uint64_t last = first;
  for (int i = 0; i < 8; ++i) last = Pass(10 * kMillisecond);
  EXPECT_GE(last, 8 * first);
  EXPECT_TRUE(rounds_.growing());
  // From now on the path passes no more in the same time.
  const int64_t ns_per_byte = 10 * kMillisecond / static_cast<int64_t>(last);
  for (int i = 0; i < 6; ++i) last = Pass(static_cast<int64_t>(last) * ns_per_byte);
  EXPECT_FALSE(rounds_.growing());
  EXPECT_FALSE(rounds_.result().bytes == 0);
}

TEST_F(BulkRoundsTest, OneStalledRoundDoesNotCount) {
  Settle();
  uint64_t bytes = 0;
  for (int i = 0; i < 8; ++i) bytes = Pass(i == 3 ? 500 * kMillisecond : 10 * kMillisecond);
  EXPECT_TRUE(rounds_.enough());
  const double rate = static_cast<double>(bytes) * 100;
  EXPECT_NEAR(rounds_.result().rate(), rate, rate * 0.02);
}

TEST_F(BulkRoundsTest, InvalidAcknowledgmentsChangeNothing) {
  Pass(10 * kMillisecond);
  const uint64_t before = sent_;
  rounds_.OnSent();
  EXPECT_FALSE(Acknowledge(before, now_ + 1));                        // not new
  EXPECT_FALSE(Acknowledge(before + 2 * kMeterBulkBytes, now_ + 1));  // never sent
  EXPECT_FALSE(Acknowledge(before + kMeterBulkBytes, now_ - 1));      // back in time
  EXPECT_FALSE(rounds_.all_acknowledged());
  EXPECT_TRUE(Acknowledge(before + kMeterBulkBytes, now_ + 1));
  EXPECT_TRUE(rounds_.all_acknowledged());
}

TEST_F(BulkRoundsTest, WhatArrivesAfterTheStopDoesNotCount) {
  Settle();
  rounds_.Stop();
  const BulkRounds::Round before = rounds_.result();
  EXPECT_GT(before.bytes, 0u);
  Pass(1);
  EXPECT_EQ(rounds_.result().bytes, before.bytes);
  EXPECT_EQ(rounds_.result().ns, before.ns);
}

TEST_F(BulkRoundsTest, TheBytesAreBounded) {
  rounds_.Start(2 * kMeterBulkBytes + 1, kMillisecond);
  EXPECT_FALSE(rounds_.next_is_last());
  rounds_.OnSent();
  EXPECT_TRUE(rounds_.next_is_last());
  rounds_.OnSent();
  EXPECT_FALSE(rounds_.may_send());
  EXPECT_FALSE(rounds_.enough());
  EXPECT_TRUE(Acknowledge(2 * kMeterBulkBytes, 1));
  EXPECT_TRUE(rounds_.enough());
  EXPECT_FALSE(rounds_.may_send());
}

TEST(BulkReceiptsTest, AcknowledgesByBytesByTimeAndAtTheEnd) {
  BulkReceipts receipts;
  const absl::Time start = absl::UnixEpoch();
  EXPECT_EQ(receipts.deadline(), absl::InfiniteFuture());
  EXPECT_TRUE(receipts.OnBulk({.bytes = 100, .ack_every = 250}, start));  // none was acknowledged before
  EXPECT_EQ(receipts.deadline(), start + absl::Milliseconds(1));
  receipts.OnAcknowledged(start);
  EXPECT_EQ(receipts.deadline(), absl::InfiniteFuture());
  EXPECT_FALSE(receipts.OnBulk({.bytes = 100, .ack_every = 250}, start));
  EXPECT_FALSE(receipts.OnBulk({.bytes = 100, .ack_every = 250}, start));
  EXPECT_TRUE(receipts.OnBulk({.bytes = 100, .ack_every = 250}, start));
  receipts.OnAcknowledged(start);
  EXPECT_TRUE(receipts.OnBulk({.bytes = 1, .ack_every = 250, .last = true}, start));
  receipts.OnAcknowledged(start);
  EXPECT_TRUE(receipts.OnBulk({.bytes = 1, .ack_every = 250}, start + absl::Milliseconds(1)));
  EXPECT_EQ(receipts.received(), 402u);
}

}  // namespace
}  // namespace copse::daemon
