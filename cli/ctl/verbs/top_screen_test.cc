// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/top_screen.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void AddNode(const std::string& name, uint64_t calls, uint64_t bytes, uint64_t cpu_us, ClusterSample* sample) {
  v1::NodeRow* const row = sample->nodes.add_nodes();
  row->set_name(name);
  row->set_state("ready");
  v1::NodeStats* const stats = sample->stats.add_stats();
  stats->set_node(name);
  (*stats->mutable_counters())["calls.bcast.ok"] = calls;
  (*stats->mutable_counters())["calls.bcast.canceled"] = 1000;
  (*stats->mutable_counters())["calls.in_flight"] = 2;
  (*stats->mutable_counters())["engine.bytes.sent"] = bytes;
  (*stats->mutable_counters())["process.cpu_us"] = cpu_us;
}

void AddCall(double age_s, ClusterSample* sample) {
  v1::CollectiveRow* const call = sample->calls.add_collectives();
  call->set_team(7);
  call->set_sequence(sample->calls.collectives_size());
  call->set_collective("bcast");
  call->set_age_s(age_s);
  call->add_missing(3);
  call->add_missing_nodes("n2");
}

class TopScreenTest : public ::testing::Test {
 protected:
  TopScreenTest() {
    AddNode("n1", 100, 0, 0, &before_);
    AddNode("n2", 100, 0, 0, &before_);
    now_.planner.set_role("leader");
    AddNode("n1", 110, 0, 1'000'000, &now_);
    AddNode("n2", 300, 250'000, 0, &now_);
    AddNode("n3", 5000, 0, 0, &now_);
    now_.nodes.mutable_nodes(2)->set_state("away");
    v1::TeamRow* const team = now_.teams.add_teams();
    team->set_id(7);
    team->set_name("world");
    team->set_state("ready");
    AddCall(0.5, &now_);
    AddCall(12, &now_);
  }

  std::string Render(const TopLimits& limits = {}, const Style& style = {}) const {
    return RenderTop(before_, now_, absl::Seconds(2), limits, style);
  }

  ClusterSample before_, now_;
};

TEST_F(TopScreenTest, CountsStatesAndRates) {
  const std::string screen = Render();
  for (const char* words : {"planner: leader", "3 nodes: 1 away, 2 ready", "1 teams: 1 ready", "2 calls in flight",
                            "105 calls/s", "1 Mbit/s", "50.0"}) {
    EXPECT_THAT(screen, HasSubstr(words));
  }
}

TEST_F(TopScreenTest, OldestCallsAndBusiestNodesComeFirst) {
  const std::string screen = Render({.calls = 1, .nodes = 1});
  EXPECT_THAT(screen, HasSubstr("12.0 s"));
  EXPECT_THAT(screen, HasSubstr("world"));
  EXPECT_THAT(screen, Not(HasSubstr("0.5 s")));
  EXPECT_LT(screen.find("12.0 s"), screen.find("n2 ")) << screen;
  EXPECT_THAT(screen, Not(HasSubstr("n1")));
}

TEST_F(TopScreenTest, ADaemonThatStartedAnewCountsFromZero) {
  (*now_.stats.mutable_stats(0)->mutable_counters())["calls.bcast.ok"] = 40;
  EXPECT_EQ(Json::parse(Render({}, {.format = Format::kJson}))["busiest"][1]["calls_per_s"], 20);
}

TEST_F(TopScreenTest, JsonHasTheSame) {
  now_.stats.add_silent("n4");
  const Json json = Json::parse(Render({}, {.format = Format::kJson}));
  EXPECT_EQ(json["nodes"]["ready"], 2);
  EXPECT_EQ(json["teams"]["ready"], 1);
  EXPECT_EQ(json["calls_in_flight"], 2);
  EXPECT_EQ(json["calls"][0]["age_s"], 12);
  EXPECT_EQ(json["busiest"][0]["node"], "n2");
  EXPECT_EQ(json["busiest"][0]["calls_per_s"], 100);
  EXPECT_EQ(json["busiest"][2]["calls_per_s"], 0) << "not known before";
  EXPECT_EQ(json["silent"][0], "n4");
}

TEST_F(TopScreenTest, NamesControlNoTerminal) {
  now_.teams.mutable_teams(0)->set_name("a\x1b[2J");
  now_.planner.set_address("b\x1b");
  now_.stats.add_silent("n4");
  EXPECT_THAT(Render(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Render(), HasSubstr("no answer from n4"));
}

}  // namespace
}  // namespace copse::ctl
