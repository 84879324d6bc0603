// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/outbox.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TeamId kTeam{1}, kOther{2};

// A SlowStore ends a commit when the test says so.
class SlowStore : public Store {
 public:
  absl::StatusOr<Snapshot> Load() override { return Snapshot(); }
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override {
    EXPECT_EQ(done_, nullptr) << "two commits in flight";
    sizes.push_back(changes.size());
    done_ = std::move(done);
  }
  void End(const absl::Status& status) { std::exchange(done_, nullptr)(status); }
  bool is_busy() const { return done_ != nullptr; }

  std::vector<size_t> sizes;  // changes of each commit

 private:
  std::function<void(const absl::Status&)> done_;
};

// A TextSink keeps what was sent as "SESSION KIND TEAM".
class TextSink : public SessionSink {
 public:
  void Send(SessionId session, const schedule::ToDaemon& message) override {
    std::string text = absl::StrCat(session);
    if (std::holds_alternative<schedule::Registered>(message)) text += " registered";
    if (std::holds_alternative<schedule::Drain>(message)) text += " drain";
    if (std::holds_alternative<schedule::StatusQuery>(message)) text += " query";
    if (const auto* m = std::get_if<schedule::Prepare>(&message))
      absl::StrAppend(&text, " prepare ", m->layout.id.value(), " ", m->requests.size());
    if (const auto* m = std::get_if<schedule::Commit>(&message)) absl::StrAppend(&text, " commit ", m->team.value());
    if (const auto* m = std::get_if<schedule::BreakTeam>(&message)) absl::StrAppend(&text, " break ", m->team.value());
    sent.push_back(text);
  }
  void SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare) override {
    prepares.push_back(members.size());
    SessionSink::SendPrepare(members, std::move(prepare));
  }
  void Close(SessionId session, const std::string&) override { sent.push_back(absl::StrCat(session, " closed")); }

  std::vector<std::string> sent;
  std::vector<size_t> prepares;  // members of each SendPrepare
};

class OutboxTest : public ::testing::Test {
 protected:
  static PutTeam Put(TeamId team) {
    TeamRecord record;
    record.layout.id = team;
    return {std::make_shared<const TeamRecord>(std::move(record))};
  }
  Outbox::Done Note() {
    return [this](const absl::Status& status) { noted = status; };
  }
  std::vector<std::string> Sent() { return std::exchange(sink.sent, {}); }
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

TEST_F(OutboxTest, AMessageWaitsForItsTeamsChanges) {
  outbox.Record(Put(kTeam));
  outbox.Send(1, schedule::Commit{.team = kTeam});
  outbox.Send(2, schedule::Commit{.team = kOther});
  outbox.Send(3, schedule::Registered{});
  EXPECT_THAT(Sent(), ElementsAre("2 commit 2", "3 registered"));
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("1 commit 1"));
  outbox.Send(1, schedule::BreakTeam{.team = kTeam});
  EXPECT_THAT(Sent(), ElementsAre("1 break 1"));
}

TEST_F(OutboxTest, ASessionsMessagesStayInOrder) {
  outbox.Record(Put(kTeam));
  outbox.Send(1, schedule::Commit{.team = kTeam});
  outbox.Send(1, schedule::Commit{.team = kOther});
  outbox.Send(1, schedule::StatusQuery{});
  EXPECT_THAT(Sent(), ElementsAre("1 query")) << "it tells of no decision";
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("1 commit 1", "1 commit 2"));
}

TEST_F(OutboxTest, ManyMessagesAreSentInSeveralTurns) {
  constexpr size_t kCount = 2 * Outbox::kReleasedAtOnce + 1;
  outbox.Record(Put(kTeam));
  for (size_t i = 1; i <= kCount; ++i) outbox.Send(i, schedule::Commit{.team = kTeam});
  store.End(absl::OkStatus());
  EXPECT_EQ(Sent().size(), Outbox::kReleasedAtOnce);
  EXPECT_EQ(timers.Next(), clock.Now());
  outbox.Send(kCount, schedule::BreakTeam{.team = kTeam});
  EXPECT_THAT(Sent(), IsEmpty()) << "it follows what its session has not been sent";
  timers.Run(clock.Now());
  const std::vector<std::string> rest = Sent();
  ASSERT_EQ(rest.size(), kCount + 1 - Outbox::kReleasedAtOnce);
  EXPECT_EQ(rest.back(), absl::StrCat(kCount, " break 1"));
  EXPECT_EQ(outbox.waiting_messages(), 0u);
}

TEST_F(OutboxTest, WhatTellsOfTheClusterWaitsForItsChanges) {
  outbox.Record(PutTerm{7});
  outbox.Send(1, schedule::Registered{});
  outbox.Send(1, schedule::StatusQuery{});
  outbox.Send(2, schedule::Drain{true});
  outbox.Send(3, schedule::Commit{.team = kTeam});
  EXPECT_THAT(Sent(), ElementsAre("3 commit 1"));
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("1 registered", "1 query", "2 drain"));
}

TEST_F(OutboxTest, ChangesGatherWhileACommitIsInFlight) {
  outbox.Record(PutTerm{1});
  for (int i = 0; i < 10; ++i) outbox.Record(Put(kTeam));  // the last replaces the others
  outbox.Record(Put(kOther));
  outbox.Record(DropTeam{kOther});
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), IsEmpty());
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("1 commit 1"));
  EXPECT_THAT(store.sizes, ElementsAre(1, 2));
  EXPECT_FALSE(store.is_busy());
}

