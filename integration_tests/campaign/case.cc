// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/case.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/prng.h"
#include "collectives/call_arguments.h"
#include "schedule/folds.h"

namespace copse::campaign {
namespace {

using scenario::Placement;
using scenario::Program;
using scenario::Script;
using scenario::Step;
using scenario::StepKind;

constexpr uint32_t kTeam = 0;
constexpr uint32_t kSubTeam = 1;
constexpr uint32_t kHogTeams = 24;
constexpr uint64_t kSmallMemory = 8 << 20;

bool NeedsPlans(const Step& step) { return schedule::FamilyOfCall(ArgumentsOf(WholeCallOf(step))) != Family::kCommon; }

Placement RandomPlacement(uint32_t ranks, std::vector<uint32_t> nodes, Prng* prng) {
  for (size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[prng->Below(i)]);
  const auto used = static_cast<uint32_t>(1 + prng->Below(nodes.size()));
  Placement placement = scenario::UnevenPlacement(ranks, std::min(used, ranks), prng->Next());
  for (uint32_t& node : placement) node = nodes[node];
  return placement;
}

// Makes one job. The order is: team, calls, the held call, calls, the end.
class JobMaker {
 public:
  JobMaker(std::string name, Placement placement, const Scale& scale, Prng* prng) : scale_(scale), prng_(prng) {
    job_.name = std::move(name);
    job_.placement = std::move(placement);
    ranks_ = static_cast<uint32_t>(job_.placement.size());
    job_.holder = static_cast<uint32_t>(prng_->Below(ranks_));
    job_.observer = (job_.holder + 1) % ranks_;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      job_.programs.push_back({job_.placement[rank], {}});
    }
  }

  void Team() {
    ForEach([&](uint32_t rank) { return scenario::TeamStep(kTeam, job_.name, rank, ranks_); });
  }
  void Hold(absl::Duration pause) {
    job_.programs[job_.holder].script.push_back(scenario::PauseStep(pause));
    job_.pauses += pause;
  }
  // Records the observer's number of outcomes when it waits in the next call.
  void Observe() {
    const Script& script = job_.programs[job_.observer].script;
    job_.outcomes_before = std::count_if(script.begin(), script.end(), [](const Step& step) {
      return step.kind != StepKind::kPause && step.kind != StepKind::kAwait;
    });
  }
  void Call(const Step& step) {
    job_.needs_planner |= NeedsPlans(step);
    ForEach([&](uint32_t) { return step; });
  }
  Step SomeCall(uint32_t ranks) { return scenario::RandomStep(ranks, scale_.bytes_max, prng_->Next()); }
  // Returns a collective that no rank can complete before all have arrived.
  Step FullCall(uint64_t bytes) {
    Step step = scenario::CallStep(kTeam, {.collective = Collective::kAllreduce, .type = ElementType::kInt32}, 0);
    step.arguments.count = bytes / 4;
    step.seed = prng_->Next();
    return step;
  }
  void Calls(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) Call(SomeCall(ranks_));
  }
  // Adds calls, some of which are in flight at once.
  void Posts(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      Step step = SomeCall(ranks_);
      step.kind = StepKind::kPost;
      Call(step);
    }
    ForEach([](uint32_t) { return scenario::AwaitStep(); });
  }
  // Adds a team of some ranks, which holds one of them in its formation or in a call.
  void SubTeam(absl::Duration hold) {
    std::set<uint32_t> members = {job_.holder, job_.observer};
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (prng_->Chance(0.6)) members.insert(rank);
    }
    job_.needs_planner = true;
    Step form{.kind = StepKind::kSubTeam, .team = kSubTeam, .parent = kTeam};
    form.members.assign(members.begin(), members.end());
    std::reverse(form.members.begin(), form.members.end());
    const bool in_formation = prng_->Chance(0.4);
    if (in_formation) {
      Hold(hold);
      Observe();
    }
    ForEach([&](uint32_t) { return form; });
    if (!in_formation) {
      Hold(hold);
      Observe();
    }
    const auto size = static_cast<uint32_t>(members.size());
    std::vector<Step> steps = {FullCall(64), SomeCall(size), SomeCall(size), scenario::DestroyStep(kSubTeam)};
    for (Step& step : steps) {
      step.team = kSubTeam;
      for (const uint32_t rank : members) job_.programs[rank].script.push_back(step);
    }
  }
  void End() {
    ForEach([](uint32_t) { return scenario::DestroyStep(kTeam); });
  }
  // Makes a rank leave before the last `calls` calls.
  void LeaveEarly(uint32_t rank, uint32_t calls) {
    Script& script = job_.programs[rank].script;
    script.resize(script.size() - 1 - calls);
    script.push_back(scenario::DestroyStep(kTeam));
  }
  Job Take() { return std::move(job_); }

 private:
  template <typename MakeStep>
  void ForEach(MakeStep make) {
    for (uint32_t rank = 0; rank < ranks_; ++rank) job_.programs[rank].script.push_back(make(rank));
  }

  const Scale& scale_;
  Prng* const prng_;
  Job job_;
  uint32_t ranks_ = 0;
};

