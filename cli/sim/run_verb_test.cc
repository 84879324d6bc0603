// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "cli/sim/call_sim.h"
#include "cli/sim/sim.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "planner/algorithms/trees/broadcast_algorithms.h"

namespace copse::simcli {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using testing::Names;

Answer Call(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  return CallSim(arguments);
}
Json JsonOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-w", "json"});
  const Answer answer = Call(arguments);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  return Json::parse(answer.out, nullptr, false);
}
std::string Written(const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / name).string();
  std::ofstream(path) << text;
  return path;
}

constexpr char kCluster[] = R"(version: 1
defaults: {overhead: 2us, latency: 10us, bandwidth: 1GB}
switches: [{name: core}, {name: r1, parent: core, latency: 100us}, {name: r2, parent: core, latency: 100us}]
nodes: [{name: "a[1-4]", switch: r1}, {name: "b[1-4]", switch: r2, overhead: 5us}]
costs: {copy_ps_per_byte: 0}
)";

TEST(RunVerbTest, TellsWhatACallTook) {
  const std::string file = Written("run_cluster.yaml", kCluster);
  const Json json = JsonOf({"--topology", file, "--algorithm", "binomial", "--bytes", "1000", "--root", "3"});
  EXPECT_EQ(json["nodes"], 8);
  EXPECT_EQ(json["packets"], 7);
  EXPECT_EQ(json["data"], "right");
  EXPECT_EQ(json["simulated_ns"], json["predicted_ns"]);
  EXPECT_GT(json["simulated_ns"], 220'000);  // path to the other rack, and its costs
  const Answer text = Call({"--topology", file, "--algorithm", "binomial"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("packets:    7 in 7 frames"));
  EXPECT_THAT(text.out, HasSubstr("data:       right at every rank"));
}

TEST(RunVerbTest, EveryCollectiveAndSeveralRanksANode) {
  for (const char* collective : {"barrier", "bcast", "reduce", "allreduce"}) {
    const Json json = JsonOf({"--generate", "flat:9:1", "--collective", collective, "--ppn", "3", "--bytes", "20000",
                              "--algorithm", "kary-2"});
    EXPECT_EQ(json["ranks"], 27);
    EXPECT_EQ(json["data"], "right");
  }
}

TEST(RunVerbTest, APlanThatWasWrittenRunsTheSame) {
  const std::string cluster = Written("plan_cluster.yaml", kCluster);
  const std::string plan = Written("plan.json", "");
  const Json first = JsonOf({"--topology", cluster, "--algorithm", "knomial-3", "--collective", "allreduce", "--bytes",
                             "48", "--write-plan", plan});
  const Json again = JsonOf({"--topology", cluster, "--plan", plan, "--bytes", "48"});
  EXPECT_EQ(first["simulated_ns"], again["simulated_ns"]);
  EXPECT_EQ(again["collective"], "allreduce");
  EXPECT_EQ(again["algorithm"], "knomial-3");
}

TEST(RunVerbTest, WithoutAnAlgorithmThePlannerChooses) {
  const std::string cluster = Written("choice_cluster.yaml", kCluster);
  for (const char* collective : {"barrier", "bcast", "reduce", "allreduce"}) {
    const Json chosen = JsonOf({"--topology", cluster, "--collective", collective, "--bytes", "48"});
    EXPECT_EQ(chosen["data"], "right");
    EXPECT_THAT(chosen["why"].get<std::string>(), HasSubstr("by price, of "));
    // The chosen plan exceeds the obvious candidate's price by at most the bias for shared edges.
    const Json flat =
        JsonOf({"--topology", cluster, "--collective", collective, "--bytes", "48", "--algorithm", "flat"});
    EXPECT_LE(chosen["predicted_ns"].get<int64_t>(), flat["predicted_ns"].get<int64_t>() * 21 / 20) << collective;
    EXPECT_FALSE(flat.contains("why"));
  }
  const Answer text = Call({"--topology", cluster});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr(", 8 nodes, not cut; the planner's choice, by price, of "));
}

TEST(RunVerbTest, AnAlgorithmThatIsAskedForIsComparedWithThePlannersSegments) {
  for (const std::string collective : {"alltoall", "allgather"}) {
    const std::vector<std::string> call = {"--generate", "flat:16", "--collective", collective};
    const Json chosen = JsonOf(call);
    std::vector<std::string> asked = call;
    asked.insert(asked.end(), {"--algorithm", chosen["algorithm"].get<std::string>()});
    const Json same = JsonOf(asked);
    EXPECT_EQ(same["segment_bytes"], chosen["segment_bytes"]) << collective;
    EXPECT_EQ(same["simulated_ns"], chosen["simulated_ns"]) << collective;
    EXPECT_THAT(Call(asked).out, HasSubstr(", 16 nodes, segments of ")) << collective;
  }
  // The price belongs to the cheapest segment size.
  const std::vector<std::string> chain = {"--generate", "flat:16", "--bytes", "60000", "--algorithm", "chain"};
  const int64_t best_ns = JsonOf(chain)["predicted_ns"];
  for (const char* const size : {"8KiB", "32KiB", "16KiB", "4KiB"}) {
    std::vector<std::string> sized = chain;
    sized.insert(sized.end(), {"--segment", size});
    EXPECT_LE(best_ns, JsonOf(sized)["predicted_ns"].get<int64_t>()) << size;
  }
}

TEST(RunVerbTest, ThePriceOfAChoiceSaysHowItIsCounted) {
  // The call has too many segments to run all candidates.
  const std::string why = JsonOf({"--generate", "flat:256", "--collective", "alltoall"})["why"];
  EXPECT_THAT(why, HasSubstr("candidates by formulas, which know no segments and no contention: "));
}

TEST(RunVerbTest, APlanMayUseSomeOfTheNodes) {
  const std::string cluster = Written("some_cluster.yaml", kCluster);
  const std::string plan = Written("some_plan.json", R"({"edges": [["b2", "a3"], ["b2", "b4"]]})");
  const Json json = JsonOf({"--topology", cluster, "--plan", plan, "--root", "1"});
  EXPECT_EQ(json["nodes"], 3);
  EXPECT_EQ(json["packets"], 2);
}

TEST(RunVerbTest, ChargesAsThePaperDoes) {
  // Node a1 sends to b1 first: 2 us + 999 ns, 220 us under way, 5 us to receive.
  const std::string cluster = Written("mgo_cluster.yaml", kCluster);
  const std::string plan = Written("mgo_plan.json", R"({"edges": [["a1", "b1"], ["a1", "a2"]]})");
  EXPECT_EQ(JsonOf({"--topology", cluster, "--plan", plan, "--bytes", "1000", "--charge", "mgo"})["simulated_ns"],
            2'000 + 999 + 220'000 + 5'000);
}

TEST(RunVerbTest, EveryAlgorithmTakesWhatItsReplaySays) {
  const std::string cluster = Written("names_cluster.yaml", kCluster);
  for (const char* algorithm : {"FT", "BT", "FNF", "FEF_latency", "FEF_cost", "FCEF", "FCEF_bhat", "LA", "LA_bhat",
                                "MGO", "MGO_jackson", "OPTIMAL", "best", "kary-3"}) {
    const Json json = JsonOf({"--topology", cluster, "--algorithm", algorithm, "--charge", "mgo", "--root", "5"});
    EXPECT_EQ(json["simulated_ns"], json["predicted_ns"]) << algorithm;
    EXPECT_EQ(json["data"], "right");
    EXPECT_EQ(json["algorithm"], planner::AlgorithmName(algorithm));
  }
  EXPECT_EQ(JsonOf({"--topology", cluster, "--algorithm", "best", "--collective", "allreduce"})["data"], "right");
  for (const char* kind : {"mgo:40:3", "racks:100:1", "wan:70:2"}) {
    const Json json = JsonOf({"--generate", kind, "--algorithm", "MGO", "--charge", "mgo"});
    EXPECT_EQ(json["simulated_ns"], json["predicted_ns"]) << kind;
  }
}

TEST(RunVerbTest, BadUsageIsOneLineAndTwo) {
  const std::string cluster = Written("bad_cluster.yaml", kCluster);
  const std::string stranger = Written("stranger.json", R"({"edges": [["a1", "z9"]]})");
  const std::string cycle = Written("cycle.yaml",
                                    "version: 1\nswitches: [{name: a, parent: b}, {name: b, parent: a}]\n"
                                    "nodes: [{name: n, switch: a}]\n");
  const std::string orphan =
      Written("orphan.yaml", "version: 1\nswitches: [{name: a}]\nnodes: [{name: n, switch: nowhere}]\n");
  const std::string twice = Written("twice.yaml",
                                    "version: 1\nswitches: [{name: a}]\n"
                                    "nodes: [{name: \"n[1-2]\", switch: a}, {name: n2, switch: a}]\n");
  const std::string zero =
      Written("zero.yaml", "version: 1\nswitches: [{name: a}]\nnodes: [{name: n, switch: a, bandwidth: 0Gbit}]\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--topology", cycle, "--algorithm", "flat"}, "cycle.yaml:"},
      {{"--topology", orphan, "--algorithm", "flat"}, "orphan.yaml:3"},
      {{"--topology", twice, "--algorithm", "flat"}, "twice.yaml:3"},
      {{"--topology", zero, "--algorithm", "flat"}, "zero.yaml:3"},
      {{"--generate", "flat:20:1", "--algorithm", "OPTIMAL"}, "limit="},
      {{"--algorithm", "flat"}, "--topology"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--plan", stranger}, "--plan"},
      {{"--generate", "flat:4:1", "--segment", "4KiB"}, "--segment"},
      {{"--generate", "flat:4:1", "--bytes", "65KiB"}, "bytes=66560"},
      {{"--generate", "flat:4:1", "--algorithm", "dance"}, "name=dance"},
      {{"--generate", "flat", "--algorithm", "flat"}, "value=flat"},
      {{"--generate", "flat:0:1", "--algorithm", "flat"}, "nodes=0"},
      {{"--generate", "flat:10000000:1", "--algorithm", "flat"}, "nodes=10000000"},
      {{"--generate", "moon:4:1", "--algorithm", "flat"}, "name=moon, known=flat mgo racks wan"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--root", "4"}, "value=4"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--root", "-1"}, "value=-1"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--ppn", "0"}, "value=0"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--bytes", "100kB"}, "bytes=100000"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--segment", "7"}, "bytes=7"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--collective", "alltoallw"}, "name=alltoallw"},
      {{"--generate", "flat:4:1", "--algorithm", "dissemination"}, "algorithm=dissemination, collective=bcast"},
      {{"--generate", "flat:4:1", "--algorithm", "bush"},
       "name=bush, known=flat chain binomial dissemination recursive-doubling ring bruck doubling rotated-binomial "
       "pairwise hierarchical ft bt knomial-K"},
      {{"--generate", "flat:4:1", "--algorithm", "flat", "--charge", "much"}, "value=much"},
      {{"--topology", "/nonexistent.yaml", "--algorithm", "flat"}, "file=/nonexistent.yaml"},
      {{"--topology", cluster, "--plan", stranger}, "node z9"},
      {{"--topology", cluster, "--plan", cluster}, "bad_cluster.yaml"},
  };
  for (const auto& [arguments, thing] : cases) {
    const Answer answer = Call(arguments);
    EXPECT_EQ(answer.exit_code, 2) << answer.err;
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err.rfind("copse-sim: run: ", 0), 0u) << answer.err;
    EXPECT_THAT(answer.err, Names(thing));
    EXPECT_EQ(answer.err.find('\n'), answer.err.size() - 1) << answer.err;
  }
}

