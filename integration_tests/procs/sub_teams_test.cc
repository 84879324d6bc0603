// SPDX-License-Identifier: Apache-2.0
//
// Real daemons form sub-teams while the planner is stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "testbed/script/script.h"

namespace copse::procs {
namespace {

using copse::testing::IsOk;
using scenario::Outcome;
using scenario::Step;
using scenario::StepKind;

constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr uint32_t kNodes = 4;
constexpr uint32_t kRanks = 8;
constexpr uint32_t kTeams = 200;
const std::vector<uint32_t> kAll = {0, 1, 2, 3, 4, 5, 6, 7};
const std::vector<uint32_t> kOdd = {7, 5, 3, 1};
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

using SubTeamsTest = ClusterFixture;

TEST_F(SubTeamsTest, DuplicatesAndSplitsWhileThePlannerIsStopped) {
  ASSERT_THAT(cluster_.Start({.nodes = kNodes}), IsOk());
  std::vector<scenario::Program> programs;
  std::vector<size_t> before(kRanks, 2), after;  // outcomes until the pause, and until the next one
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    scenario::Program program{
        .node = rank / 2, .script = {scenario::TeamStep(0, "parent", rank, kRanks), scenario::CallStep(0, kSum, 1)}};
    scenario::Script& script = program.script;
    const auto form = [&](uint32_t team, const std::vector<uint32_t>& members) {
      script.push_back({.kind = StepKind::kSubTeam, .team = team, .parent = 0, .members = members});
      const bool is_member = std::find(members.begin(), members.end(), rank) != members.end();
      if (is_member) script.push_back(scenario::CallStep(team, kSum, team));
      return is_member;
    };
    if (form(kTeams, kOdd)) script.push_back(scenario::DestroyStep(kTeams));  // the planner makes its plans
    before[rank] = script.size();
    script.push_back(scenario::PauseStep(absl::Seconds(8)));
    for (uint32_t team = 1; team < kTeams; ++team) {
      if (form(team, team % 4 == 0 ? kOdd : kAll) && team != kTeams - 1) script.push_back(scenario::DestroyStep(team));
    }
    script.push_back(scenario::CallStep(0, kSum, 2));
    after.push_back(script.size() - 1);  // a pause has no outcome
    script.push_back(scenario::PauseStep(absl::Seconds(20)));
    programs.push_back(std::move(program));
  }
  const uint32_t first = cluster_.Launch(programs);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_THAT(cluster_.AwaitOutcomes(first + rank, before[rank], kPatience), IsOk());
  }
  cluster_.StopPlanner();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(cluster_.AwaitOutcomes(first + rank, after[rank], kPatience), IsOk());
    for (const Outcome& outcome : cluster_.Outcomes(first + rank)) ASSERT_EQ(outcome.text, "") << rank;
  }
  cluster_.ContinuePlanner();
  // The parent and the last duplicate are left.
  uint64_t listed = 0;
  for (const absl::Time end = absl::Now() + kPatience; listed != 2 && absl::Now() < end;) {
    const auto gauges = cluster_.Gauges(0);
    ASSERT_THAT(gauges, IsOk());
    listed = gauges->at("planner.teams");
  }
  EXPECT_EQ(listed, 2u);
}

// No team of these shapes was ever formed: the daemons make the plans.
TEST_F(SubTeamsTest, SplitsOfNewShapesWhileThereIsNoPlanner) {
  ASSERT_THAT(cluster_.Start({.nodes = kNodes}), IsOk());
  const std::vector<uint32_t> even = {0, 2, 4, 6}, inner = {5, 2, 4, 3};
  std::vector<scenario::Program> programs;
  std::vector<size_t> after(kRanks);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    scenario::Script script = {scenario::TeamStep(0, "parent", rank, kRanks), scenario::CallStep(0, kSum, 1),
                               scenario::PauseStep(absl::Seconds(8))};
    uint32_t team = 0;
    const auto form = [&](const std::vector<uint32_t>& members) {
      script.push_back({.kind = StepKind::kSubTeam, .team = ++team, .parent = 0, .members = members});
      if (std::find(members.begin(), members.end(), rank) == members.end()) return;
      for (const uint64_t count : {1u, 3000u, 100'000u}) {
        CallArguments sum = kSum;
        sum.count = count;
        script.push_back(scenario::CallStep(team, sum, team));
        script.push_back(scenario::CallStep(team, {.collective = Collective::kBcast, .count = count, .root = 1}, team));
      }
    };
    for (const auto& members : {kOdd, even, inner, kAll}) form(members);
    for (uint32_t node = 0; node < kNodes; ++node) form({2 * node, 2 * node + 1});
    after[rank] = script.size() - 1;  // a pause has no outcome
    script.push_back(scenario::PauseStep(absl::Seconds(20)));
    programs.push_back({rank / 2, std::move(script)});
  }
  const uint32_t first = cluster_.Launch(programs);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_THAT(cluster_.AwaitOutcomes(first + rank, 2, kPatience), IsOk());
  }
  cluster_.KillPlanner();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(cluster_.AwaitOutcomes(first + rank, after[rank], kPatience), IsOk());
    for (const Outcome& outcome : cluster_.Outcomes(first + rank)) {
      ASSERT_EQ(outcome.text, "") << rank;
      ASSERT_TRUE(outcome.data_ok) << rank;
    }
  }
  ASSERT_THAT(cluster_.RestartPlanner(), IsOk());
  uint64_t listed = 0;
  for (const absl::Time end = absl::Now() + kPatience; listed != 5 + kNodes && absl::Now() < end;) {
    const auto gauges = cluster_.Gauges(0);
    if (gauges.ok()) listed = gauges->at("planner.teams");
  }
  EXPECT_EQ(listed, 5 + kNodes);
}

}  // namespace
}  // namespace copse::procs
