// SPDX-License-Identifier: Apache-2.0
//
// Scenarios with faults: bad input, lateness, death, restarts.
#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/expectations.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::scenario {
namespace {

using schedule::Failure;

const CallArguments kBarrier{.collective = Collective::kBarrier};
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

// One rank per node makes `calls` allreduces.
std::vector<Program> Flat(const std::string& name, uint32_t ranks, uint32_t calls) {
  Placement placement;
  for (uint32_t r = 0; r < ranks; ++r) placement.push_back(r);
  return TeamPrograms(name, placement, std::vector<CallArguments>(calls, kSum), 1);
}

// Rank 0 pauses a little every few calls, so that a fault can happen during a team's calls.
void SlowDown(std::vector<Program>* programs) {
  Script slow;
  const Script& script = (*programs)[0].script;
  for (size_t i = 0; i < script.size(); ++i) {
    slow.push_back(script[i]);
    if (i % 4 == 1) slow.push_back(PauseStep(absl::Milliseconds(2)));
  }
  (*programs)[0].script = slow;
}

// Launches a team that runs long enough for a fault; returns its first process.
uint32_t LaunchSlowly(Cluster* cluster, std::vector<Program> programs) {
  SlowDown(&programs);
  return cluster->Launch(programs);
}

// Rank 1's process, on node 1, or the daemon there does nothing for a while.
void DelayAndComplete(Cluster* cluster, const std::function<void(uint32_t)>& stop,
                      const std::function<void(uint32_t)>& go_on) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  const uint32_t first = LaunchSlowly(cluster, Flat("stopped", 3, 200));
  ExpectOk(cluster->AwaitOutcomes(first + 1, 20, kPatience));
  stop(first + 1);
  cluster->Pass(absl::Seconds(5));
  go_on(first + 1);
  ExpectAllDone(cluster, first, 3, "stopped", 202);
}

// Launches a team that makes 200 random calls; returns its first process.
uint32_t LaunchRandomCalls(Cluster* cluster, const Placement& placement, uint64_t seed, uint64_t factor) {
  std::vector<CallArguments> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(RandomCall(static_cast<uint32_t>(placement.size()), seed * factor + i));
  return cluster->Launch(TeamPrograms("killed", placement, calls, seed));
}

}  // namespace

void LateRankIsListedAndCompletes(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  std::vector<Program> programs = Flat("late", 4, 1);
  // Rank 2 is stopped between forming the team and the call.
  programs[2].script.insert(programs[2].script.begin() + 1, PauseStep(absl::Milliseconds(2500)));
  const uint32_t first = cluster->Launch(programs);
  for (uint32_t p = 0; p < 4; ++p) ExpectOk(cluster->AwaitOutcomes(first + p, 1, kPatience));
  bool listed = false;
  for (int i = 0; i < 200 && !listed; ++i) {
    cluster->Pass(absl::Milliseconds(10));
    const absl::StatusOr<std::vector<ListedCall>> calls = cluster->ListCalls("late");
    ASSERT_TRUE(calls.ok()) << calls.status();
    for (const ListedCall& call : *calls) {
      if (call.missing != std::vector<uint32_t>{2}) continue;
      EXPECT_EQ(call.sequence, 0u);
      EXPECT_EQ(call.collective, "allreduce");
      EXPECT_EQ(call.joined, (std::vector<uint32_t>{0, 1, 3}));
      listed = true;
    }
  }
  EXPECT_TRUE(listed) << "rank 2 was never listed as the one that is missing";
  ExpectAllDone(cluster, first, 4, "late");
}

void DeadlineOfACall(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  std::vector<Program> programs = Flat("deadline", 3, 1);
  for (uint32_t r : {0u, 2u}) {
    programs[r].script[1].timeout = absl::Milliseconds(300);
    // The team works as before once the late rank has arrived.
    programs[r].script.insert(programs[r].script.begin() + 2, CallStep(0, kBarrier, 5));
  }
  programs[1].script.insert(programs[1].script.begin() + 1, PauseStep(absl::Seconds(1)));
  programs[1].script.insert(programs[1].script.begin() + 3, CallStep(0, kBarrier, 5));
  const uint32_t first = cluster->Launch(programs);
  const auto all = AwaitAll(cluster, first, 3);
  for (uint32_t r = 0; r < 3; ++r) {
    ASSERT_EQ(all[r].size(), 4u) << r;
    ExpectOutcome(all[r][1], r == 1 ? Failure::kNone : Failure::kTimedOut, {}, absl::StrCat("call of rank ", r));
    ExpectOutcome(all[r][2], Failure::kNone, {}, absl::StrCat("barrier of rank ", r));
  }
}

