// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "cli/sim/call_sim.h"
#include "cli/sim/sim.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace copse::simcli {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using testing::Names;

std::string PathOf(const std::string& name) { return (std::filesystem::path(::testing::TempDir()) / name).string(); }
std::string Read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(TableVerbTest, PrintsAndPlotsAgainstNodes) {
  const std::string svg = PathOf("table.svg");
  const std::vector<std::string> arguments = {"table", "--generate",   "flat",        "--nodes", "2-4,16", "--seeds",
                                              "1-3",   "--algorithms", "FT,MGO,best", "--svg",   svg};
  const Answer answer = CallSim(arguments);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 1 + 4 * 3);
  EXPECT_THAT(answer.out, HasSubstr("ALGORITHM  NODES  RUNS"));
  const std::string picture = Read(svg);
  EXPECT_THAT(picture, HasSubstr(">mgo</text>"));
  EXPECT_THAT(picture, HasSubstr("</svg>"));
  std::vector<std::string> as_json = arguments;
  as_json.insert(as_json.end(), {"-w", "json"});
  const Json json = Json::parse(CallSim(as_json).out);
  ASSERT_EQ(json.size(), 12u);
  EXPECT_EQ(json[9]["nodes"], 16);
  EXPECT_EQ(json[9]["algorithm"], "ft");
  EXPECT_EQ(json[9]["runs"], 3);
  EXPECT_LT(json[11]["mean_ns"], json[9]["mean_ns"]);
}

TEST(SweepVerbTest, PrintsAgainstBytesByAnyMethod) {
  for (const char* method : {"replay", "costs", "run"}) {
    const Answer answer = CallSim({"sweep", "--generate", "flat", "--nodes", "9", "--bytes", "8,1KiB", "--seeds", "1",
                                   "--algorithms", "binomial,best", "--by", method, "-w", "json"});
    ASSERT_EQ(answer.exit_code, 0) << answer.err;
    const Json json = Json::parse(answer.out);
    ASSERT_EQ(json.size(), 4u);
    EXPECT_EQ(json[0]["by"], method);
    EXPECT_EQ(json[2]["bytes"], 1024);
    EXPECT_GT(json[2]["mean_ns"], json[0]["mean_ns"]);
  }
}

TEST(TableVerbTest, KnowsCollectivesOfBlocks) {
  for (const std::string collective : {"scatter", "gather", "allgather"}) {
    std::vector<std::string> arguments = {"table",    "--generate", "mgo",          "--nodes",           "9",
                                          "--seeds",  "1-3",        "--algorithms", "binomial,MGO,best", "--collective",
                                          collective, "-w",         "json"};
    const Json replayed = Json::parse(CallSim(arguments).out);
    ASSERT_EQ(replayed.size(), 3u);
    EXPECT_EQ(replayed[0]["collective"], collective);
    EXPECT_LE(replayed[2]["mean_ns"], replayed[1]["mean_ns"]);
    arguments.insert(arguments.end(), {"--by", "run"});
    const Json run = Json::parse(CallSim(arguments).out);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(run[i]["mean_ns"], replayed[i]["mean_ns"]);
  }
}

TEST(SweepVerbTest, ListsMayEndWithTheLargestNumber) {
  const std::string last = absl::StrCat(~uint64_t{0}), first = absl::StrCat(~uint64_t{0} - 1, "-", last);
  for (const std::string& seeds : {last, first}) {
    EXPECT_EQ(CallSim({"table", "--generate", "flat", "--nodes", "2", "--seeds", seeds}).exit_code, 0) << seeds;
  }
  EXPECT_EQ(CallSim({"table", "--generate", "flat", "--nodes", "2", "--seeds", "0-" + last}).exit_code, 2);
}

TEST(SweepVerbTest, ATopologyFileHasItsOwnNodes) {
  const std::string file = PathOf("sweep.yaml");
  std::ofstream(file) << "version: 1\nswitches: [{name: core}]\nnodes: [{name: \"n[1-6]\", switch: core}]\n";
  const Json json =
      Json::parse(CallSim({"table", "--topology", file, "--nodes", "3,6", "--algorithms", "FT", "-w", "json"}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["nodes"], 6);
  EXPECT_EQ(CallSim({"table", "--topology", file, "--nodes", "7"}).exit_code, 2);
  EXPECT_EQ(CallSim({"table", "--topology", file, "--seeds", "1"}).exit_code, 2);
}

TEST(SweepVerbTest, BadUsageIsOneLineAndTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"table"}, "--topology"},
      {{"table", "--generate", "moon"}, "name=moon"},
      {{"table", "--generate", "flat", "--nodes", "0"}, "value=0"},
      {{"table", "--generate", "flat", "--nodes", "10000000"}, "value=10000000"},
      {{"table", "--generate", "flat", "--nodes", "8-4"}, "value=8-4"},
      {{"table", "--generate", "flat", "--nodes", "1-20000"}, "value=1-20000"},
      {{"table", "--generate", "flat", "--nodes", "x"}, "value=x"},
      {{"table", "--generate", "flat", "--bytes", "1,2"}, "values=2, limit=1"},
      {{"sweep", "--generate", "flat", "--nodes", "1,2"}, "values=2, limit=1"},
      {{"table", "--generate", "flat", "--bytes", "-1"}, "bytes"},
      {{"table", "--generate", "flat", "--by", "guess"}, "value=guess"},
      {{"table", "--generate", "flat", "--algorithms", ","}, "algorithms=0"},
      {{"table", "--generate", "flat", "--nodes", "4", "--algorithms", "dance"}, "name=dance"},
      {{"table", "--generate", "flat", "--nodes", "4", "--collective", "barrier"}, "collective=barrier, ppn=1"},
      {{"table", "--generate", "flat", "--nodes", "4", "--collective", "dance"}, "name=dance"},
      {{"table", "--generate", "flat", "--nodes", "4", "--collective", "scatter", "--by", "costs"},
       "collective=scatter, by=costs, ppn=1"},
      {{"table", "--generate", "flat", "--nodes", "4", "--collective", "gather", "--ppn", "2"}, "by=replay, ppn=2"},
      {{"table", "--generate", "flat", "--nodes", "4", "--collective", "gather", "--algorithms", "dissemination"},
       "algorithm=dissemination"},
      {{"table", "--generate", "flat", "--nodes", "4", "--root", "4"}, "root=4, ranks=4"},
  };
  for (const auto& [arguments, thing] : cases) {
    const Answer answer = CallSim(arguments);
    EXPECT_EQ(answer.exit_code, 2) << answer.err;
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, Names(thing));
    EXPECT_EQ(answer.err.find('\n'), answer.err.size() - 1) << answer.err;
  }
  const Answer unwritable = CallSim({"table", "--generate", "flat", "--nodes", "4", "--svg", "/nonexistent/x.svg"});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, Names("/nonexistent/x.svg"));
}

}  // namespace
}  // namespace copse::simcli
