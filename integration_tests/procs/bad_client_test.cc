// SPDX-License-Identifier: Apache-2.0
//
// What one client does to its own memory is its own loss: the ranks beside it get data or an error, others do not
// notice, and the daemons live (the fixture looks).
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collectives/call_arguments.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/expectations.h"
#include "integration_tests/scenarios/scenarios.h"
#include "protocol/control.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::procs {
namespace {

using scenario::Outcome;
using schedule::Failure;

constexpr int kCalls = 6;
constexpr uint32_t kBad = 1;
constexpr uint32_t kRanks = 3;

class BadClientTest : public ClusterFixture {
 protected:
  // The others' outcomes.
  std::vector<std::vector<Outcome>> Run(const std::string& mode) {
    const auto program = FindProgram("integration_tests/procs/bad_client");
    EXPECT_TRUE(program.ok()) << program.status();
    EXPECT_TRUE(cluster_.Start({.nodes = 2}).ok());
    std::vector<CallArguments> calls = {
        {.collective = Collective::kAllreduce, .type = ElementType::kUint64, .op = ElementOp::kSum, .count = 4}};
    for (int i = 0; i < kCalls; ++i) {
      calls.push_back({.collective = Collective::kAllgather, .type = ElementType::kUint64, .count = 65536});
    }
    std::vector<scenario::Program> programs = scenario::TeamPrograms("bad", {0, 0, 1}, calls, 1);
    programs.erase(programs.begin() + kBad);
    const CallArguments sum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 2000};
    const std::vector<scenario::Program> bystanders =
        scenario::TeamPrograms("bystanders", {0, 1, 0}, std::vector<CallArguments>(200, sum), 1);
    const uint32_t first = cluster_.Launch(programs);
    const uint32_t first_bystander = cluster_.Launch(bystanders);
    auto bad = cluster_.StartApplication(
        0, {*program, mode, "bad", absl::StrCat(kBad), absl::StrCat(kRanks), absl::StrCat(kCalls)});
    EXPECT_TRUE(bad.ok()) << bad.status();
    const absl::Status end = (*bad)->AwaitEnd(scenario::kPatience);
    EXPECT_TRUE(end.ok()) << end;
    EXPECT_EQ((*bad)->exit_code(), 0) << (*bad)->DescribeFailure();
    const auto others = scenario::AwaitAll(&cluster_, first, kRanks - 1);
    for (const auto& outcomes : scenario::AwaitAll(&cluster_, first_bystander, 3)) {
      EXPECT_EQ(outcomes.size(), 202u);
      for (const Outcome& outcome : outcomes) scenario::ExpectOutcome(outcome, Failure::kNone, {}, "bystander");
    }
    scenario::ExpectWorks(&cluster_, "after", {0, 1, 0});
    return others;
  }

  // What it gave may be anything, but the calls end as calls do.
  static void ExpectNoFailure(const std::vector<std::vector<Outcome>>& others) {
    for (const auto& outcomes : others) {
      EXPECT_EQ(outcomes.size(), kCalls + 3u);
      for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.failure, Failure::kNone) << outcome.text;
    }
  }
  static void ExpectAFailure(const std::vector<std::vector<Outcome>>& others, Failure other = Failure::kMemberLost) {
    for (const auto& outcomes : others) {
      bool lost = false;
      for (const Outcome& outcome : outcomes) {
        if (outcome.failure == Failure::kNone) continue;
        EXPECT_TRUE(outcome.failure == Failure::kMemberLost || outcome.failure == other) << outcome.text;
        EXPECT_NE(outcome.text.find("rank 1 on node n0"), std::string::npos) << outcome.text;
        lost = true;
      }
      EXPECT_TRUE(lost);
    }
  }
};

TEST_F(BadClientTest, ScribblesOnItsMemory) { ExpectNoFailure(Run("scribble")); }
TEST_F(BadClientTest, PunchesHolesInItsMemory) { ExpectNoFailure(Run("punch")); }
TEST_F(BadClientTest, UnmapsItsMemory) { ExpectNoFailure(Run("unmap")); }
TEST_F(BadClientTest, TakesItsMemoryBack) { ExpectNoFailure(Run("deregister")); }
TEST_F(BadClientTest, TakesItsMemoryBackInHaste) { ExpectNoFailure(Run("hasty")); }
TEST_F(BadClientTest, PostsWhatIsRefused) { ExpectNoFailure(Run("refused")); }
TEST_F(BadClientTest, ScribblesOnItsQueues) {
  // A call that it did not mean may come first.
  ExpectAFailure(Run("rings"), Failure::kMismatch);
}
TEST_F(BadClientTest, VanishesWithCallsInFlight) { ExpectAFailure(Run("vanish")); }

}  // namespace
}  // namespace copse::procs
