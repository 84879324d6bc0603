// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/call_record.h"

#include "daemon/core/calls/client_interface.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

constexpr uint32_t kWindow = 4;
const absl::Time kStart = absl::FromUnixSeconds(100);
const RankArguments kFirst{Rank(3), {.collective = Collective::kAllreduce, .count = 8}};

class CallRecordsTest : public ::testing::Test {
 protected:
  CallRecord* Begin(uint64_t sequence) { return records_.Begin(CallSeq(sequence), 0, kFirst, nullptr, kStart); }
  // All ranks here take part, and are told.
  void Run(uint64_t sequence) {
    CallRecord* const call = Begin(sequence);
    for (uint32_t local = 0; local < 2; ++local) call->Post(local, CallPost{});
    for (uint32_t local = 0; local < 2; ++local) call->Notified(local, false);
    call->node_done = true;
    records_.End(call);
  }

  CallRecords records_{kWindow, 2};
};

TEST_F(CallRecordsTest, ACallIsDoneOnceItsNodeAndAllItsRanksAre) {
  CallRecord* const call = Begin(5);
  EXPECT_TRUE(records_.HasCallInFlight());
  EXPECT_FALSE(call->waits_for(0));
  call->Post(0, CallPost{.value = 7, .posted = kStart + absl::Seconds(5)});
  EXPECT_TRUE(call->waits_for(0));
  EXPECT_FALSE(call->all_posted());
  call->Post(1, CallPost{.value = 8, .posted = kStart + absl::Seconds(3)});  // posted earlier, and had to wait
  EXPECT_TRUE(call->all_posted());
  EXPECT_EQ(call->first_posted(), kStart + absl::Seconds(3));
  EXPECT_EQ(call->last_posted(), kStart + absl::Seconds(5));
  EXPECT_EQ(call->members[0].value, 7u);
  records_.CheckInvariants();
  call->node_done = true;
  call->Notified(0, false);
  EXPECT_FALSE(call->done());
  EXPECT_FALSE(call->failed);
  records_.CheckInvariants();
  call->Notified(1, true);
  EXPECT_TRUE(call->done());
  EXPECT_TRUE(call->failed);
  records_.End(call);
  EXPECT_FALSE(records_.HasCallInFlight());
  EXPECT_EQ(records_.FindInFlight(CallSeq(5)), nullptr);
  EXPECT_EQ(records_.Find(CallSeq(5)), call);
  EXPECT_EQ(call->arguments(), kFirst.arguments);
  records_.CheckInvariants();
}

TEST_F(CallRecordsTest, CallsAreRememberedForTwoWindows) {
  for (uint64_t sequence = 0; sequence < 3 * kWindow; ++sequence) Run(sequence);
  EXPECT_EQ(records_.Find(CallSeq(kWindow - 1)), nullptr);
  ASSERT_NE(records_.Find(CallSeq(kWindow)), nullptr);
  EXPECT_EQ(records_.Find(CallSeq(kWindow))->sequence, CallSeq(kWindow));
  EXPECT_EQ(records_.Find(CallSeq(3 * kWindow)), nullptr);
  records_.CheckInvariants();
}

TEST_F(CallRecordsTest, ARecordIsAsNewForTheNextCall) {
  CallRecord* call = Begin(0);
  for (uint32_t local = 0; local < 2; ++local) call->Post(local, CallPost{});
  for (uint32_t local = 0; local < 2; ++local) call->Notified(local, true);
  call->node_done = true;
  records_.End(call);
  call = Begin(2 * kWindow);
  EXPECT_FALSE(call->failed);
  EXPECT_FALSE(call->node_done);
  EXPECT_FALSE(call->waits_for(1));
  EXPECT_EQ(call->ranks_posted, 0u);
  EXPECT_EQ(call->started, kStart);
}

TEST_F(CallRecordsTest, CallsInFlightComeByNumber) {
  for (const uint64_t sequence : {9, 7, 8}) Begin(sequence);
  const std::vector<CallRecord*> calls = records_.InFlight();
  ASSERT_EQ(calls.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(calls[i]->sequence, CallSeq(7 + i));
}

TEST_F(CallRecordsTest, AChunkKnowsItsCall) {
  EXPECT_EQ(records_.Begin(CallSeq(9), 2, kFirst, nullptr, kStart)->call(), CallSeq(7));
}

TEST_F(CallRecordsTest, BrokenBooksAreNoticed) {
  CallRecord* const call = Begin(0);
  call->Post(0, CallPost{});
  call->members[0].state = CallRecord::Member::State::kNotified;
  EXPECT_DEATH(records_.CheckInvariants(), "ranks_notified");
  call->members[0].state = CallRecord::Member::State::kAway;
  EXPECT_DEATH(records_.CheckInvariants(), "ranks_posted");
}

TEST_F(CallRecordsTest, CallsMoreThanAWindowApartAreNoticed) {
  Begin(0);
  Begin(kWindow - 1);
  records_.CheckInvariants();
  Begin(kWindow);
  EXPECT_DEATH(records_.CheckInvariants(), "place_mask_");
}

using CallRecordsDeathTest = CallRecordsTest;

TEST_F(CallRecordsDeathTest, ACallInFlightIsNotReplaced) {
  Begin(1);
  EXPECT_DEATH(Begin(1 + 2 * kWindow), "kOver");
}

TEST_F(CallRecordsDeathTest, ARankPostsAndIsToldOnce) {
  CallRecord* const call = Begin(1);
  EXPECT_DEATH(call->Notified(0, false), "waits_for");
  call->Post(0, CallPost{});
  EXPECT_DEATH(call->Post(0, CallPost{}), "kAway");
}

}  // namespace
}  // namespace copse::daemon
