// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/conductor.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "integration_tests/campaign/oracle.h"

namespace copse::campaign {
namespace {

using scenario::Cluster;
using scenario::Outcome;
using scenario::TeamPhase;

// Limit for events that need no fault to end: nodes come back, memory is freed.
constexpr absl::Duration kSettle = absl::Seconds(60);
constexpr absl::Duration kPhase = absl::Seconds(1);
// Additional descriptors: connections to the planner, old and new, and of the reader of gauges.
constexpr uint64_t kFilesMore = 2;
constexpr absl::Duration kLookAgain = absl::Milliseconds(500);
// Time until a daemon has learned that it takes teams again; administrators get no notification of it.
constexpr absl::Duration kUndrained = absl::Milliseconds(100);
constexpr size_t kComplaintsMax = 8;

struct Run {
  const Job* job;
  uint32_t first = 0;
  absl::Time launched;
};

class Conductor {
 public:
  Conductor(const Case& c, const Scale& scale, Cluster* cluster)
      : case_(c), scale_(scale), cluster_(cluster), oracle_(&c, &scale) {}

  Findings Conduct() {
    if (!Check(cluster_->Start(case_.options), "start")) return findings_;
    if (case_.disturbed) cluster_->DisturbData(true).IgnoreError();
    // They exist from the beginning: a job that is launched before its team's state is reached makes the faults of its
    // own programs itself.
    for (const Fault& fault : case_.faults) {
      if (fault.kind == FaultKind::kFullRooms || fault.kind == FaultKind::kLeavesEarly) oracle_.Made(fault);
    }
    if (scale_.real) WarmUp();
    for (uint32_t n = 0; n < case_.options.nodes; ++n) idle_.push_back(GaugesOf(n));
    for (const Job& job : case_.before) {
      Launch(job);
      Await(runs_.back());
    }
    Launch(case_.target);
    ReachState();
    MakeFaults();
    for (const Run& run : runs_) Finish(run);
    if (!hung_ && Settle()) {
      Launch(case_.after);
      Finish(runs_.back());
      AwaitIdle();
    }
    return findings_;
  }

 private:
  void Complain(std::string text) {
    if (findings_.complaints.size() < kComplaintsMax) findings_.complaints.push_back(std::move(text));
  }
  bool Check(const absl::Status& status, const std::string& what) {
    if (!status.ok()) Complain(absl::StrCat(what, ": ", std::string(status.message())));
    return status.ok();
  }

  // Lets processes allocate what they keep for good: libraries' files and pools.
  void WarmUp() {
    Launch(case_.after);
    Finish(runs_.back());
    runs_.clear();
    const absl::Time deadline = cluster_->Now() + kSettle;
    for (uint32_t n = 0; n < case_.options.nodes; ++n) {
      while (GaugesOf(n)["daemon.connections"] > 0 && cluster_->Now() < deadline) cluster_->Pass(kLookAgain);
    }
  }

  void Launch(const Job& job) {
    runs_.push_back({&job, 0, cluster_->Now()});
    runs_.back().first = cluster_->Launch(job.programs);
  }
  // Waits until the job's observer waits in the held call.
  void Await(const Run& run) {
    if (run.job->outcomes_before == 0) return;
    Check(cluster_->AwaitOutcomes(run.first + run.job->observer, run.job->outcomes_before, kSettle),
          absl::StrCat(run.job->name, " is on its way"));
  }

  void ReachState() {
    switch (case_.state) {
      case State::kForming:
        Reach(TeamPhase::kGathering);
        break;
      case State::kPrepared:
        Reach(TeamPhase::kPreparing);
        break;
      case State::kCommitted:
        Reach(TeamPhase::kDecided);
        break;
      default:
        Await(runs_.back());
    }
    if (case_.state == State::kDraining) {
      Check(cluster_->DrainNode(case_.drained, true), "drain");
    }
  }
  void Reach(TeamPhase phase) {
    // A refused team never reaches the phase.
    cluster_->AwaitTeamPhase(case_.target.name, phase, kPhase).IgnoreError();
  }

  // Makes the faults, which begin and end in the order of their times.
  void MakeFaults() {
    struct Turn {
      absl::Duration at;
      const Fault* fault;
      bool begins;
    };
    std::vector<Turn> turns;
    for (const Fault& fault : case_.faults) {
      turns.push_back({fault.after, &fault, true});
      turns.push_back({fault.after + fault.lasts, &fault, false});
    }
    std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.at < b.at; });
    const Run target = runs_.back();
    const absl::Time start = cluster_->Now();
    std::map<FaultKind, absl::Time> begun;
    for (const Turn& turn : turns) {
      if (const absl::Duration left = start + turn.at - cluster_->Now(); left > absl::ZeroDuration()) {
        cluster_->Pass(left);
      }
      if (turn.begins) {
        begun[turn.fault->kind] = cluster_->Now();
        const absl::Status status = Begin(cluster_, *turn.fault, target.first, case_.target.name);
        if (absl::IsUnimplemented(status)) continue;
        Check(status, FaultKindName(turn.fault->kind));
        oracle_.Made(*turn.fault);
        findings_.faults.emplace_back(turn.fault->kind, case_.state);
      } else {
        const absl::Status status = End(cluster_, *turn.fault, target.first);
        oracle_.Lasted(turn.fault->kind, cluster_->Now() - begun[turn.fault->kind]);
        if (turn.fault->kind == FaultKind::kPlannerReplaced) MeetNewcomer(*turn.fault);
        // A daemon that restarts while the planner is away, or drains, becomes ready later.
        if (!absl::IsUnimplemented(status) && case_.faults.size() == 1 && case_.state != State::kDraining) {
          Check(status, absl::StrCat("the end of ", FaultKindName(turn.fault->kind)));
        }
      }
    }
  }

