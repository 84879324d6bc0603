// SPDX-License-Identifier: Apache-2.0
//
// Calls of one user beside a process of another user that attacks the daemon of their node, and beside processes that
// take as much processor time and do no harm.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/process_usage.h"
#include "bench/measures/timed_team.h"
#include "bench/testbed.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kBytes = 48;
constexpr uint32_t kWarmUp = 20;
constexpr absl::Duration kPatience = absl::Seconds(120);
// Less is not worth a process.
constexpr double kLeastPart = 0.005;

struct Attack {
  const char* name;
  std::vector<std::string> arguments;  // of hostile_client
};
const Attack kAttacks[] = {{"all quotas, renewed", {"quotas"}},
                           {"futexes of its page", {"futexes"}},
                           {"64 statuses at once", {"statuses", "64"}},
                           {"connections", {"connections"}},
                           {"vain rings", {"rings", "1"}},
                           {"vain rings of 64 clients", {"rings", "64"}}};

struct Scale {
  uint32_t turns, calls;
};

// What a turn has measured, or what all of them have.
struct Samples {
  std::vector<double> beside_hostile, beside_harmless;  // us, medians of a turn
  std::vector<double> ratios;
  std::vector<double> refused;                     // teams
  std::vector<double> client_parts, daemon_parts;  // of a processor
};

// Processor time of everything that works for others on this machine.
struct Used {
  absl::Duration daemon, planner;
};

using Processes = std::vector<std::unique_ptr<procs::ChildProcess>>;

class Neighbors {
 public:
  static absl::StatusOr<Neighbors> Start(procs::ProcessCluster* cluster, const Attack& attack, const Scale& scale) {
    Neighbors neighbors(cluster, attack, scale);
    ASSIGN_OR_RETURN(neighbors.program_, procs::FindProgram("bench/ranks/hostile_client"));
    ASSIGN_OR_RETURN(neighbors.victim_, TimedTeam::Start(cluster, 1, kRanks, kPatience, "victim"));
    ASSIGN_OR_RETURN(neighbors.before_, cluster->Gauges(0));
    // The first parts of harmless processes: none.
    RETURN_IF_ERROR(neighbors.BesideHarmless().status());
    Samples first;
    RETURN_IF_ERROR(neighbors.BesideHostile(&first).status());
    return neighbors;
  }

  // One is first in every other turn, so that a machine that becomes slower or faster favors neither.
  absl::Status Turn(bool hostile_is_first, Samples* samples) {
    double hostile = 0, harmless = 0;
    for (const bool is_hostile : {hostile_is_first, !hostile_is_first}) {
      if (is_hostile) {
        ASSIGN_OR_RETURN(hostile, BesideHostile(samples));
      } else {
        ASSIGN_OR_RETURN(harmless, BesideHarmless());
      }
    }
    samples->beside_hostile.push_back(hostile);
    samples->beside_harmless.push_back(harmless);
    samples->ratios.push_back(hostile / harmless);
    return absl::OkStatus();
  }

  absl::Status Stop() { return victim_->Stop(kPatience); }

 private:
  Neighbors(procs::ProcessCluster* cluster, const Attack& attack, const Scale& scale)
      : cluster_(cluster), attack_(&attack), scale_(scale) {}

  absl::StatusOr<Used> UsedSoFar() const {
    Used used;
    ASSIGN_OR_RETURN(used.daemon, CpuTime(cluster_->DaemonPid(0)));
    ASSIGN_OR_RETURN(used.planner, CpuTime(cluster_->PlannerPid()));
    return used;
  }

  // Returns the median of the victim's calls, and what was used meanwhile.
  absl::StatusOr<double> TimeCalls(Used* used) {
    ASSIGN_OR_RETURN(const Used before, UsedSoFar());
    ASSIGN_OR_RETURN(std::vector<double> calls,
                     victim_->Time(Collective::kAllreduce, kBytes, kWarmUp, scale_.calls, kPatience));
    ASSIGN_OR_RETURN(const Used after, UsedSoFar());
    *used = {after.daemon - before.daemon, after.planner - before.planner};
    return Median(std::move(calls));
  }

