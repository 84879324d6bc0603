// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/progress.h"

#include <thread>

#include "client/mpi/api/mpi_process.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

class ProgressTest : public testing::Test {
 protected:
  void SetUp() override { progress_.Start(); }
  void TearDown() override { progress_.Stop(); }

  Progress progress_;
};

TEST_F(ProgressTest, TurnsBringMessagesOfThisProcess) {
  int sent = 7, received = 0, done = 0;
  MPI_Request requests[2];
  MPI_Irecv(&received, 1, MPI_INT, 0, 5, progress_.own(), &requests[0]);
  MPI_Isend(&sent, 1, MPI_INT, 0, 5, progress_.own(), &requests[1]);
  for (int turn = 0; turn < 1000; ++turn) progress_.TurnMpi();
  MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(received, 7);
}

int the_polls = 0;

TEST_F(ProgressTest, ATurnPollsRequestsOnceThereAreAny) {
  the_polls = 0;
  progress_.Turn();
  EXPECT_EQ(the_polls, 0);
  progress_.SetPoll([] { ++the_polls; });
  progress_.Turn();
  progress_.TurnMpi();
  EXPECT_EQ(the_polls, 1);
}

TEST_F(ProgressTest, ASliceIsShortWhileThereAreWindows) {
  EXPECT_GE(progress_.slice(), 1e-3);
  EXPECT_FALSE(progress_.has_windows());
  progress_.CountWindows(1);
  EXPECT_TRUE(progress_.has_windows());
  EXPECT_LT(progress_.slice(), 1e-4);
  progress_.CountWindows(-1);
  progress_.TurnMpi();
  EXPECT_GE(progress_.slice(), 1e-3);
  EXPECT_LE(progress_.slice(), 20e-3);
}

TEST_F(ProgressTest, OnlyTheMainThreadMayTurnBelowMultiple) {
  EXPECT_LT(progress_.thread_level(), MPI_THREAD_MULTIPLE);
  EXPECT_TRUE(progress_.MayTurn());
  std::thread([this] { EXPECT_FALSE(progress_.MayTurn()); }).join();
}

}  // namespace
}  // namespace copse::mpi
