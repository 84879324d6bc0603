// SPDX-License-Identifier: Apache-2.0
//
// A contest of systems whose ranks are those of rank_main.c, on one site.
#ifndef COPSE_BENCH_RANK_CONTEST_H_
#define COPSE_BENCH_RANK_CONTEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/bench.h"
#include "bench/hogs.h"
#include "bench/rank_contender.h"
#include "bench/site.h"

namespace copse::bench {

struct RankCase {
  std::string what;  // the row's case; the site adds to it
  RankCell cell;
};

struct RankContest {
  std::string bench;
  std::string metric;
  std::string unit;
  uint32_t ppn = 1;
  std::vector<std::string> systems;  // the first is the one whose ratios to the others are reported
  std::vector<RankCase> cases;
  std::string note;
  uint32_t runs = 1;
  absl::Duration budget;
  uint32_t calls_max = 0;
  // Of one peer: a run of 64 polling ranks takes minutes on two cores.
  absl::Duration peer_time_max = absl::Seconds(30);
  uint32_t unfinished_max = 2;  // as in ContestOptions
  Hogs* hogs = nullptr;
  // Whom to compare, and how: as in ContestOptions.
  std::vector<std::pair<std::string, std::string>> pairs;
  bool differences = false;
  // Starts a system's ranks, which say what RankContender reads. Null: those of rank_main.c, on the site.
  std::function<absl::StatusOr<RankProcesses>(const std::string& system, const std::vector<std::string>& arguments)>
      start;
  // Of what a system's ranks measured in one of `cases`, in each run: what counts in the contest. An error fails the
  // cell. Null: all.
  std::function<absl::StatusOr<std::vector<double>>(const std::string& system, size_t index,
                                                    std::vector<double> samples)>
      take;
  // Told Copse's plan for each cell, while its team exists; may be null.
  std::function<void(const RankCell& cell, const Site::Plan& plan)> on_plan;
};

// Whether a site is needed at all.
bool AnyWanted(const Options& options, const RankContest& contest, uint32_t nodes);

// Leaves out what the options do not want.
absl::Status RunRankContest(const Options& options, const RankContest& contest, Site* site,
                            const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_RANK_CONTEST_H_
