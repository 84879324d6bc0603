// SPDX-License-Identifier: Apache-2.0
//
// That copsectl's trace of a real cluster keeps to its format, and shows where the time went.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/client/style.h"
#include "cli/ctl/tracing/trace_format.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/programs.h"

namespace copse::procs {
namespace {

using ctl::Json;
using scenario::Step;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint32_t kNodes = 4;
constexpr uint32_t kRanks = 16;
constexpr uint32_t kCalls = 20;
constexpr uint32_t kLateRank = 5;  // at n1, in the last call
constexpr absl::Duration kLate = absl::Milliseconds(60);
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

class TraceTest : public ClusterFixture {
 protected:
  // Sixteen ranks on four nodes have made their calls, and stay.
  void MakeCalls() {
    ASSERT_TRUE(cluster_.Start({.nodes = kNodes}).ok());
    std::vector<scenario::Program> programs;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      scenario::Script script = {scenario::TeamStep(0, "traced", rank, kRanks)};
      for (uint32_t i = 0; i < kCalls; ++i) {
        if (i + 1 == kCalls && rank == kLateRank) script.push_back(scenario::PauseStep(kLate));
        script.push_back(scenario::CallStep(0, kSum, i));
      }
      script.push_back(scenario::PauseStep(absl::Hours(1)));
      programs.push_back({rank / (kRanks / kNodes), std::move(script)});
    }
    first_ = cluster_.Launch(programs);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const absl::Status made = cluster_.AwaitOutcomes(first_ + rank, 1 + kCalls, kPatience);
      ASSERT_TRUE(made.ok()) << made;
    }
  }

  void TearDown() override {
    for (uint32_t rank = 0; rank < kRanks; ++rank) cluster_.KillProcess(first_ + rank);
    ClusterFixture::TearDown();
  }

  // What copsectl prints, which must end with exit code 0.
  std::string Copsectl(std::vector<std::string> arguments) {
    const absl::StatusOr<std::string> program = FindProgram("cli/ctl/copsectl");
    EXPECT_TRUE(program.ok()) << program.status();
    arguments.insert(arguments.begin(), {*program, "-e", cluster_.planner_address()});
    auto child = ChildProcess::Start(
        {.arguments = arguments, .stdout_pipe = true, .log_file = cluster_.folder() + "/copsectl.log"});
    EXPECT_TRUE(child.ok()) << child.status();
    std::vector<std::string> lines;
    EXPECT_TRUE((*child)->ReadToEnd(kPatience, &lines).ok());
    const std::string out = absl::StrJoin(lines, "\n");
    EXPECT_EQ((*child)->exit_code(), 0) << absl::StrJoin(arguments, " ") << ": " << out;
    return out;
  }

  Json Events(const std::string& text) {
    const std::vector<std::string> errors = ctl::TraceFormatErrors(text);
    EXPECT_TRUE(errors.empty()) << absl::StrJoin(errors, "\n");
    const Json json = Json::parse(text, nullptr, false);
    return json.is_object() ? json["traceEvents"] : Json::array();
  }

  uint32_t first_ = 0;
};

std::string NodeOf(const Json& event) { return absl::StrCat("n", event["pid"].get<int>() - 1); }

