// SPDX-License-Identifier: Apache-2.0
//
// Brief calls of one job beside long broadcasts of another one, on one slow edge over Copse's own TCP.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/timed_team.h"
#include "bench/temporary_file.h"
#include "bench/testbed.h"
#include "testbed/processes/process_cluster.h"

namespace copse::bench {
namespace {

constexpr uint32_t kNodes = 2;
constexpr int64_t kRateBits = 200'000'000;
constexpr uint64_t kBulkBytes = 64 << 20;
constexpr absl::Duration kPatience = absl::Seconds(120);
// Jobs without control groups of a resource manager are shared by user.
constexpr uint32_t kOtherUser = 65534;
constexpr uint32_t kWarmUp = 5;
constexpr uint32_t kBatch = 20;  // brief calls that are asked for at once

double Percentile99(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 99 / 100];
}

// What one turn, or all of them, have measured.
struct Samples {
  std::vector<double> alone, alone_p99;    // us
  std::vector<double> beside, beside_p99;  // us, beside the broadcasts
  std::vector<double> added_p99;           // us
  std::vector<double> bulk, bulk_beside;   // us
  std::vector<double> slowdown;            // of the broadcasts
};

struct Scale {
  uint32_t turns, brief, broadcasts;
};

// What the one job calls.
struct Call {
  Collective collective;
  uint64_t bytes;
};

// One job of brief calls and one of long broadcasts.
class Jobs {
 public:
  static absl::StatusOr<Jobs> Start(procs::ProcessCluster* cluster, const Call& call) {
    Jobs jobs(call);
    ASSIGN_OR_RETURN(jobs.brief_, TimedTeam::Start(cluster, kNodes, 1, kPatience, "brief", kOtherUser));
    ASSIGN_OR_RETURN(jobs.bulk_, TimedTeam::Start(cluster, kNodes, 1, kPatience, "bulk"));
    return jobs;
  }

  absl::Status Turn(const Scale& scale, Samples* samples) {
    ASSIGN_OR_RETURN(std::vector<double> alone, Brief(kWarmUp, scale.brief));
    ASSIGN_OR_RETURN(std::vector<double> bulk,
                     bulk_->Time(Collective::kBcast, kBulkBytes, 1, scale.broadcasts, kPatience));
    std::vector<double> beside;
    ASSIGN_OR_RETURN(std::vector<double> bulk_beside, Together(scale, &beside));
    if (beside.empty()) return absl::InternalError("shares: no calls beside the broadcasts");
    samples->alone_p99.push_back(Percentile99(alone));
    samples->beside_p99.push_back(Percentile99(beside));
    samples->added_p99.push_back(samples->beside_p99.back() - samples->alone_p99.back());
    samples->slowdown.push_back(Median(bulk_beside) / Median(bulk));
    const auto append = [](std::vector<double> from, std::vector<double>* to) {
      to->insert(to->end(), from.begin(), from.end());
    };
    append(std::move(alone), &samples->alone);
    append(std::move(beside), &samples->beside);
    append(std::move(bulk), &samples->bulk);
    append(std::move(bulk_beside), &samples->bulk_beside);
    return absl::OkStatus();
  }

  absl::Status Stop() {
    RETURN_IF_ERROR(brief_->Stop(kPatience));
    return bulk_->Stop(kPatience);
  }

 private:
  explicit Jobs(const Call& call) : call_(call) {}

  absl::StatusOr<std::vector<double>> Brief(uint32_t warm_up, uint32_t calls) {
    return brief_->Time(call_.collective, call_.bytes, warm_up, calls, kPatience);
  }

  // Returns the broadcasts' times, and those of the brief calls that began and ended while they lasted.
  absl::StatusOr<std::vector<double>> Together(const Scale& scale, std::vector<double>* beside) {
    absl::StatusOr<std::vector<double>> bulk;
    std::atomic<bool> over = false;
    std::thread broadcasting([&] {
      bulk = bulk_->Time(Collective::kBcast, kBulkBytes, 0, scale.broadcasts, kPatience);
      over = true;
    });
    absl::Status status;
    for (bool is_first = true; !over && status.ok(); is_first = false) {
      const auto batch = Brief(0, kBatch);
      status = batch.status();
      // The broadcasts may have begun, or ended, in the middle of it.
      if (status.ok() && !is_first && !over) beside->insert(beside->end(), batch->begin(), batch->end());
    }
    broadcasting.join();
    RETURN_IF_ERROR(status);
    return bulk;
  }