void StoppedProcessDelaysAndCompletes(Cluster* cluster) {
  DelayAndComplete(
      cluster, [&](uint32_t process) { cluster->StopProcess(process); },
      [&](uint32_t process) { cluster->ContinueProcess(process); });
}

void StoppedDaemonDelaysAndCompletes(Cluster* cluster) {
  DelayAndComplete(
      cluster, [&](uint32_t) { cluster->StopDaemon(1); }, [&](uint32_t) { cluster->ContinueDaemon(1); });
}

void ArgumentsThatDiffer(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  // The ranks differ in count, type, operation, root; on another node, and between ranks of one node.
  CallArguments count = kSum, type = kSum, op = kSum;
  count.count = 7;
  type.type = ElementType::kInt64;
  op.op = ElementOp::kMax;
  int number = 0;
  for (const CallArguments& other : {count, type, op}) {
    for (const uint32_t wrong : {5u, 1u}) {
      std::vector<Program> programs =
          TeamPrograms(absl::StrCat("differ", number++), {0, 0, 1, 1, 2, 3}, {kBarrier, kSum, kSum}, 1);
      programs[wrong].script[2].arguments = other;
      const uint32_t first = cluster->Launch(programs);
      const auto all = AwaitAll(cluster, first, 6);
      for (uint32_t r = 0; r < 6; ++r) {
        ASSERT_EQ(all[r].size(), 5u);
        // A broken team ends every call in flight: also an earlier one that had not reached this rank yet.
        if (all[r][1].failure != Failure::kMismatch) ExpectOutcome(all[r][1], Failure::kNone, {}, "barrier before");
        for (int call : {2, 3}) {
          ExpectOutcome(all[r][call], Failure::kMismatch,
                        {"call 1", absl::StrCat("rank ", wrong, " on node n", programs[wrong].node),
                         DescribeArguments(other), DescribeArguments(kSum)},
                        absl::StrCat("rank ", r, " call ", call));
        }
      }
    }
  }
  ExpectWorks(cluster, "after", {0, 1, 2, 3});
}

void CollectivesThatDiffer(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 2}).ok());
  // Each waits for the other: no packet crosses, so only a comparison of the awaited calls finds the mismatch.
  const CallArguments from_1{.collective = Collective::kBcast, .type = ElementType::kInt32, .count = 4, .root = 1};
  const CallArguments to_0{.collective = Collective::kReduce, .type = ElementType::kInt32, .count = 4, .root = 1};
  std::vector<Program> programs = TeamPrograms("differ", {0, 1}, {from_1}, 1);
  programs[1].script[1].arguments = to_0;
  const uint32_t first = cluster->Launch(programs);
  for (const auto& outcomes : AwaitAll(cluster, first, 2)) {
    ASSERT_EQ(outcomes.size(), 3u);
    ExpectOutcome(outcomes[1], Failure::kMismatch, {"rank 0 on node n0", "rank 1 on node n1", "bcast", "reduce"},
                  "call");
  }
}

void RootsThatDifferInTheLastCall(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  // A rank that has contributed everything is done, and leaves before the planner could query its arguments. The call
  // follows a barrier, since a team may break before the last member has learned of its formation.
  int number = 0;
  for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
    for (const uint32_t wrong : {1u, 2u}) {
      const CallArguments call{.collective = collective, .type = ElementType::kInt32, .count = 4, .root = 0};
      std::vector<Program> programs = TeamPrograms(absl::StrCat("roots", number++), {0, 1, 2}, {kBarrier, call}, 1);
      programs[wrong].script[2].arguments.root = 3 - wrong;
      const uint32_t first = cluster->Launch(programs);
      int mismatches = 0;
      for (const auto& outcomes : AwaitAll(cluster, first, 3)) {
        ASSERT_EQ(outcomes.size(), 4u);
        if (outcomes[2].failure == Failure::kNone) continue;
        ++mismatches;
        ExpectOutcome(outcomes[2], Failure::kMismatch, {"call 1: ", absl::StrCat("rank ", wrong)}, "call");
      }
      EXPECT_GT(mismatches, 0);
    }
  }
}

