// SPDX-License-Identifier: Apache-2.0
#include "client/run/launch.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;

std::vector<std::string> Split(const std::string& line) { return absl::StrSplit(line, ' '); }

std::string Added(Launcher launcher, const std::string& command, const Additions& additions) {
  const auto result = AddToCommand(launcher, Split(command), additions);
  return result.ok() ? absl::StrJoin(*result, " ") : result.status().ToString();
}

const Additions kLibrary = {.library = "/l.so"};
const Additions kAll = {.library = "/l.so", .preload = "/a.so:/b.so", .variables = {{"COPSE_MPI_STATS", "1"}}};

TEST(LaunchTest, AVariableOfTheEnvironmentIsPassedOnByItsNameAlone) {
  const Additions additions = {.library = "/l.so", .inherited = {"SECRET"}};
  EXPECT_EQ(Added(Launcher::kHydra, "mpiexec -n 2 a", additions), "mpiexec -genv LD_PRELOAD /l.so -n 2 a");
  EXPECT_EQ(Added(Launcher::kOpenMpi, "mpirun a : b", additions),
            "mpirun -x LD_PRELOAD=/l.so -x SECRET a : -x LD_PRELOAD=/l.so -x SECRET b");
  EXPECT_EQ(Added(Launcher::kSrun, "srun --export=NONE a", additions), "srun --export=LD_PRELOAD=/l.so,SECRET a");
}

TEST(LaunchTest, HydraGetsVariablesForAllRanks) {
  EXPECT_EQ(Added(Launcher::kHydra, "mpiexec -n 2 ./a -n", kLibrary), "mpiexec -genv LD_PRELOAD /l.so -n 2 ./a -n");
  EXPECT_EQ(Added(Launcher::kHydra, "mpiexec -n 2 ./a", kAll),
            "mpiexec -genv LD_PRELOAD /a.so:/b.so:/l.so -genv COPSE_MPI_STATS 1 -n 2 ./a");
}

TEST(LaunchTest, HydraKeepsAPreloadOfTheCommand) {
  EXPECT_EQ(Added(Launcher::kHydra, "mpiexec -env LD_PRELOAD /x.so -n 1 ./a : -env FOO /y -n 1 ./b", kLibrary),
            "mpiexec -genv LD_PRELOAD /l.so -env LD_PRELOAD /x.so:/l.so -n 1 ./a : -env FOO /y -n 1 ./b");
  EXPECT_EQ(Added(Launcher::kHydra, "mpiexec ./a -env LD_PRELOAD", kLibrary),
            "mpiexec -genv LD_PRELOAD /l.so ./a -env LD_PRELOAD");
}

TEST(LaunchTest, OpenMpiGetsVariablesForEachProgram) {
  EXPECT_EQ(Added(Launcher::kOpenMpi, "mpirun -n 1 ./a : -n 2 ./b", kAll),
            "mpirun -x COPSE_MPI_STATS=1 -x LD_PRELOAD=/a.so:/b.so:/l.so -n 1 ./a : "
            "-x COPSE_MPI_STATS=1 -x LD_PRELOAD=/a.so:/b.so:/l.so -n 2 ./b");
}

TEST(LaunchTest, OpenMpiKeepsWhatTheCommandSets) {
  EXPECT_EQ(Added(Launcher::kOpenMpi, "mpirun -x LD_PRELOAD=/x.so ./a : -x LD_PRELOAD -x COPSE_MPI_STATS=0 ./b", kAll),
            "mpirun -x COPSE_MPI_STATS=1 -x LD_PRELOAD=/x.so:/l.so ./a : "
            "-x LD_PRELOAD=/a.so:/b.so:/l.so -x COPSE_MPI_STATS=0 ./b");
  EXPECT_EQ(Added(Launcher::kOpenMpi, "mpirun ./a -x", kLibrary), "mpirun -x LD_PRELOAD=/l.so ./a -x");
}

TEST(LaunchTest, SrunExportsMore) {
  EXPECT_EQ(Added(Launcher::kSrun, "srun -n 2 ./a --export=X", kLibrary),
            "srun --export=ALL,LD_PRELOAD=/l.so -n 2 ./a --export=X");
  EXPECT_EQ(Added(Launcher::kSrun, "srun --export=FOO=1 ./a", kAll),
            "srun --export=FOO=1,COPSE_MPI_STATS=1,LD_PRELOAD=/a.so:/b.so:/l.so ./a");
  EXPECT_EQ(Added(Launcher::kSrun, "srun --export=NONE ./a", kLibrary), "srun --export=LD_PRELOAD=/l.so ./a");
  EXPECT_EQ(Added(Launcher::kSrun, "srun ./a", {.library = "/l.so", .slurm_export = "PATH"}),
            "srun --export=PATH,LD_PRELOAD=/l.so ./a");
}

TEST(LaunchTest, SrunKeepsWhatTheCommandExports) {
  for (const char* options : {"-n 4 --export=PATH", "-n 4 --export PATH", "--export PATH -n 4",
                              "-n4 --ntasks-per-node 2 -l --export PATH", "--label --nodes 2 --export=PATH"}) {
    const std::string added = Added(Launcher::kSrun, absl::StrCat("srun ", options, " ./a --export=X"), kLibrary);
    EXPECT_TRUE(absl::StartsWith(added, "srun --export=PATH,LD_PRELOAD=/l.so ")) << added;
    EXPECT_TRUE(absl::EndsWith(added, " ./a --export=X")) << added;
    EXPECT_EQ(Split(added).size(), Split(options).size() + (absl::StrContains(options, "--export ") ? 2 : 3)) << added;
  }
  EXPECT_EQ(Added(Launcher::kSrun, "srun --export=ALL,COPSE_MPI_STATS=0,LD_PRELOAD=/x.so ./a", kAll),
            "srun --export=ALL,COPSE_MPI_STATS=0,LD_PRELOAD=/x.so:/l.so ./a");
  EXPECT_EQ(Added(Launcher::kSrun, "srun -- ./a --export PATH", kLibrary),
            "srun --export=ALL,LD_PRELOAD=/l.so -- ./a --export PATH");
}

TEST(LaunchTest, ValuesThatCannotBeGivenAreNamed) {
  EXPECT_THAT(AddToCommand(Launcher::kSrun, {"srun", "./a"}, {.library = "/l,1.so"}),
              FailsWith(absl::StatusCode::kInvalidArgument, "srun: ", "export=ALL,LD_PRELOAD=/l,1.so"));
  EXPECT_THAT(AddToCommand(Launcher::kHydra, {"mpiexec", "./a"}, {.library = "/a b.so"}),
              FailsWith(absl::StatusCode::kInvalidArgument, "library: ", "LD_PRELOAD", "value=/a b.so"));
}

TEST(LaunchTest, WordsAreQuotedForAShell) {
  EXPECT_EQ(Quoted({"mpirun", "-x", "A=b:c", "two words", "it's", ""}), "mpirun -x A=b:c 'two words' 'it'\\''s' ''");
}

}  // namespace
}  // namespace copse::run