TEST(RunVerbTest, AllCollectivesOfBlocksAndTheirCounts) {
  const std::string file = Written("blocks_cluster.yaml", kCluster);
  for (const std::string collective : {"gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan", "exscan",
                                       "gatherv", "scatterv", "allgatherv", "alltoallv", "reduce_scatterv"}) {
    for (const char* counts : {"equal", "heavy", "random", "sparse"}) {
      std::vector<std::string> arguments = {"--topology", file, "--collective", collective, "--ppn", "2",
                                            "--root",     "3",  "--bytes",      "400"};
      if (collective.back() == 'v') {
        arguments.insert(arguments.end(), {"--counts", counts});
      } else if (counts != std::string("equal")) {
        continue;
      }
      const Json json = JsonOf(arguments);
      EXPECT_EQ(json["collective"], collective);
      EXPECT_EQ(json["ranks"], 16);
      EXPECT_EQ(json["data"], "right");
      EXPECT_EQ(json["bytes"], 400);
      EXPECT_GT(json["predicted_ns"], 0);
      EXPECT_THAT(json["why"].get<std::string>(), HasSubstr("by price, of "));
      EXPECT_GT(json["root_daemon"]["connections"], 0);
      EXPECT_GE(json["most"]["staging_bytes"], json["root_daemon"]["staging_bytes"]);
    }
  }
  // Counts are exchanged or known: an exchange takes 8 B a rank, in one more message for each link.
  const std::vector<std::string> gatherv = {"--topology", file, "--collective", "gatherv", "--algorithm", "binomial",
                                            "--bytes",    "8",  "--counts",     "random"};
  std::vector<std::string> known = gatherv;
  known.emplace_back("--counts-known");
  EXPECT_EQ(JsonOf(gatherv)["root_daemon"]["notes_bytes"], 64);
  EXPECT_EQ(JsonOf(known)["root_daemon"]["notes_bytes"], 0);
  EXPECT_EQ(JsonOf(gatherv)["root_daemon"]["connections"], 3);
  EXPECT_GT(JsonOf(gatherv)["simulated_ns"], JsonOf(known)["simulated_ns"]);
  const Answer text = Call(gatherv);
  EXPECT_THAT(text.out, HasSubstr("at root:    3 connections, staging "));
  EXPECT_THAT(text.out, HasSubstr("call:       gatherv uint64, random counts of 8B in the mean, root 0, 8 ranks"));
  EXPECT_THAT(Call(known).out, HasSubstr("random counts of 8B in the mean, known to all, root 0"));
  for (const auto& [more, thing] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--collective", "gatherv", "--counts", "odd"}, "value=odd"},
           {{"--collective", "gather", "--counts", "heavy"}, "collective=gather"},
           {{"--collective", "alltoall", "--bytes", "8GiB"}, "bytes=8589934592, ranks=8"},
           {{"--collective", "scan", "--algorithm", "bruck"}, "algorithm=bruck, collective=scan"}}) {
    std::vector<std::string> arguments = {"--topology", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = Call(arguments);
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_THAT(answer.err, Names(thing));
  }
}

