// SPDX-License-Identifier: Apache-2.0
#include "bench/analyses.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "bench/better_mpi.h"
#include "bench/papers/tnbc.h"
#include "cli/perftest/statistics.h"

namespace copse::bench {
namespace {

constexpr uint64_t kMiB = 1 << 20;

bool IsFigureOf(const Row& row, const std::string& system) {
  return row.system == system && row.peer.empty() && row.metric == "latency";
}

// Returns the row's results divided by `unit_us`, as a ratio to `peer`.
Row InPartsOf(const Row& row, double unit_us, const std::string& peer, const std::string& note) {
  Row ratio = row;
  ratio.peer = peer;
  ratio.metric = "ratio";
  ratio.unit = "1";
  for (double* figure : {&ratio.p10, &ratio.median, &ratio.p90}) *figure /= unit_us;
  ratio.note = absl::StrCat(note, "; ", row.note);
  return ratio;
}

// A CriticalPathAnalysis compares a call's time with the latencies on the plan's critical path, which no system can
// avoid.
class CriticalPathAnalysis final : public Analysis {
 public:
  explicit CriticalPathAnalysis(absl::Duration latency) : latency_(latency) {}

  absl::Status OnPlan(const std::string&, const Case& what, const Testbed::PlanSummary& plan, Testbed*) override {
    hops_[what.row.collective] = plan.hops;  // each collective has one size here
    return absl::OkStatus();
  }
  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    const uint32_t hops = hops_[row.collective];
    if (!IsFigureOf(row, "copse") || hops == 0 || latency_ == absl::ZeroDuration()) return;
    report(InPartsOf(row, hops * absl::ToDoubleMicroseconds(latency_), "critical path",
                     absl::StrCat(hops, " hops of ", absl::FormatDuration(latency_), " on the plan's critical path")));
  }

 private:
  const absl::Duration latency_;
  std::map<std::string, uint32_t> hops_;
};

// A LinkAnalysis compares a call's time with the time that the plan's busiest link needs for its bytes.
class LinkAnalysis final : public Analysis {
 public:
  explicit LinkAnalysis(int64_t rate_bits_per_s) : rate_bits_per_s_(rate_bits_per_s) {}

  absl::Status OnPlan(const std::string&, const Case& what, const Testbed::PlanSummary& plan, Testbed*) override {
    plans_[what.row.collective] = plan;
    return absl::OkStatus();
  }
  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    if (rate_bits_per_s_ == 0 || !IsFigureOf(row, "copse")) return;
    const Testbed::PlanSummary& plan = plans_[row.collective];
    const double bytes = BusiestLinkBytes({row.collective, plan.algorithm, plan.neighbors, row.bytes});
    if (bytes == 0) return;
    const double least_us = bytes / PayloadRate(rate_bits_per_s_) * 1e6;
    report(InPartsOf(row, least_us, "link",
                     absl::StrCat("the busiest link carries ", static_cast<uint64_t>(bytes / kMiB), " MiB in ",
                                  static_cast<uint64_t>(least_us / 1e3), " ms")));
  }

 private:
  const int64_t rate_bits_per_s_;
  std::map<std::string, Testbed::PlanSummary> plans_;
};

// A TallyAnalysis counts the cells in which Copse is ahead of the better MPI library, or, if the contest has pairs, in
// which the first of a pair is ahead of an MPI library.
class TallyAnalysis final : public Analysis {
 public:
  explicit TallyAnalysis(const Contest& contest)
      : blank_({.bench = contest.bench,
                .what = TextOf(contest.line, "tally"),
                .nodes = contest.testbed.nodes,
                .ppn = contest.ppn}),
        bytes_min_(BytesOf(contest.line, "tally_from")) {
    if (contest.options.pairs.empty()) tallies_.push_back({contest.systems.front().name, kBetterMpi, {}});
    for (const auto& [system, peer] : contest.options.pairs) {
      if (IsMpi(peer)) tallies_.push_back({system, peer, {}});
    }
  }

  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    for (auto& [system, peer, tally] : tallies_) {
      if (row.bytes >= bytes_min_) Count(row, system, peer, &tally);
    }
  }
  void OnEnd(const Reporter& report) override {
    for (const auto& [system, peer, tally] : tallies_) {
      blank_.system = system;
      for (const Row& row : RowsOf(tally, blank_)) report(row);
    }
  }

 private:
  struct Pair {
    std::string system, peer;
    Tally tally;
  };

  Row blank_;
  const uint64_t bytes_min_;
  std::vector<Pair> tallies_;
};

