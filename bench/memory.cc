// SPDX-License-Identifier: Apache-2.0
#include "bench/memory.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/collectives.h"
#include "bench/process_usage.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr uint32_t kLimitMiB = 128;
constexpr absl::Duration kLookEvery = absl::Milliseconds(10);
constexpr absl::Duration kStart = absl::Seconds(60);

// One series: what grows is one of bytes, clients and edges.
struct Case {
  uint32_t nodes, ppn;
  const char* collective;
  uint64_t bytes;
  const char* algorithm;  // "": the planner's choice
};
const Case kCases[] = {
    {4, 1, "allreduce", 64 * kKiB, ""}, {4, 1, "allreduce", kMiB, ""},       {4, 1, "allreduce", 32 * kMiB, ""},
    {4, 1, "alltoall", 64 * kKiB, ""},  {4, 1, "alltoall", kMiB, ""},        {4, 1, "alltoall", 8 * kMiB, ""},
    {4, 4, "alltoall", kMiB, ""},       {4, 16, "alltoall", 256 * kKiB, ""}, {2, 1, "gather", 4 * kMiB, "flat"},
    {4, 1, "gather", 4 * kMiB, "flat"}, {8, 1, "gather", 4 * kMiB, "flat"}};

Row RowOf(const Case& each) {
  return {.bench = "memory",
          .what = absl::StrCat(each.collective, " ", SizeName(each.bytes)),
          .system = "copse",
          .collective = each.collective,
          .algorithm = each.algorithm,
          .nodes = each.nodes,
          .ppn = each.ppn,
          .bytes = each.bytes,
          .metric = "memory",
          .unit = "MB"};
}

// Looks at all daemons again and again, until it goes.
class Watch {
 public:
  explicit Watch(std::vector<pid_t> daemons) : most_(daemons.size()), thread_([this, daemons] { Run(daemons); }) {}
  ~Watch() { End(); }
  // By daemon, the most that was seen.
  std::vector<Pss> End() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return most_;
  }

 private:
  void Run(const std::vector<pid_t>& daemons) {
    while (!stop_) {
      for (size_t i = 0; i < daemons.size(); ++i) {
        const absl::StatusOr<Pss> now = ReadPss(daemons[i]);
        if (!now.ok()) continue;
        most_[i].total_kb = std::max(most_[i].total_kb, now->total_kb);
        most_[i].private_kb = std::max(most_[i].private_kb, now->private_kb);
      }
      absl::SleepFor(kLookEvery);
    }
  }

  std::vector<Pss> most_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

std::vector<pid_t> DaemonsOf(Site* site) {
  std::vector<pid_t> daemons;
  for (uint32_t node = 0; node < site->nodes(); ++node) daemons.push_back(site->cluster()->DaemonPid(node));
  return daemons;
}

absl::Status RunCalls(const Options& options, const Case& each, Site* site) {
  ASSIGN_OR_RETURN(const RankProcesses ranks,
                   site->StartRanks("copse", each.ppn,
                                    {options.quick ? "100" : "1000", "100",
                                     absl::StrCat("stream:", each.collective, ":", each.bytes)}));
  RETURN_IF_ERROR(ranks.front()->ReadLine(kStart).status());
  for (const auto& process : ranks.processes) process->CloseInput();
  const absl::Status done = ranks.front()->ReadLine(2 * options.cell_timeout).status();
  if (!done.ok()) return absl::Status(done.code(), absl::StrCat(std::string(done.message()), ranks.DescribeFailed()));
  return ranks.AwaitEnd(options.cell_timeout);
}

absl::Status RunCase(const Options& options, const Case& each, const Reporter& report) {
  Row row = RowOf(each);
  SiteOptions with_limit = {.nodes = each.nodes, .parent = options.folder};
  with_limit.algorithm = each.algorithm;
  with_limit.daemon_settings = {{"memory_limit", absl::StrCat(kLimitMiB, "MiB")}};
  ASSIGN_OR_RETURN(const auto site, Site::Open(with_limit));
  const std::vector<pid_t> daemons = DaemonsOf(site.get());
  std::vector<Pss> idle;
  for (const pid_t daemon : daemons) {
    ASSIGN_OR_RETURN(idle.emplace_back(), ReadPss(daemon));
  }
  Watch watch(daemons);
  const absl::Status status = RunCalls(options, each, site.get());
  const std::vector<Pss> most = watch.End();
  if (!status.ok()) {
    row.metric = "unfinished";
    row.note = std::string(status.message());
    report(row);
    return absl::OkStatus();
  }
  std::vector<double> in_transit, total;
  for (size_t i = 0; i < most.size(); ++i) {
    in_transit.push_back((most[i].private_kb - idle[i].private_kb) / 1024);
    total.push_back(most[i].total_kb / 1024);
  }
  Summarize(in_transit, &row);
  row.note = "most at any time, by daemon: PSS without shared pages, beyond that of the idle daemon";
  report(row);
  Row all = row;
  all.metric = "memory in all";
  Summarize(total, &all);
  all.note = "PSS: its program, and half of what it shares with clients, too";
  report(all);
  Row ratio = row;
  ratio.metric = "ratio";
  ratio.unit = "1";
  ratio.peer = "memory_limit";
  Summarize({*std::max_element(in_transit.begin(), in_transit.end()) / kLimitMiB}, &ratio);
  ratio.note = absl::StrCat("of the daemon that held most; memory_limit ", kLimitMiB, " MiB");
  report(ratio);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunMemory(const Options& options, const Reporter& report) {
  uint32_t done = 0;
  for (const Case& each : kCases) {
    if (!Wanted(options, RowOf(each)) || (options.quick && done++ > 0)) continue;
    RETURN_IF_ERROR(RunCase(options, each, report));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