TEST(RunVerbTest, CollectivesOfBlocksAreRunByTheModel) {
  for (const std::string collective : {"scatter", "gather", "allgather"}) {
    const std::vector<std::string> arguments = {"run", "--generate", "mgo:30", "--collective", collective, "--root",
                                                "3",   "--bytes",    "2KiB",   "--charge",     "mgo"};
    const Answer text = CallSim(arguments);
    ASSERT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("the model's events, not engines"));
    EXPECT_THAT(text.out, HasSubstr("right at every rank"));
    std::vector<std::string> as_json = arguments;
    as_json.insert(as_json.end(), {"--algorithm", "knomial-4", "-w", "json"});
    const nlohmann::json json = nlohmann::json::parse(CallSim(as_json).out);
    EXPECT_EQ(json["collective"], collective);
    EXPECT_EQ(json["engines"], false);
    EXPECT_EQ(json["simulated_ns"], json["predicted_ns"]);
    EXPECT_EQ(json["packets"], collective == "allgather" ? 58 : 29);
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--plan", "x"}, "plan"},   {{"--segment", "8"}, "segment"},
      {{"--headers"}, "headers"},  {{"--write-plan", "x"}, "write-plan"},
      {{"--ppn", "2"}, "value=2"}, {{"--algorithm", "OPTIMAL"}, "algorithm=optimal, collective=gather"},
  };
  for (const auto& [more, thing] : cases) {
    std::vector<std::string> arguments = {"run", "--generate", "flat:4", "--collective", "gather", "--charge", "mgo"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = CallSim(arguments);
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_THAT(answer.err, Names(thing));
  }
}

}  // namespace
}  // namespace copse::simcli
