// SPDX-License-Identifier: Apache-2.0
//
// copse-perftest on a cluster of two nodes with two ranks each.
#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/testing/status_matchers.h"
#include "collectives/collective.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "nlohmann/json.hpp"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::procs {
namespace {

using copse::testing::Names;
using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint32_t kRanks = 4;
// A run of all collectives with three sizes: a barrier has one size.
constexpr size_t kRowsOfAll = 1 + (kCollectiveCount - 1) * 3;

std::vector<std::string> Split(const std::string& text) { return absl::StrSplit(text, ' ', absl::SkipEmpty()); }

struct Ended {
  std::vector<int> exit_codes;      // by rank
  std::vector<std::string> output;  // lines
  std::string errors;               // of all ranks, in order of rank
};

class PerftestTest : public ClusterFixture {
 protected:
  void SetUp() override {
    const auto program = FindProgram("cli/perftest/copse-perftest");
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *program;
    const absl::Status started = cluster_.Start({.nodes = 2});
    ASSERT_TRUE(started.ok()) << started;
  }

  // A process for each of `command_lines`, on nodes 0, 0, 1, 1. Rank 0's is the output.
  Ended Run(const std::vector<std::string>& command_lines, const std::map<std::string, std::string>& environment = {}) {
    Launch(command_lines, environment);
    return Await();
  }
  // The same command line for the four ranks of a team.
  Ended RunTeam(const std::string& command_line) { return Run(TeamLines(command_line)); }
  static std::vector<std::string> TeamLines(const std::string& command_line) {
    std::vector<std::string> lines;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      lines.push_back(absl::StrCat(command_line, " --rank ", rank, " --ranks ", kRanks));
    }
    return lines;
  }

  void Launch(const std::vector<std::string>& command_lines,
              const std::map<std::string, std::string>& environment = {}) {
    processes_.clear();
    first_log_ = launched_;
    for (uint32_t i = 0; i < command_lines.size(); ++i, ++launched_) {
      std::vector<std::string> arguments = Split(command_lines[i]);
      arguments.insert(arguments.begin(), program_);
      auto process = cluster_.StartApplication(i / 2, arguments, environment);
      ASSERT_TRUE(process.ok()) << process.status();
      processes_.push_back(std::move(*process));
    }
  }

  Ended Await() {
    Ended ended;
    for (const auto& process : processes_) {
      const absl::Status end = process->ReadToEnd(kPatience, &ended.output);
      EXPECT_TRUE(end.ok()) << end;
      if (!end.ok()) process->Signal(SIGKILL);
      ended.exit_codes.push_back(end.ok() ? process->exit_code() : -1);
    }
    for (size_t i = 0; i < processes_.size(); ++i) ended.errors += ErrorsOf(first_log_ + static_cast<uint32_t>(i));
    return ended;
  }

  // The standard error of an application.
  std::string ErrorsOf(uint32_t application) const {
    return ContentOf(absl::StrCat(cluster_.folder(), "/a", application, ".log"));
  }

  std::string program_;
  std::vector<std::unique_ptr<ChildProcess>> processes_;
  uint32_t launched_ = 0, first_log_ = 0;
};

// Without lines that begin with #.
std::vector<std::vector<std::string>> TableOf(const Ended& ended) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : ended.output) {
    if (!line.empty() && line[0] != '#') rows.push_back(Split(line));
  }
  return rows;
}

std::vector<json> JsonOf(const Ended& ended) {
  std::vector<json> rows;
  for (const std::string& line : ended.output) rows.push_back(json::parse(line));
  return rows;
}

const std::vector<int> kAllDone(kRanks, 0);

