// SPDX-License-Identifier: Apache-2.0
#include "planner/store/team_record_codec.h"

#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/copse/v1/store.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using coordinator::TeamRecord;
using testing::FailsWith;

TeamRecord Record() {
  TeamRecord record;
  record.layout.id = TeamId(7);
  record.layout.identity = {.uid = 1000, .job = "42", .nonce = 7, .name = "world"};
  record.layout.shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1)}, .node_count = 2};
  record.layout.nodes = {{"n0", Incarnation(11), "a"}, {"n1", Incarnation(12), std::string("\0\xff", 2)}};
  record.epoch = EpochId(3);
  record.prepared = EpochId(4);
  record.first_call = CallSeq(99);
  record.plans = {schedule::EncodePlan({.id = PlanId(5), .node_count = 2, .neighbors = {{1}, {0}}})};
  record.outgoing = {{{NodeIndex(1), 0xdeadbeef}}, {}};
  record.machines = {"m1", ""};
  record.broken = true;
  record.why = {.failure = schedule::Failure::kMemberLost, .text = "node n1 lost"};
  return record;
}

TEST(TeamRecordCodecTest, ARecordIsTheDecisionAndNamesTheContent) {
  const TeamRecord record = Record();
  const auto read = DeserializeTeam(SerializeTeam(record));
  ASSERT_TRUE(read.ok()) << read.status();
  TeamRecord expected = coordinator::DecisionOf(record);
  EXPECT_TRUE(expected.plans.empty());
  EXPECT_EQ(expected.plan_ids, std::vector<PlanId>{PlanId(5)});
  EXPECT_EQ(expected.layout.nodes[1].worker_address, "");
  expected.content = rpc::ContentName(record.layout, record.plans);
  EXPECT_EQ(*read, expected);
  // The same is written again while the plans are not known.
  EXPECT_EQ(SerializeTeam(*read), SerializeTeam(record));
}

TEST(TeamRecordCodecTest, RecordsOfEarlierVersionsHaveThePlans) {
  const TeamRecord record = Record();
  v1::StoredTeam stored;
  rpc::ToProto(schedule::Prepare{.layout = record.layout, .epoch = record.epoch, .plans = record.plans},
               stored.mutable_prepare());
  for (const auto& labels : record.outgoing) {
    rpc::ToProto(schedule::Commit{TeamId(7), record.epoch, record.first_call, labels}, stored.add_commit());
  }
  const auto read = DeserializeTeam(stored.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->layout, record.layout);
  EXPECT_EQ(read->plans, record.plans);
  EXPECT_EQ(read->outgoing, record.outgoing);
  EXPECT_EQ(read->machines, std::vector<std::string>(2));
}

TEST(TeamRecordCodecTest, RefusesWhatIsNone) {
  EXPECT_THAT(DeserializeTeam("no record"), FailsWith(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DeserializeTeam(""), FailsWith(absl::StatusCode::kInvalidArgument));
  TeamRecord record = Record();
  record.outgoing.pop_back();
  EXPECT_THAT(DeserializeTeam(SerializeTeam(record)), FailsWith(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace copse::planner
