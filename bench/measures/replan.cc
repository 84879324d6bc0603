// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/measures/timed_team.h"
#include "bench/plans.h"
#include "bench/temporary_file.h"
#include "bench/testbed.h"
#include "bench/wide_area.h"
#include "collectives/call_arguments.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/fabric/fabric_control.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/process_cluster.h"

namespace copse::bench {
namespace {

constexpr double kProbeSeconds = 120;
constexpr absl::Duration kProbePatience = absl::Seconds(180);
constexpr absl::Duration kCallsPatience = absl::Seconds(120);
constexpr uint32_t kWarmUp = 5;

// The link of site 2, of 4.5 ms one way and 100 Mbit/s.
struct Slowing {
  const char* name;
  const char* settings;
  uint64_t bytes;
  const char* call;
};
constexpr Slowing kSlowings[] = {
    {"a site's latency times 10", "latency=45ms", 48, "allreduce 48 B"},
    {"a site's rate by 10", "rate=10Mbit", 65536, "allreduce 64 KiB"},
};

Row RowOf(const Slowing& slowing, const std::string& when) {
  return {.bench = "replan",
          .what = absl::StrCat(slowing.call, ", ", slowing.name, when.empty() ? "" : ", ", when),
          .system = "copse",
          .collective = "allreduce",
          .nodes = 12,
          .ppn = 1,
          .bytes = slowing.bytes,
          .metric = "latency",
          .unit = "us"};
}

absl::StatusOr<Row> Measure(const procs::ProcessCluster& cluster, TimedTeam* team, const Slowing& slowing,
                            const std::string& when, uint32_t calls) {
  ASSIGN_OR_RETURN(std::vector<double> times_us,
                   team->Time(Collective::kAllreduce, slowing.bytes, kWarmUp, calls, kCallsPatience));
  Row row = RowOf(slowing, when);
  ASSIGN_OR_RETURN(const v1::PlanRow plan, FindPlan(cluster.admin(), Collective::kAllreduce, slowing.bytes));
  row.algorithm = plan.algorithm();
  Summarize(std::move(times_us), &row);
  return row;
}

absl::Status RunCase(const Options& options, const Slowing& slowing, const Reporter& report) {
  if (!Wanted(options, RowOf(slowing, ""))) return absl::OkStatus();
  const uint32_t calls = options.quick ? 10 : 60;
  ASSIGN_OR_RETURN(const TemporaryFile file,
                   TemporaryFile::Write(topology::FormatTopologyYaml(ThreeSites()), options.folder));
  ASSIGN_OR_RETURN(const auto testbed, Testbed::Open({.nodes = 12, .parent = options.folder, .fabric = file.path()}));
  procs::ProcessCluster& cluster = *testbed->cluster();
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(fabric::FabricControl network, fabric::FabricControl::Connect(cluster.network()->fabric_socket()));
    ASSIGN_OR_RETURN(std::unique_ptr<TimedTeam> team, TimedTeam::Start(&cluster, 12, 1, kCallsPatience));
    ASSIGN_OR_RETURN(Row row, Measure(cluster, team.get(), slowing, "before", calls));
    report(row);
    RETURN_IF_ERROR(network.Set("site2", slowing.settings));
    ASSIGN_OR_RETURN(row, Measure(cluster, team.get(), slowing, "slowed, old plans", calls));
    report(row);

    // Calls run all the while that daemons measure and the team is switched. Each rank checks what it gets.
    std::atomic<bool> over = false;
    absl::Status lost_or_wrong;
    uint32_t made = 0;
    std::thread calling([&] {
      while (!over && lost_or_wrong.ok()) {
        lost_or_wrong = team->Time(Collective::kAllreduce, slowing.bytes, 0, 10, kCallsPatience).status();
        made += 10;
      }
    });
    v1::ProbeTopologyRequest request;
    request.set_tree("known");
    request.set_seconds(kProbeSeconds);
    request.set_apply(true);
    const auto probed = cluster.admin().ProbeTopology(request, kProbePatience);
    over = true;
    calling.join();
    row = RowOf(slowing, "");
    row.note = lost_or_wrong.ok() ? absl::StrCat("of ", made, " while daemons measured and the team was switched")
                                  : std::string(lost_or_wrong.message());
    report(Figure(row, "calls lost or wrong", "calls", {lost_or_wrong.ok() ? 0.0 : 1.0}));
    RETURN_IF_ERROR(lost_or_wrong);
    RETURN_IF_ERROR(probed.status());

    // The new epoch begins some calls later.
    RETURN_IF_ERROR(
        team->Time(Collective::kAllreduce, slowing.bytes, 0, TimedTeam::kCallsToSwitch, kCallsPatience).status());
    ASSIGN_OR_RETURN(const Row after, Measure(cluster, team.get(), slowing, "replanned", calls));
    report(after);
    RETURN_IF_ERROR(team->Stop(kCallsPatience));
    ASSIGN_OR_RETURN(team, TimedTeam::Start(&cluster, 12, 1, kCallsPatience));
    ASSIGN_OR_RETURN(const Row fresh, Measure(cluster, team.get(), slowing, "fresh start", calls));
    report(fresh);
    row = RowOf(slowing, "");
    row.metric = "ratio";
    row.unit = "1";
    row.peer = "fresh start";
    row.runs = after.runs;
    row.p10 = after.p10 / fresh.median;
    row.median = after.median / fresh.median;
    row.p90 = after.p90 / fresh.median;
    row.note = probed->replanned_size() > 0 ? absl::StrCat("teams replanned: ", probed->replanned_size(),
                                                           "; the probe took ", probed->took_s(), " s")
                                            : "the old plans were good enough";
    report(row);
    return team->Stop(kCallsPatience);
  };
  return MeasureOn(&cluster, run);
}

}  // namespace

absl::Status RunReplan(const Options& options, const Contest&, const Reporter& report) {
  RETURN_IF_ERROR(netns::CheckNamespaces(true));
  for (const Slowing& slowing : kSlowings) {
    if (options.quick && &slowing != kSlowings) break;
    RETURN_IF_ERROR(RunCase(options, slowing, report));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
