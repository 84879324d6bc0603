// SPDX-License-Identifier: Apache-2.0
#include "planner/store/saved_state.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using absl::StatusCode;
using copse::testing::FailsWith;
using copse::testing::IsOk;

coordinator::TeamRecord Record(uint64_t id) {
  coordinator::TeamRecord record;
  record.layout.id = TeamId(id);
  record.layout.identity = {.uid = 1000, .job = "42", .nonce = 7, .name = "world"};
  record.layout.shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1)}, .node_count = 2};
  record.layout.nodes = {{"n0", Incarnation(11), ""}, {"n1", Incarnation(12), ""}};
  record.layout.window = 8;
  record.epoch = EpochId(3);
  record.prepared = EpochId(4);
  record.machines = {"m1", ""};
  record.plan_ids = {PlanId(5)};
  record.content = "sha256";
  return record;
}

coordinator::Snapshot State() {
  coordinator::Snapshot state;
  state.teams = {{TeamId(5'000'001), Record(5'000'001)}, {TeamId(7), Record(7)}};
  state.draining = {{"n1", "disk"}};
  state.aborted = {TeamId(3)};
  state.term = 5;
  state.since = 2;
  state.cluster = "c1";
  state.topologies[2] = {.version = 2,
                         .applied = absl::FromUnixNanos(1'234'567'891),
                         .source = "probe",
                         .from_file = true,
                         .text = "version: 1\n"};
  return state;
}

TEST(SavedStateTest, AFileHasAllOfTheState) {
  const coordinator::Snapshot state = State();
  const auto decoded = DecodeState(EncodeState(state, absl::FromUnixSeconds(1)));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->teams, state.teams);
  EXPECT_EQ(decoded->draining, state.draining);
  EXPECT_EQ(decoded->aborted, state.aborted);
  EXPECT_EQ(decoded->term, 5u);
  EXPECT_EQ(decoded->since, 2u);
  EXPECT_EQ(decoded->cluster, "c1");
  EXPECT_FALSE(decoded->cluster_is_new);
  EXPECT_EQ(decoded->topologies, state.topologies);
}

TEST(SavedStateTest, EachChangedByteIsFound) {
  const std::string file = EncodeState(State(), absl::UnixEpoch());
  for (size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] ^= 1;
    EXPECT_FALSE(DecodeState(changed).ok()) << i;
  }
  EXPECT_THAT(DecodeState(file.substr(0, file.size() - 1)), FailsWith(StatusCode::kDataLoss));
  EXPECT_THAT(DecodeState(""), FailsWith(StatusCode::kInvalidArgument, "bytes=0"));
  EXPECT_THAT(DecodeState("copse-state x\n"), FailsWith(StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeState("copse-state 2 0\n"),
              FailsWith(StatusCode::kFailedPrecondition, "format=2", "this program's=1"));
}

TEST(SavedStateTest, RestoringReplacesAllAndRaisesTheTerm) {
  coordinator::MemoryStore store;
  ASSERT_THAT(RestoreState(State(), false, &store), IsOk());
  auto snapshot = store.Load().value();
  EXPECT_EQ(snapshot.teams, State().teams);
  EXPECT_EQ(snapshot.draining, State().draining);
  EXPECT_EQ(snapshot.cluster, "c1");
  EXPECT_GT(snapshot.term, 1000u);
  EXPECT_GT(snapshot.since, snapshot.term) << "daemons may know more than it has";
  EXPECT_EQ(snapshot.topologies, State().topologies);
  const uint64_t term = snapshot.term;

  coordinator::Snapshot other;
  other.cluster = "c2";
  EXPECT_THAT(RestoreState(other, false, &store), FailsWith(StatusCode::kFailedPrecondition, "cluster=c1", "teams=2"));
  ASSERT_THAT(RestoreState(other, true, &store), IsOk());
  snapshot = store.Load().value();
  EXPECT_TRUE(snapshot.teams.empty());
  EXPECT_TRUE(snapshot.draining.empty());
  EXPECT_EQ(snapshot.cluster, "c2");
  EXPECT_GT(snapshot.term, term);
  EXPECT_TRUE(snapshot.topologies.empty());
}

}  // namespace
}  // namespace copse::planner