// A GathervAnalysis reports bounds of the ratios to libraries that do not finish, and the root's number of neighbors.
class GathervAnalysis final : public Analysis {
 public:
  absl::Status Prepare(const Options& options, const Testbeds&, Contest*) override {
    cell_timeout_ = options.cell_timeout;
    return absl::OkStatus();
  }
  absl::Status OnPlan(const std::string& system, const Case& what, const Testbed::PlanSummary& plan,
                      Testbed*) override {
    if (what.row.collective == "gatherv" && !plan.neighbors.empty()) children_[system] = plan.neighbors[0];
    return absl::OkStatus();
  }
  void OnRow(const Row& row, const Reporter& report) override {
    blank_ = row;
    if (IsFigureOf(row, "copse")) ours_[row.what] = row;
    const bool is_bounded = row.peer == kBetterMpi && row.metric == "unfinished" && ours_.contains(row.what);
    report(is_bounded ? BoundOf(row) : row);
  }
  void OnEnd(const Reporter& report) override {
    for (const auto& [system, count] : children_) {
      Row row = {.bench = blank_.bench,
                 .what = "what the root holds",
                 .system = system,
                 .nodes = blank_.nodes,
                 .ppn = blank_.ppn};
      row.note = "nodes with which the root's exchanges messages in a gatherv, by its plan";
      report(Figure(row, "children", "1", {static_cast<double>(count)}));
    }
  }

 private:
  // MPI libraries that have not finished a cell which Copse has are slower than this.
  Row BoundOf(const Row& better) {
    Row bound = better;
    bound.note = absl::StrCat("at most: no library has finished within ", absl::FormatDuration(cell_timeout_));
    return Figure(bound, "ratio", "1", {ours_[better.what].median / absl::ToDoubleMicroseconds(cell_timeout_)});
  }

  Row blank_;  // the last row
  absl::Duration cell_timeout_;
  std::map<std::string, uint32_t> children_;  // of the root, by system
  std::map<std::string, Row> ours_;           // by case
};

// An OverlapAnalysis evaluates samples of mode `overlap`, which are batches of five numbers (OverlapTimes).
class OverlapAnalysis final : public Analysis {
 public:
  absl::StatusOr<Samples> Take(const std::string& system, const Case& what, Samples samples) override {
    constexpr size_t kFigures = 5;
    std::vector<OverlapTimes> batches;
    for (size_t i = 0; i + kFigures <= samples.size(); i += kFigures) {
      batches.push_back({samples[i], samples[i + 1], samples[i + 2], samples[i + 3], samples[i + 4]});
    }
    std::vector<OverlapTimes>& all = batches_[{system, what.row.what}];
    all.insert(all.end(), batches.begin(), batches.end());
    return Each(batches, [](const OverlapTimes& times) {
      return 100 - perftest::OverlapPercent(times.total, times.compute, times.call);
    });
  }
  void OnRow(const Row& row, const Reporter& report) override {
    if (!row.peer.empty()) return;  // ratios of what is left over say nothing
    report(row);
    if (row.metric == "unfinished") return;
    const std::vector<OverlapTimes>& batches = batches_[{row.system, row.what}];
    const auto times = [&](double OverlapTimes::*time) {
      std::vector<double> values;
      for (const OverlapTimes& batch : batches) values.push_back(batch.*time);
      return values;
    };
    const auto mean = [&](double OverlapTimes::*time) { return static_cast<int64_t>(perftest::Mean(times(time))); };
    report(Figure(row, "communication", "us", times(&OverlapTimes::call)));
    report(Figure(row, "total", "us", times(&OverlapTimes::total)));
    Row costs = row;
    costs.peer = "computation and costs";
    costs.note = absl::StrCat("computation ", mean(&OverlapTimes::compute), " us, post ", mean(&OverlapTimes::post),
                              " us, daemons and kernel ", mean(&OverlapTimes::others), " us a node");
    report(Figure(costs, "ratio", "1", Each(batches, OverCosts)));
  }

 private:
  static std::vector<double> Each(const std::vector<OverlapTimes>& batches, double (*figure)(const OverlapTimes&)) {
    std::vector<double> values;
    for (const OverlapTimes& batch : batches) values.push_back(figure(batch));
    return values;
  }

  std::map<std::pair<std::string, std::string>, std::vector<OverlapTimes>> batches_;  // by system and case
};

