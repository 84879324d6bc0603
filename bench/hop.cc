// SPDX-License-Identifier: Apache-2.0
#include "bench/hop.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/contest.h"
#include "bench/pair_start.h"
#include "bench/rank_contender.h"
#include "bench/rank_contest.h"
#include "bench/site.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

using procs::ChildProcess;
using Reporter = std::function<void(const Row&)>;

constexpr char kValgrind[] = "/usr/bin/valgrind";
constexpr char kPair[] = "bench/hop_pair";

Row RowOf(const std::string& what, uint32_t nodes, const std::string& metric, const std::string& unit) {
  Row row;
  row.bench = "hop";
  row.what = what;
  row.nodes = nodes;
  row.ppn = 1;
  row.metric = metric;
  row.unit = unit;
  return row;
}

// A barrier of a team of one rank: into the DQ, through the daemon, out of the EQ.
absl::Status RunLocal(const Options& options, const Reporter& report) {
  RankContest contest;
  contest.bench = "hop";
  contest.metric = "latency";
  contest.unit = "us";
  contest.systems = {"copse"};
  contest.cases = {{"local no-op: barrier of one rank", {"latency", "barrier", 0}},
                   {"local no-op: barrier of one rank, back-to-back", {"stream", "barrier", 0}}};
  contest.runs = options.quick ? 2 : 5;
  contest.budget = absl::Milliseconds(options.quick ? 50 : 300);
  contest.calls_max = options.quick ? 200 : 2000;
  if (!AnyWanted(options, contest, 1)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Site> site,
                   Site::Open({.nodes = 1, .parent = options.folder, .loopback = true}));
  return RunRankContest(options, contest, site.get(), report);
}

// "==12== Collected : 123456"
absl::StatusOr<double> CollectedInstructions(ChildProcess* valgrind, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  constexpr absl::string_view kMark = "Collected : ";
  for (;;) {
    ASSIGN_OR_RETURN(const std::string line, valgrind->ReadLine(deadline - absl::Now()));
    const size_t at = line.find(kMark.data());
    double instructions = 0;
    if (at != std::string::npos && absl::SimpleAtod(line.substr(at + kMark.size()), &instructions)) return instructions;
  }
}

absl::StatusOr<double> CountInstructions(const std::string& name, uint64_t packets, absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/engine_packets"));
  ASSIGN_OR_RETURN(const auto valgrind,
                   ChildProcess::Start({.arguments = {kValgrind, "--tool=callgrind", "--collect-atstart=no",
                                                      "--callgrind-out-file=/dev/null", "--log-fd=1", program, name,
                                                      absl::StrCat(packets)},
                                        .stdout_pipe = true}));
  ASSIGN_OR_RETURN(const double instructions, CollectedInstructions(valgrind.get(), timeout));
  return instructions / static_cast<double>(packets);
}

// Instructions are the same in each run, so there is one.
void RunInstructions(const Options& options, const std::string& name, const std::string& what, const Reporter& report) {
  Row row = RowOf(what, 2, "instructions", "instructions");
  row.system = "copse";
  row.collective = name;
  row.bytes = name == "packet" ? 128 : 0;
  row.note = "callgrind; the engines alone, sent and received";
  if (!Wanted(options, row)) return;
  const absl::StatusOr<double> counted = CountInstructions(name, options.quick ? 1000 : 10'000, options.cell_timeout);
  if (counted.ok()) {
    Summarize({*counted}, &row);
  } else {
    row.metric = "unfinished";
    row.note = std::string(counted.status().message());
  }
  report(row);
}

void RunPairs(const Options& options, const Reporter& report) {
  std::vector<Row> rows;
  std::vector<RankCell> cells;
  for (const std::string mode : {"polling", "sleeping"}) {
    Row row = RowOf(absl::StrCat("packet 128 B one way, ", mode), 2, "latency", "us");
    row.collective = "packet";
    row.bytes = 128;
    row.note = "half of a round trip over TCP on loopback";
    if (!Wanted(options, row)) continue;
    rows.push_back(row);
    cells.push_back({mode, "packet", 128});
  }
  if (rows.empty()) return;
  const RankOptions rank_options = {.budget = absl::Milliseconds(options.quick ? 50 : 300),
                                    .calls_max = options.quick ? 1000u : 4000u,
                                    .cell_timeout = options.cell_timeout};
  RankContender copse("copse", PairStart(kPair, "copse"), nullptr, cells, rank_options, nullptr);
  RankContender ucx("ucx", PairStart(kPair, "ucx"), nullptr, cells, rank_options, nullptr);
  RunContest(rows, {&copse, &ucx}, {.runs = options.quick ? 2u : 9u}, report);
}

}  // namespace

absl::Status RunHop(const Options& options, const Reporter& report) {
  RETURN_IF_ERROR(RunLocal(options, report));
  RunInstructions(options, "packet", "engine, a packet from client to client", report);
  RunInstructions(options, "barrier", "engine, a packet of a barrier on two nodes", report);
  RunPairs(options, report);
  return absl::OkStatus();
}

}  // namespace copse::bench
