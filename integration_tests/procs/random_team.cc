// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/procs/random_team.h"

#include <csignal>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "collectives/call_arguments.h"
#include "gtest/gtest.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::procs {

void RunRandomTeam(ProcessCluster* cluster, const RandomTeam& team) {
  const auto program = FindProgram("integration_tests/procs/random_client");
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::unique_ptr<ChildProcess>> ranks;
  for (size_t rank = 0; rank < team.nodes.size(); ++rank) {
    std::vector<std::string> arguments = {*program};
    for (const uint64_t number :
         {uint64_t{rank}, uint64_t{team.nodes.size()}, team.seed, static_cast<uint64_t>(team.rounds), team.bytes_max}) {
      arguments.push_back(absl::StrCat(number));
    }
    for (int c = 0; c < kCollectiveCount; ++c) arguments.push_back(absl::StrCat(c));
    auto process = cluster->StartApplication(team.nodes[rank], arguments);
    ASSERT_TRUE(process.ok()) << process.status();
    ranks.push_back(std::move(*process));
  }
  for (const auto& rank : ranks) {
    const absl::Status end = rank->AwaitEnd(team.patience);
    EXPECT_TRUE(end.ok()) << end;
    if (!end.ok()) rank->Signal(SIGKILL);
    EXPECT_TRUE(end.ok() && rank->exit_code() == 0) << rank->DescribeFailure();
  }
}

}  // namespace copse::procs