TEST_F(TraceTest, AnAllreduceOfSixteenRanks) {
  ASSERT_NO_FATAL_FAILURE(MakeCalls());
  const std::string path = cluster_.folder() + "/trace.json";
  const Json summary = Json::parse(Copsectl({"trace", "--team", "traced", "--output", path, "-w", "json"}));
  EXPECT_EQ(summary["ok"], true);
  EXPECT_EQ(summary["nodes"], kNodes);
  EXPECT_EQ(summary["lost"], 0);
  EXPECT_EQ(summary["clock_doubt_us"], 0.0);  // one machine, one clock
  const Json events = Events(ContentOf(path));

  // Each rank's every call, and who waited for the one that was late.
  std::map<uint32_t, std::set<uint32_t>> calls;
  std::map<uint32_t, double> waited_ms;
  std::map<uint32_t, double> network_ms;
  std::set<std::string> reducing;
  std::map<int64_t, std::string> starts;
  std::set<std::pair<std::string, std::string>> packets;
  for (const Json& event : events) {
    const std::string phase = event["ph"];
    if (phase == "s") starts[event["id"]] = NodeOf(event);
    if (phase == "f") packets.insert({starts.at(event["id"]), NodeOf(event)});
    if (phase != "X") continue;
    const std::string category = event["cat"];
    if (category == "reduce") reducing.insert(NodeOf(event));
    if (category != "call" && category != "wait" && category != "network") continue;
    const uint32_t rank = event["args"]["rank"];
    const uint32_t call = event["args"]["call"];
    if (category == "call") {
      EXPECT_EQ(event["name"], "allreduce 48 B");
      EXPECT_EQ(NodeOf(event), absl::StrCat("n", rank / (kRanks / kNodes)));
      calls[rank].insert(call);
    }
    if (call + 1 != kCalls) continue;
    if (category == "wait") waited_ms[rank] += event["dur"].get<double>() / 1000;
    if (category == "network") network_ms[rank] += event["dur"].get<double>() / 1000;
  }
  ASSERT_EQ(calls.size(), kRanks);
  for (const auto& [rank, of_rank] : calls) EXPECT_EQ(of_rank.size(), kCalls) << "rank " << rank;
  EXPECT_EQ(reducing.size(), kNodes);
  const double late_ms = absl::ToDoubleMilliseconds(kLate);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const bool beside = rank / (kRanks / kNodes) == kLateRank / (kRanks / kNodes);
    if (rank == kLateRank) {
      EXPECT_LT(waited_ms[rank], late_ms / 2);
    } else if (beside) {
      EXPECT_GT(waited_ms[rank], late_ms / 2) << "rank " << rank;
    } else {
      EXPECT_GT(network_ms[rank], late_ms / 2) << "rank " << rank;
    }
  }

  // Each edge of the plan that the calls took has packets both ways.
  const auto plans = cluster_.admin().ListPlans(kPatience);
  ASSERT_TRUE(plans.ok()) << plans.status();
  int edges = 0;
  for (const v1::PlanRow& plan : plans->plans()) {
    if (plan.collective() != "allreduce" || plan.bytes_min() > 48 || plan.bytes_max() < 48) continue;
    for (const v1::PlanEdge& edge : plan.edges()) {
      ++edges;
      EXPECT_TRUE(packets.contains({edge.from(), edge.to()})) << edge.from() << " to " << edge.to();
      EXPECT_TRUE(packets.contains({edge.to(), edge.from()})) << edge.to() << " to " << edge.from();
    }
  }
  EXPECT_GE(edges, static_cast<int>(kNodes) - 1);
}

TEST_F(TraceTest, PartsOfIt) {
  ASSERT_NO_FATAL_FAILURE(MakeCalls());
  const Json two = Events(Copsectl({"trace", "--node", "n1", "--node", "n[2-2]"}));
  std::set<std::string> names;
  for (const Json& event : two) {
    if (event["name"] == "process_name") names.insert(event["args"]["name"]);
  }
  EXPECT_EQ(names, (std::set<std::string>{"node n1", "node n2"}));
  // Nobody calls any more: only heartbeats, and the loop's sleep.
  for (const Json& event : Events(Copsectl({"trace", "--seconds", "0.3"}))) {
    EXPECT_NE(event.value("cat", ""), "call") << event;
  }
  for (const Json& event : Events(Copsectl({"trace", "--last", "1ns"}))) {
    EXPECT_NE(event.value("cat", ""), "call") << event;
  }
}

TEST_F(TraceTest, HistogramsAndCountersOfTheSameCalls) {
  ASSERT_NO_FATAL_FAILURE(MakeCalls());
  const Json stats = Json::parse(Copsectl({"stats", "--histograms", "-w", "json"}));
  ASSERT_EQ(stats.size(), kNodes);
  for (const Json& node : stats) {
    EXPECT_EQ(node["counters"]["calls.allreduce.ok"], kCalls * kRanks / kNodes);
    EXPECT_GT(node["counters"]["engine.packets.sent"], 0);
    EXPECT_GE(node["counters"]["engine.reduces.run"], kCalls);
    std::map<std::string, Json> parts;
    for (const Json& row : node["latencies"]) {
      EXPECT_EQ(row["collective"], "allreduce");
      EXPECT_EQ(row["bytes_min"], 32);
      EXPECT_EQ(row["bytes_max"], 63);
      parts[row["part"]] = row;
    }
    ASSERT_EQ(parts.size(), 3u) << node;
    EXPECT_EQ(parts["call"]["count"], kCalls * kRanks / kNodes);
    EXPECT_EQ(parts["ranks"]["count"], kCalls);
    EXPECT_EQ(parts["network"]["count"], kCalls);
    const double late_ns = absl::ToDoubleNanoseconds(kLate) / 2;
    const bool has_late_rank = node["node"] == absl::StrCat("n", kLateRank / (kRanks / kNodes));
    EXPECT_GT(parts["call"]["max_ns"], late_ns);
    EXPECT_GT(parts[has_late_rank ? "ranks" : "network"]["max_ns"], late_ns) << node["node"];
  }
  EXPECT_NE(Copsectl({"stats", "--histograms"}).find("allreduce"), std::string::npos);
}

}  // namespace
}  // namespace copse::procs
