// SPDX-License-Identifier: Apache-2.0
#include "bench/rank_contest.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/taking.h"

namespace copse::bench {

namespace {

Row RowOf(const RankContest& contest, const RankCase& each, uint32_t nodes, const std::string& suffix) {
  Row row;
  row.bench = contest.bench;
  row.what = each.what + suffix;
  row.collective = each.cell.collective;
  row.nodes = nodes;
  row.ppn = contest.ppn;
  row.bytes = each.cell.bytes;
  row.metric = contest.metric;
  row.unit = contest.unit;
  row.note = contest.note;
  return row;
}

}  // namespace

bool AnyWanted(const Options& options, const RankContest& contest, uint32_t nodes) {
  for (const RankCase& each : contest.cases) {
    if (Wanted(options, RowOf(contest, each, nodes, ""))) return true;
  }
  return false;
}

absl::Status RunRankContest(const Options& options, const RankContest& contest, Site* site,
                            const std::function<void(const Row&)>& report) {
  std::vector<Row> rows;
  std::vector<RankCell> cells;
  std::vector<size_t> which;  // of the cases
  for (size_t i = 0; i < contest.cases.size(); ++i) {
    const Row row = RowOf(contest, contest.cases[i], site->nodes(), site->Suffix());
    if (!Wanted(options, row)) continue;
    rows.push_back(row);
    cells.push_back(contest.cases[i].cell);
    which.push_back(i);
  }
  if (rows.empty()) return absl::OkStatus();
  const RankOptions rank_options = {.budget = options.budget > absl::ZeroDuration() ? options.budget : contest.budget,
                                    .calls_max = contest.calls_max,
                                    .cell_timeout = options.cell_timeout};
  std::vector<std::unique_ptr<RankContender>> contenders;
  std::vector<std::unique_ptr<Taking>> takers;
  std::vector<Contender*> pointers;
  for (const std::string& system : contest.systems) {
    if (!WantedSystem(options, system)) continue;
    const auto start = [&contest, site, system](const std::vector<std::string>& arguments) {
      return contest.start ? contest.start(system, arguments) : site->StartRanks(system, contest.ppn, arguments);
    };
    RankContender::Algorithm algorithm;
    if (system == "copse") {
      algorithm = [&contest, site](const RankCell& cell) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const Site::Plan plan, site->PlanOf(cell.collective, cell.bytes));
        if (contest.on_plan) contest.on_plan(cell, plan);
        return plan.algorithm;
      };
    }
    contenders.push_back(std::make_unique<RankContender>(system, start, algorithm, cells, rank_options, contest.hogs));
    Taking::Take take;
    if (contest.take) {
      take = [&contest, &which, system](size_t cell, std::vector<double> samples) {
        return contest.take(system, which[cell], std::move(samples));
      };
    }
    takers.push_back(std::make_unique<Taking>(contenders.back().get(), std::move(take)));
    pointers.push_back(takers.back().get());
  }
  if (pointers.empty()) return absl::OkStatus();
  RunContest(rows, pointers,
             {.runs = options.runs > 0 ? options.runs : contest.runs,
              .unfinished_max = contest.unfinished_max,
              .time_max = contest.peer_time_max,
              .pairs = contest.pairs,
              .differences = contest.differences},
             report);
  return absl::OkStatus();
}

}  // namespace copse::bench
