// SPDX-License-Identifier: Apache-2.0
//
// Measures a scrape of a node by copse-exporter, and what one each second costs the node.
#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/process_usage.h"
#include "bench/measures/timed_team.h"
#include "collectives/collective.h"
#include "httplib.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

constexpr uint32_t kNodes = 2;
constexpr absl::Duration kSettle = absl::Seconds(60);
constexpr absl::Duration kScrapeEvery = absl::Seconds(1);
constexpr uint32_t kCalls = 20;
constexpr uint64_t kCallBytes[] = {8, 4096, 65536, 1 << 20};

// The processor time of the node so far.
struct Use {
  absl::Duration both;  // daemon and exporter
  absl::Duration loop;  // the daemon's thread that runs calls
};

// A node whose daemon has made calls of all collectives, and a copse-exporter beside it.
class ScrapedNode {
 public:
  explicit ScrapedNode(const Options& options) : cluster_({.parent = options.folder}) {}

  absl::Status Start() {
    RETURN_IF_ERROR(cluster_.Start({.nodes = kNodes}));
    ASSIGN_OR_RETURN(team_, TimedTeam::Start(&cluster_, kNodes, 1, kSettle));
    for (int i = 0; i < kCollectiveCount; ++i) {
      for (const uint64_t bytes : kCallBytes) {
        RETURN_IF_ERROR(team_->Time(static_cast<Collective>(i), bytes, 0, kCalls, kSettle).status());
      }
    }
    return StartExporter();
  }

  // Returns the milliseconds from the connection to the last byte.
  absl::StatusOr<double> Scrape() {
    const absl::Time start = absl::Now();
    const httplib::Result answer = client_->Get("/metrics");
    const absl::Duration passed = absl::Now() - start;
    if (!answer || answer->status != 200) return absl::UnavailableError("copse-exporter does not answer");
    if (answer->body.find("copse_up 1\n") == std::string::npos) return absl::UnavailableError("the daemon is not up");
    bytes_ = answer->body.size();
    return absl::ToDoubleMilliseconds(passed);
  }
  size_t bytes() const { return bytes_; }  // of the last scrape
  void Pass(absl::Duration duration) { cluster_.Pass(duration); }

  absl::StatusOr<Use> UseSoFar() {
    Use use;
    const pid_t daemon = cluster_.DaemonPid(0);
    // The first thread is the loop's, and the first number its nanoseconds.
    int64_t loop_ns = 0;
    std::ifstream(absl::StrCat("/proc/", daemon, "/task/", daemon, "/schedstat")) >> loop_ns;
    use.loop = absl::Nanoseconds(loop_ns);
    ASSIGN_OR_RETURN(use.both, CpuTime(daemon));
    ASSIGN_OR_RETURN(const absl::Duration exporter, CpuTime(exporter_->pid()));
    use.both += exporter;
    return use;
  }

 private:
  absl::Status StartExporter() {
    ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("cli/exporter/copse-exporter"));
    const std::string port_file = cluster_.folder() + "/exporter.port";
    ASSIGN_OR_RETURN(exporter_,
                     procs::ChildProcess::Start(
                         {.arguments = {program, "--port-file", port_file, "--set", "listen=127.0.0.1:0", "--set",
                                        absl::StrCat("daemon=unix:", cluster_.SocketOf(0), ".admin")},
                          .log_file = cluster_.folder() + "/exporter.log"}));
    std::string address;
    for (const absl::Time deadline = absl::Now() + kSettle; address.empty();) {
      if (exporter_->Ended() || absl::Now() > deadline) return absl::UnavailableError(exporter_->DescribeFailure());
      cluster_.Pass(absl::Milliseconds(10));
      std::getline(std::ifstream(port_file), address);
    }
    client_ = std::make_unique<httplib::Client>(address);
    return absl::OkStatus();
  }

  procs::ProcessCluster cluster_;
  std::unique_ptr<TimedTeam> team_;
  std::unique_ptr<procs::ChildProcess> exporter_;
  std::unique_ptr<httplib::Client> client_;
  size_t bytes_ = 0;
};

// Returns what the node uses during `seconds`, with a scrape at the beginning of each if `times_ms` takes its time.
absl::StatusOr<Use> UseOver(uint32_t seconds, std::vector<double>* times_ms, ScrapedNode* node) {
  ASSIGN_OR_RETURN(const Use before, node->UseSoFar());
  for (uint32_t i = 0; i < seconds; ++i) {
    if (times_ms != nullptr) {
      ASSIGN_OR_RETURN(times_ms->emplace_back(), node->Scrape());
    }
    node->Pass(kScrapeEvery);
  }
  ASSIGN_OR_RETURN(const Use after, node->UseSoFar());
  return Use{.both = after.both - before.both, .loop = after.loop - before.loop};
}

}  // namespace

absl::Status RunScrape(const Options& options, const Contest&, const Reporter& report) {
  Row row = {.bench = "scrape", .what = "a node", .system = "copse", .nodes = kNodes, .ppn = 1};
  if (!Wanted(options, row)) return absl::OkStatus();
  const uint32_t seconds = options.quick ? 1 : 10;
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 1 : 10;
  ScrapedNode node(options);
  RETURN_IF_ERROR(node.Start());
  std::vector<double> times_ms, both, loop;
  for (uint32_t run = 0; run < runs; ++run) {
    ASSIGN_OR_RETURN(const Use without, UseOver(seconds, nullptr, &node));
    ASSIGN_OR_RETURN(const Use with, UseOver(seconds, &times_ms, &node));
    both.push_back(100 * absl::FDivDuration(with.both - without.both, seconds * kScrapeEvery));
    loop.push_back(100 * absl::FDivDuration(with.loop - without.loop, seconds * kScrapeEvery));
  }
  row.note = absl::StrCat("by copse-exporter, from the connection to the last byte; ", node.bytes(), " bytes");
  report(Figure(row, "time", "ms", times_ms));
  row.what = "a node, each second";
  row.note = "of a core, daemon and copse-exporter, beyond what they take without, in turns; no calls meanwhile";
  report(Figure(row, "cpu", "%", both));
  row.note = "of a core, the daemon's thread that runs calls, likewise";
  report(Figure(row, "loop", "%", loop));
  return absl::OkStatus();
}

}  // namespace copse::bench