TEST_F(OutboxTest, ThePartsOfAPrepareAreSentTogether) {
  outbox.Record(Put(kTeam));
  outbox.Send(2, schedule::Commit{.team = kTeam});
  schedule::Prepare prepare;
  prepare.layout.id = kOther;
  const std::vector<PrepareMember> members = {{1, NodeIndex(0), {{5, Rank{0}}}}, {2, NodeIndex(1), {}}};
  outbox.SendPrepare(members, prepare);
  EXPECT_THAT(Sent(), ElementsAre("1 prepare 2 1")) << "session 2 waits for a message before it";
  prepare.layout.id = kTeam;
  outbox.SendPrepare(members, prepare);
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("2 commit 1", "1 prepare 1 1", "2 prepare 2 0", "1 commit 1", "2 prepare 1 0"));
}

TEST_F(OutboxTest, APrepareThatWaitsIsSentToAllAtOnce) {
  outbox.Record(Put(kTeam));
  schedule::Prepare prepare;
  prepare.layout.id = kTeam;
  outbox.SendPrepare({{1, NodeIndex(0), {}}, {2, NodeIndex(1), {}}, {3, NodeIndex(2), {}}}, prepare);
  EXPECT_THAT(sink.prepares, IsEmpty());
  store.End(absl::OkStatus());
  EXPECT_THAT(sink.prepares, ElementsAre(3));
}

TEST_F(OutboxTest, ACommitOfUnknownOutcomeIsTriedAgain) {
  outbox.Record(Put(kTeam), Note());
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::UnavailableError("no answer"));
  EXPECT_EQ(outbox.error().message(), "no answer");
  EXPECT_EQ(outbox.failing_for(), absl::ZeroDuration());
  outbox.Record(Put(kOther));
  EXPECT_FALSE(store.is_busy()) << "not before its time";
  TryAgain();
  EXPECT_EQ(outbox.failing_for(), absl::Seconds(1));
  EXPECT_FALSE(noted.has_value());
  store.End(absl::OkStatus());
  EXPECT_TRUE(noted.value().ok());
  EXPECT_TRUE(outbox.error().ok());
  EXPECT_EQ(outbox.waiting_changes(), 0u);
  EXPECT_THAT(store.sizes, ElementsAre(1, 2));
  EXPECT_THAT(Sent(), ElementsAre("1 commit 1"));
}

TEST_F(OutboxTest, WithoutRoomAChangeIsWithdrawnWithItsMessages) {
  outbox.Record(Put(kTeam), Note());
  outbox.Send(1, schedule::Commit{.team = kTeam});
  outbox.Send(1, schedule::Commit{.team = kOther});
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(absl::IsResourceExhausted(noted.value()));
  EXPECT_THAT(Sent(), ElementsAre("1 commit 2"));
  outbox.Send(1, schedule::BreakTeam{.team = kTeam});
  EXPECT_THAT(Sent(), ElementsAre("1 break 1")) << "nothing of this team waits any more";
  TryAgain();
  EXPECT_THAT(store.sizes, ElementsAre(1));
  EXPECT_EQ(outbox.failing_for(), absl::ZeroDuration()) << "nothing waits";
  outbox.Record(Put(kTeam));
  EXPECT_TRUE(store.is_busy());
}

TEST_F(OutboxTest, WhatMayBeStoredIsNotWithdrawn) {
  outbox.Record(Put(kTeam), Note());
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::UnavailableError("the answer is lost"));
  TryAgain();
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(noted.has_value());
  EXPECT_THAT(Sent(), IsEmpty());
  TryAgain();
  store.End(absl::OkStatus());
  EXPECT_TRUE(noted.value().ok());
  EXPECT_THAT(Sent(), ElementsAre("1 commit 1"));
}

TEST_F(OutboxTest, WithoutRoomADrainIsWithdrawnAndARegistrationGoesOn) {
  outbox.Record(PutDraining{"n1", true}, Note());
  outbox.Send(1, schedule::Drain{true});
  outbox.Send(2, schedule::Registered{});
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(noted.has_value());
  EXPECT_THAT(Sent(), ElementsAre("2 registered"));
}

TEST_F(OutboxTest, WithoutRoomAChangeThatNobodyAsksForWaits) {
  outbox.Record(Put(kOther));
  outbox.Send(2, schedule::BreakTeam{.team = kOther});
  outbox.Record(Put(kTeam), Note());
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(noted.has_value()) << "it was not in that commit";
  TryAgain();
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(noted.has_value());
  outbox.Record(Put(kTeam), Note());
  EXPECT_TRUE(store.is_busy()) << "somebody asks";
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_THAT(Sent(), IsEmpty());
  TryAgain();
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("2 break 2"));
  EXPECT_THAT(store.sizes, ElementsAre(1, 2, 2, 1));
}

TEST_F(OutboxTest, ADeposedPlannerSaysNothing) {
  outbox.Record(Put(kTeam));
  outbox.Send(1, schedule::Commit{.team = kTeam});
  store.End(absl::AbortedError("another planner leads"));
  EXPECT_TRUE(outbox.is_deposed());
  outbox.Send(2, schedule::StatusQuery{});
  outbox.Record(Put(kOther));
  TryAgain();
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_FALSE(store.is_busy());
}

TEST_F(OutboxTest, TheMessagesOfASessionThatEndedAreDropped) {
  outbox.Record(Put(kTeam));
  outbox.Send(1, schedule::Commit{.team = kTeam});
  outbox.Send(2, schedule::Commit{.team = kTeam});
  outbox.Drop(1);
  outbox.Close(2, "bye");
  EXPECT_EQ(outbox.waiting_messages(), 0u);
  store.End(absl::OkStatus());
  EXPECT_THAT(Sent(), ElementsAre("2 closed"));
}

}  // namespace
}  // namespace copse::coordinator
