// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/measures/process_usage.h"
#include "bench/measures/timed_team.h"
#include "bench/testbed.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

using procs::ProcessCluster;

constexpr absl::Duration kSettle = absl::Seconds(60);
constexpr uint32_t kCalls = 200;
constexpr uint64_t kCallBytes = 48;

Row RowOf(const std::string& what, uint32_t nodes, const std::string& metric, const std::string& unit) {
  return {.bench = "idle", .what = what, .system = "copse", .nodes = nodes, .ppn = 1, .metric = metric, .unit = unit};
}

// One rank on each node, whose calls are over.
absl::StatusOr<std::unique_ptr<TimedTeam>> StartIdleTeam(ProcessCluster* cluster, uint32_t nodes) {
  ASSIGN_OR_RETURN(auto team, TimedTeam::Start(cluster, nodes, 1, kSettle));
  RETURN_IF_ERROR(team->Time(Collective::kAllreduce, kCallBytes, 0, kCalls, kSettle).status());
  return team;
}

// --- A daemon ---

absl::Status RunDaemon(const Options& options, const Reporter& report) {
  Row cpu = RowOf("daemon", 2, "cpu", "%");
  Row memory = RowOf("daemon", 2, "memory", "MB");
  if (!Wanted(options, cpu)) return absl::OkStatus();
  const absl::Duration window = absl::Seconds(options.quick ? 1 : 10);
  ProcessCluster cluster({.parent = options.folder});
  RETURN_IF_ERROR(cluster.Start({.nodes = cpu.nodes}));
  ASSIGN_OR_RETURN(const auto team, StartIdleTeam(&cluster, cpu.nodes));
  cluster.Pass(window);
  std::vector<absl::Duration> before;
  for (uint32_t node = 0; node < cpu.nodes; ++node) {
    ASSIGN_OR_RETURN(before.emplace_back(), CpuTime(cluster.DaemonPid(node)));
  }
  const absl::Time start = absl::Now();
  cluster.Pass(window);
  const absl::Duration passed = absl::Now() - start;
  std::vector<double> percent, megabytes;
  for (uint32_t node = 0; node < cpu.nodes; ++node) {
    ASSIGN_OR_RETURN(const absl::Duration after, CpuTime(cluster.DaemonPid(node)));
    percent.push_back(100 * absl::FDivDuration(after - before[node], passed));
    ASSIGN_OR_RETURN(const Pss pss, ReadPss(cluster.DaemonPid(node)));
    megabytes.push_back(pss.total_kb / 1024);
  }
  Summarize(percent, &cpu);
  cpu.note = absl::StrCat("of a core, user and system, over ", absl::FormatDuration(passed), "; last call ",
                          absl::FormatDuration(window), " before; 2 daemons");
  report(cpu);
  Summarize(megabytes, &memory);
  memory.note = "PSS; 2 daemons, which share their program's pages";
  report(memory);
  return absl::OkStatus();
}

// --- A client ---

absl::StatusOr<double> KilobytesPerClient(const Options& options, const std::vector<uint32_t>& counts) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/ranks/idle_client"));
  ProcessCluster cluster({.parent = options.folder});
  RETURN_IF_ERROR(cluster.Start({.nodes = 1}));
  std::vector<std::unique_ptr<procs::ChildProcess>> clients;
  std::vector<std::pair<double, double>> points;
  for (const uint32_t count : counts) {
    while (clients.size() < count) {
      ASSIGN_OR_RETURN(clients.emplace_back(), cluster.StartApplication(0, {program}));
      RETURN_IF_ERROR(clients.back()->ReadLine(kSettle).status());
    }
    ASSIGN_OR_RETURN(const Pss pss, ReadPss(cluster.DaemonPid(0)));
    points.emplace_back(count, pss.own_kb);
  }
  return Slope(points);
}

// Reports how many KB each of something adds; `measure` fits a line to the figures at these counts.
absl::Status ReportSlope(const Options& options, Row row, const std::vector<uint32_t>& counts,
                         absl::StatusOr<double> (*measure)(const Options&, const std::vector<uint32_t>&),
                         const Reporter& report) {
  if (!Wanted(options, row)) return absl::OkStatus();
  std::vector<double> kilobytes;
  for (int run = 0; run < (options.quick ? 1 : 3); ++run) {
    ASSIGN_OR_RETURN(kilobytes.emplace_back(), measure(options, counts));
  }
  report(Figure(std::move(row), "memory", "KB", kilobytes));
  return absl::OkStatus();
}

absl::Status RunClients(const Options& options, const Reporter& report) {
  const std::vector<uint32_t> counts =
      options.quick ? std::vector<uint32_t>{0, 4, 8} : std::vector<uint32_t>{0, 8, 16, 32, 64};
  Row row = RowOf("an attached client", 1, "memory", "KB");
  row.note = absl::StrCat("slope of the daemon's PSS without files over ", absl::StrJoin(counts, ", "),
                          " clients; of memory that both map, half is the client's");
  return ReportSlope(options, std::move(row), counts, KilobytesPerClient, report);
}

// --- An edge ---

// One node is all others' neighbor.
absl::StatusOr<double> KilobytesPerEdge(const Options& options, const std::vector<uint32_t>& node_counts) {
  std::vector<std::pair<double, double>> points;
  for (const uint32_t nodes : node_counts) {
    ASSIGN_OR_RETURN(const auto testbed,
                     Testbed::Open({.nodes = nodes, .parent = options.folder, .loopback = true, .algorithm = "flat"}));
    ASSIGN_OR_RETURN(const auto team, StartIdleTeam(testbed->cluster(), nodes));
    ASSIGN_OR_RETURN(const Testbed::PlanSummary plan, testbed->SummarizePlan("allreduce", kCallBytes));
    const auto hub = std::max_element(plan.neighbors.begin(), plan.neighbors.end());
    if (*hub != nodes - 1) {
      return absl::InternalError(absl::StrCat("no node is all others' neighbor (most=", *hub, ")"));
    }
    const auto hub_node = static_cast<uint32_t>(hub - plan.neighbors.begin());
    ASSIGN_OR_RETURN(const Pss pss, ReadPss(testbed->cluster()->DaemonPid(hub_node)));
    points.emplace_back(*hub, pss.own_kb);
  }
  return Slope(points);
}

absl::Status RunEdges(const Options& options, const Reporter& report) {
  const std::vector<uint32_t> nodes = options.quick ? std::vector<uint32_t>{2, 6} : std::vector<uint32_t>{2, 5, 9, 17};
  Row row = RowOf("an edge", nodes.back(), "memory", "KB");
  row.algorithm = "flat";
  row.note = absl::StrCat("slope of the middle daemon's PSS without files over teams on ", absl::StrJoin(nodes, ", "),
                          " nodes; with its connection");
  return ReportSlope(options, std::move(row), nodes, KilobytesPerEdge, report);
}

}  // namespace

double Slope(const std::vector<std::pair<double, double>>& points) {
  double x_mean = 0, y_mean = 0, xy = 0, xx = 0;
  for (const auto& [x, y] : points) {
    x_mean += x / static_cast<double>(points.size());
    y_mean += y / static_cast<double>(points.size());
  }
  for (const auto& [x, y] : points) {
    xy += (x - x_mean) * (y - y_mean);
    xx += (x - x_mean) * (x - x_mean);
  }
  return xy / xx;
}

absl::Status RunIdle(const Options& options, const Contest&, const Reporter& report) {
  RETURN_IF_ERROR(RunDaemon(options, report));
  RETURN_IF_ERROR(RunClients(options, report));
  return RunEdges(options, report);
}

}  // namespace copse::bench