void TwoProcessesClaimOneRank(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  std::vector<Program> programs = Flat("claimed", 3, 1);
  programs[2].script[0].rank = 1;
  for (Program& program : programs) program.script.resize(1);
  const uint32_t first = cluster->Launch(programs);
  for (const auto& outcomes : AwaitAll(cluster, first, 3)) {
    ASSERT_EQ(outcomes.size(), 1u);
    ExpectOutcome(outcomes[0], Failure::kMismatch, {"rank 1", "node n1", "node n2"}, "team");
  }
  ExpectWorks(cluster, "after", {0, 1, 2});
}

void SizesThatDiffer(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 2}).ok());
  std::vector<Program> programs = Flat("sizes", 2, 1);
  programs[1].script[0].size = 3;
  for (Program& program : programs) program.script.resize(1);
  const uint32_t first = cluster->Launch(programs);
  for (const auto& outcomes : AwaitAll(cluster, first, 2)) {
    ASSERT_EQ(outcomes.size(), 1u);
    ExpectOutcome(outcomes[0], Failure::kMismatch, {"2", "3", "node n0", "node n1"}, "team");
  }
}

void TeamOfMissingRanksTimesOut(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3, .team_formation_timeout = absl::Seconds(2)}).ok());
  std::vector<Program> programs = Flat("missing", 3, 1);
  for (Program& program : programs) program.script[0].size = 5;
  for (Program& program : programs) program.script.resize(1);
  const uint32_t first = cluster->Launch(programs);
  for (const auto& outcomes : AwaitAll(cluster, first, 3)) {
    ASSERT_EQ(outcomes.size(), 1u);
    ExpectOutcome(outcomes[0], Failure::kTimedOut, {"2s", "3-4"}, "team");
    EXPECT_EQ(outcomes[0].cause, schedule::FailureCause::kNotFormedInTime);
  }
  ExpectWorks(cluster, "after", {0, 1, 2});
}

void BadArguments(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 2}).ok());
  // All ranks make the same error, so the team goes on afterwards.
  const CallArguments root{.collective = Collective::kBcast, .type = ElementType::kInt8, .count = 1, .root = 2};
  const CallArguments bitwise{
      .collective = Collective::kAllreduce, .type = ElementType::kFloat, .op = ElementOp::kBand, .count = 1};
  const std::vector<Program> programs = TeamPrograms("bad", {0, 1}, {root, bitwise, kSum}, 1);
  const uint32_t first = cluster->Launch(programs);
  for (const auto& outcomes : AwaitAll(cluster, first, 2)) {
    ASSERT_EQ(outcomes.size(), 5u);
    ExpectOutcome(outcomes[1], Failure::kInvalidArgument, {"root=2"}, "root");
    EXPECT_TRUE(outcomes[2].failure == Failure::kInvalidArgument || outcomes[2].failure == Failure::kNotSupported)
        << outcomes[2].text;
    ExpectOutcome(outcomes[3], Failure::kNone, {}, "the call after them");
  }
}