absl::Duration Between(absl::Duration least, absl::Duration most, Prng* prng) {
  return least + prng->Unit() * (most - least);
}

absl::Duration RandomLength(FaultKind kind, absl::Duration node_timeout, Prng* prng) {
  const auto part = [&](double least, double most) { return Between(least * node_timeout, most * node_timeout, prng); };
  const bool is_long = prng->Chance(0.5);
  switch (kind) {
    case FaultKind::kProcessCrash:
    case FaultKind::kManagementReset:
    case FaultKind::kReplan:
    case FaultKind::kLeavesEarly:
      return absl::ZeroDuration();
    case FaultKind::kDaemonPause:
    case FaultKind::kDataCut:
      return is_long ? part(1.5, 3) : part(0.01, 0.6);
    case FaultKind::kEqualNames:
      return part(1, 3);
    case FaultKind::kManagementCut:
    case FaultKind::kPlannerKilled:
    case FaultKind::kPlannerStalled:
    case FaultKind::kUndecided:
      return is_long ? part(2, 6) : part(0.01, 1.5);
    default:
      return part(0.05, 2);
  }
}

Fault MakeFault(FaultKind kind, const Case& c, Prng* prng) {
  constexpr const char* kAlgorithms[] = {"flat", "binomial", "kary-2", "knomial-3", "kary-3"};
  Fault fault{.kind = kind, .lasts = RandomLength(kind, c.options.node_timeout, prng)};
  const Placement& placement = c.target.placement;
  fault.ranks = {static_cast<uint32_t>(prng->Below(placement.size()))};
  fault.nodes = {placement[fault.ranks[0]]};
  const bool process = kind == FaultKind::kProcessCrash || kind == FaultKind::kProcessPause;
  for (uint32_t rank = 0; process && prng->Chance(0.9) && rank < placement.size(); ++rank) {
    if (rank != fault.ranks[0] && placement[rank] == fault.nodes[0]) fault.ranks.push_back(rank);
  }
  fault.after = Between(absl::ZeroDuration(), c.moment_max, prng);
  fault.algorithm = kAlgorithms[prng->Below(std::size(kAlgorithms))];
  if (kind == FaultKind::kPlannerReplaced) {
    const std::set<uint32_t> nodes(placement.begin(), placement.end());
    fault.nodes.assign(nodes.begin(), nodes.end());
  }
  const bool management = kind == FaultKind::kManagementCut || kind == FaultKind::kManagementReset;
  if (management && prng->Chance(0.4)) {
    fault.nodes.resize(c.options.nodes);
    std::iota(fault.nodes.begin(), fault.nodes.end(), 0);
  }
  return fault;
}

