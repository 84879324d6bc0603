// SPDX-License-Identifier: Apache-2.0
#include "bench/entrants.h"

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "bench/better_mpi.h"
#include "bench/contest.h"
#include "bench/taking.h"

namespace copse::bench {
namespace {

// One entrant's cells, with its words.
std::vector<RankCell> CellsOf(const EntrantContest& contest, const Entrant& entrant, const std::vector<size_t>& which) {
  std::vector<RankCell> cells;
  for (const size_t i : which) {
    RankCell& cell = cells.emplace_back(contest.cells[i]);
    cell.words.insert(cell.words.end(), entrant.words.begin(), entrant.words.end());
  }
  return cells;
}

}  // namespace

void RunEntrants(const Options& options, const EntrantContest& contest, const std::function<void(const Row&)>& report) {
  std::vector<size_t> which;
  std::vector<Row> rows;
  for (size_t i = 0; i < contest.rows.size(); ++i) {
    if (!Wanted(options, contest.rows[i])) continue;
    which.push_back(i);
    rows.push_back(contest.rows[i]);
  }
  if (rows.empty()) return;
  const RankOptions rank_options = {.budget = options.budget > absl::ZeroDuration() ? options.budget : contest.budget,
                                    .calls_max = contest.calls_max,
                                    .cell_timeout = options.cell_timeout,
                                    .start_timeout = contest.start_timeout};
  std::vector<std::unique_ptr<RankContender>> contenders;
  std::vector<std::unique_ptr<Taking>> takers;
  std::vector<Contender*> pointers;
  uint32_t libraries = 0;
  for (const Entrant& entrant : contest.entrants) {
    if (!WantedSystem(options, entrant.name)) continue;
    libraries += IsMpi(entrant.name);
    const auto start = [&contest, &entrant](const std::vector<std::string>& arguments) {
      return entrant.site->StartRanks(entrant.ranks, contest.ppn, arguments);
    };
    const std::vector<RankCell> cells = CellsOf(contest, entrant, which);
    RankContender::Algorithm algorithm;
    if (entrant.ranks == "copse") {
      algorithm = [&contest, &entrant, &which](const RankCell& cell) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const Site::Plan plan, entrant.site->PlanOf(cell.collective, cell.bytes));
        for (const size_t i : which) {
          const bool same = contest.cells[i].collective == cell.collective && contest.cells[i].bytes == cell.bytes;
          if (same && contest.on_plan) contest.on_plan(entrant, i, plan);
        }
        return plan.algorithm;
      };
    }
    contenders.push_back(std::make_unique<RankContender>(entrant.name, start, algorithm, cells, rank_options, nullptr));
    Taking::Take take;
    if (contest.take) {
      take = [&contest, &entrant, &which](size_t cell, std::vector<double> samples) {
        return contest.take(entrant, which[cell], std::move(samples));
      };
    }
    takers.push_back(std::make_unique<Taking>(contenders.back().get(), take));
    pointers.push_back(takers.back().get());
  }
  if (pointers.empty()) return;
  RunContest(rows, pointers,
             {.runs = options.runs > 0 ? options.runs : contest.runs,
              .unfinished_max = contest.unfinished_max,
              .time_max = contest.peer_time_max},
             WithBetterMpi(libraries, report));
}

Row Figure(const Row& row, const std::string& metric, const std::string& unit, std::vector<double> values) {
  Row figure = row;
  figure.metric = metric;
  figure.unit = unit;
  Summarize(std::move(values), &figure);
  return figure;
}

}  // namespace copse::bench
