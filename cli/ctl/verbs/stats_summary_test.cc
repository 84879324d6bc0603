// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/stats_summary.h"

#include <initializer_list>
#include <utility>

#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using Counters = std::initializer_list<std::pair<const char*, uint64_t>>;

void AddNode(const char* node, Counters counters, v1::GetStatsReply* reply) {
  v1::NodeStats* stats = reply->add_stats();
  stats->set_node(node);
  for (const auto& [name, value] : counters) (*stats->mutable_counters())[name] = value;
}

TEST(StatsSummaryTest, ANodeWithoutTroubleIsOneRow) {
  v1::GetStatsReply reply;
  AddNode("n1",
          {{"calls.allreduce.ok", 3},
           {"calls.bcast.ok", 4},
           {"calls.in_flight", 1},
           {"engine.bytes.sent", 2048},
           {"engine.bytes.received", 1536},
           {"engine.memory.used_bytes", 1 << 20},
           {"engine.credits.stalls", 9},
           {"process.cpu_us", 1'500'000}},
          &reply);
  EXPECT_EQ(RenderStatsSummary(reply, 0),
            "NODE  CALLS  FAILED  IN FLIGHT  SENT  RECEIVED  MEMORY  CPU TIME\n"
            "n1        7       0          1  2KiB    1.5KiB    1MiB     1.5 s\n");
}

TEST(StatsSummaryTest, TroubleIsSummedUpAndPlaced) {
  v1::GetStatsReply reply;
  AddNode("n1", {{"calls.allreduce.ok", 5}, {"calls.allreduce.member_lost", 1}, {"engine.dropped.label", 0}}, &reply);
  AddNode("n2", {{"calls.allreduce.member_lost", 3}, {"quota.refused.teams", 2}}, &reply);
  EXPECT_EQ(RenderStatsSummary(reply, 0),
            "NODE  CALLS  FAILED  IN FLIGHT  SENT  RECEIVED  MEMORY  CPU TIME\n"
            "all       5       4          0    0B        0B      0B       0 s\n"
            "n1        5       1          0    0B        0B      0B       0 s\n"
            "n2        0       3          0    0B        0B      0B       0 s\n"
            "\n"
            "TROUBLE                      COUNT  MOST AT  WHAT IT IS\n"
            "calls.allreduce.member_lost      4  n2       calls that failed\n"
            "quota.refused.teams              2  n2       requests beyond what a user may have (copsectl quota)\n");
}

TEST(StatsSummaryTest, WithoutAnAnswerThereAreTitles) {
  EXPECT_EQ(RenderStatsSummary({}, 0), "NODE  CALLS  FAILED  IN FLIGHT  SENT  RECEIVED  MEMORY  CPU TIME\n");
}

}  // namespace
}  // namespace copse::ctl