void ExhaustionAtAdmission(Cluster* cluster) {
  // There is room for some teams, not for all: a refused team's error names the missing resource; the others work.
  ASSERT_TRUE(cluster->Start({.nodes = 2, .memory_limit_bytes = 8u << 20}).ok());
  constexpr uint32_t kTeams = 24;
  std::vector<Program> programs;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Script script;
    for (uint32_t t = 0; t < kTeams; ++t) script.push_back(TeamStep(t, absl::StrCat("team", t), rank, 2));
    script.push_back(CallStep(0, kSum, 1));
    programs.push_back({rank, script});
  }
  const uint32_t first = cluster->Launch(programs);
  const auto all = AwaitAll(cluster, first, 2);
  uint32_t refused = 0;
  for (uint32_t t = 0; t < kTeams; ++t) {
    EXPECT_EQ(all[0][t].failure, all[1][t].failure) << "all accept, or none: team " << t;
    if (all[0][t].failure == Failure::kNone) continue;
    ++refused;
    ExpectOutcome(all[0][t], Failure::kNoResource, {"limit"}, absl::StrCat("team ", t));
  }
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, kTeams);
  ExpectOutcome(all[0][kTeams], Failure::kNone, {}, "a call of an accepted team");
}

void KilledProcess(Cluster* cluster, uint64_t seed) {
  ASSERT_TRUE(cluster->Start({.nodes = 5, .seed = seed}).ok());
  Prng prng(seed);
  const Placement placement = UnevenPlacement(8, 5, seed);
  const auto victim = static_cast<uint32_t>(prng.Below(8));
  const uint32_t first = LaunchRandomCalls(cluster, placement, seed, 31);
  ExpectOk(cluster->AwaitOutcomes(first + victim, 1 + prng.Below(190), kPatience));
  cluster->KillProcess(first + victim);
  const absl::Time killed = cluster->Now();
  const auto all = AwaitAll(cluster, first, 8);
  // The daemon notices in 10 ms, the sweep takes 100. However slow the machine is, the report did not come from
  // silence.
  EXPECT_LT(cluster->Now() - killed, ClusterOptions().node_timeout);
  uint32_t failed = 0;
  for (uint32_t p = 0; p < 8; ++p) {
    if (p == victim) continue;
    ExpectSuccessThenFailure(all[p], {Failure::kMemberLost},
                             {absl::StrCat("rank ", victim), absl::StrCat("n", placement[victim])},
                             absl::StrCat("rank ", p, " seed ", seed));
    failed += std::any_of(all[p].begin(), all[p].end(), [](const Outcome& o) { return o.failure != Failure::kNone; });
  }
  EXPECT_GT(failed, 0u);
  ExpectWorks(cluster, "after", {0, 1, 2, 3, 4});
}

void KilledDaemonRejoins(Cluster* cluster, uint64_t seed) {
  ASSERT_TRUE(cluster->Start({.nodes = 5, .seed = seed}).ok());
  Prng prng(seed);
  const Placement placement = UnevenPlacement(8, 5, seed);
  const auto victim = static_cast<uint32_t>(prng.Below(5));
  const uint32_t first = LaunchRandomCalls(cluster, placement, seed, 37);
  // This team has no rank on the node.
  std::vector<uint32_t> others;
  for (uint32_t n = 0; n < 5; ++n) {
    if (n != victim) others.push_back(n);
  }
  const std::vector<Program> bystanders = TeamPrograms("bystanders", others, std::vector<CallArguments>(200, kSum), 5);
  const uint32_t first_bystander = cluster->Launch(bystanders);
  ExpectOk(cluster->AwaitOutcomes(first, 1 + prng.Below(190), kPatience));
  cluster->KillDaemon(victim);
  const auto all = AwaitAll(cluster, first, 8);
  for (uint32_t p = 0; p < 8; ++p) {
    const std::string what = absl::StrCat("rank ", p, " seed ", seed);
    if (placement[p] == victim) {
      ExpectSuccessThenFailure(all[p], {Failure::kNoDaemon}, {}, what);
    } else {
      ExpectSuccessThenFailure(all[p], {Failure::kMemberLost}, {absl::StrCat("n", victim)}, what);
    }
  }
  ExpectAllDone(cluster, first_bystander, 4, "bystander");
  ExpectOk(cluster->RestartDaemon(victim));
  ExpectWorks(cluster, "after", {0, 1, 2, 3, 4});
}

