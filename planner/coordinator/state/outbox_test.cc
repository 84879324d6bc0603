// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/outbox.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/slow_store.h"
#include "planner/coordinator/testing/text_sink.h"

namespace copse::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TeamId kTeam{1}, kOther{2};

class OutboxTest : public ::testing::Test {
 protected:
  Outbox::Done Note() {
    return [this](const absl::Status& status) { noted = status; };
  }
  void TryAgain() {
    clock.Advance(absl::Seconds(1));
    timers.Run(clock.Now());
  }

  FakeClock clock;
  TimerQueue timers;
  SlowStore store;
  TextSink sink;
  Outbox outbox{&clock, &timers, &store, &sink};
  std::optional<absl::Status> noted;
};

TEST_F(OutboxTest, ManyMessagesAreSentInSeveralTurns) {
  constexpr size_t kCount = 2 * HeldMessages::kReleasedAtOnce + 1;
  outbox.Record(RecordOf(kTeam));
  for (size_t i = 1; i <= kCount; ++i) outbox.Send(i, schedule::Commit{.team = kTeam});
  store.End(absl::OkStatus());
  EXPECT_EQ(sink.Sent().size(), HeldMessages::kReleasedAtOnce);
  EXPECT_EQ(timers.Next(), clock.Now());
  outbox.Send(kCount, schedule::BreakTeam{.team = kTeam});
  EXPECT_THAT(sink.Sent(), IsEmpty()) << "it follows what its session has not been sent";
  timers.Run(clock.Now());
  const std::vector<std::string> rest = sink.Sent();
  ASSERT_EQ(rest.size(), kCount + 1 - HeldMessages::kReleasedAtOnce);
  EXPECT_EQ(rest.back(), absl::StrCat(kCount, " break 1"));
  EXPECT_EQ(outbox.waiting_messages(), 0u);
}

TEST_F(OutboxTest, WithoutRoomAChangeIsWithdrawnWithItsMessages) {
  outbox.Record(RecordOf(kTeam), Note());
  outbox.Send(1, schedule::Commit{.team = kTeam});
  outbox.Send(1, schedule::Commit{.team = kOther});
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(absl::IsResourceExhausted(noted.value()));
  EXPECT_THAT(sink.Sent(), ElementsAre("1 commit 2"));
  outbox.Send(1, schedule::BreakTeam{.team = kTeam});
  EXPECT_THAT(sink.Sent(), ElementsAre("1 break 1")) << "nothing of this team waits any more";
  TryAgain();
  EXPECT_THAT(store.sizes, ElementsAre(1));
  EXPECT_EQ(outbox.commits().failing_for(), absl::ZeroDuration()) << "nothing waits";
  outbox.Record(RecordOf(kTeam));
  EXPECT_TRUE(store.is_busy());
}

TEST_F(OutboxTest, WhatMayBeStoredIsNotWithdrawn) {
  outbox.Record(RecordOf(kTeam), Note());
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::UnavailableError("the answer is lost"));
  TryAgain();
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(noted.has_value());
  EXPECT_THAT(sink.Sent(), IsEmpty());
  TryAgain();
  store.End(absl::OkStatus());
  EXPECT_TRUE(noted.value().ok());
  EXPECT_THAT(sink.Sent(), ElementsAre("1 commit 1"));
}

TEST_F(OutboxTest, WithoutRoomADrainIsWithdrawnAndARegistrationGoesOn) {
  outbox.Record(PutDraining{"n1", true}, Note());
  outbox.Send(1, schedule::Drain{true});
  outbox.Send(2, schedule::Registered{});
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(noted.has_value());
  EXPECT_THAT(sink.Sent(), ElementsAre("2 registered"));
}

TEST_F(OutboxTest, ADeposedPlannerSaysNothing) {
  outbox.Record(RecordOf(kTeam));
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::AbortedError("another planner leads"));
  EXPECT_TRUE(outbox.commits().is_deposed());
  outbox.Send(2, schedule::StatusQuery{});
  outbox.Record(RecordOf(kOther));
  TryAgain();
  EXPECT_THAT(sink.Sent(), IsEmpty());
  EXPECT_FALSE(store.is_busy());
}

TEST_F(OutboxTest, TheMessagesOfASessionThatEndedAreDropped) {
  outbox.Record(RecordOf(kTeam));
  outbox.Send(1, schedule::Commit{.team = kTeam});
  outbox.Send(2, schedule::Commit{.team = kTeam});
  outbox.Drop(1);
  outbox.Close(2, "bye");
  EXPECT_EQ(outbox.waiting_messages(), 0u);
  store.End(absl::OkStatus());
  EXPECT_THAT(sink.Sent(), ElementsAre("2 closed"));
}

}  // namespace
}  // namespace copse::coordinator
