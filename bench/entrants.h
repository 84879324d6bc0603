// SPDX-License-Identifier: Apache-2.0
//
// A contest of systems of which each may have a site, and words in its cells, of its own.
#ifndef COPSE_BENCH_ENTRANTS_H_
#define COPSE_BENCH_ENTRANTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/bench.h"
#include "bench/rank_contender.h"
#include "bench/row.h"
#include "bench/site.h"

namespace copse::bench {

struct Entrant {
  std::string name;   // in rows
  std::string ranks;  // as Site::StartRanks has it
  Site* site = nullptr;
  std::vector<std::string> words;  // added to those of its cells
};

struct EntrantContest {
  uint32_t ppn = 1;
  std::vector<Entrant> entrants;  // the first is the one whose ratios to the others are reported
  std::vector<Row> rows;
  std::vector<RankCell> cells;  // of the rows
  uint32_t runs = 1;
  absl::Duration budget;
  uint32_t calls_max = 0;
  absl::Duration peer_time_max = absl::InfiniteDuration();
  uint32_t unfinished_max = 2;
  absl::Duration start_timeout = absl::Seconds(60);
  // Of what the ranks of an entrant measured in a cell, in each run: what counts in the contest. Null: all.
  std::function<std::vector<double>(const Entrant& entrant, size_t cell, std::vector<double> samples)> take;
  // Told the plan of each cell of Copse's entrants, while their team exists; may be null.
  std::function<void(const Entrant& entrant, size_t cell, const Site::Plan& plan)> on_plan;
};

// Leaves out what the options do not want. Ratios to the better MPI library are rows, too.
void RunEntrants(const Options& options, const EntrantContest& contest, const std::function<void(const Row&)>& report);

// A figure beside those of the contest: `row` with another metric.
Row Figure(const Row& row, const std::string& metric, const std::string& unit, std::vector<double> values);

}  // namespace copse::bench

#endif  // COPSE_BENCH_ENTRANTS_H_