TEST_F(PerftestTest, ATableHasARowForEachSize) {
  const Ended ended = RunTeam("-e 64KiB -f 4 -n 20 -w 5");
  ASSERT_EQ(ended.exit_codes, kAllDone) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  const auto rows = TableOf(ended);
  ASSERT_EQ(rows.size(), 8u);
  uint64_t count = 1;
  for (const auto& row : rows) {
    // count bytes avg min max p10 median p90 p99 MB/s
    ASSERT_EQ(row.size(), 10u);
    EXPECT_EQ(row[0], absl::StrCat(count));
    EXPECT_EQ(row[1], absl::StrCat(count * 4));
    std::vector<double> us;
    for (size_t i = 2; i < row.size(); ++i) us.push_back(std::stod(row[i]));
    EXPECT_GT(us[1], 0);
    EXPECT_LE(us[1], us[0]);
    EXPECT_LE(us[0], us[2]);
    EXPECT_LE(us[3], us[4]);
    EXPECT_LE(us[4], us[5]);
    EXPECT_LE(us[5], us[6]);
    count *= 4;
  }
  EXPECT_NE(ended.output[1].find("4 ranks, 2 nodes, at most 2 ranks a node"), std::string::npos) << ended.output[1];
}

TEST_F(PerftestTest, EveryCollectiveInEveryModeHasRightData) {
  for (const std::string mode :
       {"-M blocking", "-M blocking -B -i", "-M nonblocking -m copse", "-M nonblocking --completion test -i", "-p",
        "-p -m copse -B", "-M overlap -t 2", "-M overlap -p -i -m copse"}) {
    const Ended ended = RunTeam(absl::StrCat("-c all -b 0 -e 1000 -f 1000 -n 5 -w 2 -S 1 -C --format json ", mode));
    ASSERT_EQ(ended.exit_codes, kAllDone) << mode << ": " << ended.errors;
    const bool overlap = mode.find("overlap") != std::string::npos;
    const auto rows = JsonOf(ended);
    ASSERT_EQ(rows.size(), kRowsOfAll * (overlap ? 4 : 1)) << mode;
    for (const json& row : rows) {
      EXPECT_EQ(row["errors"], 0) << row;
      EXPECT_EQ(row["runs"], 5) << row;
      if (row["unit"] == "us") {
        EXPECT_GT(row["min"], 0) << row;
      } else {
        EXPECT_EQ(row["metric"], "overlap");
        EXPECT_GE(row["avg"], 0) << row;
        EXPECT_LE(row["avg"], 100) << row;
      }
    }
  }
}

TEST_F(PerftestTest, EveryTypeAndOperationHasRightData) {
  for (const std::string options :
       {"half -o sum", "float16 -o max", "bfloat16 -o prod", "bfloat16 -o sum", "float32_complex -o prod",
        "float64_complex -o sum", "byte -o bxor", "float_int -o minloc", "double_int -o maxloc", "long_int -o minloc",
        "2int -o maxloc", "short_int -o minloc"}) {
    const Ended ended = RunTeam(absl::StrCat("-C -b 300 -e 300 -n 2 -w 0 -d ", options));
    EXPECT_EQ(ended.exit_codes, kAllDone) << options << ": " << ended.errors;
  }
  for (const std::string type : {"int8", "uint16", "int32", "uint64", "float", "double"}) {
    for (const std::string op : {"sum", "prod", "min", "max", "lxor", "bor"}) {
      if (op == "bor" && (type == "float" || type == "double")) continue;
      const Ended ended = RunTeam(absl::StrCat("-C -b 300 -e 300 -n 2 -w 0 -d ", type, " -o ", op));
      EXPECT_EQ(ended.exit_codes, kAllDone) << type << " " << op << ": " << ended.errors;
    }
  }
}

TEST_F(PerftestTest, CheckFindsARankWithOtherData) {
  std::vector<std::string> lines = TeamLines("-C -b 100 -e 100 -n 5 -w 0 --format json");
  lines[2] += " --seed 2";
  const Ended ended = Run(lines);
  EXPECT_EQ(ended.exit_codes, std::vector<int>(kRanks, 1));
  EXPECT_GT(JsonOf(ended).at(0)["errors"], 0);
  // Rank 0 speaks for all.
  EXPECT_THAT(ended.errors, Names("copse-perftest: ", "collective=allreduce", "count=100", "elements="));
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
}

