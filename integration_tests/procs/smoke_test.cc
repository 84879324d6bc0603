// SPDX-License-Identifier: Apache-2.0
//
// That a cluster of real processes comes up, works, and goes without a trace.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/processes/admin_client.h"

namespace copse::procs {
namespace {

using scenario::Placement;
using scenario::TeamPrograms;

constexpr absl::Duration kPatience = absl::Seconds(60);
const CallArguments kBarrier{.collective = Collective::kBarrier};

using SmokeTest = ClusterFixture;

TEST_F(SmokeTest, EveryCollectiveOnFourNodesWithTwoRanksEach) {
  ASSERT_TRUE(cluster_.Start({.nodes = 4}).ok());
  std::vector<CallArguments> calls = {kBarrier};
  for (const uint64_t count : {1, 6, 1000, 8192}) {
    for (const uint32_t root : {0, 3, 7}) {
      calls.push_back({.collective = Collective::kBcast, .type = ElementType::kDouble, .count = count, .root = root});
      calls.push_back({.collective = Collective::kReduce,
                       .type = ElementType::kInt32,
                       .op = ElementOp::kMin,
                       .count = count,
                       .root = root});
    }
    calls.push_back({.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = count});
  }
  // Elements as long as the buffers allow, in packets and in several segments.
  for (const uint64_t count : {1, 7, 1000, 4096}) {
    const auto allreduce = [&](ElementType type, ElementOp op) {
      calls.push_back({.collective = Collective::kAllreduce, .type = type, .op = op, .count = count});
    };
    allreduce(ElementType::kHalf, ElementOp::kSum);
    allreduce(ElementType::kBfloat16, ElementOp::kMax);
    allreduce(ElementType::kComplexDouble, ElementOp::kProd);
    allreduce(ElementType::kByte, ElementOp::kBxor);
    allreduce(ElementType::kDoubleInt, ElementOp::kMinloc);
    allreduce(ElementType::kShortInt, ElementOp::kMaxloc);
    calls.push_back({.collective = Collective::kReduce,
                     .type = ElementType::kLongInt,
                     .op = ElementOp::kMaxloc,
                     .count = count,
                     .root = 5});
  }
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("every", {0, 0, 1, 1, 2, 2, 3, 3}, calls, 1), kPatience);
}

// Returns how many TCP sockets of the process listen.
size_t ListeningSockets(pid_t pid) {
  std::set<std::string> listening;  // inodes
  for (const char* const table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream file(absl::StrCat("/proc/", pid, table));
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
      constexpr size_t kState = 3, kInode = 9;
      if (fields.size() > kInode && fields[kState] == "0A")
        listening.insert(absl::StrCat("socket:[", fields[kInode], "]"));
    }
  }
  const std::filesystem::directory_iterator open(absl::StrCat("/proc/", pid, "/fd"));
  return static_cast<size_t>(std::count_if(begin(open), end(open), [&](const auto& descriptor) {
    std::error_code gone;
    return listening.contains(std::filesystem::read_symlink(descriptor.path(), gone).string());
  }));
}

TEST_F(SmokeTest, NoDataPortIsOpenBeforeATeamHasAnEdgeToAnotherNode) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  const auto both = [&] {
    return std::pair(ListeningSockets(cluster_.DaemonPid(0)), ListeningSockets(cluster_.DaemonPid(1)));
  };
  constexpr std::pair<size_t, size_t> kAdminOnly(1, 1);
  EXPECT_EQ(both(), kAdminOnly);
  const CallArguments allreduce{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 8192};
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("within", {0, 0}, {kBarrier, allreduce}, 1), kPatience);
  EXPECT_EQ(both(), kAdminOnly);
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("between", {0, 1}, {kBarrier, allreduce}, 1), kPatience);
  constexpr std::pair<size_t, size_t> kDataToo(2, 2);
  if (std::getenv("UCX_TLS") == nullptr) {
    EXPECT_EQ(both(), kDataToo);
  }
}

TEST_F(SmokeTest, ARestartedDaemonHasANewIncarnationAndWorks) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  const auto incarnation = [&]() -> uint64_t {
    const auto nodes = cluster_.admin().ListNodes(kPatience);
    EXPECT_TRUE(nodes.ok()) << nodes.status();
    for (const v1::NodeRow& row : nodes->nodes()) {
      if (row.name() == "n1") return row.incarnation();
    }
    return 0;
  };
  const uint64_t before = incarnation();
  const absl::Status restarted = cluster_.RestartDaemon(1);
  ASSERT_TRUE(restarted.ok()) << restarted;
  EXPECT_NE(incarnation(), before);
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("barrier", {0, 1}, {kBarrier}, 1), kPatience);
}

TEST_F(SmokeTest, ARestartedPlannerIsFoundAgain) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  const absl::Status restarted = cluster_.RestartPlanner();
  ASSERT_TRUE(restarted.ok()) << restarted;
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("barrier", {0, 1}, {kBarrier}, 1), kPatience);
}

TEST(ProcessClusterTest, ItsFolderGoesWithIt) {
  std::string folder;
  {
    ProcessCluster cluster;
    ASSERT_TRUE(cluster.Start({.nodes = 1}).ok());
    folder = cluster.folder();
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(ProcessClusterTest, AFolderWithTooLongANameIsRefused) {
  const std::string parent = absl::StrCat(testing::TempDir(), "/", std::string(120, 'x'));
  std::filesystem::create_directories(parent);
  ProcessCluster cluster({.parent = parent});
  const absl::Status status = cluster.Start({.nodes = 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("limit=107"), std::string::npos) << status;
}

// A process that cannot reach a daemon says so, and is not waited for.
TEST_F(SmokeTest, AProcessOfADeadNodeFailsEachStep) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  cluster_.KillDaemon(1);
  const uint32_t process = cluster_.Launch({TeamPrograms("alone", {1}, {kBarrier}, 1)[0]});
  ASSERT_TRUE(cluster_.AwaitEnd(process, kPatience).ok());
  const auto outcomes = cluster_.Outcomes(process);
  ASSERT_EQ(outcomes.size(), 3u);
  for (const scenario::Outcome& outcome : outcomes)
    EXPECT_EQ(outcome.failure, schedule::Failure::kNoDaemon) << outcome.text;
  const absl::Status more = cluster_.AwaitOutcomes(process, 4, kPatience);
  EXPECT_EQ(more.code(), absl::StatusCode::kFailedPrecondition) << more;
}

}  // namespace
}  // namespace copse::procs