void KilledDuringFormation(Cluster* cluster, uint64_t seed, absl::Duration after) {
  ASSERT_TRUE(cluster->Start({.nodes = 4, .seed = seed, .team_formation_timeout = absl::Seconds(5)}).ok());
  Prng prng(seed);
  const Placement placement = UnevenPlacement(6, 4, seed);
  const uint32_t first = cluster->Launch(TeamPrograms("formed", placement, std::vector<CallArguments>(5, kSum), seed));
  cluster->Pass(after);
  const auto victim = static_cast<uint32_t>(prng.Below(6));
  const uint64_t kind = seed % 3;
  if (kind == 0) cluster->KillProcess(first + victim);
  if (kind == 1) cluster->KillDaemon(placement[victim]);
  if (kind == 2) {
    cluster->KillPlanner();
    ExpectOk(cluster->RestartPlanner());
  }
  // Every process gets an answer: with the planner back all calls succeed; else success up to some point, then a
  // failure.
  for (uint32_t p = 0; p < 6; ++p) {
    const std::string what = absl::StrCat("rank ", p, " seed ", seed);
    ExpectOk(cluster->AwaitEnd(first + p, kPatience));
    const std::vector<Outcome> outcomes = cluster->Outcomes(first + p);
    if (kind == 2) {
      EXPECT_EQ(outcomes.size(), 7u) << what;
      for (const Outcome& outcome : outcomes) ExpectOutcome(outcome, Failure::kNone, {}, what);
    } else if (p != victim || kind == 1) {
      ExpectSuccessThenFailure(
          outcomes, {Failure::kMemberLost, Failure::kNoDaemon, Failure::kTimedOut, Failure::kInvalidArgument}, {},
          what);
    }
  }
  if (kind == 1) ExpectOk(cluster->RestartDaemon(placement[victim]));
  ExpectWorks(cluster, "after", {0, 1, 2, 3});
}

void KilledPlanner(Cluster* cluster, uint64_t seed) {
  ASSERT_TRUE(cluster->Start({.nodes = 4, .seed = seed}).ok());
  Prng prng(seed);
  const uint32_t first = LaunchRandomCalls(cluster, UnevenPlacement(6, 4, seed), seed, 41);
  ExpectOk(cluster->AwaitOutcomes(first, 1 + prng.Below(100), kPatience));
  cluster->KillPlanner();
  // Existing teams run to their end without it.
  for (uint32_t p = 0; p < 6; ++p) ExpectOk(cluster->AwaitOutcomes(first + p, 201, kPatience));
  ExpectOk(cluster->RestartPlanner());
  ExpectAllDone(cluster, first, 6, "without a planner");
  ExpectWorks(cluster, "after", {0, 1, 2, 3});
}

void NewTeamsWithoutAPlanner(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 2}).ok());
  cluster->KillPlanner();
  // Daemons wait for a planner that may be restarting; later it is known to be away.
  for (const char* name : {"first", "second"}) {
    std::vector<Program> programs = Flat(name, 2, 0);
    for (Program& program : programs) program.script.resize(1);
    const absl::Time start = cluster->Now();
    const uint32_t first = cluster->Launch(programs);
    for (const auto& outcomes : AwaitAll(cluster, first, 2)) {
      ASSERT_EQ(outcomes.size(), 1u);
      ExpectOutcome(outcomes[0], Failure::kNoResource, {name}, name);
      EXPECT_EQ(outcomes[0].cause, schedule::FailureCause::kNoPlanner);
    }
    EXPECT_LT(cluster->Now() - start, absl::Seconds(20)) << name;
  }
  ExpectOk(cluster->RestartPlanner());
  ExpectWorks(cluster, "after", {0, 1});
}

void PlannerRestartUnderLoad(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  // The team runs long enough for three restarts.
  const uint32_t first = LaunchSlowly(cluster, Flat("loaded", 4, 8000));
  for (int i = 1; i <= 3; ++i) {
    ExpectOk(cluster->AwaitOutcomes(first, 400 * i, kPatience));
    ExpectOk(cluster->RestartPlanner());
    ExpectWorks(cluster, absl::StrCat("new", i), {3, 2, 1, 0});
  }
  // The restarted planner knows the running team, and can switch its plans.
  ExpectOk(cluster->Replan("loaded", "flat"));
  ExpectAllDone(cluster, first, 4, "planner restarted", 8002u);
}