TEST_F(PerftestTest, OptionsThatDifferAreFoundBeforeTheFirstCall) {
  std::vector<std::string> lines = TeamLines("-e 4 -n 5");
  lines[3] += " -w 7";
  const Ended ended = Run(lines);
  EXPECT_EQ(ended.exit_codes, std::vector<int>(kRanks, 1));
  EXPECT_THAT(ended.errors, Names("copse-perftest: rank 3: ", "rank=3"));
  EXPECT_TRUE(TableOf(ended).empty());
}

TEST_F(PerftestTest, JsonAndCsvHaveTheSameFields) {
  const auto rows = JsonOf(RunTeam("-c barrier,reduce -b 8 -e 8 -n 5 -w 0 --seed 7 --format json"));
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) {
    EXPECT_EQ(row["bench"], "perftest");
    EXPECT_EQ(row["system"], "copse");
    EXPECT_EQ(row["nodes"], 2);
    EXPECT_EQ(row["ppn"], 2);
    EXPECT_EQ(row["ranks"], kRanks);
    EXPECT_EQ(row["metric"], "latency");
    EXPECT_EQ(row["unit"], "us");
    EXPECT_EQ(row["seed"], 7);
    EXPECT_TRUE(row["errors"].is_null());
    EXPECT_LE(row["p10"], row["median"]);
    EXPECT_LE(row["median"], row["p90"]);
    EXPECT_LE(row["p90"], row["p99"]);
  }
  EXPECT_EQ(rows[0]["case"], "blocking, barrier before");
  EXPECT_EQ(rows[1]["case"], "blocking, barrier before, root 0");
  EXPECT_TRUE(rows[0]["bandwidth"].is_null());
  EXPECT_GT(rows[1]["bandwidth"], 0);
  EXPECT_EQ(rows[1]["bytes"], 32);

  const Ended csv = RunTeam("-c barrier,reduce -b 8 -e 8 -n 5 -w 0 --seed 7 --format csv");
  ASSERT_EQ(csv.output.size(), 3u);
  const std::vector<std::string> names = absl::StrSplit(csv.output[0], ',');
  EXPECT_EQ(names.size(), rows[0].size());
  for (const std::string& name : names) EXPECT_TRUE(rows[0].contains(name)) << name;
  EXPECT_EQ(csv.output[2].find("perftest,\"blocking, barrier before, root 0\",copse,reduce,,2,2,4,32,latency,us,5,"),
            0u)
      << csv.output[2];
}

TEST_F(PerftestTest, RefusedSizesAreRows) {
  // More than any call may carry.
  const Ended ended = RunTeam("-b 131072GiB -e 131072GiB -n 2 -w 0 --format json");
  EXPECT_EQ(ended.exit_codes, std::vector<int>(kRanks, 1));
  const auto rows = JsonOf(ended);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["metric"], "refused");
  EXPECT_TRUE(rows[0]["median"].is_null());
  EXPECT_FALSE(rows[0]["note"].get<std::string>().empty()) << rows[0];
  EXPECT_EQ(ended.errors.find("copse-perftest: refused: "), 0u) << ended.errors;
}

TEST_F(PerftestTest, IrregularCollectivesHaveCountsOfAllKinds) {
  const std::string irregular = "-c gatherv,scatterv,allgatherv,alltoallv,reduce_scatterv";
  for (const std::string counts : {"heavy", "random -i", "empty --counts-known -S 1", "random --counts-known -p",
                                   "heavy -M nonblocking -i -m copse -S 3"}) {
    const Ended ended =
        RunTeam(absl::StrCat(irregular, " -C -b 10 -e 10000 -f 1000 -n 3 -w 1 --format json --counts ", counts));
    ASSERT_EQ(ended.exit_codes, kAllDone) << counts << ": " << ended.errors;
    const auto rows = JsonOf(ended);
    ASSERT_EQ(rows.size(), 10u) << counts;
    for (const json& row : rows) EXPECT_EQ(row["errors"], 0) << row;
    const std::string kind = counts.substr(0, counts.find(' '));
    EXPECT_NE(rows[0]["case"].get<std::string>().find(absl::StrCat(", ", kind, " counts")), std::string::npos)
        << rows[0];
  }
}

