// SPDX-License-Identifier: Apache-2.0
//
// Runs the scenarios in which something goes wrong on real processes.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::procs {
namespace {

using copse::testing::Names;

using scenario::Outcome;

constexpr absl::Duration kPatience = absl::Seconds(60);

using FailuresTest = ClusterFixture;

#define COPSE_PROCS_SCENARIO(Name) \
  TEST_F(FailuresTest, Name) { scenario::Name(&cluster_); }

COPSE_PROCS_SCENARIO(LateRankIsListedAndCompletes)
COPSE_PROCS_SCENARIO(DeadlineOfACall)
COPSE_PROCS_SCENARIO(StoppedProcessDelaysAndCompletes)
COPSE_PROCS_SCENARIO(StoppedDaemonDelaysAndCompletes)
COPSE_PROCS_SCENARIO(CollectivesThatDiffer)
COPSE_PROCS_SCENARIO(RootsThatDifferInTheLastCall)
COPSE_PROCS_SCENARIO(SizesThatDiffer)
COPSE_PROCS_SCENARIO(TeamOfMissingRanksTimesOut)
COPSE_PROCS_SCENARIO(BadArguments)
COPSE_PROCS_SCENARIO(ExhaustionAtAdmission)
COPSE_PROCS_SCENARIO(PlannerRestartUnderLoad)
COPSE_PROCS_SCENARIO(EpochSwitchUnderLoad)
COPSE_PROCS_SCENARIO(PlannerKilledBetweenDecisionAndCommit)
COPSE_PROCS_SCENARIO(LeftWithCallsInFlight)
COPSE_PROCS_SCENARIO(LeftBeforeTheLastCall)
COPSE_PROCS_SCENARIO(CountsThatDiffer)

TEST_F(FailuresTest, DerivedTeamsFormUnderLoad) { scenario::DerivedTeamsFormUnderLoad(&cluster_, 1); }

// In the middle of an allreduce, an allgatherv, an alltoallv.
class LongCallTest : public ClusterFixture, public ::testing::WithParamInterface<uint64_t> {};
TEST_P(LongCallTest, EpochSwitches) { scenario::EpochSwitchesInLongCalls(&cluster_, GetParam(), uint64_t{8} << 20); }
TEST_P(LongCallTest, SomebodyDies) {
  scenario::KilledInLongCall(&cluster_, GetParam(), uint64_t{8} << 20, absl::Milliseconds(10 * GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Seeds, LongCallTest, ::testing::Values(uint64_t{0}, uint64_t{4}, uint64_t{6}));

// Two scenarios count on an order of arrival that only a simulated cluster has: a barrier that has ended on all nodes
// before any makes the next call, and a process that joins before two others have claimed one rank. Their cores,
// without that:

template <typename... Things>
void ExpectMismatch(const Outcome& outcome, const Things&... things) {
  EXPECT_EQ(outcome.failure, schedule::Failure::kMismatch) << outcome.text;
  EXPECT_TRUE(outcome.data_ok);
  EXPECT_THAT(outcome.text, Names(things...));
}

TEST_F(FailuresTest, ArgumentsThatDifferInTheFirstCall) {
  ASSERT_TRUE(cluster_.Start({.nodes = 4}).ok());
  const CallArguments sum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
  CallArguments count = sum, type = sum, op = sum;
  count.count = 7;
  type.type = ElementType::kInt64;
  op.op = ElementOp::kMax;
  int number = 0;
  for (const CallArguments& other : {count, type, op}) {
    for (const uint32_t wrong : {5u, 1u}) {
      std::vector<scenario::Program> programs =
          scenario::TeamPrograms(absl::StrCat("differ", number++), {0, 0, 1, 1, 2, 3}, {sum, sum}, 1);
      programs[wrong].script[1].arguments = other;
      const uint32_t first = cluster_.Launch(programs);
      for (uint32_t rank = 0; rank < programs.size(); ++rank) {
        ASSERT_TRUE(cluster_.AwaitEnd(first + rank, kPatience).ok());
        const std::vector<Outcome> outcomes = cluster_.Outcomes(first + rank);
        ASSERT_EQ(outcomes.size(), 4u);
        // Its team may have broken before this rank was told that it was formed.
        const bool formed = outcomes[0].failure == schedule::Failure::kNone;
        for (size_t step = formed ? 1 : 0; step < (formed ? 3 : 1); ++step) {
          ExpectMismatch(outcomes[step], "call 0", absl::StrCat("rank ", wrong, " on node n", programs[wrong].node),
                         DescribeArguments(other), DescribeArguments(sum));
        }
      }
    }
  }
}

TEST_F(FailuresTest, TwoProcessesClaimOneRankOfThree) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  const uint32_t first = cluster_.Launch({{.node = 0, .script = {scenario::TeamStep(0, "claimed", 1, 3)}},
                                          {.node = 1, .script = {scenario::TeamStep(0, "claimed", 1, 3)}}});
  for (uint32_t process = first; process < first + 2; ++process) {
    ASSERT_TRUE(cluster_.AwaitEnd(process, kPatience).ok());
    ASSERT_EQ(cluster_.Outcomes(process).size(), 1u);
    ExpectMismatch(cluster_.Outcomes(process)[0], "rank 1", "node n0", "node n1");
  }
}

TEST_F(FailuresTest, KilledProcess) { scenario::KilledProcess(&cluster_, 1); }
TEST_F(FailuresTest, KilledDaemonRejoins) { scenario::KilledDaemonRejoins(&cluster_, 1); }
TEST_F(FailuresTest, KilledPlanner) { scenario::KilledPlanner(&cluster_, 1); }
TEST_F(FailuresTest, NewTeamsWithoutAPlanner) { scenario::NewTeamsWithoutAPlanner(&cluster_); }

}  // namespace
}  // namespace copse::procs
