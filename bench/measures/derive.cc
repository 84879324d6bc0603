// SPDX-License-Identifier: Apache-2.0
//
// Measures how long the ranks of a team wait for its duplicates, one after the other, by who forms them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr uint32_t kNodes = 4, kPerNode = 2;
constexpr uint32_t kWarmUp = 50;
constexpr uint32_t kRuns = 3;
constexpr uint32_t kDuplicates = 500;  // in a run

struct Former {
  const char* name;
  const char* sub_teams;  // the daemons' setting
  bool stops_planner;
};
constexpr Former kFormers[] = {{"by daemons", "daemons", false},
                               {"by daemons, planner stopped", "daemons", true},
                               {"by the planner", "planner", false}};

using Ranks = std::vector<std::unique_ptr<procs::ChildProcess>>;

// Has all ranks form and destroy `count` duplicates. Returns what rank 0 has measured, in microseconds: each duplicate,
// and then all together.
absl::StatusOr<std::vector<double>> Storm(const Ranks& ranks, uint32_t count) {
  for (const auto& rank : ranks) RETURN_IF_ERROR(rank->Write(absl::StrCat(count, "\n")));
  std::vector<double> times_us;
  for (const auto& rank : ranks) {
    for (uint32_t i = 0; i <= count; ++i) {
      const absl::StatusOr<std::string> line = rank->ReadLine(kPatience);
      int64_t ns = 0;
      if (!line.ok() || !absl::SimpleAtoi(*line, &ns)) {
        return absl::InternalError(absl::StrCat("a rank has ended: ", rank->DescribeFailure()));
      }
      if (rank == ranks.front()) times_us.push_back(static_cast<double>(ns) / 1000);
    }
  }
  return times_us;
}

absl::Status RunFormer(const Options& options, const Former& former, const Reporter& report) {
  const Row row{.bench = "derive",
                .what = absl::StrCat("dup and free ", former.name),
                .system = "copse",
                .nodes = kNodes,
                .ppn = kPerNode};
  if (!Wanted(options, row)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/ranks/sub_team_storm"));
  procs::ProcessCluster cluster({.parent = options.folder, .copsed_settings = {{"sub_teams", former.sub_teams}}});
  RETURN_IF_ERROR(cluster.Start({.nodes = kNodes}));
  Ranks ranks;
  for (uint32_t rank = 0; rank < kNodes * kPerNode; ++rank) {
    ASSIGN_OR_RETURN(
        ranks.emplace_back(),
        cluster.StartApplication(rank / kPerNode, {program, absl::StrCat(rank), absl::StrCat(kNodes * kPerNode)}));
  }
  for (const auto& rank : ranks) RETURN_IF_ERROR(rank->ReadLine(kPatience).status());
  RETURN_IF_ERROR(Storm(ranks, kWarmUp).status());
  if (former.stops_planner) cluster.StopPlanner();
  std::vector<double> periods_us, medians_us, p99s_us;
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 1 : kRuns;
  for (uint32_t run = 0; run < runs; ++run) {
    ASSIGN_OR_RETURN(std::vector<double> times_us, Storm(ranks, options.quick ? 50 : kDuplicates));
    periods_us.push_back(times_us.back() / static_cast<double>(times_us.size() - 1));
    times_us.pop_back();
    std::sort(times_us.begin(), times_us.end());
    medians_us.push_back(times_us[(times_us.size() - 1) / 2]);
    p99s_us.push_back(times_us[(times_us.size() - 1) * 99 / 100]);
  }
  if (former.stops_planner) cluster.ContinuePlanner();
  report(Figure(row, "period", "us", periods_us));
  report(Figure(row, "latency", "us", medians_us));
  report(Figure(row, "p99", "us", p99s_us));
  for (const auto& rank : ranks) rank->CloseInput();
  for (const auto& rank : ranks) RETURN_IF_ERROR(rank->AwaitEnd(kPatience));
  return cluster.Stop(kPatience);
}

}  // namespace

absl::Status RunDerive(const Options& options, const Contest& /*contest*/, const Reporter& report) {
  for (const Former& former : kFormers) RETURN_IF_ERROR(RunFormer(options, former, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