  // A planner without state has formed a new team when the nodes of another one come back to it.
  void MeetNewcomer(const Fault& fault) {
    if (!case_.newcomer.programs.empty()) {
      Launch(case_.newcomer);
      for (uint32_t rank = 0; rank < case_.newcomer.programs.size(); ++rank) {
        cluster_->AwaitOutcomes(runs_.back().first + rank, 1, scale_.grace).IgnoreError();
      }
    }
    for (const uint32_t node : fault.nodes) cluster_->SetManagementLink(node, true).IgnoreError();
  }

  void Finish(const Run& run) {
    const absl::Time deadline = run.launched + oracle_.Patience(*run.job);
    const auto ranks = static_cast<uint32_t>(run.job->programs.size());
    std::vector<std::vector<Outcome>> outcomes;
    std::vector<std::string> hung;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const absl::Duration left = std::max(deadline - cluster_->Now(), absl::ZeroDuration());
      const absl::Status ended = cluster_->AwaitEnd(run.first + rank, left);
      outcomes.push_back(cluster_->Outcomes(run.first + rank));
      if (ended.ok()) continue;
      hung.push_back(absl::StrCat(rank, " (after ", outcomes.back().size(), " outcomes)"));
    }
    if (!hung.empty()) {
      hung_ = true;
      Complain(absl::StrCat("hung: ", run.job->name, " ranks ", absl::StrJoin(hung, ", ")));
      ComplainOfCalls(run.job->name);
    }
    Verdict verdict = oracle_.Judge(*run.job, outcomes);
    ++findings_.programs;
    findings_.ended_well += verdict.ended_well;
    findings_.calls += verdict.calls;
    for (std::string& complaint : verdict.complaints) Complain(std::move(complaint));
  }
  void ComplainOfCalls(const std::string& team) {
    const auto calls = cluster_->ListCalls(team);
    if (!calls.ok()) return;
    for (const scenario::ListedCall& call : *calls) {
      Complain(absl::StrCat("in flight: ", team, " call ", call.sequence, " ", call.collective, ", joined ",
                            absl::StrJoin(call.joined, ","), ", missing ", absl::StrJoin(call.missing, ",")));
    }
  }

  // Waits until every node is as it was.
  bool Settle() {
    if (case_.state == State::kDraining) Undrain(case_.drained);
    for (const Fault& fault : case_.faults) {
      if (fault.kind == FaultKind::kDrain) Undrain(fault.nodes[0]);
    }
    cluster_->Pass(kUndrained);
    bool ready = true;
    for (uint32_t n = 0; n < case_.options.nodes; ++n) {
      ready &= Check(cluster_->AwaitNodeState(n, "ready", kSettle), "all is well again");
    }
    return ready;
  }

  // A planner without its store knows a node only once that is back.
  void Undrain(uint32_t node) {
    const absl::Time deadline = cluster_->Now() + kSettle;
    absl::Status status = cluster_->DrainNode(node, false);
    while (absl::IsNotFound(status) && cluster_->Now() < deadline) {
      cluster_->Pass(kLookAgain);
      status = cluster_->DrainNode(node, false);
    }
    Check(status, "undrain");
  }

  std::map<std::string, uint64_t> GaugesOf(uint32_t node) {
    const auto gauges = cluster_->Gauges(node);
    return gauges.ok() ? *gauges : std::map<std::string, uint64_t>();
  }

  void AwaitIdle() {
    const absl::Time deadline = cluster_->Now() + kSettle;
    for (uint32_t n = 0; n < case_.options.nodes; ++n) {
      while (!IsIdle(n)) {
        if (cluster_->Now() >= deadline) return ComplainOfGauges(n);
        cluster_->Pass(kLookAgain);
      }
    }
  }
  bool IsIdle(uint32_t node) {
    auto gauges = GaugesOf(node);
    auto idle = idle_[node];
    if (oracle_.PlannerMayRemember()) gauges["planner.teams"] = idle["planner.teams"];
    if (gauges["files"] <= idle["files"] + kFilesMore) gauges["files"] = idle["files"];
    return gauges == idle;
  }
  void ComplainOfGauges(uint32_t node) {
    std::vector<std::string> differ;
    for (const auto& [name, value] : GaugesOf(node)) {
      if (value != idle_[node][name])
        differ.push_back(absl::StrCat(name, "=", value, " (was ", idle_[node][name], ")"));
    }
    Complain(absl::StrCat("gauges of n", node, " are not back: ", absl::StrJoin(differ, ", ")));
  }

  const Case& case_;
  const Scale& scale_;
  Cluster* const cluster_;
  Oracle oracle_;
  std::vector<Run> runs_;
  std::vector<std::map<std::string, uint64_t>> idle_;  // by node
  bool hung_ = false;
  Findings findings_;
};

}  // namespace

Findings Conduct(const Case& c, const Scale& scale, Cluster* cluster) { return Conductor(c, scale, cluster).Conduct(); }

}  // namespace copse::campaign