TEST_F(PerftestTest, ReproducibleReductions) {
  const std::string reductions = "-c reduce,allreduce,reduce_scatter,scan,exscan,reduce_scatterv --reproducible";
  for (const std::string options : {"-b 1 -e 4096 -f 4096 -d half", "-b 0 -e 1 -i", "-b 64KiB -e 1MiB -f 16 -S 1",
                                    "-b 100 -e 100 -o prod -d float64_complex -p --counts random"}) {
    const Ended ended = RunTeam(absl::StrCat(reductions, " -C -n 3 -w 1 --format json ", options));
    ASSERT_EQ(ended.exit_codes, kAllDone) << options << ": " << ended.errors;
    for (const json& row : JsonOf(ended)) {
      EXPECT_EQ(row["errors"], 0) << row;
      EXPECT_NE(row["case"].get<std::string>().find(", reproducible"), std::string::npos) << row;
    }
  }
}

TEST_F(PerftestTest, MessagesOfSeveralChunks) {
  const Ended ended = RunTeam("-c all -C -b 64KiB -e 1MiB -n 3 -w 1 --format json");
  ASSERT_EQ(ended.exit_codes, std::vector<int>(kRanks, 0)) << ended.errors;
  for (const auto& row : JsonOf(ended)) EXPECT_EQ(row["errors"], 0) << row;
}

TEST_F(PerftestTest, ASizeBeyondTheMemoryIsRefusedBeforeItIsFilled) {
  for (const std::string memory : {"host", "copse"}) {
    const Ended ended =
        Run({absl::StrCat("--local 2 -c bcast,barrier -b 1TiB -e 1TiB -n 1 -w 0 --format json -m ", memory)});
    EXPECT_EQ(ended.exit_codes, std::vector<int>{1}) << ended.errors;
    const auto rows = JsonOf(ended);
    ASSERT_EQ(rows.size(), 2u) << ended.errors;
    EXPECT_EQ(rows[0]["metric"], "refused");
    EXPECT_THAT(rows[0]["note"].get<std::string>(), Names("elements=274877906944", "ranks_on_node=2", "limit="));
    EXPECT_EQ(rows[1]["metric"], "latency");
  }
}

TEST_F(PerftestTest, LocalStartsItsOwnRanks) {
  const Ended ended = Run({"--local 3 -c all -C -e 4 -n 5 -w 1 --format json"});
  ASSERT_EQ(ended.exit_codes, std::vector<int>{0}) << ended.errors;
  const auto rows = JsonOf(ended);
  ASSERT_EQ(rows.size(), kRowsOfAll);
  EXPECT_EQ(rows[0]["ranks"], 3);
  EXPECT_EQ(rows[0]["nodes"], 1);
}

TEST_F(PerftestTest, LocalRanksEndWithTheirParent) {
  Launch({"--local 2 -c allreduce -b 1 -e 1 -n 10000000"});
  const auto heading = processes_[0]->ReadLine(kPatience);
  ASSERT_TRUE(heading.ok()) << heading.status();
  processes_[0]->Signal(SIGKILL);
  // Rank 0 has the other end of the pipe.
  absl::StatusOr<std::string> line = heading;
  while (line.ok()) line = processes_[0]->ReadLine(kPatience);
  EXPECT_TRUE(absl::IsOutOfRange(line.status())) << line.status();
  // The cluster is none the worse for it.
  const Ended ended = Run({"--local 2 -e 1 -n 1 -w 0 --timeout 30"});
  EXPECT_EQ(ended.exit_codes, std::vector<int>{0}) << ended.errors;
  EXPECT_NE(ended.output[1].find("2 ranks, 1 node, at most 2 ranks a node"), std::string::npos) << ended.output[1];
}