  absl::StatusOr<std::unique_ptr<procs::ChildProcess>> StartProcess(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_);
    ASSIGN_OR_RETURN(auto process, cluster_->StartApplication(0, std::move(arguments)));
    if (!process->ReadLine(kPatience).ok()) {
      return absl::InternalError(absl::StrCat("hostile_client: ", process->DescribeFailure()));
    }
    return process;
  }

  absl::StatusOr<double> BesideHostile(Samples* samples) {
    ASSIGN_OR_RETURN(const auto hostile, StartProcess(attack_->arguments));
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(const absl::Duration before, CpuTime(hostile->pid()));
    Used used;
    ASSIGN_OR_RETURN(const double median, TimeCalls(&used));
    ASSIGN_OR_RETURN(const absl::Duration after, CpuTime(hostile->pid()));
    const absl::Duration passed = absl::Now() - begin;
    const double client = absl::FDivDuration(after - before, passed);
    const double daemon = absl::FDivDuration(used.daemon - own_.daemon, passed);
    parts_.clear();
    for (const double part : {client, daemon, absl::FDivDuration(used.planner - own_.planner, passed)}) AddPart(part);
    samples->client_parts.push_back(client);
    samples->daemon_parts.push_back(daemon);
    const auto team = TimedTeam::Start(cluster_, 1, kRanks, kPatience, "newcomer");
    const absl::Status formed = team.ok() ? (*team)->Stop(kPatience) : team.status();
    if (!formed.ok()) fprintf(stderr, "hostile: refused: %s\n", formed.ToString().c_str());
    samples->refused.push_back(formed.ok() ? 0 : 1);
    hostile->Signal(SIGKILL);
    RETURN_IF_ERROR(hostile->AwaitEnd(kPatience));
    RETURN_IF_ERROR(AwaitItsEnd());
    return median;
  }

  // Several threads take more than one processor.
  void AddPart(double part) {
    for (; part > 1; --part) parts_.push_back(1);
    if (part >= kLeastPart) parts_.push_back(part);
  }

  absl::StatusOr<double> BesideHarmless() {
    Processes harmless;
    for (const double part : parts_) {
      ASSIGN_OR_RETURN(harmless.emplace_back(), StartProcess({"computes", absl::StrCat(part)}));
    }
    return TimeCalls(&own_);
  }

  // Until the daemon has let go of all that the hostile process and the newcomers had.
  absl::Status AwaitItsEnd() const {
    const absl::Time deadline = absl::Now() + kPatience;
    for (;;) {
      ASSIGN_OR_RETURN(const auto gauges, cluster_->Gauges(0));
      const auto is_as_before = [&](const char* gauge) { return gauges.at(gauge) <= before_.at(gauge); };
      if (is_as_before("shared_memory") && is_as_before("planner.teams")) return absl::OkStatus();
      if (absl::Now() > deadline) return absl::DeadlineExceededError("hostile: its clients or teams are still here");
    }
  }

  procs::ProcessCluster* cluster_;
  const Attack* attack_;
  Scale scale_;
  std::string program_;
  std::unique_ptr<TimedTeam> victim_;
  std::map<std::string, uint64_t> before_;  // gauges
  std::vector<double> parts_;               // of a processor, for each harmless process
  Used own_;                                // by the victim's calls, beside harmless processes
};

absl::Status RunAttack(const Options& options, const Attack& attack, const Reporter& report) {
  Row row = {.bench = "hostile",
             .what = absl::StrCat("allreduce 48 B beside ", attack.name),
             .system = "copse",
             .collective = "allreduce",
             .nodes = 1,
             .ppn = kRanks,
             .bytes = kBytes,
             .metric = "latency",
             .unit = "us"};
  if (!Wanted(options, row)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto testbed, Testbed::Open({.nodes = 1, .parent = options.folder}));
  procs::ProcessCluster& cluster = *testbed->cluster();
  const Scale scale = options.quick ? Scale{1, 50} : Scale{options.runs > 0 ? options.runs : 11, 1000};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Neighbors neighbors, Neighbors::Start(&cluster, attack, scale));
    Samples samples;
    for (uint32_t turn = 0; turn < scale.turns; ++turn) RETURN_IF_ERROR(neighbors.Turn(turn % 2 == 0, &samples));
    row.note = absl::StrFormat("medians of turns; of a processor: the process %.2f, the daemon for it %.2f",
                               Median(samples.client_parts), Median(samples.daemon_parts));
    report(Figure(row, "beside hostile", "us", samples.beside_hostile));
    report(Figure(row, "beside harmless", "us", samples.beside_harmless));
    report(Figure(row, "refused", "teams", samples.refused));
    row.peer = "harmless";
    report(Figure(row, "ratio", "1", samples.ratios));
    return neighbors.Stop();
  };
  return MeasureOn(&cluster, run);
}

}  // namespace

absl::Status RunHostile(const Options& options, const Contest&, const Reporter& report) {
  for (const Attack& attack : kAttacks) RETURN_IF_ERROR(RunAttack(options, attack, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
