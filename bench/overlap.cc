// SPDX-License-Identifier: Apache-2.0
#include "bench/overlap.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/collectives.h"
#include "bench/entrants.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

// As many ranks that compute as cores: they would wait for each other otherwise, with or without a call.
constexpr uint32_t kNodes = 2;
constexpr uint64_t kKiB = 1024;
constexpr size_t kFigures = 5;  // of a batch

std::vector<OverlapTimes> BatchesOf(const std::vector<double>& samples) {
  std::vector<OverlapTimes> batches;
  for (size_t i = 0; i + kFigures <= samples.size(); i += kFigures) {
    batches.push_back({samples[i], samples[i + 1], samples[i + 2], samples[i + 3], samples[i + 4]});
  }
  return batches;
}

std::vector<double> Each(const std::vector<OverlapTimes>& batches, double (*figure)(const OverlapTimes&)) {
  std::vector<double> values;
  for (const OverlapTimes& batch : batches) values.push_back(figure(batch));
  return values;
}

// What an entrant's row of a cell does not say.
void ReportFigures(const Row& row, const std::vector<OverlapTimes>& batches, const Reporter& report) {
  const auto plain = [&](const char* metric, double (*figure)(const OverlapTimes&)) {
    report(Figure(row, metric, "us", Each(batches, figure)));
  };
  plain("communication", [](const OverlapTimes& times) { return times.call; });
  plain("total", [](const OverlapTimes& times) { return times.total; });
  Row costs = Figure(row, "ratio", "1", Each(batches, OverCosts));
  costs.peer = "computation and costs";
  const auto mean = [&](double (*figure)(const OverlapTimes&)) {
    double sum = 0;
    for (const OverlapTimes& batch : batches) sum += figure(batch);
    return static_cast<int64_t>(sum / static_cast<double>(batches.size()));
  };
  costs.note = absl::StrCat("computation ", mean([](const OverlapTimes& times) { return times.compute; }), " us, post ",
                            mean([](const OverlapTimes& times) { return times.post; }), " us, daemons and kernel ",
                            mean([](const OverlapTimes& times) { return times.others; }), " us a node");
  report(costs);
}

EntrantContest ContestFor(const Options& options, const LinkRate& rate) {
  EntrantContest contest;
  for (const std::string collective : {"bcast", "allreduce", "alltoall"}) {
    for (const uint64_t bytes : {256 * kKiB, 1024 * kKiB, 4096 * kKiB}) {
      if (options.quick && bytes > 256 * kKiB) continue;
      Row row;
      row.bench = "overlap";
      row.what = absl::StrCat(collective, " ", SizeName(bytes), ", shaped ", rate.name);
      row.collective = collective;
      row.nodes = kNodes;
      row.ppn = 1;
      row.bytes = bytes;
      row.metric = "not overlapped";
      row.unit = "%";
      contest.rows.push_back(row);
      contest.cells.push_back({"overlap", collective, bytes, {}});
    }
  }
  contest.runs = options.quick ? 1 : 3;
  contest.budget = absl::Milliseconds(options.quick ? 100 : 1200);
  contest.calls_max = 100;
  return contest;
}

absl::Status RunRate(const Options& options, const LinkRate& rate, const Reporter& report) {
  EntrantContest contest = ContestFor(options, rate);
  if (std::none_of(contest.rows.begin(), contest.rows.end(), [&](const Row& row) { return Wanted(options, row); })) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto site,
                   Site::Open({.nodes = kNodes, .parent = options.folder, .rate_bits_per_s = rate.bits_per_s}));
  // Memory that the system likes best: what a post would otherwise copy is not overlapped.
  for (const char* system : {"copse", "openmpi", "mpich"}) {
    contest.entrants.push_back({system, system, site.get(), {"registered"}});
  }
  std::map<std::pair<std::string, std::string>, std::vector<OverlapTimes>> batches;  // by entrant and case
  contest.take = [&](const Entrant& entrant, size_t cell, const std::vector<double>& samples) {
    const std::vector<OverlapTimes> of_run = BatchesOf(samples);
    std::vector<OverlapTimes>& all = batches[{entrant.name, contest.rows[cell].what}];
    all.insert(all.end(), of_run.begin(), of_run.end());
    return Each(of_run, NotOverlappedPercent);
  };
  RunEntrants(options, contest, [&](const Row& row) {
    if (!row.peer.empty()) return;  // ratios of what is left over say nothing
    report(row);
    if (row.metric != "unfinished") ReportFigures(row, batches[{row.system, row.what}], report);
  });
  return absl::OkStatus();
}

}  // namespace

double NotOverlappedPercent(const OverlapTimes& times) {
  if (times.call <= 0) return 100;
  return std::clamp(100 * (times.total - times.compute) / times.call, 0.0, 100.0);
}

double OverCosts(const OverlapTimes& times) {
  return times.total / (times.compute + times.post + std::max(times.others, 0.0));
}

absl::Status RunOverlap(const Options& options, const Reporter& report) {
  for (const LinkRate& rate : {kSlowLink, kFastLink}) RETURN_IF_ERROR(RunRate(options, rate, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
