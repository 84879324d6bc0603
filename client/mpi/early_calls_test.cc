// SPDX-License-Identifier: Apache-2.0
//
// Calls of three ranks that the preload takes to the daemon, a stand-in, in fragments, and from which it may return
// before their data is there.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "client/mpi/testing/mpi_job.h"

namespace copse::mpi {
namespace {

constexpr int kInts = 96 << 10;  // 384 KiB: less than the daemon's longest message
constexpr int kBytes = kInts * 4;
constexpr int kRounds = 4;

// The program's memory of whole pages.
class Buffer {
 public:
  Buffer() : data_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Buffer() { munmap(data_, kBytes); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  int* get() const { return static_cast<int*>(data_); }
  std::span<int> ints() const { return {get(), kInts}; }
  void Fill(int value) { std::fill_n(get(), kInts, value); }

 private:
  void* const data_;
};

class EarlyCallsTest : public JobFixture {
 protected:
  void SetUp() override {
    JobFixture::SetUp();
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);  // forms the team
  }
  // A broadcast of rank 0's `value` into buffer_, of which the data may be on its way.
  void Broadcast(int value) {
    buffer_.Fill(rank_ == 0 ? value : -1);
    EXPECT_EQ(MPI_Bcast(buffer_.get(), kInts, MPI_INT, 0, comm_), MPI_SUCCESS);
  }
  static void ExpectAll(const Buffer& buffer, int value) {
    EXPECT_EQ(std::count(buffer.ints().begin(), buffer.ints().end(), value), kInts);
  }

  Buffer buffer_, other_;
};

TEST_F(EarlyCallsTest, ResultsAreThereWhenTheyAreRead) {
  constexpr int kBlock = kInts / kJobRanks;
  NewCalls();
  for (int round = 0; round < kRounds; ++round) {
    Broadcast(round);
    ExpectAll(buffer_, round);
    buffer_.Fill(rank_ + round);
    EXPECT_EQ(MPI_Allreduce(buffer_.get(), other_.get(), kInts, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
    ExpectAll(other_, 3 * round + 3);
    EXPECT_EQ(MPI_Alltoall(buffer_.get(), kBlock, MPI_INT, other_.get(), kBlock, MPI_INT, comm_), MPI_SUCCESS);
    for (int rank = 0; rank < kJobRanks; ++rank) EXPECT_EQ(other_.get()[rank * kBlock + kBlock / 2], rank + round);
  }
  EXPECT_GT(NewCalls(), 3u * kRounds);  // they are in fragments
}

TEST_F(EarlyCallsTest, WhatIsSentMayBeChangedAtOnce) {
  for (int round = 0; round < kRounds; ++round) {
    buffer_.Fill(round);
    EXPECT_EQ(MPI_Allreduce(buffer_.get(), other_.get(), kInts, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
    buffer_.Fill(1000);
    ExpectAll(other_, 3 * round);
  }
}

TEST_F(EarlyCallsTest, MessagesCarryDataThatMayBeOnItsWay) {
  for (int round = 0; round < kRounds; ++round) {
    Broadcast(round);
    EXPECT_EQ(MPI_Sendrecv(buffer_.get(), kInts, MPI_INT, rank_, 1, other_.get(), kInts, MPI_INT, rank_, 1, comm_,
                           MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    ExpectAll(other_, round);
  }
}

TEST_F(EarlyCallsTest, PersistentMessagesCarryDataThatMayBeOnItsWay) {
  MPI_Request requests[2];
  MPI_Recv_init(other_.get(), kInts, MPI_INT, rank_, 2, comm_, &requests[0]);
  MPI_Send_init(buffer_.get(), kInts, MPI_INT, rank_, 2, comm_, &requests[1]);
  for (int round = 0; round < kRounds; ++round) {
    Broadcast(round);
    EXPECT_EQ(MPI_Startall(2, requests), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    ExpectAll(other_, round);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

TEST_F(EarlyCallsTest, AnotherCallCarriesDataThatMayBeOnItsWay) {
  for (int round = 0; round < kRounds; ++round) {
    Broadcast(round);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Iallreduce(buffer_.get(), other_.get(), kInts, MPI_INT, MPI_SUM, comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ExpectAll(other_, 3 * round);
  }
}

TEST_F(EarlyCallsTest, MemoryOfMpiHasTheDataUntilItIsFreed) {
  for (int round = 0; round < kRounds; ++round) {
    int* memory = nullptr;
    ASSERT_EQ(MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &memory), MPI_SUCCESS);
    std::fill_n(memory, kInts, rank_ == 0 ? round : -1);
    EXPECT_EQ(MPI_Bcast(memory, kInts, MPI_INT, 0, comm_), MPI_SUCCESS);
    // Every second block is freed with its data perhaps on its way.
    if (round % 2 == 0) {
      EXPECT_EQ(std::count(memory, memory + kInts, round), kInts);
    }
    EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
  }
  int* small = nullptr;
  ASSERT_EQ(MPI_Alloc_mem(64, MPI_INFO_NULL, &small), MPI_SUCCESS);
  *small = 7;
  EXPECT_EQ(MPI_Free_mem(small), MPI_SUCCESS);
}

TEST_F(EarlyCallsTest, MemoryOfAWindowIsReadByOthersAfterTheCall) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(buffer_.get(), kBytes, 4, MPI_INFO_NULL, comm_, &window), MPI_SUCCESS);
  const int next = (rank_ + 1) % kJobRanks;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Win_fence(0, window);
    Broadcast(round);
    MPI_Win_fence(0, window);
    EXPECT_EQ(MPI_Get(other_.get(), kInts, MPI_INT, next, 0, kInts, MPI_INT, window), MPI_SUCCESS);
    MPI_Win_fence(0, window);
    ExpectAll(other_, round);
  }
  MPI_Win_free(&window);
}

}  // namespace
}  // namespace copse::mpi
