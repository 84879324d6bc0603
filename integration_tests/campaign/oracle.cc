// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/oracle.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "schedule/folds.h"

namespace copse::campaign {
namespace {

using scenario::Outcome;
using scenario::Script;
using scenario::Step;
using scenario::StepKind;
using schedule::Failure;
using schedule::FailureCause;

// Pauses and waits have no outcome of their own; nor has the death of a rank.
bool HasOutcome(const Step& step) {
  return step.kind != StepKind::kPause && step.kind != StepKind::kAwait && step.kind != StepKind::kDie;
}
bool IsCall(const Step& step) { return step.kind == StepKind::kCall || step.kind == StepKind::kPost; }

// Whether the step forms a team, or needs plans to be made.
bool Forms(const Step& step) {
  if (!IsCall(step)) return step.kind == StepKind::kTeam || step.kind == StepKind::kSubTeam;
  return schedule::FamilyOfCall(ArgumentsOf(WholeCallOf(step))) != Family::kCommon;
}

std::string NodeName(uint32_t node) { return absl::StrCat("n", node); }

// TCP's first time-out; two may occur.
constexpr absl::Duration kRetransmission = absl::Milliseconds(400);

bool Has(const Job& job, uint32_t node) { return std::count(job.placement.begin(), job.placement.end(), node) != 0; }

}  // namespace

void Oracle::Lasted(FaultKind kind, absl::Duration time) {
  for (Fault& fault : made_) {
    if (fault.kind == kind) fault.lasts = std::max(fault.lasts, time);
  }
}

bool Oracle::WasMade(FaultKind kind) const {
  return std::any_of(made_.begin(), made_.end(), [&](const Fault& fault) { return fault.kind == kind; });
}

bool Oracle::InPath(const Fault& fault, const Job& job) const {
  const bool forms = job.needs_planner || &job == &case_->after || &job == &case_->newcomer ||
                     (IsTarget(job) && (case_->state == State::kForming || case_->state == State::kPrepared ||
                                        case_->state == State::kCommitted));
  // An undecided switch, or one whose decision does not reach a node, holds calls.
  const bool switches = IsTarget(job) && (WasMade(FaultKind::kReplan) || fault.kind == FaultKind::kUndecided);
  if (ConcernsPlanner(fault.kind) || fault.kind == FaultKind::kStoreRefuses) return forms || switches;
  if (fault.kind == FaultKind::kReplan) return false;
  if (fault.kind == FaultKind::kFullRooms) return true;  // the fault exists from the beginning
  const bool meets_nodes =
      std::any_of(fault.nodes.begin(), fault.nodes.end(), [&](uint32_t node) { return Has(job, node); });
  if (ConcernsFormation(fault.kind)) return (forms || switches) && meets_nodes;
  switch (fault.kind) {
    case FaultKind::kProcessCrash:
    case FaultKind::kProcessPause:
    case FaultKind::kLeavesEarly:
      return IsTarget(job);
    case FaultKind::kDataDisturbed:
      return false;
    default:
      return meets_nodes;
  }
}

absl::Duration Oracle::Patience(const Job& job) const {
  absl::Duration patience = job.pauses + scale_->grace;
  for (const Fault& fault : made_) {
    if (!InPath(fault, job)) continue;
    patience += fault.lasts + 3 * case_->options.node_timeout;
    const bool loses_ranks = fault.kind == FaultKind::kProcessCrash || fault.kind == FaultKind::kDaemonCrash;
    // The others wait for ranks that will never arrive.
    if (ConcernsFormation(fault.kind) || loses_ranks || IsSilence(fault.kind)) {
      patience += case_->options.team_formation_timeout + absl::Seconds(10);
    }
  }
  return patience;
}

bool Oracle::MayBeLost(const Job& job) const {
  absl::Duration silent;
  for (const Fault& fault : made_) {
    if (!IsSilence(fault.kind) || !InPath(fault, job)) continue;
    // TCP sends again after a cut, at worst after as long once more.
    silent += scale_->real && fault.kind == FaultKind::kDataCut ? 2 * fault.lasts + kRetransmission : fault.lasts;
  }
  return silent > 0.8 * case_->options.node_timeout;
}

bool Oracle::Explains(const Fault& fault, const Job& job, uint32_t rank, bool forms, const Outcome& outcome) const {
  if (!InPath(fault, job)) return false;
  const FailureCause cause = outcome.cause;
  const auto one_of = [&](std::set<FailureCause> causes) { return causes.contains(cause); };
  const bool named = std::any_of(fault.nodes.begin(), fault.nodes.end(),
                                 [&](uint32_t node) { return outcome.node == NodeName(node); });
  const bool on_node = job.placement[rank] == fault.nodes[0];
  // The missing ranks are a list, so no single node is named.
  const bool not_in_time = forms && cause == FailureCause::kNotFormedInTime;
  switch (fault.kind) {
    case FaultKind::kProcessCrash:
      return (named && cause == FailureCause::kProcessDied) || not_in_time;
    case FaultKind::kDaemonCrash:
      if (on_node && cause == FailureCause::kDaemonGone) return true;
      return (named && one_of({FailureCause::kNodeRestarted, FailureCause::kConnectionLost, FailureCause::kNodeSilent,
                               FailureCause::kProcessDied})) ||
             not_in_time;
    case FaultKind::kDaemonPause:
    case FaultKind::kDataCut: {
      if (not_in_time) return true;
      // A process that attaches to a stopped daemon knows no node yet.
      if (on_node && forms && cause == FailureCause::kCallerTimeOut) return true;
      if (!MayBeLost(job) || cause != FailureCause::kNodeSilent) return false;
      if (named) return true;
      // The two ends of a cut link cannot be distinguished from there; a planner that receives all other reports can.
      const bool nobody_weighs = made_.size() > 1;
      const std::set<uint32_t> nodes(job.placement.begin(), job.placement.end());
      const bool others_left = IsTarget(job) && case_->state == State::kLeaving;
      // A shorter cut is a loss only on a link on which TCP's pause went on; the node's other links are well.
      const bool one_link_only = fault.lasts < case_->options.node_timeout;
      return nodes.size() == 2 || others_left || nobody_weighs || one_link_only;
    }
    case FaultKind::kDrain:
      return not_in_time || (forms && named && cause == FailureCause::kNodeDraining);
    case FaultKind::kFullRooms:
      return forms && cause == FailureCause::kQuota;
    case FaultKind::kLeavesEarly:
      return named && cause == FailureCause::kMemberLeft;
    case FaultKind::kStoreRefuses:
      return forms && one_of({FailureCause::kFault, FailureCause::kQuota});
    case FaultKind::kManagementCut:
    case FaultKind::kManagementReset:
    case FaultKind::kPlannerKilled:
    case FaultKind::kPlannerStalled:
    case FaultKind::kPlannerReplaced:
    case FaultKind::kUndecided:
    case FaultKind::kEqualNames:
      return not_in_time || (forms && cause == FailureCause::kNoPlanner);
    default:
      return false;
  }
}

bool Oracle::IsExplained(const Job& job, uint32_t rank, const Step& step, const Outcome& outcome) const {
  if (case_->state == State::kDraining && Forms(step) && outcome.cause == FailureCause::kNodeDraining &&
      outcome.node == NodeName(case_->drained)) {
    return true;
  }
  return std::any_of(made_.begin(), made_.end(),
                     [&](const Fault& fault) { return Explains(fault, job, rank, Forms(step), outcome); });
}

Verdict Oracle::Judge(const Job& job, const std::vector<std::vector<Outcome>>& outcomes) const {
  Verdict verdict{.ended_well = true, .calls = std::numeric_limits<uint64_t>::max()};
  for (uint32_t rank = 0; rank < outcomes.size(); ++rank) {
    const Script& script = job.programs[rank].script;
    std::vector<const Step*> steps;
    for (const Step& step : script) {
      if (HasOutcome(step)) steps.push_back(&step);
    }
    const bool whole = outcomes[rank].size() == steps.size();
    verdict.ended_well &= whole;
    std::set<uint32_t> lost;  // teams that were not formed
    uint64_t calls = 0;
    bool told = false, complained = false;
    for (size_t i = 0; i < outcomes[rank].size() && i < steps.size(); ++i) {
      const Step& step = *steps[i];
      const Outcome& outcome = outcomes[rank][i];
      const std::string what = absl::StrCat(job.name, " rank ", rank, " on ", NodeName(job.placement[rank]), " step ",
                                            i, " (", scenario::DescribeStep(step), ")");
      if (IsCall(step) && !told) ++calls;
      if (!outcome.data_ok) verdict.complaints.push_back(absl::StrCat("wrong data: ", what));
      if (outcome.failure == Failure::kNone) continue;
      verdict.ended_well = false;
      told = true;
      if (!whole) continue;  // for a killed rank, the failed step is not known
      const bool begins = step.kind == StepKind::kTeam || step.kind == StepKind::kSubTeam;
      const bool follows = lost.contains(step.team) || (step.kind == StepKind::kSubTeam && lost.contains(step.parent));
      if (begins) lost.insert(step.team);
      if (follows && outcome.cause == FailureCause::kBadArgument) continue;
      if (IsExplained(job, rank, step, outcome)) continue;
      // One complaint per rank: later steps fail alike.
      if (complained) continue;
      complained = true;
      const bool unnamed = outcome.node.empty() && outcome.cause == UsualCause(outcome.failure);
      verdict.complaints.push_back(absl::StrCat(unnamed ? "unnamed: " : "unexplained: ", what,
                                                ": cause=", FailureCauseName(outcome.cause), " node=", outcome.node,
                                                ": ", outcome.text));
    }
    verdict.calls = std::min(verdict.calls, calls);
  }
  if (outcomes.empty()) verdict.calls = 0;
  return verdict;
}

}  // namespace copse::campaign