  Call call_;
  std::unique_ptr<TimedTeam> brief_, bulk_;
};

// Where the slow edge is: at the sender, whose kernel sees the queue, or in the network.
struct Edge {
  const char* name;
  bool is_in_network;
  const char* congestion_control;
};
// Linux's default, and the one that keeps queues short by itself.
constexpr Edge kSender = {"at the sender, cubic", false, "cubic"};

struct SharedEdge {
  const char* what;
  Call call;
  Edge edge;
};
constexpr SharedEdge kShared[] = {{"barrier", {Collective::kBarrier, 0}, kSender},
                                  {"barrier", {Collective::kBarrier, 0}, {"at the sender, bbr", false, "bbr"}},
                                  {"barrier", {Collective::kBarrier, 0}, {"in the network, cubic", true, "cubic"}},
                                  {"barrier", {Collective::kBarrier, 0}, {"in the network, bbr", true, "bbr"}},
                                  {"bcast 64 KiB", {Collective::kBcast, 64 << 10}, kSender}};

// A network in which packets for a node wait for its link.
std::string TopologyText() {
  return absl::StrCat("version: 1\nswitches: [{name: core}]\nnodes: [{name: 'n[1-", kNodes,
                      "]', switch: core, bandwidth: ", kRateBits / 1'000'000, "Mbit}]\n");
}

absl::Status RunCase(const Options& options, const SharedEdge& one, const Reporter& report) {
  const Edge& edge = one.edge;
  const Row brief = {.bench = "shares",
                     .what = absl::StrCat(one.what, " beside bcast 64 MiB, shaped 200 Mbit/s ", edge.name),
                     .system = "copse-tcp",
                     .collective = std::string(CollectiveName(one.call.collective)),
                     .nodes = kNodes,
                     .ppn = 1,
                     .bytes = one.call.bytes,
                     .metric = "latency",
                     .unit = "us"};
  if (!Wanted(options, brief)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TemporaryFile topology, TemporaryFile::Write(TopologyText(), options.folder));
  ASSIGN_OR_RETURN(const auto testbed, Testbed::Open({.nodes = kNodes,
                                                      .parent = options.folder,
                                                      .fabric = edge.is_in_network ? topology.path() : "",
                                                      .rate_bits_per_s = edge.is_in_network ? 0 : kRateBits,
                                                      .congestion_control = edge.congestion_control,
                                                      .transport = "tcp"}));
  procs::ProcessCluster& cluster = *testbed->cluster();
  const Scale scale = options.quick ? Scale{1, 100, 1} : Scale{options.runs > 0 ? options.runs : 7, 500, 3};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Jobs jobs, Jobs::Start(&cluster, one.call));
    Samples samples;
    for (uint32_t turn = 0; turn < scale.turns; ++turn) RETURN_IF_ERROR(jobs.Turn(scale, &samples));
    report(Figure(brief, "alone", "us", samples.alone));
    report(Figure(brief, "alone, p99", "us", samples.alone_p99));
    report(Figure(brief, "beside", "us", samples.beside));
    report(Figure(brief, "beside, p99", "us", samples.beside_p99));
    report(Figure(brief, "added, p99", "us", samples.added_p99));
    Row bulk = brief;
    bulk.collective = "bcast";
    bulk.bytes = kBulkBytes;
    report(Figure(bulk, "bulk alone", "us", samples.bulk));
    report(Figure(bulk, "bulk beside", "us", samples.bulk_beside));
    report(Figure(bulk, "bulk's slowdown", "1", samples.slowdown));
    return jobs.Stop();
  };
  return MeasureOn(&cluster, run);
}

}  // namespace

absl::Status RunShares(const Options& options, const Contest&, const Reporter& report) {
  for (const SharedEdge& one : kShared) {
    RETURN_IF_ERROR(RunCase(options, one, report));
    if (options.quick) break;
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