void EpochSwitchUnderLoad(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 5}).ok());
  std::vector<CallArguments> calls;
  for (int i = 0; i < 3000; ++i) calls.push_back(RandomCall(7, 4000 + i));
  for (CallArguments& call : calls) call.count = std::min<uint64_t>(call.count, 200);
  const uint32_t first = LaunchSlowly(cluster, TeamPrograms("switched", UnevenPlacement(7, 5, 2), calls, 1));
  int switches = 0;
  for (const char* algorithm : {"flat", "binomial", "kary-2", "knomial-3", "flat", "kary-3"}) {
    ExpectOk(cluster->AwaitOutcomes(first, 200 * ++switches, kPatience));
    ExpectOk(cluster->Replan("switched", algorithm));
  }
  ExpectAllDone(cluster, first, 7, "switched", 3002u);
}

void SwitchWithoutAnAnswerIsAborted(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  std::vector<Program> programs = Flat("kept", 3, 20);
  // Calls follow while the switch is undecided, and after it.
  for (Program& program : programs) program.script.insert(program.script.begin() + 2, PauseStep(absl::Seconds(1)));
  const uint32_t first = cluster->Launch(programs);
  for (uint32_t rank = 0; rank < 3; ++rank) ExpectOk(cluster->AwaitOutcomes(first + rank, 2, kPatience));
  cluster->Pass(absl::Milliseconds(100));  // all have confirmed the first epoch
  cluster->StopDaemon(1);
  const absl::Time begin = cluster->Now();
  EXPECT_EQ(cluster->Replan("kept", "flat").code(), absl::StatusCode::kAborted);
  // prepare_timeout, for first epochs, is 10 s.
  EXPECT_LT(cluster->Now() - begin, absl::Seconds(6));
  cluster->ContinueDaemon(1);
  ExpectAllDone(cluster, first, 3, "kept", 22);
  EXPECT_LT(cluster->Now() - begin, absl::Seconds(9));
}

void PlannerKilledBetweenDecisionAndCommit(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  const uint32_t first = LaunchSlowly(cluster, Flat("undecided", 4, 3000));
  ExpectOk(cluster->AwaitOutcomes(first, 200, kPatience));
  ExpectOk(cluster->KillPlannerAtNextDecision());
  EXPECT_FALSE(cluster->Replan("undecided", "flat").ok()) << "the planner is to die on the way";
  // Calls go on up to the window's end and wait there; the decision is in the record.
  ExpectOk(cluster->RestartPlanner());
  ExpectAllDone(cluster, first, 4, "undecided", 3002u);
}

std::vector<Outcome> OutcomesOfACut(Cluster* cluster, uint32_t nodes, uint32_t late,
                                    const std::function<absl::Status()>& cut) {
  const absl::Status started =
      cluster->Start({.nodes = nodes, .heartbeat = absl::Milliseconds(200), .node_timeout = absl::Seconds(2)});
  ExpectOk(started);
  if (!started.ok()) return {};
  std::vector<Program> programs = Flat("cut", nodes, 2);
  // The late rank never comes, however slow the machine is; it is killed in the end.
  programs[late].script.insert(programs[late].script.begin() + 2, PauseStep(absl::Minutes(10)));
  const uint32_t first = cluster->Launch(programs);
  for (uint32_t rank = 0; rank < nodes; ++rank) ExpectOk(cluster->AwaitOutcomes(first + rank, 2, kPatience));
  ExpectOk(cut());
  const absl::Time start = cluster->Now();
  std::vector<Outcome> told;
  for (uint32_t rank = 0; rank < nodes; ++rank) {
    if (rank == late) continue;
    const absl::Status status = cluster->AwaitOutcomes(first + rank, 3, kPatience);
    ExpectOk(status);
    if (status.ok()) told.push_back(cluster->Outcomes(first + rank)[2]);
  }
  EXPECT_GT(cluster->Now() - start, absl::Seconds(1)) << "before node_timeout";
  EXPECT_LT(cluster->Now() - start, absl::Seconds(15));
  cluster->KillProcess(first + late);
  return told;
}

}  // namespace copse::scenario
