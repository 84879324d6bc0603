// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

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
#include "bench/measures/process_usage.h"
#include "bench/testbed.h"

namespace copse::bench {
namespace {

constexpr uint32_t kLimitMiB = 128;
constexpr absl::Duration kLookEvery = absl::Milliseconds(10);
constexpr absl::Duration kStart = absl::Seconds(60);

// Looks at all daemons again and again, until it goes.
class Watch {
 public:
  explicit Watch(std::vector<pid_t> daemons) : most_(daemons.size()), thread_([this, daemons] { Run(daemons); }) {}
  ~Watch() { End(); }
  // By daemon, the most KiB of private pages that were seen.
  std::vector<double> End() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return most_;
  }

 private:
  void Run(const std::vector<pid_t>& daemons) {
    while (!stop_) {
      for (size_t i = 0; i < daemons.size(); ++i) {
        const absl::StatusOr<Pss> now = ReadPss(daemons[i]);
        if (now.ok()) most_[i] = std::max(most_[i], now->private_kb);
      }
      absl::SleepFor(kLookEvery);
    }
  }

  std::vector<double> most_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

absl::Status RunCalls(const Options& options, const Row& row, Testbed* testbed) {
  ASSIGN_OR_RETURN(
      const RankProcesses ranks,
      testbed->StartRanks("copse", {.ppn = row.ppn,
                                    .arguments = {options.quick ? "100" : "1000", "100",
                                                  absl::StrCat("stream:", row.collective, ":", row.bytes)}}));
  RETURN_IF_ERROR(ranks.front()->ReadLine(kStart).status());
  for (const auto& process : ranks.processes) process->CloseInput();
  const absl::Status done = ranks.front()->ReadLine(2 * options.cell_timeout).status();
  if (!done.ok()) return absl::Status(done.code(), absl::StrCat(std::string(done.message()), ranks.DescribeFailed()));
  return ranks.AwaitEnd(options.cell_timeout);
}

absl::Status RunCase(const Options& options, Row row, const Reporter& report) {
  TestbedOptions with_limit = {.nodes = row.nodes, .parent = options.folder};
  with_limit.algorithm = row.algorithm;
  with_limit.daemon_settings = {{"memory_limit", absl::StrCat(kLimitMiB, "MiB")}};
  ASSIGN_OR_RETURN(const auto testbed, Testbed::Open(with_limit));
  std::vector<pid_t> daemons;
  std::vector<double> idle;
  for (uint32_t node = 0; node < row.nodes; ++node) {
    daemons.push_back(testbed->cluster()->DaemonPid(node));
    ASSIGN_OR_RETURN(const Pss pss, ReadPss(daemons.back()));
    idle.push_back(pss.private_kb);
  }
  Watch watch(daemons);
  const absl::Status status = RunCalls(options, row, testbed.get());
  const std::vector<double> most = watch.End();
  if (!status.ok()) {
    report(Unfinished(row, std::string(status.message())));
    return absl::OkStatus();
  }
  std::vector<double> in_transit;
  for (size_t i = 0; i < most.size(); ++i) in_transit.push_back((most[i] - idle[i]) / 1024);
  row.note = "most at any time, by daemon: PSS without shared pages, beyond that of the idle daemon";
  report(Figure(row, "memory", "MB", in_transit));
  row.peer = "memory_limit";
  row.note = absl::StrCat("of the daemon that held most; memory_limit ", kLimitMiB, " MiB");
  report(Figure(row, "ratio", "1", {*std::max_element(in_transit.begin(), in_transit.end()) / kLimitMiB}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunMemory(const Options& options, const Contest& contest, const Reporter& report) {
  Row row = contest.cases.front().row;
  row.system = "copse";
  row.algorithm = TextOf(contest.line, "algorithm");
  row.unit = "MB";
  return Wanted(options, row) ? RunCase(options, row, report) : absl::OkStatus();
}

}  // namespace copse::bench
