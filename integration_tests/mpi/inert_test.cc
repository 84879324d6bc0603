// SPDX-License-Identifier: Apache-2.0
//
// libcopse-mpi.so in programs that are none of its business.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/child_process.h"

namespace copse::mpi_test {
namespace {

using copse::testing::Names;
using ::testing::ElementsAre;

constexpr absl::Duration kPatience = absl::Minutes(1);

// Standard output and error together, and the exit code as the last line. LD_PRELOAD of `environment` stands behind.
Words RunPreloaded(const Words& command, const std::map<std::string, std::string>& environment = {}) {
  std::map<std::string, std::string> all = environment;
  all["LD_PRELOAD"] = absl::StrCat(PathOf("client/mpi/libcopse-mpi.so"), ":", all["LD_PRELOAD"]);
  Words words = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  words.insert(words.end(), command.begin(), command.end());
  const auto child = procs::ChildProcess::Start({.arguments = words, .environment = all, .stdout_pipe = true});
  if (!child.ok()) return {child.status().ToString()};
  Words lines;
  if (!(*child)->ReadToEnd(kPatience, &lines).ok()) return {"does not end"};
  lines.push_back(absl::StrCat((*child)->exit_code()));
  return lines;
}

TEST(InertTest, AProgramWithoutMpiLoadsNothingAndPrintsNothing) {
  EXPECT_EQ(RunPreloaded({"/bin/echo", "hello"}), (Words{"hello", "0"}));
  const std::string maps = absl::StrJoin(RunPreloaded({"/bin/cat", "/proc/self/maps"}), "\n");
  EXPECT_TRUE(absl::StrContains(maps, "libcopse-mpi.so")) << maps;
  for (const char* library : {"libcopse-mpi-", "libstdc++", "libmpi", "libgcc_s", "libm.so"}) {
    EXPECT_FALSE(absl::StrContains(maps, library)) << library << "\n" << maps;
  }
}

TEST(InertTest, AnUnknownMpiGetsOneWarningAndItsCalls) {
  const std::string program = PathOf("integration_tests/mpi/third_mpi_user");
  const auto warned = ElementsAre(Names("copse-mpi: ", "soname=none", "version=Example MPI 1.0"), "right", "0");
  EXPECT_THAT(RunPreloaded({program}), warned);
  EXPECT_THAT(RunPreloaded({program}, {{"PMIX_RANK", "0"}}), warned);
  EXPECT_EQ(RunPreloaded({program}, {{"PMIX_RANK", "1"}}), (Words{"right", "0"}));
}

TEST(InertTest, AnMpiThatLacksAFunctionOfMpichsGetsOneWarningAndItsCalls) {
  const std::string poor = PathOf("integration_tests/mpi/libpoor_mpi.so");
  EXPECT_THAT(RunPreloaded({PathOf("integration_tests/mpi/third_mpi_user")}, {{"LD_PRELOAD", poor}}),
              ElementsAre(Names("copse-mpi: ", "PMPI_Init_thread", "soname=libmpi.so.12"), "right", "0"));
}

TEST(InertTest, ACallWithoutAnMpiIsAnError) {
  EXPECT_THAT(RunPreloaded({PathOf("integration_tests/mpi/weak_user")}),
              ElementsAre(Names("copse-mpi: "), "result 16", "0"));
}

}  // namespace
}  // namespace copse::mpi_test