// A WorstAddedAnalysis summarizes the medians of the times that all functions of a library have added.
class WorstAddedAnalysis final : public Analysis {
 public:
  explicit WorstAddedAnalysis(std::string where) : where_(std::move(where)) {}

  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    Additions& all = additions_[row.system];
    if (row.metric == "unfinished" && HasCopse(row.system)) all.unfinished = true;
    if (row.metric != "added") return;
    all.blank = row;
    // "MPI_Ibarrier+Wait, one rank" are two functions.
    const auto functions = 1 + static_cast<double>(std::count(row.what.begin(), row.what.end(), '+'));
    all.by_call.emplace_back(row.median / functions, row.what);
  }
  void OnEnd(const Reporter& report) override {
    for (const auto& [system, all] : additions_) {
      if (all.by_call.empty()) continue;
      std::vector<double> values;
      for (const auto& [added, what] : all.by_call) values.push_back(added);
      Row row = all.blank;
      row.collective = "";
      row.what = "all calls, " + where_;
      row.note = absl::StrCat("of ", values.size(), " calls");
      report(Figure(row, "median added", row.unit, values));
      const auto worst = std::max_element(all.by_call.begin(), all.by_call.end());
      row.note = worst->second;
      report(Figure(row, all.unfinished ? "unfinished" : "worst added", row.unit, {worst->first}));
    }
  }

 private:
  struct Additions {
    Row blank;
    std::vector<std::pair<double, std::string>> by_call;
    bool unfinished = false;
  };
  const std::string where_;
  std::map<std::string, Additions> additions_;  // by system
};

// Returns whether the algorithm is a symmetric schedule in which each node forwards data, so that none has children.
bool IsCycle(const std::string& algorithm) {
  return algorithm == "ring" || algorithm == "bruck" || algorithm == "doubling" || algorithm == "rotated-binomial";
}

// Counts the children of the node that has most; all but the root have a parent among their neighbors.
uint32_t MostChildren(const std::vector<uint32_t>& neighbors) {
  uint32_t most = 0;
  for (size_t node = 0; node < neighbors.size(); ++node) most = std::max(most, neighbors[node] - (node > 0));
  return most;
}

}  // namespace

double OverCosts(const OverlapTimes& times) {
  return times.total / (times.compute + times.post + std::max(times.others, 0.0));
}

double BusiestLinkBytes(const LinkUse& use) {
  if (use.neighbors.size() < 2) return 0;
  for (const uint32_t neighbors : use.neighbors) {
    if (neighbors == 0) return 0;
  }
  const auto bytes = static_cast<double>(use.bytes);
  const auto n = static_cast<double>(use.neighbors.size());
  const bool cycle = IsCycle(use.algorithm);
  if (use.collective == "bcast" || use.collective == "reduce") {
    return cycle ? bytes : bytes * MostChildren(use.neighbors);
  }
  if (use.collective == "allreduce") {
    if (cycle) return 2 * (n - 1) / n * bytes;
    return bytes * *std::max_element(use.neighbors.begin(), use.neighbors.end());
  }
  if (use.collective == "allgather") {
    return cycle ? (n - 1) * bytes : std::max(n * bytes * MostChildren(use.neighbors), (n - 1) * bytes);
  }
  return 0;
}

double PayloadRate(int64_t bits_per_s) {
  constexpr double kFrameBytes = 1514, kFramePayload = 1448;
  return static_cast<double>(bits_per_s) / 8 * kFramePayload / kFrameBytes;
}

std::unique_ptr<Analysis> NewAnalysis(const Contest& contest) {
  const std::string name = TextOf(contest.line, "analysis");
  if (name == "critical path") return std::make_unique<CriticalPathAnalysis>(contest.testbed.latency);
  if (name == "link") return std::make_unique<LinkAnalysis>(contest.testbed.rate_bits_per_s);
  if (name == "tally") return std::make_unique<TallyAnalysis>(contest);
  if (name == "gatherv") return std::make_unique<GathervAnalysis>();
  if (name == "overlap") return std::make_unique<OverlapAnalysis>();
  if (name == "worst added") return std::make_unique<WorstAddedAnalysis>(TextOf(contest.line, "where"));
  if (name == "prediction") return NewPredictionAnalysis();
  if (name == "kernel") return papers::NewKernelAnalysis(contest);
  if (name == "scenario") return papers::NewScenarioAnalysis();
  if (name == "order") return papers::NewOrderAnalysis();
  CHECK(name.empty());
  return std::make_unique<Analysis>();
}

}  // namespace copse::bench
