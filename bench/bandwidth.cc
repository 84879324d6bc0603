// SPDX-License-Identifier: Apache-2.0
#include "bench/bandwidth.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/collectives.h"
#include "bench/entrants.h"
#include "bench/link_use.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint32_t kNodes = 4;
constexpr int64_t kGigabit = 1'000'000'000;
constexpr uint64_t kMiB = 1 << 20;

// The call's time beside that of the plan's busiest link, if nothing else took any.
void ReportReach(const Row& row, const Site::Plan& plan, int64_t rate_bits_per_s, const Reporter& report) {
  const double bytes = BusiestLinkBytes({row.collective, plan.algorithm, plan.neighbours, row.bytes});
  if (bytes == 0) return;
  const double least_us = bytes / PayloadRate(rate_bits_per_s) * 1e6;
  Row ratio = row;
  ratio.peer = "link";
  ratio.metric = "ratio";
  ratio.unit = "1";
  for (double* figure : {&ratio.p10, &ratio.median, &ratio.p90}) *figure /= least_us;
  ratio.note = absl::StrCat("the busiest link carries ", static_cast<uint64_t>(bytes / kMiB), " MiB in ",
                            static_cast<uint64_t>(least_us / 1e3), " ms; ", row.note);
  report(ratio);
}

absl::Status RunRate(const Options& options, int64_t rate_bits_per_s, const Reporter& report) {
  const uint64_t total = (options.quick ? 4 : 64) * kMiB;
  EntrantContest contest;
  for (const std::string collective : {"bcast", "allreduce", "allgather"}) {
    Row row;
    row.bench = "bandwidth";
    row.what = absl::StrCat(collective, " ", SizeName(total), rate_bits_per_s > 0 ? ", shaped 1 Gbit/s" : ", unshaped");
    row.collective = collective;
    row.nodes = kNodes;
    row.ppn = 1;
    row.bytes = collective == "allgather" ? total / kNodes : total;
    row.metric = "latency";
    row.unit = "us";
    contest.rows.push_back(row);
    contest.cells.push_back({"latency", collective, row.bytes, {}});
  }
  bool wanted = false;
  for (const Row& row : contest.rows) wanted |= Wanted(options, row);
  if (!wanted) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto site,
                   Site::Open({.nodes = kNodes, .parent = options.folder, .rate_bits_per_s = rate_bits_per_s}));
  // Memory that the system likes best, of the MPI libraries too.
  for (const char* system : {"copse", "openmpi", "mpich"}) {
    contest.entrants.push_back({system, system, site.get(), {"registered"}});
  }
  contest.entrants.push_back({"copse-copied", "copse", site.get(), {}});
  contest.runs = options.quick ? 1 : 5;
  contest.budget = absl::Milliseconds(options.quick ? 200 : 1500);
  contest.calls_max = 20;
  contest.peer_time_max = absl::Minutes(2);
  std::map<std::string, Site::Plan> plans;  // by collective
  contest.on_plan = [&](const Entrant&, size_t cell, const Site::Plan& plan) {
    plans[contest.cells[cell].collective] = plan;
  };
  RunEntrants(options, contest, [&](const Row& row) {
    report(row);
    if (rate_bits_per_s == 0 || row.system != "copse" || !row.peer.empty() || row.metric != "latency") return;
    ReportReach(row, plans[row.collective], rate_bits_per_s, report);
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status RunBandwidth(const Options& options, const Reporter& report) {
  for (const int64_t rate : {int64_t{0}, kGigabit}) RETURN_IF_ERROR(RunRate(options, rate, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