TEST_F(PerftestTest, BadInputIsExitCode2AndOneLine) {
  for (const std::string line : {"", "--local 2 -c alltoallw", "--local 2 -b 8 -e 4", "--rank 4 --ranks 4", "--local 0",
                                 "--local 2 -o bor", "--local 2 --frobnicate", "--local 2 extra"}) {
    const Ended ended = Run({line});
    EXPECT_EQ(ended.exit_codes, std::vector<int>{2}) << line;
    EXPECT_EQ(ended.errors.find("copse-perftest: usage: "), 0u) << ended.errors;
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
    EXPECT_TRUE(ended.output.empty());
  }
}

TEST_F(PerftestTest, NoDaemonIsExitCode3AndOneLineOfAllRanks) {
  const Ended ended = Run({"--local 3"}, {{"COPSE_SOCKET", absl::StrCat(cluster_.folder(), "/none")}});
  EXPECT_EQ(ended.exit_codes, std::vector<int>{3});
  EXPECT_THAT(ended.errors, Names("copse-perftest: rank 0: init: ", "tried="));
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
}

TEST_F(PerftestTest, AMemberThatNeverComesIsExitCode4) {
  const Ended ended = Run({"--rank 0 --ranks 2 --timeout 0.2"});
  EXPECT_EQ(ended.exit_codes, std::vector<int>{4});
  EXPECT_THAT(ended.errors, Names("copse-perftest: ", "200ms"));
}

TEST_F(PerftestTest, AMemberThatDiesIsNamed) {
  for (const std::string mode : {"-M blocking", "-p", "-M overlap --completion test"}) {
    Launch(TeamLines(absl::StrCat("-c barrier,allreduce -b 1 -e 1 -n 10000000 -w 0 -C ", mode)));
    // Its heading says that the team has formed.
    const auto heading = processes_[0]->ReadLine(kPatience);
    ASSERT_TRUE(heading.ok()) << heading.status();
    processes_[3]->Signal(SIGKILL);
    const Ended ended = Await();
    EXPECT_EQ(ended.exit_codes, (std::vector<int>{1, 1, 1, 128 + SIGKILL})) << mode;
    EXPECT_NE(ended.errors.find("copse-perftest: rank 0: "), std::string::npos) << ended.errors;
    EXPECT_NE(ended.errors.find("rank 3"), std::string::npos) << ended.errors;
  }
}

TEST_F(PerftestTest, AStoppedMemberIsATimeOut) {
  for (const std::string mode : {"-M blocking", "-M nonblocking", "-p --completion test"}) {
    // Rank 1 gives up first, and its end must not be the others' reason.
    std::vector<std::string> lines = TeamLines(absl::StrCat("-b 1 -e 1 -n 10000000 -w 0 -B ", mode));
    const std::vector<std::string> timeouts = {"1.5", "1", "1.2"};
    for (size_t rank = 0; rank < timeouts.size(); ++rank) lines[rank] += " --timeout " + timeouts[rank];
    Launch(lines);
    const auto heading = processes_[0]->ReadLine(kPatience);
    ASSERT_TRUE(heading.ok()) << heading.status();
    processes_[3]->Signal(SIGSTOP);
    for (uint32_t rank = 0; rank < timeouts.size(); ++rank) {
      const absl::Status end = processes_[rank]->AwaitEnd(kPatience);
      ASSERT_TRUE(end.ok()) << end;
      EXPECT_EQ(processes_[rank]->exit_code(), 4) << mode << ": " << ErrorsOf(first_log_ + rank);
    }
    processes_[3]->Signal(SIGKILL);
    Await();
  }
}

}  // namespace
}  // namespace copse::procs
