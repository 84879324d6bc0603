// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/held_messages.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/slow_store.h"
#include "planner/coordinator/testing/text_sink.h"

namespace copse::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TeamId kTeam{1}, kOther{2};

class HeldMessagesTest : public ::testing::Test {
 protected:
  uint64_t Record(StoreChange change) {
    const uint64_t number = changes.Add(change);
    recorded.emplace_back(number, std::move(change));
    return number;
  }
  void StoreAll() {
    changes.SetStored(changes.last());
    for (const auto& [number, change] : recorded) changes.Remove(number, change);
    EXPECT_FALSE(held.Release());
  }

  UnstoredChanges changes;
  std::vector<std::pair<uint64_t, StoreChange>> recorded;
  TextSink sink;
  HeldMessages held{&changes, &sink};
};

TEST_F(HeldMessagesTest, AMessageWaitsForItsTeamsChanges) {
  Record(RecordOf(kTeam));
  held.Send(1, schedule::Commit{.team = kTeam});
  held.Send(2, schedule::Commit{.team = kOther});
  held.Send(3, schedule::Registered{});
  EXPECT_THAT(sink.Sent(), ElementsAre("2 commit 2", "3 registered"));
  StoreAll();
  EXPECT_THAT(sink.Sent(), ElementsAre("1 commit 1"));
  held.Send(1, schedule::BreakTeam{.team = kTeam});
  EXPECT_THAT(sink.Sent(), ElementsAre("1 break 1"));
}

TEST_F(HeldMessagesTest, ASessionsMessagesStayInOrder) {
  Record(RecordOf(kTeam));
  held.Send(1, schedule::Commit{.team = kTeam});
  held.Send(1, schedule::Commit{.team = kOther});
  held.Send(1, schedule::StatusQuery{});
  EXPECT_THAT(sink.Sent(), ElementsAre("1 query")) << "it tells of no decision";
  StoreAll();
  EXPECT_THAT(sink.Sent(), ElementsAre("1 commit 1", "1 commit 2"));
}

TEST_F(HeldMessagesTest, WhatTellsOfTheClusterWaitsForItsChanges) {
  Record(PutTerm{7});
  held.Send(1, schedule::Registered{});
  held.Send(1, schedule::StatusQuery{});
  held.Send(2, schedule::Drain{true});
  held.Send(3, schedule::Commit{.team = kTeam});
  EXPECT_THAT(sink.Sent(), ElementsAre("3 commit 1"));
  StoreAll();
  EXPECT_THAT(sink.Sent(), ElementsAre("1 registered", "1 query", "2 drain"));
}

TEST_F(HeldMessagesTest, ThePartsOfAPrepareAreSentTogether) {
  Record(RecordOf(kTeam));
  held.Send(2, schedule::Commit{.team = kTeam});
  schedule::Prepare prepare;
  prepare.layout.id = kOther;
  const std::vector<PrepareMember> members = {{1, NodeIndex(0), {{5, Rank{0}}}}, {2, NodeIndex(1), {}}};
  held.SendPrepare(members, prepare);
  EXPECT_THAT(sink.Sent(), ElementsAre("1 prepare 2 1")) << "session 2 waits for a message before it";
  prepare.layout.id = kTeam;
  held.SendPrepare(members, prepare);
  held.Send(1, schedule::Commit{.team = kTeam});
  StoreAll();
  EXPECT_THAT(sink.Sent(), ElementsAre("2 commit 1", "1 prepare 1 1", "2 prepare 2 0", "1 commit 1", "2 prepare 1 0"));
}

TEST_F(HeldMessagesTest, APrepareThatWaitsIsSentToAllAtOnce) {
  Record(RecordOf(kTeam));
  schedule::Prepare prepare;
  prepare.layout.id = kTeam;
  held.SendPrepare({{1, NodeIndex(0), {}}, {2, NodeIndex(1), {}}, {3, NodeIndex(2), {}}}, prepare);
  EXPECT_THAT(sink.prepares, IsEmpty());
  StoreAll();
  EXPECT_THAT(sink.prepares, ElementsAre(3));
}

TEST_F(HeldMessagesTest, AWithdrawnChangeTakesTheMessagesAboutItsTeam) {
  const PutTeam change = RecordOf(kTeam);
  const uint64_t number = Record(change);
  held.Send(1, schedule::Commit{.team = kTeam});
  held.Send(1, schedule::Commit{.team = kOther});
  held.Withdraw(number, change);
  EXPECT_EQ(held.count(), 1u);
  StoreAll();
  EXPECT_THAT(sink.Sent(), ElementsAre("1 commit 2"));
}

TEST_F(HeldMessagesTest, AWithdrawnDrainTakesItsMessagesOnly) {
  const PutDraining change{"n1", true};
  const uint64_t number = Record(change);
  held.Send(1, schedule::Drain{true});
  held.Send(2, schedule::Registered{});
  held.Withdraw(number, change);
  StoreAll();
  EXPECT_THAT(sink.Sent(), ElementsAre("2 registered"));
}

}  // namespace
}  // namespace copse::coordinator
