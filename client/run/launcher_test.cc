// SPDX-License-Identifier: Apache-2.0
#include "client/run/launcher.h"

#include <stdlib.h>

#include <string>

#include "gtest/gtest.h"

namespace copse::run {
namespace {

TEST(LauncherTest, LaunchersAreKnownByNameFileAndVersion) {
  EXPECT_EQ(LauncherNamed("hydra"), Launcher::kHydra);
  EXPECT_EQ(LauncherNamed("mpirun"), std::nullopt);
  for (const char* file : {"mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "mpiexec_mpich"}) {
    EXPECT_EQ(LauncherOfFile(file), Launcher::kHydra) << file;
  }
  for (const char* file : {"orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"}) {
    EXPECT_EQ(LauncherOfFile(file), Launcher::kOpenMpi) << file;
  }
  EXPECT_EQ(LauncherOfFile("srun"), Launcher::kSrun);
  EXPECT_EQ(LauncherOfFile("mpirun"), std::nullopt);
  EXPECT_EQ(LauncherOfVersion("HYDRA build details:\n    Version: 4.0.2\n"), Launcher::kHydra);
  EXPECT_EQ(LauncherOfVersion("mpiexec (OpenRTE) 4.1.4\n"), Launcher::kOpenMpi);
  EXPECT_EQ(LauncherOfVersion("sh 5.2\n"), std::nullopt);
}

TEST(LauncherTest, ProgramsWithAnMpiInTheirNamesAreNoLaunchers) {
  for (const char* file : {"my_app_mpich", "situations_openmpi", "hydrae", "srun_me", "ompi_info", "app.mpirun"}) {
    EXPECT_FALSE(IsNamedAsLauncher(file)) << file;
    EXPECT_EQ(LauncherOfFile(file), std::nullopt) << file;
  }
}

class LaunchedAsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                             "SLURM_PTY_PORT", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
      unsetenv(name);
    }
  }
  void TearDown() override { SetUp(); }
};

TEST_F(LaunchedAsTest, RanksAreKnownByTheirLaunchersVariables) {
  EXPECT_FALSE(LaunchedAs().has_value());
  setenv("PMI_RANK", "3", 1);
  setenv("PMI_SIZE", "4", 1);
  ASSERT_TRUE(LaunchedAs().has_value());
  EXPECT_EQ(LaunchedAs()->command, "mpiexec -n 4");
  EXPECT_FALSE(LaunchedAs()->first);
  setenv("SLURM_PROCID", "0", 1);  // srun sets PMI_RANK, too
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  EXPECT_EQ(LaunchedAs()->command, "srun -n 4");
  EXPECT_TRUE(LaunchedAs()->first);
  setenv("MPI_LOCALNRANKS", "1", 1);  // mpiexec in an allocation of Slurm, which starts one process a node
  EXPECT_EQ(LaunchedAs()->command, "mpiexec -n 4");
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);  // mpirun in a step of Slurm
  EXPECT_EQ(LaunchedAs()->command, "mpirun -n 8");
}

TEST_F(LaunchedAsTest, AShellAScriptAndASingleRankAreNoRanks) {
  setenv("SLURM_PROCID", "0", 1);  // a batch script
  EXPECT_FALSE(LaunchedAs().has_value());
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  setenv("SLURM_PTY_PORT", "1234", 1);
  EXPECT_FALSE(LaunchedAs().has_value());
  unsetenv("SLURM_PTY_PORT");
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_FALSE(LaunchedAs().has_value());
}

}  // namespace
}  // namespace copse::run
