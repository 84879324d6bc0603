// SPDX-License-Identifier: Apache-2.0
//
// Calls of three ranks that the preload takes to the daemon, which is a stand-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "client/mpi/testing/mpi_job.h"

namespace copse::mpi {
namespace {

using Kind = Command::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSumOfRanks = 0 + 1 + 2;

class TeamCallsTest : public JobFixture {
 protected:
  void SetUp() override {
    JobFixture::SetUp();
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);  // forms the team
    NewCalls();
  }

  // Starts an allreduce of the ranks into sum_.
  MPI_Request StartSum() {
    MPI_Request request = MPI_REQUEST_NULL;
    sum_ = 0;
    EXPECT_EQ(MPI_Iallreduce(&rank_, &sum_, 1, MPI_INT, MPI_SUM, comm_, &request), MPI_SUCCESS);
    return request;
  }

  int sum_ = 0;
};

TEST_F(TeamCallsTest, TheDaemonMakesBlockingCalls) {
  int value = rank_ == 1 ? 7 : 0, own = 0;
  std::vector<int> all(kJobRanks), given = {10, 11, 12};
  EXPECT_EQ(MPI_Bcast(&value, 1, MPI_INT, 1, comm_), MPI_SUCCESS);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(MPI_Allreduce(&rank_, &sum_, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
  EXPECT_EQ(sum_, kSumOfRanks);
  EXPECT_EQ(MPI_Allgather(&rank_, 1, MPI_INT, all.data(), 1, MPI_INT, comm_), MPI_SUCCESS);
  EXPECT_THAT(all, ElementsAre(0, 1, 2));
  EXPECT_EQ(MPI_Scatter(given.data(), 1, MPI_INT, &own, 1, MPI_INT, 2, comm_), MPI_SUCCESS);
  EXPECT_EQ(own, 10 + rank_);
  EXPECT_EQ(MPI_Scan(MPI_IN_PLACE, &own, 1, MPI_INT, MPI_MAX, comm_), MPI_SUCCESS);
  EXPECT_EQ(own, 10 + rank_);
  EXPECT_EQ(NewCalls(), 5u);
}

TEST_F(TeamCallsTest, ElementsWithGapsArePackedAndUnpacked) {
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  std::vector<int> ints(5, -1);
  if (rank_ == 0) ints = {1, 9, 2, 9, 3};
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Ibcast(ints.data(), 1, gaps, 0, comm_, &request), MPI_SUCCESS);
  MPI_Type_free(&gaps);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  const int between = rank_ == 0 ? 9 : -1;
  EXPECT_THAT(ints, ElementsAre(1, between, 2, between, 3));
  EXPECT_EQ(NewCalls(), 1u);
}

// The first operand is that of the lower rank.
void TakeDigits(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += 10 * static_cast<int*>(in)[i];
}

TEST_F(TeamCallsTest, TheProgramsOperationCombinesInOrderOfRanks) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(TakeDigits, 0, &op);
  int digits = rank_ + 1, result = 0;
  EXPECT_EQ(MPI_Allreduce(&digits, &result, 1, MPI_INT, op, comm_), MPI_SUCCESS);
  EXPECT_EQ(result, 123);
  EXPECT_EQ(NewCalls(), 1u);
  MPI_Op_free(&op);
}

TEST_F(TeamCallsTest, CallsThatDaemonsDoNotMakeGoToMpi) {
  std::vector<char> bytes((1 << 20) + 1, rank_ == 0 ? 'x' : '.');
  EXPECT_EQ(MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm_), MPI_SUCCESS);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'x'), (1 << 20) + 1);
  EXPECT_EQ(MPI_Allreduce(&rank_, &sum_, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(sum_, rank_);
  MPI_Comm half = MPI_COMM_NULL, other = MPI_COMM_NULL;
  MPI_Comm_split(comm_, rank_ == 0, rank_, &half);
  MPI_Intercomm_create(half, 0, comm_, rank_ == 0 ? 1 : 0, 3, &other);
  NewCalls();
  EXPECT_EQ(MPI_Allreduce(&rank_, &sum_, 1, MPI_INT, MPI_SUM, other), MPI_SUCCESS);
  EXPECT_EQ(sum_, rank_ == 0 ? 3 : 0);
  EXPECT_EQ(ClassOf(MPI_Bcast(&sum_, -1, MPI_INT, 0, comm_)), MPI_ERR_COUNT);
  EXPECT_EQ(NewCalls(), 0u);
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
}

TEST_F(TeamCallsTest, AFailureHasTheClassAndTheTextOfItsCause) {
  Ask(Kind::kFailNext, COPSE_ERR_MEMBER_LOST);
  const int code = MPI_Barrier(comm_);
  EXPECT_EQ(ClassOf(code), MPI_ERR_OTHER);
  EXPECT_THAT(TextOf(code), HasSubstr("node=n7"));
  EXPECT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
}

TEST_F(TeamCallsTest, ACallThatTakesLongerThanAllowedFails) {
  Ask(Kind::kHoldCalls, 1);
  const int code = MPI_Barrier(comm_);
  EXPECT_EQ(ClassOf(code), MPI_ERR_OTHER);
  EXPECT_THAT(TextOf(code), HasSubstr("limit=5000"));
  Ask(Kind::kHoldCalls, 0);
}

// --- Requests ---

// A Completer completes both of two requests, and returns the first error code of MPI that is none of a status.
struct Completer {
  const char* name;
  int (*complete)(MPI_Request requests[2], MPI_Status statuses[2]);
  bool sets_statuses = false;  // an error is in the status of its request
};

int ByWait(MPI_Request requests[2], MPI_Status statuses[2]) {
  const int first = MPI_Wait(&requests[0], &statuses[0]);
  const int second = MPI_Wait(&requests[1], &statuses[1]);
  return first != MPI_SUCCESS ? first : second;
}
int ByTest(MPI_Request requests[2], MPI_Status statuses[2]) {
  int result = MPI_SUCCESS;
  for (int i = 0; i < 2; ++i) {
    for (int done = 0; done == 0 && result == MPI_SUCCESS;) result = MPI_Test(&requests[i], &done, &statuses[i]);
  }
  return result;
}
int ByWaitall(MPI_Request requests[2], MPI_Status statuses[2]) { return MPI_Waitall(2, requests, statuses); }
int ByTestall(MPI_Request requests[2], MPI_Status statuses[2]) {
  int result = MPI_SUCCESS;
  for (int done = 0; done == 0 && result == MPI_SUCCESS;) result = MPI_Testall(2, requests, &done, statuses);
  return result;
}
int ByWaitany(MPI_Request requests[2], MPI_Status*) {
  int index = 0, result = MPI_SUCCESS;
  while (index != MPI_UNDEFINED && result == MPI_SUCCESS) result = MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  return result;
}
int ByTestany(MPI_Request requests[2], MPI_Status*) {
  int index = 0, done = 0, result = MPI_SUCCESS;
  while ((done == 0 || index != MPI_UNDEFINED) && result == MPI_SUCCESS) {
    result = MPI_Testany(2, requests, &index, &done, MPI_STATUS_IGNORE);
  }
  return result;
}
template <int (*kSome)(int, MPI_Request*, int*, int*, MPI_Status*)>
int BySome(MPI_Request requests[2], MPI_Status statuses[2]) {
  int count = 0, indices[2] = {}, result = MPI_SUCCESS;
  while (count != MPI_UNDEFINED && result == MPI_SUCCESS) {
    MPI_Status some[2] = {};
    result = kSome(2, requests, &count, indices, some);
    for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) statuses[indices[i]] = some[i];
  }
  return result;
}

