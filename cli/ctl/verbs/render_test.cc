// SPDX-License-Identifier: Apache-2.0
//
// The verbs' output for given answers.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/histogram.h"
#include "base/version.h"
#include "cli/ctl/verbs/verbs.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

constexpr Style kTable = {.format = Format::kTable, .width = 0};
constexpr Style kJson = {.format = Format::kJson, .width = 0};

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

v1::ListNodesReply TwoNodes() {
  return Parse<v1::ListNodesReply>(R"(
    nodes { name: "n1" state: "ready" incarnation: 18446744073709551615 address: "127.0.0.1:7471"
            version: "0.1.0" ranks: 4 cores: 2 memory_limit_bytes: 268435456 connected: true }
    nodes { name: "n2" state: "lost" incarnation: 7 address: "127.0.0.1:7472" version: "0.1.0"
            last_seen_s: 200 })");
}

TEST(RenderNodesTest, Table) {
  EXPECT_EQ(RenderNodes(TwoNodes(), kTable),
            "NAME  STATE  RANKS  CORES  MEMORY       LAST SEEN  VERSION  ADDRESS\n"
            "n1    ready      4      2  256MiB             now  0.1.0    127.0.0.1:7471\n"
            "n2    lost       0      0      0B  3 min 20 s ago  0.1.0    127.0.0.1:7472\n");
}

TEST(RenderNodesTest, ANodeThatIsNotConnectedIsAway) {
  v1::ListNodesReply reply;
  for (const std::string state : {"ready", "draining", "lost"}) reply.add_nodes()->set_state(state);
  const Json json = Json::parse(RenderNodes(reply, kJson));
  EXPECT_EQ(json[0]["state"], "away");
  EXPECT_EQ(json[1]["state"], "draining");
  EXPECT_EQ(json[2]["state"], "lost");
  v1::ShowNodeReply show;
  *show.mutable_node() = reply.nodes(0);
  EXPECT_EQ(Json::parse(RenderNode(show, kJson))["state"], "away");
  EXPECT_NE(RenderNode(show, kTable).find("state:         away"), std::string::npos);
}

TEST(RenderNodesTest, NoNodesAreAnEmptyArray) { EXPECT_EQ(RenderNodes({}, kJson), "[]\n"); }

TEST(RenderNodeTest, CountersComeByName) {
  const auto reply = Parse<v1::ShowNodeReply>(R"(
    node { name: "n1" state: "ready" connected: true } answered: true clients: 2 teams: 1
    counters { key: "frames_sent" value: 9 } counters { key: "events" value: 3 })");
  EXPECT_EQ(RenderNode(reply, kTable),
            "name:          n1\n"
            "state:         ready\n"
            "incarnation:   0\n"
            "address:       -\n"
            "version:       -\n"
            "ranks:         0\n"
            "cores:         0\n"
            "memory limit:  0B\n"
            "last seen:     now\n"
            "clients:       2\n"
            "teams:         1\n"
            "events:        3\n"
            "frames_sent:   9\n");
}

TEST(RenderNodeTest, SilentDaemonIsSaid) {
  const auto reply = Parse<v1::ShowNodeReply>(R"(node { name: "n1" state: "lost" })");
  EXPECT_NE(RenderNode(reply, kTable).find("daemon:        did not answer\n"), std::string::npos);
  EXPECT_EQ(Json::parse(RenderNode(reply, kJson))["answered"], false);
}

