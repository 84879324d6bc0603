// SPDX-License-Identifier: Apache-2.0
#include "planner/store/saved_state.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "schedule/plan.h"

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
  record.layout.nodes = {{"n0", Incarnation(11), "a"}, {"n1", Incarnation(12), std::string("\0\xff", 2)}};
  record.layout.window = 8;
  record.epoch = EpochId(3);
  record.prepared = EpochId(4);
  record.machines = {"m1", ""};
  record.plans = {schedule::EncodePlan({.id = PlanId(5), .node_count = 2, .neighbors = {{1}, {0}}})};
  return record;
}

SavedState State() {
  SavedState state;
  state.snapshot.teams = {{TeamId(5'000'001), Record(5'000'001)}, {TeamId(7), Record(7)}};
  state.snapshot.draining = {{"n1", "disk"}};
  state.snapshot.aborted = {TeamId(3)};
  state.snapshot.term = 5;
  state.snapshot.since = 2;
  state.snapshot.cluster = "c1";
  state.topologies = {{.version = 2,
                       .applied = absl::FromUnixNanos(1'234'567'891),
                       .source = "probe",
                       .from_file = true,
                       .text = "version: 1\n"}};
  return state;
}

TEST(SavedStateTest, AFileHasAllOfTheState) {
  const SavedState state = State();
  const auto decoded = DecodeState(EncodeState(state, absl::FromUnixSeconds(1)));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->snapshot.teams, state.snapshot.teams);
  EXPECT_EQ(decoded->snapshot.draining, state.snapshot.draining);
  EXPECT_EQ(decoded->snapshot.aborted, state.snapshot.aborted);
  EXPECT_EQ(decoded->snapshot.term, 5u);
  EXPECT_EQ(decoded->snapshot.since, 2u);
  EXPECT_EQ(decoded->snapshot.cluster, "c1");
  EXPECT_FALSE(decoded->snapshot.cluster_is_new);
  ASSERT_EQ(decoded->topologies.size(), 1u);
  EXPECT_EQ(decoded->topologies[0].applied, state.topologies[0].applied);
  EXPECT_EQ(decoded->topologies[0].text, state.topologies[0].text);
  EXPECT_TRUE(decoded->topologies[0].from_file);
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
  MemoryTopologyStore topologies;
  ASSERT_THAT(RestoreState(State(), false, &store, &topologies), IsOk());
  auto snapshot = store.Load().value();
  EXPECT_EQ(snapshot.teams, State().snapshot.teams);
  EXPECT_EQ(snapshot.draining, State().snapshot.draining);
  EXPECT_EQ(snapshot.cluster, "c1");
  EXPECT_GT(snapshot.term, 1000u);
  EXPECT_GT(snapshot.since, snapshot.term) << "daemons may know more than it has";
  EXPECT_EQ(topologies.LoadTopologies()->size(), 1u);
  const uint64_t term = snapshot.term;

  SavedState other;
  other.snapshot.cluster = "c2";
  EXPECT_THAT(RestoreState(other, false, &store, &topologies),
              FailsWith(StatusCode::kFailedPrecondition, "cluster=c1", "teams=2"));
  ASSERT_THAT(RestoreState(other, true, &store, &topologies), IsOk());
  snapshot = store.Load().value();
  EXPECT_TRUE(snapshot.teams.empty());
  EXPECT_TRUE(snapshot.draining.empty());
  EXPECT_EQ(snapshot.cluster, "c2");
  EXPECT_GT(snapshot.term, term);
  EXPECT_TRUE(topologies.LoadTopologies()->empty());
}

}  // namespace
}  // namespace copse::planner