const Completer kCompleters[] = {
    {"Wait", ByWait},
    {"Test", ByTest},
    {"Waitall", ByWaitall, true},
    {"Testall", ByTestall, true},
    {"Waitany", ByWaitany},
    {"Testany", ByTestany},
    {"Waitsome", BySome<MPI_Waitsome>, true},
    {"Testsome", BySome<MPI_Testsome>, true},
};

class RequestsTest : public TeamCallsTest {
 protected:
  // Starts a call of the daemon, and a message of this process to itself, which MPI carries.
  void StartBoth(MPI_Request requests[2]) {
    requests[0] = StartSum();
    MPI_Irecv(&received_, 1, MPI_INT, rank_, 5, comm_, &requests[1]);
    MPI_Send(&rank_, 1, MPI_INT, rank_, 5, comm_);
  }
  int received_ = -1;
};

TEST_F(RequestsTest, EveryFunctionCompletesThemTogetherWithThoseOfMpi) {
  for (const Completer& completer : kCompleters) {
    SCOPED_TRACE(completer.name);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int done = 1;
    Ask(Kind::kHoldCalls, 1);
    StartBoth(requests);
    EXPECT_EQ(MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(MPI_Request_get_status(requests[0], &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done, 0);
    Ask(Kind::kHoldCalls, 0);
    EXPECT_EQ(completer.complete(requests, statuses), MPI_SUCCESS);
    EXPECT_EQ(sum_, kSumOfRanks);
    EXPECT_EQ(received_, rank_);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
  }
}

TEST_F(RequestsTest, EveryFunctionReportsAFailure) {
  for (const Completer& completer : kCompleters) {
    SCOPED_TRACE(completer.name);
    MPI_Request requests[2];
    MPI_Status statuses[2] = {};
    Ask(Kind::kFailNext, COPSE_ERR_NO_MEMORY);
    StartBoth(requests);
    const int code = completer.complete(requests, statuses);
    EXPECT_EQ(ClassOf(code), completer.sets_statuses ? MPI_ERR_IN_STATUS : MPI_ERR_NO_MEM);
    EXPECT_EQ(ClassOf(statuses[0].MPI_ERROR), completer.sets_statuses ? MPI_ERR_NO_MEM : MPI_SUCCESS);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
}

TEST_F(RequestsTest, OneInFlightIsNeitherCanceledNorFreed) {
  Ask(Kind::kHoldCalls, 1);
  MPI_Request request = StartSum();
  EXPECT_EQ(ClassOf(MPI_Cancel(&request)), MPI_ERR_REQUEST);
  EXPECT_EQ(ClassOf(MPI_Request_free(&request)), MPI_ERR_REQUEST);
  Ask(Kind::kHoldCalls, 0);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sum_, kSumOfRanks);
}

TEST_F(RequestsTest, CallsWithoutRoomArePostedLaterAndBeforeNewCalls) {
  constexpr int kMany = 60;  // the queue has 16 entries
  std::vector<MPI_Request> requests(kMany);
  std::vector<int> sums(kMany);
  Ask(Kind::kHoldQueues, 1);
  for (int i = 0; i < kMany; ++i) {
    ASSERT_EQ(MPI_Iallreduce(&rank_, &sums[i], 1, MPI_INT, MPI_SUM, comm_, &requests[i]), MPI_SUCCESS);
  }
  Ask(Kind::kHoldQueues, 0);
  EXPECT_EQ(MPI_Allreduce(&rank_, &sum_, 1, MPI_INT, MPI_MAX, comm_), MPI_SUCCESS);
  EXPECT_EQ(sum_, 2);
  EXPECT_EQ(MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_THAT(sums, ::testing::Each(kSumOfRanks));
  EXPECT_EQ(NewCalls(), kMany + 1u);
}

TEST_F(RequestsTest, OneOutlivesItsCommunicator) {
  Ask(Kind::kHoldCalls, 1);
  MPI_Request request = StartSum();
  MPI_Comm_free(&comm_);
  Ask(Kind::kHoldCalls, 0);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sum_, kSumOfRanks);
}

TEST_F(RequestsTest, PersistentMessagesOfMpiStartTogether) {
  MPI_Request requests[2];
  int received = -1;
  MPI_Recv_init(&received, 1, MPI_INT, rank_, 6, comm_, &requests[0]);
  MPI_Send_init(&rank_, 1, MPI_INT, rank_, 6, comm_, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    received = -1;
    EXPECT_EQ(MPI_Startall(2, requests), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, rank_);
  }
  for (MPI_Request& request : requests) EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
}

#if MPI_VERSION >= 4
TEST_F(RequestsTest, APersistentCallHasATeamOfItsOwnUntilItIsFreed) {
  const uint64_t teams = Ask(Kind::kCountTeams);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPI_Allreduce_init(&rank_, &sum_, 1, MPI_INT, MPI_SUM, comm_, MPI_INFO_NULL, &request), MPI_SUCCESS);
  EXPECT_EQ(Ask(Kind::kCountTeams), teams + kJobRanks);
  for (int round = 0; round < 2; ++round) {
    sum_ = 0;
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(sum_, kSumOfRanks);
  }
  Ask(Kind::kFailNext, COPSE_ERR_INTERNAL);
  EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
  EXPECT_EQ(ClassOf(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_INTERN);
  EXPECT_EQ(NewCalls(), 3u);
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(Ask(Kind::kCountTeams), teams);
}

TEST_F(RequestsTest, FunctionsWithLargeCountsAreTheSameCalls) {
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Allreduce_c(&rank_, &sum_, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
  EXPECT_EQ(sum_, kSumOfRanks);
  EXPECT_EQ(MPI_Iallreduce_c(&rank_, &sum_, 1, MPI_INT, MPI_MAX, comm_, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sum_, 2);
  EXPECT_EQ(NewCalls(), 2u);
}
#endif

// --- The end ---

// Its test is the last one: there is no daemon after it.
class DaemonsEndTest : public TeamCallsTest {};

TEST_F(DaemonsEndTest, WithoutItsDaemonACallFailsAndANewCommunicatorGoesByMpi) {
  Ask(Kind::kKill);
  EXPECT_EQ(ClassOf(MPI_Barrier(comm_)), MPI_ERR_OTHER);
  MPI_Comm late = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank_, &late);
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(MPI_Allreduce(&rank_, &sum_, 1, MPI_INT, MPI_SUM, late), MPI_SUCCESS);
    EXPECT_EQ(sum_, kSumOfRanks);
  }
  EXPECT_EQ(NewCalls(), 0u);
  MPI_Comm_free(&late);
}

}  // namespace
}  // namespace copse::mpi
