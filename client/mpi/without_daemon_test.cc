// SPDX-License-Identifier: Apache-2.0
//
// Calls of three ranks with the preload, none of which has found its daemon.
#include <gtest/gtest.h>

#include "client/mpi/testing/mpi_job.h"

namespace copse::mpi {
namespace {

class WithoutDaemonTest : public JobFixture {};

TEST_F(WithoutDaemonTest, AllCallsGoToMpi) {
  int sum = 0, most = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int call = 0; call < 8; ++call) {
    EXPECT_EQ(MPI_Allreduce(&rank_, &sum, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
    EXPECT_EQ(sum, 0 + 1 + 2);
    EXPECT_EQ(MPI_Iallreduce(&rank_, &most, 1, MPI_INT, MPI_MAX, comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(most, 2);
  }
  EXPECT_EQ(NewCalls(), 0u);
  EXPECT_EQ(Ask(Command::Kind::kCountTeams), 0u);
}

TEST_F(WithoutDaemonTest, ErrorsAreThoseOfMpi) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  EXPECT_EQ(ClassOf(MPI_Bcast(&rank_, 1, MPI_INT, 99, comm_)), MPI_ERR_ROOT);
}

}  // namespace
}  // namespace copse::mpi