std::string Seconds(absl::Duration d) { return absl::FormatDuration(absl::Trunc(d, absl::Microseconds(1))); }

}  // namespace

Scale SimulatedScale() { return {}; }

Scale RealScale() {
  return {.real = true,
          .ranks_max = 8,
          .nodes_max = 5,
          .long_bytes = 8 << 20,
          .node_timeout = absl::Seconds(1),
          .grace = absl::Seconds(30)};
}

Case MakeCase(uint64_t seed, const Scale& scale) {
  Prng prng(seed);
  Case c{.seed = seed, .state = static_cast<State>(seed / kFaultKindCount % kStateCount)};
  const auto kind = static_cast<FaultKind>(seed % kFaultKindCount);
  c.options = {.nodes = static_cast<uint32_t>(2 + prng.Below(scale.nodes_max - 1)),
               .seed = seed,
               .heartbeat = scale.node_timeout / 20,
               .node_timeout = scale.node_timeout};
  if (kind == FaultKind::kFullRooms) c.options.memory_limit_bytes = kSmallMemory;
  c.disturbed = prng.Chance(0.3);
  // Where frames are lost, TCP is silent for seconds now and then.
  if (scale.real && c.disturbed) c.options.node_timeout *= 4;
  c.moment_max = scale.real ? absl::Milliseconds(20) : absl::Microseconds(300);

  std::vector<uint32_t> all(c.options.nodes);
  std::iota(all.begin(), all.end(), 0);
  const auto ranks = [&](uint32_t least) { return static_cast<uint32_t>(least + prng.Below(scale.ranks_max - 1)); };
  const Placement placement = RandomPlacement(ranks(2), all, &prng);
  c.target.placement = placement;  // the faults' target
  c.faults.push_back(MakeFault(kind, c, &prng));
  if (prng.Chance(0.3)) {
    constexpr FaultKind kSeconds[] = {FaultKind::kProcessCrash,    FaultKind::kProcessPause,
                                      FaultKind::kDaemonPause,     FaultKind::kDataCut,
                                      FaultKind::kManagementCut,   FaultKind::kManagementReset,
                                      FaultKind::kPlannerKilled,   FaultKind::kPlannerStalled,
                                      FaultKind::kPlannerReplaced, FaultKind::kDrain};
    const FaultKind second = kSeconds[prng.Below(std::size(kSeconds))];
    const bool both_planner = ConcernsPlanner(kind) && ConcernsPlanner(second);
    if (second != kind && !both_planner) {
      c.faults.push_back(MakeFault(second, c, &prng));
      if (prng.Chance(0.5)) c.faults[1].after += Between(absl::ZeroDuration(), c.faults[0].lasts, &prng);
    }
  }
  c.drained = placement[prng.Below(placement.size())];

  // A rank that holds up a call does so until the faults are over.
  absl::Duration hold = scale.real ? absl::Milliseconds(300) : absl::Milliseconds(20);
  for (const Fault& fault : c.faults) hold = std::max(hold, 2 * hold + fault.after + fault.lasts);

  c.options.team_formation_timeout = hold + (scale.real ? absl::Seconds(10) : absl::Seconds(30));

  JobMaker target("target", placement, scale, &prng);
  if (c.state == State::kForming) target.Hold(hold);
  target.Team();
  target.Calls(static_cast<uint32_t>(prng.Below(3)));
  if (c.state == State::kSubTeam) {
    target.SubTeam(hold);
  } else if (c.state == State::kLongCall) {
    target.Observe();
    target.Call(target.FullCall(Between(absl::Seconds(0.2), absl::Seconds(1), &prng) / absl::Seconds(1) *
                                static_cast<double>(scale.long_bytes)));
  } else if (c.state == State::kShortCall || c.state == State::kDraining) {
    target.Hold(hold);
    target.Observe();
    target.Call(target.FullCall(prng.Below(scale.bytes_max / 16)));
  }
  const bool goes_on = c.state == State::kPrepared || c.state == State::kCommitted || c.state == State::kLongCall;
  if (goes_on) target.Hold(hold);
  constexpr uint32_t kMore = 10;  // beyond the window of a switch
  if (prng.Chance(0.3)) target.Posts(3);
  for (uint32_t i = 0; i < kMore; ++i) target.Call(target.FullCall(8 + prng.Below(2000)));
  if (c.state == State::kLeaving) target.Hold(hold);
  target.End();
  if (kind == FaultKind::kLeavesEarly) target.LeaveEarly(c.faults[0].ranks[0], 1 + prng.Below(kMore));
  if (c.state == State::kLeaving) target.Observe();  // it waits for no other rank when it leaves
  c.target = target.Take();

  // One job waits in a call all the time, away from the faults if there is such a node; one makes calls all the time,
  // anywhere.
  std::vector<uint32_t> apart;
  for (const uint32_t node : all) {
    if (std::count(c.faults[0].nodes.begin(), c.faults[0].nodes.end(), node) == 0) apart.push_back(node);
  }
  JobMaker waiting("waiting", RandomPlacement(ranks(2), apart.empty() ? all : apart, &prng), scale, &prng);
  waiting.Team();
  waiting.Calls(1);
  waiting.Hold(hold);
  waiting.Observe();
  waiting.Call(waiting.FullCall(100));
  waiting.Calls(2);
  waiting.End();
  c.before.push_back(waiting.Take());
  JobMaker busy("busy", RandomPlacement(ranks(2), all, &prng), scale, &prng);
  busy.Team();
  busy.Observe();
  for (uint32_t i = 0; i < kMore; ++i) {
    busy.Hold(hold / kMore);
    busy.Call(busy.FullCall(8 + prng.Below(20000)));
  }
  busy.End();
  c.before.push_back(busy.Take());
  if (kind == FaultKind::kFullRooms) {
    JobMaker hog("hog", {c.faults[0].nodes[0], apart.empty() ? 0 : apart[0]}, scale, &prng);
    Job job = hog.Take();
    for (uint32_t rank = 0; rank < 2; ++rank) {
      Script& script = job.programs[rank].script;
      for (uint32_t t = 0; t < kHogTeams; ++t) script.push_back(scenario::TeamStep(t, absl::StrCat("hog", t), rank, 2));
      script.push_back(scenario::PauseStep(hold));
    }
    job.outcomes_before = kHogTeams;
    job.pauses = hold;
    job.needs_planner = true;
    c.before.push_back(std::move(job));
  }
  if (kind == FaultKind::kPlannerReplaced && !apart.empty()) {
    JobMaker newcomer("newcomer", RandomPlacement(ranks(2), apart, &prng), scale, &prng);
    newcomer.Team();
    newcomer.Call(newcomer.FullCall(100));
    newcomer.Hold(hold);
    newcomer.Call(newcomer.FullCall(100));
    newcomer.End();
    c.newcomer = newcomer.Take();
  }
  JobMaker after("after", RandomPlacement(ranks(2), all, &prng), scale, &prng);
  after.Team();
  after.Calls(3);
  after.End();
  c.after = after.Take();
  return c;
}

std::string Describe(const Case& c) {
  std::string text = absl::StrCat("seed ", c.seed, ":");
  for (const Fault& fault : c.faults) {
    absl::StrAppend(&text, " ", FaultKindName(fault.kind), " n", absl::StrJoin(fault.nodes, ",n"), " rank ",
                    absl::StrJoin(fault.ranks, ","), " after ", Seconds(fault.after), " for ", Seconds(fault.lasts),
                    ",");
  }
  return absl::StrCat(text, " in ", StateName(c.state), " of ", c.target.placement.size(), " ranks on nodes ",
                      absl::StrJoin(c.target.placement, " "), c.disturbed ? ", disturbed" : "",
                      " (nodes=", c.options.nodes, ")");
}

}  // namespace copse::campaign
