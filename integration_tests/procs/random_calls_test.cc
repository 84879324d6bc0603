// SPDX-License-Identifier: Apache-2.0
//
// Random calls of libcopse on real daemons: collectives, types, roots, counts, displacements, kinds of memory.
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/procs/child_process.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/programs.h"
#include "planner/schedule/collective.h"
#include "planner/schedule/plan.h"

namespace copse::procs {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(100);

// What daemons execute, and how long.
constexpr int kCollectives = schedule::kCollectiveCount;
constexpr uint64_t kBytesMax = 4 * schedule::kMessageBytesMax;

class RandomCallsTest : public ClusterFixture {
 protected:
  // A team with a rank on each of `nodes`.
  void Run(const std::vector<uint32_t>& nodes, uint64_t seed, int rounds, uint64_t bytes_max) {
    const auto program = FindProgram("integration_tests/procs/random_client");
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<std::unique_ptr<ChildProcess>> ranks;
    for (size_t rank = 0; rank < nodes.size(); ++rank) {
      std::vector<std::string> arguments = {*program};
      for (const uint64_t number :
           {uint64_t{rank}, uint64_t{nodes.size()}, seed, static_cast<uint64_t>(rounds), bytes_max}) {
        arguments.push_back(absl::StrCat(number));
      }
      for (int collective = 0; collective < kCollectives; ++collective) arguments.push_back(absl::StrCat(collective));
      auto process = cluster_.StartApplication(nodes[rank], arguments);
      ASSERT_TRUE(process.ok()) << process.status();
      ranks.push_back(std::move(*process));
    }
    for (const auto& rank : ranks) {
      const absl::Status end = rank->AwaitEnd(kPatience);
      EXPECT_TRUE(end.ok()) << end;
      if (!end.ok()) rank->Signal(SIGKILL);
      EXPECT_TRUE(end.ok() && rank->exit_code() == 0) << rank->DescribeFailure();
    }
  }
};

TEST_F(RandomCallsTest, UnevenNodes) {
  ASSERT_TRUE(cluster_.Start({.nodes = 3}).ok());
  Run({0, 1, 1, 2, 0, 1, 1}, 1, 300, 3000);
  Run({2, 0, 0}, 2, 100, kBytesMax);
}

TEST_F(RandomCallsTest, OneNode) {
  ASSERT_TRUE(cluster_.Start({.nodes = 1}).ok());
  Run({0, 0, 0, 0}, 3, 300, 3000);
  Run({0}, 4, 300, kBytesMax);
}

}  // namespace
}  // namespace copse::procs
