// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/commit_queue.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/slow_store.h"

namespace copse::coordinator {
namespace {

using ::testing::ElementsAre;

constexpr TeamId kTeam{1}, kOther{2};

class CommitQueueTest : public ::testing::Test, private CommitEvents {
 protected:
  CommitQueue::Done Note() {
    return [this](const absl::Status& status) { noted = status; };
  }
  void TryAgain() {
    clock.Advance(absl::Seconds(1));
    timers.Run(clock.Now());
  }

  FakeClock clock;
  TimerQueue timers;
  SlowStore store;
  UnstoredChanges changes;
  CommitQueue commits{&clock, &timers, &store, &changes, this};
  std::optional<absl::Status> noted;
  std::vector<uint64_t> withdrawn;  // changes' numbers

 private:
  void OnWithdrawn(uint64_t number, const StoreChange&) override { withdrawn.push_back(number); }
  void OnSettled() override {}
};

TEST_F(CommitQueueTest, ChangesGatherWhileACommitIsInFlight) {
  commits.Record(PutTerm{1}, nullptr);
  for (int i = 0; i < 10; ++i) commits.Record(RecordOf(kTeam), nullptr);  // the last replaces the others
  commits.Record(RecordOf(kOther), nullptr);
  commits.Record(DropTeam{kOther}, nullptr);
  store.End(absl::OkStatus());
  EXPECT_TRUE(changes.IsStored(1));
  EXPECT_FALSE(changes.IsStored(2));
  store.End(absl::OkStatus());
  EXPECT_EQ(changes.LastOf(kTeam), 0u);
  EXPECT_THAT(store.sizes, ElementsAre(1, 2));
  EXPECT_FALSE(store.is_busy());
}

TEST_F(CommitQueueTest, ACommitOfUnknownOutcomeIsTriedAgain) {
  commits.Record(RecordOf(kTeam), Note());
  store.End(absl::UnavailableError("no answer"));
  EXPECT_EQ(commits.outcomes().error().message(), "no answer");
  EXPECT_EQ(commits.failing_for(), absl::ZeroDuration());
  commits.Record(RecordOf(kOther), nullptr);
  EXPECT_FALSE(store.is_busy()) << "not before its time";
  TryAgain();
  EXPECT_EQ(commits.failing_for(), absl::Seconds(1));
  EXPECT_FALSE(noted.has_value());
  store.End(absl::OkStatus());
  EXPECT_TRUE(noted.value().ok());
  EXPECT_TRUE(commits.outcomes().error().ok());
  EXPECT_EQ(commits.waiting_changes(), 0u);
  EXPECT_THAT(store.sizes, ElementsAre(1, 2));
}

TEST_F(CommitQueueTest, WithoutRoomAChangeThatNobodyAsksForWaits) {
  commits.Record(RecordOf(kOther), nullptr);
  commits.Record(RecordOf(kTeam), Note());
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(noted.has_value()) << "it was not in that commit";
  TryAgain();
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(noted.has_value());
  commits.Record(RecordOf(kTeam), Note());
  EXPECT_TRUE(store.is_busy()) << "somebody asks";
  store.End(absl::ResourceExhaustedError("full"));
  TryAgain();
  store.End(absl::OkStatus());
  EXPECT_THAT(store.sizes, ElementsAre(1, 2, 2, 1));
  EXPECT_THAT(withdrawn, ElementsAre(2, 3));
}

TEST_F(CommitQueueTest, WithoutRoomAChangeIsWithdrawnAndNothingWaits) {
  commits.Record(RecordOf(kTeam), Note());
  store.End(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(absl::IsResourceExhausted(noted.value()));
  EXPECT_THAT(withdrawn, ElementsAre(1));
  EXPECT_EQ(changes.LastOf(kTeam), 0u);
  EXPECT_TRUE(changes.IsStored(1));
  TryAgain();
  EXPECT_THAT(store.sizes, ElementsAre(1));
  EXPECT_EQ(commits.failing_for(), absl::ZeroDuration());
}

TEST_F(CommitQueueTest, WhenAnotherPlannerLeadsNothingIsCommitted) {
  commits.Record(RecordOf(kTeam), Note());
  store.End(absl::AbortedError("another planner leads"));
  EXPECT_TRUE(commits.is_deposed());
  commits.Record(RecordOf(kOther), Note());
  TryAgain();
  EXPECT_FALSE(store.is_busy());
  EXPECT_FALSE(noted.has_value());
  EXPECT_FALSE(changes.IsStored(1));
}

}  // namespace
}  // namespace copse::coordinator
