// SPDX-License-Identifier: Apache-2.0
//
// Calls of three ranks that the preload takes to the daemon, a stand-in, or to MPI, as that is faster.
#include <gtest/gtest.h>

#include "client/mpi/testing/mpi_job.h"

namespace copse::mpi {
namespace {

constexpr uint64_t kCallsBefore = 3;  // COPSE_MPI_CALLS_BEFORE
constexpr uint64_t kCalls = 40;

class FasterPathTest : public JobFixture {
 protected:
  // Returns the sum of the ranks' numbers. It is 0 only if it is added up in order of ranks.
  double SumInOrder() {
    const double numbers[kJobRanks] = {1, 1e16, -1e16};
    double sum = -1;
    EXPECT_EQ(MPI_Allreduce(&numbers[rank_], &sum, 1, MPI_DOUBLE, MPI_SUM, comm_), MPI_SUCCESS);
    return sum;
  }
};

TEST_F(FasterPathTest, TheFirstCallsGoToMpi) {
  for (uint64_t call = 0; call < kCallsBefore; ++call) MPI_Barrier(comm_);
  EXPECT_EQ(NewCalls(), 0u);
  MPI_Barrier(comm_);
  EXPECT_EQ(NewCalls(), 1u);
}

TEST_F(FasterPathTest, CallsOfOneKindAreTriedByBothPaths) {
  for (uint64_t call = 0; call < kCalls; ++call) {
    int value = rank_ == 2 ? 5 : 0;
    EXPECT_EQ(MPI_Bcast(&value, 1, MPI_INT, 2, comm_), MPI_SUCCESS);
    EXPECT_EQ(value, 5);
  }
  const uint64_t by_daemon = NewCalls();
  EXPECT_GE(by_daemon, 5u);  // the first calls that are measured
  EXPECT_LT(by_daemon, kCalls);
}

TEST_F(FasterPathTest, AShortSumIsTheSameByEitherPath) {
  for (uint64_t call = 0; call < kCalls; ++call) EXPECT_EQ(SumInOrder(), 0) << call;
  const uint64_t by_daemon = NewCalls();
  EXPECT_GE(by_daemon, 5u);
  EXPECT_LT(by_daemon, kCalls);
}

TEST_F(FasterPathTest, CallsOfACommunicatorThatHandlesErrorsGoToTheDaemon) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  for (uint64_t call = 0; call < kCalls; ++call) EXPECT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
  EXPECT_EQ(NewCalls(), kCalls - kCallsBefore);
}

// It would wait for the others, so it forms no team.
TEST_F(FasterPathTest, ANonBlockingCallDoesNotFormATeam) {
  const uint64_t teams = Ask(Command::Kind::kCountTeams);
  for (uint64_t call = 0; call < 2 * kCallsBefore; ++call) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  EXPECT_EQ(Ask(Command::Kind::kCountTeams), teams);
  MPI_Barrier(comm_);
  EXPECT_EQ(Ask(Command::Kind::kCountTeams), teams + kJobRanks);
}

}  // namespace
}  // namespace copse::mpi
