// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/plan_picture.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void AddEdge(v1::ExplainPlanReply* reply, const std::string& from, const std::string& to) {
  v1::PlanEdge* const edge = reply->mutable_plan()->add_edges();
  edge->set_from(from);
  edge->set_to(to);
}
void AddMember(v1::TeamRow* team, uint32_t rank, const std::string& node) {
  v1::TeamMember* const member = team->add_members();
  member->set_rank(rank);
  member->set_node(node);
}

TEST(DrawPlanTest, ShowsTheTreeTimesAndTheCriticalPath) {
  v1::ExplainPlanReply reply;
  reply.mutable_plan()->set_id(7);
  reply.mutable_plan()->set_algorithm("binomial");
  reply.mutable_plan()->set_collective("bcast");
  AddEdge(&reply, "n1", "n<2>");
  AddEdge(&reply, "n1", "n3");
  AddEdge(&reply, "n3", "n4");
  reply.set_json(
      R"({"ranks": [{"rank": 0, "us": 5}, {"rank": 1, "us": 10}, {"rank": 2, "us": 12}, {"rank": 3, "us": 20.5},
                               {"rank": 4, "us": 19}],
                     "critical_path": [{"node": "n1", "what": "send", "start_us": 0, "end_us": 3},
                                       {"node": "n1", "what": "transfer", "start_us": 3, "end_us": 8},
                                       {"node": "n3", "what": "receive", "start_us": 8, "end_us": 9}]})");
  v1::TeamRow team;
  AddMember(&team, 0, "n1");
  AddMember(&team, 1, "n<2>");
  AddMember(&team, 2, "n3");
  AddMember(&team, 3, "n4");
  AddMember(&team, 4, "n4");
  const std::string svg = DrawPlan(reply, team);
  EXPECT_THAT(svg, HasSubstr("plan 7: bcast, binomial"));
  EXPECT_EQ(Count(svg, "<circle"), 4u);
  EXPECT_EQ(Count(svg, "<polyline"), 3u);  // one per edge
  EXPECT_THAT(svg, HasSubstr(">n&lt;2&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(">20.5 us</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">19.0 us</text>")));  // its node has a slower rank
  EXPECT_EQ(Count(svg, "stroke=\"#cf222e\""), 4u);      // three steps, and one line between rows
  EXPECT_LT(svg.find(">n3</text>"), svg.find(">n4</text>"));
}

TEST(DrawPlanTest, LeavesOutWhatDoesNotFit) {
  v1::ExplainPlanReply reply;
  for (int v = 1; v < 1000; ++v) AddEdge(&reply, absl::StrCat("n", (v - 1) / 3), absl::StrCat("n", v));
  const std::string svg = DrawPlan(reply, {});
  EXPECT_EQ(Count(svg, "<circle"), kPictureNodesMax);
  EXPECT_THAT(svg, HasSubstr("600 nodes are left out"));
  EXPECT_THAT(svg, HasSubstr("(and 3 more below)"));
}

TEST(DrawPlanTest, WhatIsNoTreeIsAListOfNodes) {
  v1::ExplainPlanReply reply;
  AddEdge(&reply, "a", "b");
  AddEdge(&reply, "b", "a");
  const std::string cycle = DrawPlan(reply, {});
  EXPECT_EQ(Count(cycle, "<circle"), 2u);
  EXPECT_EQ(Count(cycle, "<polyline"), 0u);
  v1::TeamRow team;
  AddMember(&team, 0, "only");
  EXPECT_EQ(Count(DrawPlan({}, team), "<circle"), 1u);
}

TEST(DrawPlanTest, OddAnswersDoNotHarm) {
  for (const char* json : {"", "[]", "{\"ranks\": 1}", "{\"ranks\": [1, {\"rank\": \"x\"}], \"critical_path\": [[]]}",
                           "{\"critical_path\": [{\"node\": \"nowhere\", \"start_us\": 1, \"end_us\": 2}]}"}) {
    v1::ExplainPlanReply reply;
    AddEdge(&reply, "a", "b");
    reply.set_json(json);
    EXPECT_EQ(Count(DrawPlan(reply, {}), "<circle"), 2u) << json;
  }
}

}  // namespace
}  // namespace copse::ctl