TEST(RenderDaemonStatusTest, PlannerAndCalls) {
  const auto answer = Parse<v1::StatusAnswer>(R"x(
    node: "n1" incarnation: 5 state: "ready" clients: 1 ranks: 1 teams: 1 planner: "127.0.0.1:7470"
    planner_refusal: "plan format 3 (this side 1)"
    collectives { team: 1 sequence: 4 arguments: "barrier" joined: 0 missing: 1 }
    counters { key: "events" value: 3 })x");
  const std::string text = RenderDaemonStatus(answer, kTable);
  EXPECT_NE(text.find("planner:      127.0.0.1:7470, not connected\n"), std::string::npos) << text;
  EXPECT_NE(text.find("refusal:      plan format 3 (this side 1)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("barrier"), std::string::npos) << text;
}

v1::TeamRow World() {
  return Parse<v1::TeamRow>(R"(
    id: 3 name: "world" size: 4 epoch: 2 state: "ready" calls: 1 uid: 1000 job: "77"
    members { rank: 0 node: "n1" } members { rank: 1 node: "n1" }
    members { rank: 2 node: "n2" } members { rank: 3 node: "n1" })");
}

TEST(RenderTeamsTest, Table) {
  v1::ListTeamsReply reply;
  *reply.add_teams() = World();
  EXPECT_EQ(RenderTeams(reply, kTable),
            "ID  NAME   SIZE  STATE  EPOCH  CALLS   UID  JOB  NODES\n"
            " 3  world     4  ready      2      1  1000  77   n[1-2]\n");
}

TEST(RenderTeamsTest, FormingTeamsHaveNoIdAndBrokenOnesAReason) {
  const auto reply = Parse<v1::ListTeamsReply>(R"(
    teams { name: "a" size: 4 state: "forming" calls: 0 }
    teams { id: 2 name: "b" size: 2 epoch: 1 state: "broken" why: "node n2 is lost" })");
  EXPECT_EQ(RenderTeams(reply, kTable),
            "ID  NAME  SIZE  STATE    EPOCH  CALLS  UID  JOB  NODES  WHY\n"
            " -  a        4  forming      -      0    0  -    -\n"
            " 2  b        2  broken       1      -    0  -    -      node n2 is lost\n")
      << "whose calls nobody was asked for";
}

TEST(RenderTeamsTest, EndedTeamsHaveADate) {
  const auto reply = Parse<v1::ListTeamsReply>(R"(
    teams { id: 2 name: "b" size: 2 epoch: 1 state: "ended" ended: "2026-01-02T03:04:05.678Z" })");
  EXPECT_EQ(RenderTeams(reply, kTable),
            "ID  NAME  SIZE  STATE  EPOCH  CALLS  UID  JOB  NODES  ENDED\n"
            " 2  b        2  ended      1      -    0  -    -      2026-01-02T03:04:05.678Z\n");
}

TEST(RenderTeamTest, MembersByNode) {
  EXPECT_EQ(RenderTeam(World(), {}, kTable),
            "id:               3\n"
            "name:             world\n"
            "size:             4\n"
            "state:            ready\n"
            "epoch:            2\n"
            "calls in flight:  1\n"
            "uid:              1000\n"
            "job:              77\n"
            "parent:           -\n"
            "\n"
            "NODE  RANKS\n"
            "n1    0-1,3\n"
            "n2    2\n");
}

v1::PlanRow Tree() {
  return Parse<v1::PlanRow>(R"(
    id: 5 team: 3 collective: "allreduce" bytes_min: 121 bytes_max: 8192 algorithm: "knomial-4"
    epoch: 2 predicted_us: 48.25 segment_bytes: 4096
    edges { from: "n1" to: "n2" } edges { from: "n1" to: "n3" }
    critical_path: "n3" critical_path: "n1" predicted_bytes: 1000)");
}

TEST(RenderPlansTest, Table) {
  v1::ListPlansReply reply;
  *reply.add_plans() = Tree();
  EXPECT_EQ(RenderPlans(reply, kTable),
            "ID  TEAM  EPOCH  COLLECTIVE     BYTES  ALGORITHM  SEGMENT  PREDICTED  MEASURED     AT\n"
            " 5     3      2  allreduce   121-8192  knomial-4     4KiB    48.2 us         -  1000B\n");
}

PlanRows RowsOf(const v1::PlanRow& plan) {
  PlanRows plans;
  *plans.Add() = plan;
  return plans;
}

v1::PlanRow MeasuredTree() {
  v1::PlanRow plan = Tree();
  *plan.mutable_measured() = Parse<v1::PlanMeasurement>(R"x(
    median_us: 214 least_us: 50 count: 1000 bytes_min: 512 bytes_max: 1023 node: "n2" why: "4.4 times (cores=2)")x");
  return plan;
}

TEST(RenderPlansTest, WhatWasMeasuredStandsBesideThePrediction) {
  v1::ListPlansReply reply;
  *reply.add_plans() = MeasuredTree();
  *reply.add_plans() = Tree();
  EXPECT_EQ(
      RenderPlans(reply, kTable),
      "ID  TEAM  EPOCH  COLLECTIVE     BYTES  ALGORITHM  SEGMENT  PREDICTED  MEASURED     AT  OFF\n"
      " 5     3      2  allreduce   121-8192  knomial-4     4KiB    48.2 us  214.0 us  1000B  4.4 times (cores=2)\n"
      " 5     3      2  allreduce   121-8192  knomial-4     4KiB    48.2 us         -  1000B\n");
  EXPECT_EQ(Json::parse(RenderPlans(reply, kJson))[0]["measured"]["median_us"], 214);
  EXPECT_FALSE(Json::parse(RenderPlans(reply, kJson))[1].contains("measured"));
  const std::string line = MeasuredLine(MeasuredTree());
  EXPECT_EQ(line,
            "measured: 214.0 us, median of 1000 calls of 512-1023 bytes at n2; predicted: 48.2 us for 1000B\n"
            "off: 4.4 times (cores=2)\n");
  EXPECT_NE(RenderPlan(MeasuredTree(), kTable).find(line), std::string::npos);
  v1::ExplainPlanReply explained;
  *explained.mutable_plan() = MeasuredTree();
  explained.set_text("n1\n");
  EXPECT_EQ(RenderExplanation(explained, false, kTable), line + "n1\n");
}

TEST(RenderTeamTest, CallsThatWereMeasuredHaveRows) {
  const std::string text = RenderTeam(World(), RowsOf(MeasuredTree()), kTable);
  EXPECT_NE(text.find("COLLECTIVE     AT  ALGORITHM  PREDICTED  MEASURED  PLAN  OFF\n"
                      "allreduce   1000B  knomial-4    48.2 us  214.0 us     5  4.4 times (cores=2)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(Json::parse(RenderTeam(World(), RowsOf(MeasuredTree()), kJson))["plans"][0]["id"], 5);
}

TEST(RenderPlansTest, TheLastSizeClassHasNoUpperEnd) {
  v1::ListPlansReply reply;
  *reply.add_plans() = Tree();
  reply.mutable_plans(0)->set_bytes_min(65537);
  reply.mutable_plans(0)->set_bytes_max(uint64_t{1} << 46);
  EXPECT_NE(RenderPlans(reply, kTable).find("65537 and more  knomial-4"), std::string::npos)
      << RenderPlans(reply, kTable);
  EXPECT_EQ(Json::parse(RenderPlans(reply, kJson))[0]["bytes_max"], uint64_t{1} << 46);
}

TEST(RenderPlanTest, TableAndJson) {
  const std::string text = RenderPlan(Tree(), kTable);
  EXPECT_NE(text.find("critical path:  n3 > n1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("FROM  TO\nn1    n2\nn1    n3\n"), std::string::npos) << text;
  EXPECT_EQ(Json::parse(RenderPlan(Tree(), kJson))["edges"],
            (Json::array({Json::array({"n1", "n2"}), Json::array({"n1", "n3"})})));
}

TEST(RenderExplanationTest, TextGraphAndJson) {
  v1::ExplainPlanReply reply;
  *reply.mutable_plan() = Tree();
  reply.set_text("n1  rank 0: 48.250 us\n└─ n2\n");
  reply.set_dot("digraph plan {\n}\n");
  reply.set_json(R"({"id": 99, "ranks": [{"rank": 0, "us": 48.25}], "critical_path": [{"node": "n3"}]})");
  EXPECT_EQ(RenderExplanation(reply, false, kTable), reply.text());
  EXPECT_EQ(RenderExplanation(reply, true, kTable), reply.dot());
  const Json json = Json::parse(RenderExplanation(reply, false, kJson));
  EXPECT_EQ(json["id"], 5) << "the plan's own keys win";
  EXPECT_EQ(json["ranks"][0]["us"], 48.25);
  EXPECT_EQ(json["critical_path"], Json::array({"n3", "n1"}));
  EXPECT_EQ(json["critical_path_steps"][0]["node"], "n3");
  EXPECT_EQ(Json::parse(RenderExplanation(reply, true, kJson))["dot"], reply.dot());
}

TEST(RenderExplanationTest, BadJsonFromTheServerIsLeftOut) {
  v1::ExplainPlanReply reply;
  *reply.mutable_plan() = Tree();
  for (const char* bad : {"", "{", "[1]", "\xff"}) {
    reply.set_json(bad);
    EXPECT_EQ(Json::parse(RenderExplanation(reply, false, kJson)), Json::parse(RenderPlan(Tree(), kJson)));
  }
}

v1::ShowTopologyReply Racks() {
  return Parse<v1::ShowTopologyReply>(R"(
    switches { name: "core" }
    switches { name: "rack1" parent: "core" latency_ns: 1e6 bandwidth_bps: 1e9 }
    switches { name: "rack2" parent: "core" latency_ns: 1e6 bandwidth_bps: 1e9 }
    nodes { name: "n1" switch: "rack1" latency_ns: 2e4 bandwidth_bps: 1e10 overhead_ns: 5000 registered: true }
    nodes { name: "n2" switch: "rack1" latency_ns: 2e4 bandwidth_bps: 1e10 overhead_ns: 5000 registered: true }
    nodes { name: "n3" switch: "rack2" latency_ns: 2e4 bandwidth_bps: 1e10 overhead_ns: 5000 }
    links { from: "rack1" to: "core" latency_ns: 1e6 bandwidth_bps: 1e9 })");
}

TEST(RenderTopologyTest, DrawsATree) {
  EXPECT_EQ(RenderTopology(Racks(), kTable),
            "core\n"
            "├─ rack1  1 ms, 1 Gbit/s\n"
            "│  └─ n[1-2]  20 us, 10 Gbit/s, overhead 5 us\n"
            "└─ rack2  1 ms, 1 Gbit/s\n"
            "   └─ n3  20 us, 10 Gbit/s, overhead 5 us, not registered\n");
}

TEST(RenderTopologyTest, ADefaultIsCalledThat) {
  v1::ShowTopologyReply reply;
  reply.add_switches()->set_name("core");
  EXPECT_EQ(RenderTopology(reply, kTable), "core\n");
  EXPECT_EQ(Json::parse(RenderTopology(reply, kJson))["is_default"], false);
  reply.set_is_default(true);
  EXPECT_EQ(RenderTopology(reply, kTable), "no topology is in force; plans are made as if it were this one:\ncore\n");
  EXPECT_EQ(Json::parse(RenderTopology(reply, kJson))["is_default"], true);
}

TEST(RenderTopologyTest, NodesWithoutSwitchAndACycleEnd) {
  const auto flat = Parse<v1::ShowTopologyReply>(R"(nodes { name: "n1" registered: true })");
  EXPECT_EQ(RenderTopology(flat, kTable), "n1  0 ns, 0 kbit/s, overhead 0 ns\n");
  const auto cycle = Parse<v1::ShowTopologyReply>(R"(
    switches { name: "a" } switches { name: "b" parent: "a" } switches { name: "a" parent: "b" })");
  EXPECT_LT(RenderTopology(cycle, kTable).size(), 1000u);
}

TEST(RenderCollectivesTest, TableAndJson) {
  const auto reply = Parse<v1::ListCollectivesReply>(R"(
    collectives { team: 3 sequence: 41 collective: "allreduce" arguments: "allreduce sum double count 6"
                  age_s: 12.5 joined: 0 joined: 1 joined: 2 missing: 3 missing_nodes: "n4" })");
  EXPECT_EQ(RenderCollectives(reply.collectives(), {}, kTable),
            "TEAM  CALL  COLLECTIVE                       AGE  PREDICTED  MEASURED  JOINED  MISSING  MISSING ON\n"
            "   3    41  allreduce sum double count 6  12.5 s          -         -  0-2     3        n4\n");
}

TEST(RenderCollectivesTest, ACallThatIsUsuallyFastShowsThat) {
  auto reply = Parse<v1::ListCollectivesReply>(R"(
    collectives { team: 3 collective: "allreduce" age_s: 12.5 plan_collective: "allreduce" plan_bytes: 8192 })");
  const PlanRows plans = RowsOf(MeasuredTree());
  EXPECT_NE(RenderCollectives(reply.collectives(), plans, kTable).find("12.5 s    48.2 us  214.0 us"),
            std::string::npos);
  EXPECT_EQ(Json::parse(RenderCollectives(reply.collectives(), plans, kJson))[0]["measured_us"], 214);
  reply.mutable_collectives(0)->set_plan_bytes(8193);
  EXPECT_FALSE(Json::parse(RenderCollectives(reply.collectives(), plans, kJson))[0].contains("measured_us"));
}

TEST(RenderCollectivesTest, CallsThatWaitForPlansSaySo) {
  const auto reply = Parse<v1::ListCollectivesReply>(R"(
    collectives { team: 3 collective: "gather" arguments: "gather int32 count 4 root 0" age_s: 2 joined: 0
                  waits_for: "rooted" })");
  EXPECT_NE(RenderCollectives(reply.collectives(), {}, kTable).find("gather int32 count 4 root 0 (waits for plans)"),
            std::string::npos);
  EXPECT_EQ(Json::parse(RenderCollectives(reply.collectives(), {}, kJson))[0]["waits_for"], "rooted");
}

TEST(RenderStatsTest, TableHasNoZerosJsonHasAll) {
  const auto reply = Parse<v1::GetStatsReply>(R"(
    stats { node: "n1" counters { key: "events" value: 3 } counters { key: "alu_bytes" value: 0 } })");
  EXPECT_EQ(RenderStats(reply, kTable),
            "NODE  COUNTER  VALUE\n"
            "n1    events       3\n");
  const Json json = Json::parse(RenderStats(reply, kJson));
  EXPECT_EQ(json[0]["node"], "n1");
  EXPECT_EQ(json[0]["counters"]["alu_bytes"], 0);
}

v1::GetStatsReply TwoNodesLatencies() {
  v1::GetStatsReply reply;
  for (const auto& [node, micros] : {std::pair("n1", 10), std::pair("n2", 30)}) {
    v1::NodeStats* stats = reply.add_stats();
    stats->set_node(node);
    v1::LatencyRow* row = stats->add_latencies();
    row->set_collective("allreduce");
    row->set_bytes_min(32);
    row->set_bytes_max(63);
    row->set_part("call");
    const uint64_t ns = static_cast<uint64_t>(micros) * 1000;
    row->set_sum_ns(4 * ns);
    row->set_min_ns(ns);
    row->set_max_ns(ns);
    row->add_bucket(Histogram::BucketOf(ns));
    row->add_count(4);
  }
  return reply;
}

TEST(RenderLatenciesTest, EachNodeAndAllTogether) {
  const v1::GetStatsReply reply = TwoNodesLatencies();
  EXPECT_EQ(RenderLatencies(reply, kTable),
            "COLLECTIVE  BYTES  PART  NODE  COUNT       P50    P90    P99    MAX\n"
            "allreduce   32-63  call  all       8  10.24 us  30 us  30 us  30 us\n"
            "allreduce   32-63  call  n1        4     10 us  10 us  10 us  10 us\n"
            "allreduce   32-63  call  n2        4     30 us  30 us  30 us  30 us\n");
  const Json json = Json::parse(RenderLatencies(reply, kJson));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["node"], "n2");
  EXPECT_EQ(json[1]["latencies"][0]["collective"], "allreduce");
  EXPECT_EQ(json[1]["latencies"][0]["count"], 4);
  EXPECT_EQ(json[1]["latencies"][0]["p99_ns"], 30000);
  EXPECT_EQ(json[1]["latencies"][0]["mean_ns"], 30000.0);
}

TEST(RenderLatenciesTest, RowsThatAreNoHistogramsAreLeftOut) {
  v1::GetStatsReply reply = TwoNodesLatencies();
  reply.mutable_stats(0)->mutable_latencies(0)->set_bucket(0, 100000);
  reply.mutable_stats(1)->mutable_latencies(0)->add_count(4);
  EXPECT_EQ(RenderLatencies(reply, kTable), "COLLECTIVE  BYTES  PART  NODE  COUNT  P50  P90  P99  MAX\n");
}

TEST(RenderAuditTest, ARowSaysWhoDidWhat) {
  const auto reply = Parse<v1::ListAuditReply>(R"(
    rows { time: "2026-01-02T03:04:05.678Z" who: "operator/alice" from: "ipv4:10.0.0.9:40312" method: "DrainNode"
           request: "node: \"n1\"" result: "OK" duration_s: 0.0025 })");
  EXPECT_EQ(RenderAudit(reply, kTable),
            "TIME                      WHO             FROM                 METHOD       TOOK  RESULT  REQUEST\n"
            "2026-01-02T03:04:05.678Z  operator/alice  ipv4:10.0.0.9:40312  DrainNode  2.5 ms  OK      node: \"n1\"\n");
  const Json json = Json::parse(RenderAudit(reply, kJson));
  EXPECT_EQ(json[0]["who"], "operator/alice");
  EXPECT_EQ(json[0]["duration_s"], 0.0025);
}

TEST(RenderPlannerTest, StatusAsTableAndJson) {
  const auto reply = Parse<v1::GetPlannerStatusReply>(R"(
    leader: "10.0.0.1:7470" term: 3 since_s: 200 role: "leader" version: "0.2.0" store: "/var/lib/copse/state.db"
    sessions: 10000 address: "10.0.0.1:7470" longest_turn_ms: 31.5 longest_turn_at: "2026-01-02T03:04:05Z"
    cluster: "c0ffee" quarantined: 2 foreign { cluster: "beef" nodes: "n1" nodes: "n2" })");
  EXPECT_EQ(RenderPlannerStatus(reply, kTable),
            "role:          leader\n"
            "address:       10.0.0.1:7470\n"
            "leader:        10.0.0.1:7470\n"
            "version:       0.2.0\n"
            "since:         3 min 20 s ago\n"
            "term:          3\n"
            "cluster:       c0ffee\n"
            "store:         /var/lib/copse/state.db\n"
            "sessions:      10000\n"
            "oldest task:   none\n"
            "longest turn:  31.5 ms, ended 2026-01-02T03:04:05Z\n"
            "quarantined:   2\n"
            "foreign:       2 nodes of cluster beef\n");
  const Json json = Json::parse(RenderPlannerStatus(reply, kJson));
  EXPECT_EQ(json["leader"], "10.0.0.1:7470");
  EXPECT_EQ(json["since_s"], 200.0);
  EXPECT_EQ(json["sessions"], 10000);
}

TEST(RenderPlannerTest, HistogramsOfTurnsAndFormations) {
  v1::GetPlannerStatsReply reply;
  (*reply.mutable_counters())["loop.turns"] = 2;
  v1::LatencyRow* turns = reply.mutable_turns();
  turns->set_sum_ns(40'000);
  turns->set_min_ns(10'000);
  turns->set_max_ns(30'000);
  for (const uint64_t ns : {10'000, 30'000}) {
    turns->add_bucket(Histogram::BucketOf(ns));
    turns->add_count(1);
  }
  EXPECT_EQ(RenderPlannerHistograms(reply, kTable),
            "PART       COUNT       P50    P90    P99    MAX\n"
            "turn           2  10.24 us  30 us  30 us  30 us\n"
            "formation      0      0 ns   0 ns   0 ns   0 ns\n");
  const Json json = Json::parse(RenderPlannerHistograms(reply, kJson));
  EXPECT_EQ(json[0]["node"], "planner");
  EXPECT_EQ(json[0]["counters"]["loop.turns"], 2);
  EXPECT_EQ(json[0]["latencies"][0]["part"], "turn");
  EXPECT_EQ(json[0]["latencies"][0]["max_ns"], 30000);
  EXPECT_EQ(json[0]["latencies"][1]["part"], "formation");
  EXPECT_EQ(json[0]["latencies"][1]["count"], 0);
}

TEST(RenderPingTest, PlannerAndDaemon) {
  const auto reply = Parse<v1::PingReply>(R"(ok: true version: "0.1.0" latency_ms: 0.5)");
  const auto round_trip = absl::Microseconds(1250);
  EXPECT_EQ(RenderPing(reply, "", round_trip, kTable), "planner: ok, version 0.1.0, 1.25 ms\n");
  EXPECT_EQ(RenderPing(reply, "n1", round_trip, kTable),
            "n1: ok, version 0.1.0, 1.25 ms (0.50 ms from planner to daemon and back)\n");
  const Json json = Json::parse(RenderPing(reply, "n1", round_trip, kJson));
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_EQ(json["node"], "n1");
}

TEST(RenderProbeTest, TableAndJson) {
  auto reply = Parse<v1::ProbeTopologyReply>(R"(
    tree: "known" taken: "2026-01-02T03:04:05Z" took_s: 12.5
    links { from: "rack1" to: "core" latency_ns: 404000 latency_spread_ns: 3000 latency_doubt: "measured"
            bandwidth_bps: 1e8 rate_doubt: "bottleneck" latency_before_ns: 1000 bandwidth_before_bps: 1e10 }
    links { from: "n1" to: "rack1" latency_ns: 20000 latency_spread_ns: 1000 latency_doubt: "shared"
            bandwidth_bps: 9e8 rate_doubt: "at-least" latency_before_ns: 1000 bandwidth_before_bps: 1e10 }
    links { from: "n2" to: "rack1" latency_ns: 1000 latency_doubt: "unmeasured" bandwidth_bps: 1e10
            rate_doubt: "unmeasured" latency_before_ns: 1000 bandwidth_before_bps: 1e10 }
    nodes { name: "n1" measured: true overhead_ns: 1500 receive_overhead_ns: 2500 }
    nodes { name: "n2" }
    pairs { from: "n1" to: "n3" measured: true latency_ns: 444000 fitted_latency_ns: 440000 bandwidth_bps: 1e8 }
    pairs { from: "n1" to: "n2" why: "node n2: not connected" }
    latency_error_ns: 4000 latency_error_max_ns: 9000 topology: "version: 1")");
  const std::string table = RenderProbe(reply, kTable);
  for (const char* part :
       {"404 us ± 3 us  measured", "100 Mbit/s  bottleneck", "≥ 900 Mbit/s  at-least", "unmeasured",
        "n1    1.5 us   2.5 us", "n1    n2  node n2: not connected",
        "known tree, 1 nodes, 1 pairs measured in 12.5 s; fitted latencies are off by 4 us (root mean "
        "square), 9 us at most",
        "not in force; --apply puts it there"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
  const Json json = Json::parse(RenderProbe(reply, kJson));
  EXPECT_EQ(json["links"][0]["rate_doubt"], "bottleneck");
  EXPECT_EQ(json["links"][0]["latency_before_ns"], 1000);
  EXPECT_EQ(json["pairs"][1]["why"], "node n2: not connected");
  EXPECT_EQ(json["nodes"][1]["measured"], false);
  EXPECT_EQ(json["topology"], "version: 1");
  EXPECT_EQ(json["applied"], false);

  reply.set_tree("found");
  reply.set_applied(true);
  reply.set_version(4);
  reply.add_replanned(7);
  for (v1::ProbedLinkRow& link : *reply.mutable_links()) link.clear_latency_before_ns();
  const std::string applied = RenderProbe(reply, kTable);
  EXPECT_NE(applied.find("topology version 4 is in force, of 2026-01-02T03:04:05Z; teams replanned: 1"),
            std::string::npos)
      << applied;
  EXPECT_EQ(applied.find("BEFORE"), std::string::npos);
  EXPECT_FALSE(Json::parse(RenderProbe(reply, kJson))["links"][0].contains("latency_before_ns"));
}

TEST(RenderVersionTest, TableAndJson) {
  const auto reply = Parse<v1::VersionReply>(
      R"(ok: true version: "0.1.0" program: "copse-planner" ring: 1 packet: 1 proto: 1 plan: 1)");
  EXPECT_EQ(RenderVersion(reply, kTable), absl::StrCat("PROGRAM        VERSION  RING  PACKET  PROTO  PLAN\n"
                                                       "copse-planner  0.1.0    1     1       1      1\n"
                                                       "copsectl       ",
                                                       kVersion, "    -     -       ", kProtoVersion, "      -\n"));
}

// Returns the keys of the JSON, of an array its first object's, with those of objects inside in parentheses.
std::string Keys(const Json& json) {
  if (json.is_array() && !json.empty()) return Keys(json[0]);
  if (!json.is_object()) return "";
  std::string keys;
  for (const auto& [key, value] : json.items()) {
    const std::string inside = Keys(value);
    keys += (keys.empty() ? "" : " ") + key + (inside.empty() ? "" : "(" + inside + ")");
  }
  return keys;
}

// Scripts rely on the keys, people on their order.
TEST(RenderJsonTest, KeysAndTheirOrder) {
  const auto keys = [](const std::string& text) { return Keys(Json::parse(text)); };
  const std::string node =
      "name state incarnation address version ranks last_seen_s connected cores memory_limit_bytes why";
  EXPECT_EQ(keys(RenderNodes(TwoNodes(), kJson)), node);
  const auto shown = Parse<v1::ShowNodeReply>(R"(answered: true counters { key: "b" } counters { key: "a" })");
  EXPECT_EQ(keys(RenderNode(shown, kJson)), node + " answered clients teams counters(a b)");
  const std::string call =
      "team sequence collective arguments age_s joined missing missing_nodes waits_for "
      "plan_collective plan_bytes";
  const auto calls = Parse<v1::ListCollectivesReply>("collectives {}");
  EXPECT_EQ(keys(RenderCollectives(calls.collectives(), {}, kJson)), call);
  EXPECT_EQ(keys(RenderDaemonStatus(Parse<v1::StatusAnswer>("collectives {}"), kJson)),
            "node incarnation state clients ranks teams planner planner_connected planner_refusal collectives(" + call +
                ") counters latencies");
  EXPECT_EQ(keys(RenderTeam(World(), {}, kJson)),
            "id name size epoch state members(rank node) calls uid job parent why family plans");
  EXPECT_EQ(keys(RenderPlan(Tree(), kJson)),
            "id team collective bytes_min bytes_max algorithm epoch predicted_us segment_bytes edges critical_path "
            "predicted_bytes");
  EXPECT_EQ(keys(RenderTopology(Racks(), kJson)),
            "switches(name parent latency_ns bandwidth_bps) nodes(name switch latency_ns bandwidth_bps overhead_ns "
            "registered cores) links(from to latency_ns bandwidth_bps) is_default");
  const std::string change = "kind thing names key before after";
  EXPECT_EQ(keys(RenderChanges(Parse<v1::DiffTopologyReply>("changes {}"), kJson)), change);
  EXPECT_EQ(keys(RenderImport(Parse<v1::ImportTopologyReply>("changes {} not_replanned {}"), false, kJson)),
            "ok version changed dry_run changes(" + change + ") replanned not_replanned(team why) notes");
  EXPECT_EQ(keys(RenderVersions(Parse<v1::ListTopologiesReply>("versions {}"), kJson)),
            "version applied source in_force bytes");
  EXPECT_EQ(keys(RenderVersion({}, kJson)), "ok version program ring packet proto plan copsectl(version proto)");
  EXPECT_EQ(keys(RenderPing({}, "n1", absl::Seconds(1), kJson)), "ok version latency_ms round_trip_ms node");
  EXPECT_EQ(keys(RenderPlannerStatus({}, kJson)),
            "leader term since_s role version store sessions address oldest_task_ms longest_turn_ms longest_turn_at "
            "cluster quarantined foreign");
  const auto pair = Parse<v1::ProbeTopologyReply>("links {} nodes {} pairs {}");
  EXPECT_EQ(keys(RenderProbe(pair, kJson)),
            "tree taken took_s links(from to latency_ns latency_spread_ns latency_doubt bandwidth_bps rate_doubt) "
            "nodes(name measured overhead_ns receive_overhead_ns) pairs(from to measured why) latency_error_ns "
            "latency_error_max_ns notes topology applied version replanned");
}

// Protobuf's own printer would write numbers of 64 bits as texts.
TEST(RenderJsonTest, ValuesKeepTheirTypes) {
  const Json json = Json::parse(RenderNodes(TwoNodes(), kJson));
  EXPECT_EQ(json[0]["incarnation"], 18446744073709551615u);
  EXPECT_EQ(json[0]["connected"], true);
  EXPECT_EQ(json[1]["last_seen_s"], 200.0);
  EXPECT_EQ(Json::parse(RenderTeam(World(), {}, kJson))["members"][2], (Json{{"rank", 2}, {"node", "n2"}}));
  EXPECT_EQ(Json::parse(RenderPlan(Tree(), kJson))["critical_path"], Json::array({"n3", "n1"}));
}

}  // namespace
}  // namespace copse::ctl
