// SPDX-License-Identifier: Apache-2.0
#include "cli/web/stats_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace copse::web {
namespace {

using ctl::Json;

void AddHolding(const std::string& resource, uint64_t used, uint64_t limit, v1::AccountRow* account) {
  v1::HoldingRow* const holding = account->add_holdings();
  holding->set_resource(resource);
  holding->set_used(used);
  holding->set_limit(limit);
}

TEST(StatsJsonTest, CountersOfAllNodesAreSummed) {
  v1::GetStatsReply stats;
  for (int i = 0; i < 7; ++i) {
    v1::NodeStats* const node = stats.add_stats();
    node->set_node(absl::StrCat("n", i));
    (*node->mutable_counters())["calls.bcast.ok"] = 10;
    (*node->mutable_counters())["calls.refused"] = 1;
    (*node->mutable_counters())["engine.credits.stalls"] = i;
    (*node->mutable_counters())["quota.refused.teams"] = 2;
    (*node->mutable_counters())["loop.turns"] = 1000;
  }
  (*stats.mutable_stats(3)->mutable_counters())["calls.bcast.member_lost"] = 4;
  (*stats.mutable_stats(5)->mutable_counters())["calls.reduce.timed_out"] = 9;
  stats.add_silent("n9");
  const Json json = StatsJson(stats, absl::FromUnixSeconds(5));
  EXPECT_EQ(json["time"], 5);
  EXPECT_EQ(json["answered"], 7);
  EXPECT_EQ(json["silent"], Json({"n9"}));
  EXPECT_EQ(json["calls"], (Json{{"bcast", 70}}));
  EXPECT_EQ(json["totals"], (Json{{"calls.refused", 7}, {"engine.credits.stalls", 21}, {"quota.refused.teams", 14}}));
  EXPECT_EQ(json["failures"], Json::parse(R"([{"node":"n5","collective":"reduce","reason":"timed_out","count":9},
                                              {"node":"n3","collective":"bcast","reason":"member_lost","count":4}])"));
  const Json& worst = json["worst"]["engine.credits.stalls"];
  ASSERT_EQ(worst.size(), 5u);
  EXPECT_EQ(worst[0], (Json{{"node", "n6"}, {"value", 6}}));
  EXPECT_EQ(worst[4], (Json{{"node", "n2"}, {"value", 2}}));
}

TEST(StatsJsonTest, AJobsHoldingsAreSummedBesideItsFullestNode) {
  v1::GetStatsReply stats;
  for (const auto& [name, used] : {std::pair("n1", 10), std::pair("n2", 30)}) {
    v1::NodeStats* const node = stats.add_stats();
    node->set_node(name);
    v1::AccountRow* const account = node->add_accounts();
    account->set_uid(1000);
    account->set_job("17");
    AddHolding("memory", used, 40, account);
    AddHolding("posts", used, std::numeric_limits<uint64_t>::max(), account);
  }
  EXPECT_EQ(StatsJson(stats, absl::UnixEpoch())["accounts"],
            Json::parse(R"([{"uid":1000,"job":"17","nodes":2,"holdings":[
                             {"resource":"memory","used":40,"node":"n2","percent":75.0},
                             {"resource":"posts","used":40,"node":"","percent":null}]}])"));
}

}  // namespace
}  // namespace copse::web
