// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tracing/trace_events.h"

#include <map>

#include "absl/strings/str_join.h"
#include "base/testing/status_matchers.h"
#include "cli/client/style.h"
#include "cli/ctl/tracing/trace_format.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using testing::FailsWith;
using testing::Names;

// Makes two nodes whose clocks differ by `skew`; the planner is off by `mistake` about the second one.
std::vector<NodeTrace> TwoNodes(int64_t skew, int64_t mistake) {
  NodeTrace a{.name = "a", .incarnation = 0x100000002, .clock = "A", .doubt_ns = 300'000, .records = {}};
  NodeTrace b{.name = "b",
              .incarnation = 77,
              .clock = skew == 0 && mistake == 0 ? "A" : "B",
              .doubt_ns = 400'000,
              .records = {}};
  b.now_ns = skew;
  b.planner_ns = mistake;
  // Rank 1 at b posts at 10 us, its packet takes 5 us; a reduces 1 us and answers; the answer takes 6 us.
  const auto at_a = [&](TraceRecord r) {
    r.team = 3, r.call = 41;
    a.records.push_back(r);
  };
  const auto at_b = [&](TraceRecord r) {
    r.team = 3, r.call = 41;
    r.time_ns += skew;
    b.records.push_back(r);
  };
  at_a({.time_ns = 5000, .kind = 1, .phase = 3, .subject = 9, .peer = 0, .bytes = 48});
  at_a({.time_ns = 5001, .kind = 3, .phase = 3});
  at_b({.time_ns = 10000, .kind = 1, .phase = 3, .subject = 4, .peer = 1, .bytes = 48});
  at_b({.time_ns = 10001, .kind = 3, .phase = 3});
  at_b({.time_ns = 10002, .kind = 7, .phase = 1, .subject = 500, .peer = 3, .bytes = 48});
  at_b({.time_ns = 11000, .kind = 8, .subject = 1, .peer = 3, .bytes = 120});
  at_a({.time_ns = 15002, .kind = 6, .phase = 1, .subject = 500, .peer = 77, .bytes = 48});
  at_a({.time_ns = 15003, .kind = 9, .bytes = 48});
  at_a({.time_ns = 16000, .kind = 10, .bytes = 48});
  at_a({.time_ns = 16001, .kind = 7, .phase = 2, .subject = 501, .peer = 77, .bytes = 48});
  at_a({.time_ns = 17000, .kind = 4, .phase = 3, .subject = 9, .peer = 0, .bytes = 48});
  at_b({.time_ns = 22001, .kind = 6, .phase = 2, .subject = 501, .peer = 3, .bytes = 48});
  at_b({.time_ns = 22500, .kind = 4, .phase = 3, .subject = 4, .peer = 1, .bytes = 48});
  at_b({.time_ns = 22501, .kind = 18});
  at_b({.time_ns = 30000, .kind = 19});
  return {a, b};
}

Json Parsed(const TraceEvents& made) {
  const std::vector<std::string> errors = TraceFormatErrors(made.json);
  EXPECT_TRUE(errors.empty()) << absl::StrJoin(errors, "\n") << made.json;
  return Json::parse(made.json)["traceEvents"];
}

// Returns the first event of a process with this phase and name.
Json Find(const Json& events, const std::string& phase, const std::string& name, int pid) {
  for (const Json& event : events) {
    if (event["ph"] == phase && event["name"] == name && event["pid"] == pid) return event;
  }
  ADD_FAILURE() << "no " << phase << " " << name << " of " << pid << " in " << events.dump(1);
  return Json::object();
}

TEST(TraceEventsTest, NothingIsAnEmptyPicture) {
  EXPECT_TRUE(Parsed(MakeTraceEvents({}, std::nullopt)).empty());
  Parsed(MakeTraceEvents({NodeTrace{.name = "idle", .clock = "A", .records = {}}}, std::nullopt));
}

TEST(TraceEventsTest, CallsWorkAndPacketsOnOneClock) {
  const TraceEvents made = MakeTraceEvents(TwoNodes(0, 0), std::nullopt);
  EXPECT_EQ(made.flows, 2u);
  EXPECT_EQ(made.doubt_us, 0);
  const Json events = Parsed(made);
  EXPECT_EQ(Find(events, "M", "process_name", 1)["args"]["name"], "node a");
  const Json call = Find(events, "X", "allreduce 48 B", 2);
  EXPECT_EQ(call["ts"], 5.0);
  EXPECT_EQ(call["dur"], 12.5);
  EXPECT_EQ(call["args"]["rank"], 1);
  EXPECT_EQ(call["args"]["call"], 41);
  const Json reduce = Find(events, "X", "reduce 48 B", 1);
  EXPECT_EQ(reduce["ts"], 10.003);
  EXPECT_EQ(reduce["dur"], 0.997);
  EXPECT_EQ(Find(events, "X", "network and other nodes", 1)["dur"], 12.0);
  EXPECT_EQ(Find(events, "X", "send 48 B to b", 1)["tid"], 2);
  EXPECT_EQ(Find(events, "X", "asleep", 2)["dur"], 7.499);
  EXPECT_EQ(Find(events, "s", "packet", 2)["ts"], 5.002);
  EXPECT_EQ(Find(events, "f", "packet", 1)["ts"], 10.002);
  EXPECT_EQ(Find(events, "f", "packet", 1)["id"], Find(events, "s", "packet", 2)["id"]);
}

TEST(TraceEventsTest, AnotherTeamIsLeftOut) {
  const TraceEvents made = MakeTraceEvents(TwoNodes(0, 0), 4);
  EXPECT_EQ(made.flows, 0u);
  for (const Json& event : Parsed(made)) EXPECT_TRUE(event["ph"] == "M" || event["cat"] == "loop") << event;
  EXPECT_EQ(MakeTraceEvents(TwoNodes(0, 0), 3).flows, 2u);
  std::vector<NodeTrace> early = TwoNodes(0, 0);
  early[0].records[2].team = 0;  // recorded before its port had a name
  Parsed(MakeTraceEvents(early, 3));
}

// Packets take 5 and 6 us: the middle is off by half their difference, for any clock offsets of the planner.
TEST(TraceEventsTest, ClocksThatDifferAreBroughtTogetherByPackets) {
  for (const int64_t skew : {int64_t{3'600'000'000'000}, int64_t{-5'000'000}, int64_t{1}}) {
    for (const int64_t mistake : {0, 350'000, -350'000}) {
      const TraceEvents made = MakeTraceEvents(TwoNodes(skew, mistake), std::nullopt);
      EXPECT_EQ(made.flows, 2u);
      EXPECT_NEAR(made.doubt_us, 5.5, 0.002);
      const Json events = Parsed(made);
      const double there =
          Find(events, "f", "packet", 1)["ts"].get<double>() - Find(events, "s", "packet", 2)["ts"].get<double>();
      EXPECT_NEAR(there, 5.5, 0.002) << "skew " << skew << " mistake " << mistake;
    }
  }
}

// The planner may be wrong about each of two clocks, into opposite directions. Packets tell only of the clocks that
// they connect.
TEST(TraceEventsTest, TheDoubtIsThatOfTwoClocksAgainstEachOther) {
  std::vector<NodeTrace> nodes = TwoNodes(1000, 0);
  nodes.push_back({.name = "c", .incarnation = 78, .clock = "C", .doubt_ns = 200'000, .records = {}});
  EXPECT_NEAR(MakeTraceEvents(nodes, std::nullopt).doubt_us, 200 + 300 + 5.5, 0.002);
  for (NodeTrace& node : nodes) node.records.clear();
  EXPECT_NEAR(MakeTraceEvents({nodes[0], nodes[1]}, std::nullopt).doubt_us, 300 + 400, 0.001);
  EXPECT_NEAR(MakeTraceEvents(nodes, std::nullopt).doubt_us, 300 + 400, 0.001);
}

TEST(TraceEventsTest, OnePacketsDirectionOnlyKeepsItFromArrivingEarly) {
  std::vector<NodeTrace> nodes = TwoNodes(1000, 350'000);
  nodes[0].records.erase(nodes[0].records.begin() + 5);  // the send record of a
  const TraceEvents made = MakeTraceEvents(nodes, std::nullopt);
  EXPECT_EQ(made.flows, 1u);
  Parsed(made);
}

TEST(TraceEventsTest, CallsOfARankThatOverlapLieSideBySide) {
  NodeTrace node{.name = "n", .clock = "A", .records = {}};
  for (uint32_t call = 0; call < 3; ++call) {
    node.records.push_back({.time_ns = 1000 + call, .kind = 1, .team = 1, .call = call, .subject = 2, .peer = 7});
  }
  for (uint32_t call = 0; call < 2; ++call) {
    node.records.push_back(
        {.time_ns = 3000 + call, .kind = 4, .flags = 1, .team = 1, .call = call, .subject = 2, .peer = 7});
  }
  const Json events = Parsed(MakeTraceEvents({node}, std::nullopt));
  std::map<int, int> threads;
  for (const Json& event : events) {
    if (event["ph"] == "X" && event["cat"] == "call") ++threads[event["tid"].get<int>()];
  }
  EXPECT_EQ(threads, (std::map<int, int>{{10, 1}, {11, 1}, {12, 1}}));
  Find(events, "X", "barrier failed", 1);
  Find(events, "X", "barrier unfinished", 1);
}

TEST(TraceEventsTest, RecordsAreReadAsTheyAreDrawn) {
  const std::string bytes(
      "\x01\x02\x03\x04\x05\x06\x07\x08\x0a\x01\x34\x12"
      "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00\x05\x00\x00\x80",
      32);
  NodeTrace trace{.name = "n", .records = {}};
  ASSERT_TRUE(trace.Append(bytes).ok());
  ASSERT_EQ(trace.records.size(), 1u);
  EXPECT_EQ(trace.records[0].time_ns, 0x0807060504030201);
  EXPECT_EQ(trace.records[0].kind, 10);
  EXPECT_EQ(trace.records[0].flags, 1);
  EXPECT_EQ(trace.records[0].phase, 0x1234);
  EXPECT_EQ(trace.records[0].team, 1u);
  EXPECT_EQ(trace.records[0].call, 2u);
  EXPECT_EQ(trace.records[0].subject, 3u);
  EXPECT_EQ(trace.records[0].peer, 4u);
  EXPECT_EQ(trace.records[0].bytes, 0x80000005);
  EXPECT_THAT(trace.Append("short"), FailsWith(absl::StatusCode::kInvalidArgument, "bytes=5"));
}

// The checker's own test: each rule finds its violation.
TEST(TraceFormatTest, FindsWhatIsWrong) {
  const std::string names = R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"p"}},)"
                            R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"t"}},)";
  const auto errors = [&](const std::string& events) {
    return absl::StrJoin(TraceFormatErrors("{\"traceEvents\":[" + names + events + "]}"), "\n");
  };
  const std::string a = R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":5})";
  EXPECT_EQ(errors(a), "");
  EXPECT_EQ(TraceFormatErrors("{").at(0), "not JSON");
  EXPECT_EQ(TraceFormatErrors("[]").size(), 1u);
  EXPECT_THAT(errors(a + R"(,{"ph":"X","name":"b","pid":1,"tid":2,"ts":3,"dur":5})"),
              Names("event 4", "X", "pid=1, tid=2"));
  EXPECT_EQ(errors(a + R"(,{"ph":"X","name":"b","pid":1,"tid":2,"ts":6,"dur":5})"), "");
  EXPECT_THAT(errors(a + R"(,{"ph":"X","name":"b","pid":1,"tid":2,"ts":0,"dur":1})"),
              Names("event 4", "ts", "pid=1, tid=2"));
  EXPECT_THAT(errors(R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":1})"), Names("event 3", "X", "pid=1, tid=2"));
  EXPECT_THAT(errors(R"({"ph":"X","name":"a","pid":1,"tid":3,"ts":1,"dur":1})"), Names("event 3", "pid=1, tid=3"));
  EXPECT_THAT(errors(R"({"ph":"B","name":"a","pid":1,"tid":2,"ts":1})"), Names("event 3", "B", "E", "pid=1, tid=2"));
  EXPECT_THAT(errors(R"({"ph":"E","name":"a","pid":1,"tid":2,"ts":1})"), Names("event 3", "E", "B", "pid=1, tid=2"));
  const std::string s = R"({"ph":"s","name":"k","cat":"c","id":1,"pid":1,"tid":2,"ts":2})";
  const std::string f = R"({"ph":"f","name":"k","cat":"c","id":1,"pid":1,"tid":2,"ts":3})";
  EXPECT_EQ(errors(a + "," + s + "," + f), "");
  EXPECT_THAT(errors(a + "," + s), Names("event 4", "pid=1, tid=2"));
  EXPECT_THAT(errors(a + "," + f), Names("event 4", "pid=1, tid=2"));
  EXPECT_THAT(errors(s + "," + f), Names("event 4", "pid=1, tid=2", "event 3"));
}

}  // namespace
}  // namespace copse::ctl
