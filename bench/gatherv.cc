// SPDX-License-Identifier: Apache-2.0
#include "bench/gatherv.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/better_mpi.h"
#include "bench/entrants.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint64_t kSizes[] = {8, 8'000};
constexpr const char* kHeldCase = "what the root holds";

std::string SizeOf(uint64_t bytes) {
  return bytes < 1'000 ? absl::StrCat(bytes, " B") : absl::StrCat(bytes / 1'000, " kB");
}

// What the calls of one entrant took in one cell, of all runs.
struct Calls {
  std::vector<double> slowest_us, root_us;
};

struct Cells {
  std::vector<Row> rows;
  std::vector<RankCell> cells;

  void Add(Row row, const std::string& what, const std::string& mode, const std::string& collective, uint64_t bytes,
           std::vector<std::string> words) {
    row.what = what;
    row.collective = collective;
    row.bytes = bytes;
    rows.push_back(row);
    cells.push_back({mode, collective, bytes, std::move(words)});
  }
};

Cells CellsFor(uint32_t nodes, uint32_t ppn, bool quick) {
  Row row;
  row.bench = "gatherv";
  row.nodes = nodes;
  row.ppn = ppn;
  row.metric = "latency";
  row.unit = "us";
  row.note = nodes * ppn > 2 ? "more ranks than cores: MPI polls, Copse sleeps" : "";
  Cells cells;
  for (const uint64_t bytes : kSizes) {
    if (quick && bytes == kSizes[0]) continue;
    const std::string size = SizeOf(bytes);
    cells.Add(row, "gather " + size, "rooted", "gather", bytes, {});
    for (const std::string pattern : {"equal", "heavy", "random", "empty"}) {
      if (quick && pattern != "random") continue;
      cells.Add(row, absl::StrCat("gatherv ", size, ", ", pattern), "rooted", "gatherv", bytes, {pattern});
    }
    cells.Add(row, absl::StrCat("gatherv ", size, ", random, first of a team"), "cold", "gatherv", bytes, {"random"});
  }
  row.metric = "memory";
  row.unit = "KB";
  row.note = "PSS of the root's process and, if it has one, of its daemon";
  cells.Add(row, kHeldCase, "held", "gatherv", kSizes[1], {"random"});
  return cells;
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

// An entrant's row of a cell of mode "rooted", once more by other figures.
void ReportFigures(const Row& row, const Calls& calls, const Reporter& report) {
  if (row.metric == "unfinished" || calls.slowest_us.empty()) return;
  const double sum = std::accumulate(calls.slowest_us.begin(), calls.slowest_us.end(), 0.0);
  Row mean = Figure(row, "mean", "us", {sum / static_cast<double>(calls.slowest_us.size())});
  mean.note = absl::StrCat("of ", calls.slowest_us.size(), " calls");
  report(mean);
  for (const auto& [metric, value] : {std::pair<std::string, double>("p99", Quantile(calls.slowest_us, 0.99)),
                                      {"root's maximum", Quantile(calls.root_us, 1)}}) {
    Row figure = Figure(row, metric, "us", {value});
    figure.note = mean.note;
    report(figure);
  }
}

// MPI libraries that have not finished a cell which Copse has are slower than this.
Row BoundOf(const Row& better, const Row& ours, absl::Duration limit) {
  Row bound = Figure(better, "ratio", "1", {ours.median / absl::ToDoubleMicroseconds(limit)});
  bound.note = absl::StrCat("at most: no library has finished within ", absl::FormatDuration(limit));
  return bound;
}

// Of the same nodes: plans are the planner's choice, linear, and a binomial tree.
struct Sites {
  std::unique_ptr<Site> best, linear, binomial;
};

absl::StatusOr<Sites> OpenSites(const Options& options, uint32_t nodes) {
  const auto open = [&](const char* algorithm) {
    SiteOptions site = {.nodes = nodes, .parent = options.folder};
    site.algorithm = algorithm;
    return Site::Open(site);
  };
  Sites sites;
  ASSIGN_OR_RETURN(sites.best, open(""));
  ASSIGN_OR_RETURN(sites.linear, open("flat"));
  ASSIGN_OR_RETURN(sites.binomial, open("bt"));
  return sites;
}

absl::Status RunRanks(const Options& options, uint32_t nodes, uint32_t ppn, const Sites& sites,
                      const Reporter& report) {
  Cells cells = CellsFor(nodes, ppn, options.quick);
  std::map<std::pair<std::string, std::string>, Calls> calls;  // by entrant and case
  std::map<std::string, std::vector<double>> connections;      // by entrant
  std::map<std::string, uint32_t> children;                    // of the root, by entrant
  EntrantContest contest;
  contest.ppn = ppn;
  contest.entrants = {
      {"copse", "copse", sites.best.get(), {}},          {"copse-known", "copse", sites.best.get(), {"known"}},
      {"copse-linear", "copse", sites.linear.get(), {}}, {"copse-bt", "copse", sites.binomial.get(), {}},
      {"openmpi", "openmpi", sites.best.get(), {}},      {"mpich", "mpich", sites.best.get(), {}}};
  contest.rows = cells.rows;
  contest.cells = cells.cells;
  contest.runs = options.quick ? 1 : 3;
  contest.budget = absl::Milliseconds(options.quick ? 30 : 400);
  contest.calls_max = options.quick ? 20 : 500;
  contest.peer_time_max = absl::Seconds(60);
  contest.start_timeout = absl::Seconds(120);  // 256 ranks that poll for each other
  contest.take = [&](const Entrant& entrant, size_t cell, std::vector<double> samples) {
    const std::string& mode = cells.cells[cell].mode;
    if (mode == "held" && samples.size() == 2) {
      connections[entrant.name].push_back(samples[1]);
      samples.resize(1);
    }
    if (mode != "rooted") return samples;
    Calls& of_cell = calls[{entrant.name, cells.rows[cell].what}];
    const auto half = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    of_cell.root_us.insert(of_cell.root_us.end(), half, samples.end());
    samples.erase(half, samples.end());
    of_cell.slowest_us.insert(of_cell.slowest_us.end(), samples.begin(), samples.end());
    return samples;
  };
  contest.on_plan = [&](const Entrant& entrant, size_t, const Site::Plan& plan) {
    children[entrant.name] = plan.neighbours.empty() ? 0 : plan.neighbours[0];
  };
  std::map<std::string, Row> ours;  // by case
  RunEntrants(options, contest, [&](const Row& row) {
    const bool is_ours = row.system == "copse" && row.peer.empty() && row.metric == "latency";
    if (is_ours) ours[row.what] = row;
    const bool is_bounded = row.peer == kBetterMpi && row.metric == "unfinished" && ours.contains(row.what);
    report(is_bounded ? BoundOf(row, ours[row.what], options.cell_timeout) : row);
    if (!row.peer.empty()) return;
    if (row.metric == "latency") ReportFigures(row, calls[{row.system, row.what}], report);
    if (row.what != kHeldCase || row.metric == "unfinished") return;
    Row held = Figure(row, "connections", "1", connections[row.system]);
    held.note = "TCP connections to other nodes; of a daemon, for all that it has done so far";
    report(held);
    if (!children.contains(row.system)) return;
    held = Figure(row, "children", "1", {static_cast<double>(children[row.system])});
    held.note = "nodes with which the root's exchanges messages in a gatherv, by its plan";
    report(held);
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status RunGatherv(const Options& options, const Reporter& report) {
  const uint32_t nodes = options.quick ? 2 : 8;
  const std::vector<uint32_t> ppns = options.quick ? std::vector<uint32_t>{2} : std::vector<uint32_t>{2, 8, 32};
  Sites sites;
  for (const uint32_t ppn : ppns) {
    const std::vector<Row> rows = CellsFor(nodes, ppn, options.quick).rows;
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return Wanted(options, row); })) continue;
    if (sites.best == nullptr) {
      ASSIGN_OR_RETURN(sites, OpenSites(options, nodes));
    }
    RETURN_IF_ERROR(RunRanks(options, nodes, ppn, sites, report));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
