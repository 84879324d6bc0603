// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/line_field.h"
#include "bench/measures/process_usage.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

// The swarm's own time-outs are shorter.
constexpr absl::Duration kPatience = absl::Seconds(100);

// A planner with one real daemon on one core, and the swarm on another.
class Swarm {
 public:
  explicit Swarm(const Options& options) : cluster_({.parent = options.folder}) {}

  absl::Status Start(uint32_t nodes) {
    RETURN_IF_ERROR(cluster_.Start({.nodes = 1}));
    RETURN_IF_ERROR(PinPlanner());
    ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/control/control_swarm"));
    ASSIGN_OR_RETURN(
        swarm_, procs::ChildProcess::Start({.arguments = {program, cluster_.planner_address(), absl::StrCat(nodes)},
                                            .stdin_pipe = true,
                                            .stdout_pipe = true}));
    if (std::thread::hardware_concurrency() > 1) RETURN_IF_ERROR(PinProcess(swarm_->pid(), 1));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Ask(const std::string& command) {
    RETURN_IF_ERROR(swarm_->Write(command + "\n"));
    return swarm_->ReadLine(kPatience);
  }
  absl::Status RestartPlanner() {
    cluster_.KillPlanner();
    RETURN_IF_ERROR(cluster_.RestartPlanner());
    return PinPlanner();
  }
  pid_t planner() const { return cluster_.PlannerPid(); }
  void Pass(absl::Duration duration) { cluster_.Pass(duration); }
  absl::StatusOr<double> Megabytes() const {
    ASSIGN_OR_RETURN(const Pss pss, ReadPss(planner()));
    return pss.total_kb / 1024;
  }

 private:
  absl::Status PinPlanner() {
    return std::thread::hardware_concurrency() > 1 ? PinProcess(planner(), 0) : absl::OkStatus();
  }

  procs::ProcessCluster cluster_;
  std::unique_ptr<procs::ChildProcess> swarm_;
};

// The figures of all runs.
struct Figures {
  std::vector<double> connect_s, idle_percent, idle_mb, teams_p99_ms, teams_failed, world_s, world_mb, back_s, broken;
};

absl::Status RunOnce(const Options& options, uint32_t nodes, Figures* figures) {
  const absl::Duration idle = absl::Seconds(options.quick ? 1 : 20);
  const uint32_t teams_per_s = options.quick ? 20 : 200;
  Swarm swarm(options);
  RETURN_IF_ERROR(swarm.Start(nodes));
  ASSIGN_OR_RETURN(std::string line, swarm.Ask("connect 60"));
  ASSIGN_OR_RETURN(const double registered, LineField("control_swarm", line, "registered"));
  if (registered < nodes) return absl::DeadlineExceededError(absl::StrCat("not all daemons registered: ", line));
  ASSIGN_OR_RETURN(figures->connect_s.emplace_back(), LineField("control_swarm", line, "seconds"));

  ASSIGN_OR_RETURN(const absl::Duration before, CpuTime(swarm.planner()));
  swarm.Pass(idle);
  ASSIGN_OR_RETURN(const absl::Duration after, CpuTime(swarm.planner()));
  figures->idle_percent.push_back(100 * absl::FDivDuration(after - before, idle));
  ASSIGN_OR_RETURN(const double idle_mb, swarm.Megabytes());
  figures->idle_mb.push_back(idle_mb);

  ASSIGN_OR_RETURN(line, swarm.Ask(absl::StrCat("teams ", teams_per_s, options.quick ? " 1" : " 10")));
  ASSIGN_OR_RETURN(figures->teams_p99_ms.emplace_back(), LineField("control_swarm", line, "p99_ms"));
  ASSIGN_OR_RETURN(const double begun, LineField("control_swarm", line, "begun"));
  ASSIGN_OR_RETURN(const double formed, LineField("control_swarm", line, "formed"));
  figures->teams_failed.push_back(begun - formed);

  ASSIGN_OR_RETURN(const double teams_mb, swarm.Megabytes());
  ASSIGN_OR_RETURN(line, swarm.Ask("world 60"));
  ASSIGN_OR_RETURN(const double is_formed, LineField("control_swarm", line, "formed"));
  if (is_formed == 0) return absl::DeadlineExceededError(absl::StrCat("the team of all was not formed: ", line));
  ASSIGN_OR_RETURN(figures->world_s.emplace_back(), LineField("control_swarm", line, "seconds"));
  ASSIGN_OR_RETURN(const double world_mb, swarm.Megabytes());
  figures->world_mb.push_back(world_mb - teams_mb);

  RETURN_IF_ERROR(swarm.Ask("lose").status());
  const absl::Time killed = absl::Now();
  RETURN_IF_ERROR(swarm.RestartPlanner());
  ASSIGN_OR_RETURN(line, swarm.Ask("back 60"));
  ASSIGN_OR_RETURN(const double returned, LineField("control_swarm", line, "registered"));
  if (returned < nodes) return absl::DeadlineExceededError(absl::StrCat("not all daemons came back: ", line));
  figures->back_s.push_back(absl::ToDoubleSeconds(absl::Now() - killed));
  ASSIGN_OR_RETURN(figures->broken.emplace_back(), LineField("control_swarm", line, "broken"));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunControlSwarm(const Options& options, const Contest&, const Reporter& report) {
  const uint32_t nodes = options.quick ? 64 : 10'000;
  const auto row = [nodes](const std::string& what, const std::string& note) {
    return Row{.bench = "control-swarm", .what = what, .system = "copse", .nodes = nodes, .ppn = 1, .note = note};
  };
  if (!Wanted(options, row("", ""))) return absl::OkStatus();
  Figures figures;
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 1 : 3;
  for (uint32_t run = 0; run < runs; ++run) {
    if (const absl::Status status = RunOnce(options, nodes, &figures); !status.ok()) {
      report(Unfinished(row("a run", ""), std::string(status.message())));
      return absl::OkStatus();
    }
  }
  const std::string on = "planner on one core, all daemons' streams from one process on another";
  report(Figure(row("all daemons connect", on), "time", "s", figures.connect_s));
  report(Figure(row("all daemons idle", "of a core, user and system"), "cpu", "%", figures.idle_percent));
  report(Figure(row("all daemons idle", "PSS"), "memory", "MB", figures.idle_mb));
  const std::string rate = options.quick ? "20" : "200";
  report(Figure(row(absl::StrCat(rate, " teams of 8 a second"), "from the joins to the last Commit"), "p99", "ms",
                figures.teams_p99_ms));
  report(Figure(row(absl::StrCat(rate, " teams of 8 a second"), "that did not form"), "failed", "1",
                figures.teams_failed));
  report(Figure(row("a team of all forms", "its first plans included"), "time", "s", figures.world_s));
  report(Figure(row("a team of all forms", "PSS, beyond that before"), "memory", "MB", figures.world_mb));
  report(Figure(row("all return to a killed planner with a team of all", "from kill -9"), "time", "s", figures.back_s));
  report(Figure(row("all return to a killed planner with a team of all", "teams"), "broken", "1", figures.broken));
  return absl::OkStatus();
}

}  // namespace copse::bench
