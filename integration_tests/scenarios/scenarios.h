// SPDX-License-Identifier: Apache-2.0
//
// Scenario bodies: the required behavior of a cluster, written once, run against the simulated one and against real
// processes. Each body starts its cluster, and reports through gtest.
#ifndef COPSE_INTEGRATION_TESTS_SCENARIOS_SCENARIOS_H_
#define COPSE_INTEGRATION_TESTS_SCENARIOS_SCENARIOS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "testbed/script/cluster.h"

namespace copse::scenario {

// The nodes of a team's ranks: node_of_rank[r].
using Placement = std::vector<uint32_t>;

// Returns a placement of ranks over `nodes` nodes, uneven by a rule that `seed` varies: every node gets at least one
// if there are enough.
Placement UnevenPlacement(uint32_t ranks, uint32_t nodes, uint64_t seed);

// Makes the programs of one team named `name` over `placement`; every rank makes `calls` (seeds counted up from
// `seed`) and destroys the team.
std::vector<Program> TeamPrograms(const std::string& name, const Placement& placement,
                                  const std::vector<CallArguments>& calls, uint64_t seed);

// Makes such programs with calls of any collective.
std::vector<Program> TeamPrograms(const std::string& name, const Placement& placement, const std::vector<Step>& calls);

// Runs the programs to their end and expects every outcome to be success with right data.
void ExpectAllSucceed(Cluster* cluster, const std::vector<Program>& programs, absl::Duration timeout);

// Returns calls of every regular collective with every type, operation (where defined) and root, `counts` elements a
// block, for a team of `ranks` ranks.
std::vector<CallArguments> EveryCall(uint32_t ranks, const std::vector<uint64_t>& counts);
// Returns a call of a common collective, chosen by `seed`: 0 B to 64 KiB, rarely more.
CallArguments RandomCall(uint32_t ranks, uint64_t seed);
// Returns a call of any collective, as a step: type, operation, root, counts, displacements, in place or not. No
// rank's buffer is longer than `bytes_max` (alltoallv: much longer). Sizes are often those at which the handling
// changes; few are long.
Step RandomStep(uint32_t ranks, uint64_t bytes_max, uint64_t seed);
// Returns "gatherv int32 root 2, counts 1 0 7, in place, seed 17".
std::string DescribeStep(const Step& step);

// --- Bodies ---
void EveryCollective(Cluster* cluster, uint32_t nodes, uint32_t ranks, const std::vector<uint64_t>& counts,
                     uint64_t seed);
void RandomCalls(Cluster* cluster, uint32_t nodes, uint32_t ranks, uint32_t calls, uint64_t seed);
// Runs one case of a campaign, determined by `seed`: a team of 1 to 24 ranks on 1 to 12 nodes, uneven, makes `calls`
// calls of any collective, some of which are in flight at once.
void RandomTeam(Cluster* cluster, uint32_t calls, uint64_t bytes_max, uint64_t seed);
void BackToBackSkewed(Cluster* cluster, uint32_t nodes, uint32_t ranks, uint32_t calls, uint64_t seed);
void TwoTeamsAtOnce(Cluster* cluster, uint64_t seed);
void SubTeams(Cluster* cluster);
void ManyChildren(Cluster* cluster, uint32_t nodes);
void LateRankIsListedAndCompletes(Cluster* cluster);
void DeadlineOfACall(Cluster* cluster);
void StoppedProcessDelaysAndCompletes(Cluster* cluster);
void StoppedDaemonDelaysAndCompletes(Cluster* cluster);
void ArgumentsThatDiffer(Cluster* cluster);
void CollectivesThatDiffer(Cluster* cluster);
void RootsThatDifferInTheLastCall(Cluster* cluster);
void TwoProcessesClaimOneRank(Cluster* cluster);
void SizesThatDiffer(Cluster* cluster);
void TeamOfMissingRanksTimesOut(Cluster* cluster);
void BadArguments(Cluster* cluster);
void ExhaustionAtAdmission(Cluster* cluster);
void KilledProcess(Cluster* cluster, uint64_t seed);
void KilledDaemonRejoins(Cluster* cluster, uint64_t seed);
// Kills a process, a daemon or the planner, by `seed`, while a team is being formed, `after` the launch.
void KilledDuringFormation(Cluster* cluster, uint64_t seed, absl::Duration after);
void KilledPlanner(Cluster* cluster, uint64_t seed);
void NewTeamsWithoutAPlanner(Cluster* cluster);
void PlannerRestartUnderLoad(Cluster* cluster);
void EpochSwitchUnderLoad(Cluster* cluster);
void SwitchWithoutAnAnswerIsAborted(Cluster* cluster);
void PlannerKilledBetweenDecisionAndCommit(Cluster* cluster);
// Derived teams of collective classes, and calls of many chunks. `after` counts from the team's formation, or the
// long call's begin. `bytes` is the length of each rank's buffer.
void DerivedTeamsFormUnderLoad(Cluster* cluster, uint64_t seed);
void PlannerRestartsWhileDerivedTeamsForm(Cluster* cluster, uint64_t seed, absl::Duration after);
void KilledWhileDerivedTeamsForm(Cluster* cluster, uint64_t seed, absl::Duration after);
void KilledInLongCall(Cluster* cluster, uint64_t seed, uint64_t bytes, absl::Duration after);
// Nodes without data for each other meet now and then, and continue after the call.
void SomeHaveNothingInLongCalls(Cluster* cluster, uint64_t bytes);
void EpochSwitchesInLongCalls(Cluster* cluster, uint64_t seed, uint64_t bytes);
void DestroyedWithCallsInFlight(Cluster* cluster);
void LeftWithCallsInFlight(Cluster* cluster);
// A rank leaves, and others make one more call, one of its node among them.
void LeftBeforeTheLastCall(Cluster* cluster);
void CountsThatDiffer(Cluster* cluster);
// Calls `cut` while the ranks of a team, one on each node, wait for `late` in a call. Returns the outcomes of that call
// at the others, which must come by silence of `node_timeout` (2 s) alone.
std::vector<Outcome> OutcomesOfACut(Cluster* cluster, uint32_t nodes, uint32_t late,
                                    const std::function<absl::Status()>& cut);

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SCENARIOS_SCENARIOS_H_
