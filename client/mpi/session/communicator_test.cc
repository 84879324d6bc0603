// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/communicator.h"

#include <algorithm>
#include <string>

#include "base/testing/status_matchers.h"
#include "client/mpi/api/error_text.h"
#include "client/mpi/api/mpi_process.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using copse::testing::Names;

// Communicators of one process: what does not need a team.
class CommunicatorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { StartCommunicators(); }
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_SELF, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

  Session session_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST_F(CommunicatorTest, ACommunicatorIsRememberedUntilItIsFreed) {
  Communicator* const communicator = Communicator::Of(comm_);
  ASSERT_NE(communicator, nullptr);
  EXPECT_EQ(Communicator::Of(comm_), communicator);
  EXPECT_EQ(communicator->rank(), 0);
  EXPECT_EQ(communicator->size(), 1);
  EXPECT_EQ(communicator->comm(), comm_);
  EXPECT_EQ(communicator->team(), nullptr);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm_, &copy);
  EXPECT_NE(Communicator::Of(copy), communicator);
  MPI_Comm_free(&copy);
}

TEST_F(CommunicatorTest, OneRankNeedsNoTeam) {
  Communicator* const communicator = Communicator::Of(comm_);
  for (int call = 0; call < 100; ++call) EXPECT_EQ(communicator->Enter(&session_, true), Reason::kOneRank);
  EXPECT_FALSE(communicator->WantsTimeOf(session_, Reason::kOneRank));
  EXPECT_TRUE(communicator->WantsTimeOf(session_, Reason::kNone));
  EXPECT_TRUE(communicator->WantsTimeOf(session_, Reason::kFirstCalls));
  session_.settings.weighs_teams = session_.settings.chooses_path = false;
  EXPECT_FALSE(communicator->WantsTimeOf(session_, Reason::kNone));
  EXPECT_FALSE(communicator->WantsTimeOf(session_, Reason::kFirstCalls));
}

TEST_F(CommunicatorTest, ErrorsEndTheJobIfTheHandlerIsFatal) {
  Communicator* const communicator = Communicator::Of(comm_);
  EXPECT_FALSE(communicator->EndsOnErrors());
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  EXPECT_TRUE(communicator->EndsOnErrors());
}

TEST_F(CommunicatorTest, AFailureIsPrintedOnceAndHasItsText) {
  Communicator* const communicator = Communicator::Of(comm_);
  ::testing::internal::CaptureStderr();
  const int code = communicator->Fail("MPI_Bcast", COPSE_ERR_MEMBER_LOST, "gone (node=n2)");
  EXPECT_EQ(communicator->Fail("MPI_Bcast", COPSE_ERR_MEMBER_LOST, "gone (node=n2)"), code);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
  EXPECT_THAT(printed, Names("copse-mpi: MPI_Bcast: ", "node=n2", "rank=0", "size=1"));
  int error_class = 0, length = 0;
  MPI_Error_class(code, &error_class);
  EXPECT_EQ(error_class, MPI_ERR_OTHER);
  char text[MPI_MAX_ERROR_STRING] = "";
  EXPECT_EQ(Error_string(code, text, &length), MPI_SUCCESS);
  EXPECT_THAT(std::string(text), Names("node=n2"));
  EXPECT_EQ(Error_string(MPI_ERR_COMM, text, &length), MPI_SUCCESS);
  EXPECT_GT(length, 0);
}

TEST_F(CommunicatorTest, WhatTheProgramMayNotDoIsRefusedByItsClass) {
  Communicator* const communicator = Communicator::Of(comm_);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(communicator->Refuse("MPI_Cancel", MPI_ERR_REQUEST, "no"), MPI_ERR_REQUEST);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Names("copse-mpi: MPI_Cancel: ", "rank=0"));
}

TEST_F(CommunicatorTest, ACallThatGoesOnKeepsAFreedCommunicator) {
  Communicator* const communicator = Communicator::Of(comm_);
  communicator->Retain();
  MPI_Comm_free(&comm_);
  // Errors go to MPI_COMM_WORLD now.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(communicator->Refuse("MPI_Cancel", MPI_ERR_REQUEST, "no"), MPI_ERR_REQUEST);
  ::testing::internal::GetCapturedStderr();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  communicator->Release();
}

TEST_F(CommunicatorTest, KindsAreByCollectiveAndClassOfLengths) {
  Communicator* const communicator = Communicator::Of(comm_);
  communicator->DividedCalls(1);
  const auto kind = [&](copse_collective_t collective, uint64_t bytes) {
    Offload offload({}, false);
    offload.args.collective = collective;
    offload.known_bytes = bytes;
    return communicator->AsyncKindOf(offload);
  };
  EXPECT_EQ(kind(COPSE_COLL_BCAST, 1), kind(COPSE_COLL_BCAST, 1024));
  EXPECT_NE(kind(COPSE_COLL_BCAST, 1024), kind(COPSE_COLL_BCAST, 1025));
  EXPECT_NE(kind(COPSE_COLL_BCAST, 0), kind(COPSE_COLL_BCAST, 1));
  EXPECT_NE(kind(COPSE_COLL_BCAST, 1), kind(COPSE_COLL_REDUCE, 1));
  Offload offload({}, false);
  offload.args.collective = COPSE_COLL_BCAST;
  offload.known_bytes = 1 << 20;
  const tnbc::TraceKind described = communicator->DescribeKind(offload);
  EXPECT_EQ(described.size, 1u);
  EXPECT_EQ(described.length, 4u);
  EXPECT_NE(described.communicator, 0u);
}

TEST_F(CommunicatorTest, APathIsChosenOnlyWhereErrorsEndTheJobOnAllRanks) {
  Communicator* const communicator = Communicator::Of(comm_);
  Offload offload({}, false);
  EXPECT_EQ(communicator->ChoiceOf(session_, offload), nullptr);
  EXPECT_TRUE(communicator->MaySend(offload));
  EXPECT_EQ(communicator->TakeFormingTime(), 0u);
}

}  // namespace
}  // namespace copse::mpi
