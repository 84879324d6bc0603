// SPDX-License-Identifier: Apache-2.0
//
// Tests which outcomes the oracle accepts, and which it does not.
#include "integration_tests/campaign/oracle.h"

#include <gtest/gtest.h>

#include <vector>

#include "integration_tests/campaign/case.h"
#include "integration_tests/campaign/faults.h"

namespace copse::campaign {
namespace {

using scenario::Outcome;
using schedule::Failure;
using schedule::FailureCause;

// A team of two ranks on n0 and n1 that makes one call, on a cluster of three nodes.
class OracleTest : public testing::Test {
 protected:
  OracleTest() {
    case_.state = State::kShortCall;
    case_.options.nodes = 3;
    const CallArguments barrier{.collective = Collective::kBarrier};
    for (Job* job : {&case_.target, &other_}) {
      const bool target = job == &case_.target;
      job->name = target ? "target" : "other";
      job->placement = {0, target ? 1u : 2u};
      job->programs = scenario::TeamPrograms(job->name, job->placement, {barrier}, 1);
    }
  }

  Fault Made(FaultKind kind, uint32_t node, absl::Duration lasts = absl::Seconds(1)) {
    Fault fault{.kind = kind, .ranks = {node}, .nodes = {node}, .lasts = lasts};
    oracle_.Made(fault);
    return fault;
  }
  static Outcome Failed(Failure failure, FailureCause cause, const std::string& node) {
    return {.failure = failure, .cause = cause, .node = node};
  }
  // Whether the oracle accepts this outcome of a job's call at all ranks.
  bool Believes(const Job& job, const Outcome& outcome) {
    return oracle_.Judge(job, {{{}, outcome, {}}, {{}, outcome, {}}}).complaints.empty();
  }

  Scale scale_ = SimulatedScale();
  Case case_;
  Job other_;
  Oracle oracle_{&case_, &scale_};
};

TEST_F(OracleTest, WithoutAFaultEveryFailureIsAComplaint) {
  EXPECT_TRUE(Believes(case_.target, {}));
  EXPECT_FALSE(Believes(case_.target, Failed(Failure::kMemberLost, FailureCause::kProcessDied, "n1")));
  EXPECT_FALSE(Believes(case_.target, Failed(Failure::kTimedOut, FailureCause::kNotFormedInTime, "")));
}

TEST_F(OracleTest, ADeathIsToldOfItsNodeToItsTeamAlone) {
  Made(FaultKind::kProcessCrash, 1);
  EXPECT_TRUE(Believes(case_.target, Failed(Failure::kMemberLost, FailureCause::kProcessDied, "n1")));
  EXPECT_FALSE(Believes(case_.target, Failed(Failure::kMemberLost, FailureCause::kProcessDied, "n0")));
  EXPECT_FALSE(Believes(case_.target, Failed(Failure::kMemberLost, FailureCause::kUnknown, "n1")));
  EXPECT_FALSE(Believes(other_, Failed(Failure::kMemberLost, FailureCause::kProcessDied, "n1")));
}

TEST_F(OracleTest, APlannerThatIsAwayEndsNoCall) {
  Made(FaultKind::kManagementCut, 1, absl::Minutes(1));
  Made(FaultKind::kPlannerKilled, 1, absl::Minutes(1));
  EXPECT_FALSE(Believes(case_.target, Failed(Failure::kMemberLost, FailureCause::kNodeSilent, "n1")));
  EXPECT_FALSE(Believes(case_.target, Failed(Failure::kNoResource, FailureCause::kNoPlanner, "n1")));
  EXPECT_EQ(oracle_.Patience(case_.target), scale_.grace);
}

TEST_F(OracleTest, ASwitchThatNobodyDecidesHoldsCalls) {
  Made(FaultKind::kPlannerStalled, 1, absl::Seconds(1));
  Made(FaultKind::kReplan, 1);
  const absl::Duration patience = oracle_.Patience(case_.target);
  EXPECT_GT(patience, scale_.grace);
  EXPECT_EQ(oracle_.Patience(other_), scale_.grace);
  oracle_.Lasted(FaultKind::kPlannerStalled, absl::Seconds(51));
  EXPECT_EQ(oracle_.Patience(case_.target), patience + absl::Seconds(50));
}

TEST_F(OracleTest, ASwitchOfWhoseDecisionANodeDoesNotHearHoldsCalls) {
  Made(FaultKind::kManagementCut, 1, absl::Seconds(1));
  EXPECT_EQ(oracle_.Patience(case_.target), scale_.grace);
  Made(FaultKind::kReplan, 1);
  EXPECT_GT(oracle_.Patience(case_.target), scale_.grace + absl::Seconds(1));
  EXPECT_EQ(oracle_.Patience(other_), scale_.grace);
}

TEST_F(OracleTest, SilenceIsALossIfItLasts) {
  Made(FaultKind::kDataCut, 1, scale_.node_timeout / 2);
  const Outcome silent = Failed(Failure::kMemberLost, FailureCause::kNodeSilent, "n1");
  EXPECT_FALSE(Believes(case_.target, silent));
  Made(FaultKind::kDaemonPause, 1, scale_.node_timeout / 2);
  EXPECT_TRUE(Believes(case_.target, silent));
  EXPECT_FALSE(Believes(other_, silent));
}

TEST_F(OracleTest, AfterAShortCutTheEndsOfOneLinkAreTakenForEqual) {
  scale_.real = true;
  Job& job = case_.target;
  job.placement = {0, 1, 2};
  job.programs = scenario::TeamPrograms(job.name, job.placement, {{.collective = Collective::kBarrier}}, 1);
  const Outcome silent = Failed(Failure::kMemberLost, FailureCause::kNodeSilent, "");
  const std::vector<std::vector<Outcome>> outcomes(3, {{}, silent, {}});
  Oracle longer(&case_, &scale_);
  longer.Made({.kind = FaultKind::kDataCut, .ranks = {1}, .nodes = {1}, .lasts = 2 * scale_.node_timeout});
  EXPECT_FALSE(longer.Judge(job, outcomes).complaints.empty());
  Made(FaultKind::kDataCut, 1, scale_.node_timeout / 2);
  EXPECT_TRUE(oracle_.Judge(job, outcomes).complaints.empty());
}

TEST_F(OracleTest, WrongDataIsAComplaintWhateverWasMade) {
  Made(FaultKind::kProcessCrash, 1);
  EXPECT_FALSE(Believes(case_.target, {.data_ok = false}));
}

TEST_F(OracleTest, CallsAreCountedUntilARankIsToldOfAFailure) {
  const Verdict well = oracle_.Judge(case_.target, {{{}, {}, {}}, {{}, {}, {}}});
  EXPECT_TRUE(well.ended_well);
  EXPECT_EQ(well.calls, 1u);
  Made(FaultKind::kDrain, 1);
  const Outcome refused = Failed(Failure::kNoResource, FailureCause::kNodeDraining, "n1");
  const Outcome no_team = Failed(Failure::kInvalidArgument, FailureCause::kBadArgument, "");
  case_.state = State::kForming;
  const Verdict failed = oracle_.Judge(case_.target, {{refused, no_team, no_team}, {refused, no_team, no_team}});
  EXPECT_TRUE(failed.complaints.empty()) << failed.complaints[0];
  EXPECT_FALSE(failed.ended_well);
  EXPECT_EQ(failed.calls, 0u);
}

}  // namespace
}  // namespace copse::campaign
