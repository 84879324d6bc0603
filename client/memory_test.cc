// SPDX-License-Identifier: Apache-2.0
//
// Memory that the daemon reaches itself, by the C API on the fake daemon.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

using copse::testing::Names;

class MemoryTest : public ::testing::Test {
 protected:
  void Start(FakeDaemon::Options options = {}) {
    daemon_ = std::make_unique<FakeDaemon>(options);
    ASSERT_EQ(InitOn(*daemon_, &context_), COPSE_OK) << copse_last_error();
    ASSERT_EQ(CreateNamed(context_, "solo", 0, 1, &team_), COPSE_OK) << copse_last_error();
  }
  void TearDown() override { EXPECT_EQ(copse_fini(context_), COPSE_OK) << copse_last_error(); }

  int64_t* Alloc(uint64_t count) {
    void* memory = nullptr;
    EXPECT_EQ(copse_alloc(context_, count * sizeof(int64_t), &memory), COPSE_OK) << copse_last_error();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    return static_cast<int64_t*>(memory);
  }
  void ExpectAllreduces(int64_t* send, int64_t* recv, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) send[i] = static_cast<int64_t>(i) * 3;
    ASSERT_EQ(copse_allreduce(team_, send, recv, count, COPSE_DT_INT64, COPSE_OP_SUM), COPSE_OK) << copse_last_error();
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(recv[i], static_cast<int64_t>(i) * 3);
    ASSERT_EQ(copse_allreduce(team_, COPSE_IN_PLACE, send, count, COPSE_DT_INT64, COPSE_OP_SUM), COPSE_OK);
    ASSERT_EQ(copse_bcast(team_, send, count, COPSE_DT_INT64, 0), COPSE_OK);
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(send[i], static_cast<int64_t>(i) * 3);
  }

  std::unique_ptr<FakeDaemon> daemon_;
  copse_context_t* context_ = nullptr;
  copse_team_t* team_ = nullptr;
};

TEST_F(MemoryTest, CallsWorkFromAndToEveryKind) {
  Start();
  std::vector<int64_t> ordinary(4000), registered(4000);
  ASSERT_EQ(copse_register(context_, registered.data(), registered.size() * sizeof(int64_t)), COPSE_OK);
  int64_t* small = Alloc(100);
  int64_t* large = Alloc(4000);
  EXPECT_EQ(daemon_->regions(), 1u);  // the small one lies in the data area
  EXPECT_TRUE(std::all_of(large, large + 4000, [](int64_t value) { return value == 0; }));
  const std::vector<std::pair<int64_t*, uint64_t>> buffers{
      {ordinary.data(), 2000}, {registered.data(), 2000}, {small, 50}, {large, 2000}};
  for (const auto& [send, send_count] : buffers) {
    for (const auto& [recv, recv_count] : buffers) {
      const uint64_t count = std::min(send_count, recv_count);
      ExpectAllreduces(send, recv == send ? send + count : recv, count);
      ExpectAllreduces(send, recv == send ? send + count : recv, 5);
    }
  }
  EXPECT_EQ(copse_deregister(context_, registered.data()), COPSE_OK);
  EXPECT_EQ(copse_free(context_, small), COPSE_OK);
  EXPECT_EQ(copse_free(context_, large), COPSE_OK);
  while (daemon_->regions() != 0) ASSERT_EQ(copse_ping(context_, -1), COPSE_OK);
}

TEST_F(MemoryTest, ARangeThatLeavesItsBufferIsCopied) {
  Start();
  // The end of a buffer of 4096 bytes is in the middle of this message, which is legal if both sides are mapped. Two
  // neighboring blocks of the data area are.
  int64_t* first = Alloc(512);
  int64_t* second = Alloc(512);
  ASSERT_EQ(first + 512, second);
  ExpectAllreduces(first + 256, first, 256);
  std::vector<int64_t> result(512);
  ExpectAllreduces(first + 256, result.data(), 512);
}

TEST_F(MemoryTest, AFreedBufferIsKeptUntilACanceledCallIsOver) {
  Start();
  daemon_->HoldCalls(true);
  int64_t* buffer = Alloc(2000);
  copse_coll_args_t args{.collective = COPSE_COLL_ALLREDUCE,
                         .type = COPSE_DT_INT64,
                         .send = COPSE_IN_PLACE,
                         .recv = buffer,
                         .count = 2000};
  copse_request_t* request = nullptr;
  ASSERT_EQ(copse_collective_init(team_, &args, &request), COPSE_OK);
  ASSERT_EQ(copse_post(request), COPSE_OK);
  ASSERT_EQ(copse_cancel(request), COPSE_OK);
  EXPECT_EQ(copse_free(context_, buffer), COPSE_OK);
  EXPECT_EQ(copse_free(context_, buffer), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(daemon_->regions(), 1u);
  daemon_->HoldCalls(false);
  while (daemon_->regions() != 0) ASSERT_EQ(copse_ping(context_, -1), COPSE_OK);
}

TEST_F(MemoryTest, SmallBuffersLeaveHalfOfTheDataAreaToCalls) {
  FakeDaemon::Options options{.data_bytes = 64 << 10};
  Start(options);
  std::vector<int64_t*> buffers;
  for (int i = 0; i < 40; ++i) buffers.push_back(Alloc(256));
  EXPECT_GT(daemon_->regions(), 0u);
  std::vector<int64_t> values(4096);
  EXPECT_EQ(copse_allreduce(team_, COPSE_IN_PLACE, values.data(), values.size(), COPSE_DT_INT64, COPSE_OP_SUM),
            COPSE_OK)
      << copse_last_error();
  for (int64_t* buffer : buffers) EXPECT_EQ(copse_free(context_, buffer), COPSE_OK);
}

TEST_F(MemoryTest, ADaemonThatRegistersNothingIsNoReasonToFail) {
  FakeDaemon::Options options{.registers_memory = false};
  Start(options);
  int64_t* large = Alloc(4000);
  ExpectAllreduces(large, large + 2000, 2000);
  EXPECT_EQ(copse_free(context_, large), COPSE_OK);
}

TEST_F(MemoryTest, WrongArgumentsAreRefused) {
  Start();
  void* memory = &daemon_;
  EXPECT_EQ(copse_alloc(context_, 0, &memory), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(copse_alloc(context_, 64, nullptr), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_alloc(context_, UINT64_MAX, &memory), COPSE_ERR_NO_MEMORY);
  EXPECT_THAT(copse_last_error(), Names("bytes=18446744073709551615", "limit="));
  EXPECT_EQ(copse_free(context_, nullptr), COPSE_OK);
  int64_t values[16];
  EXPECT_EQ(copse_free(context_, values), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("copse_alloc", "address="));
  EXPECT_EQ(copse_register(context_, nullptr, 8), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_register(context_, values, 0), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_register(context_, values, UINT64_MAX), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_register(context_, values, sizeof(values)), COPSE_OK);
  EXPECT_EQ(copse_register(context_, values + 15, 8), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("address=", "bytes=8"));
  EXPECT_EQ(copse_register(context_, values, sizeof(values)), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_free(context_, values), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_deregister(context_, values + 1), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_deregister(context_, values), COPSE_OK);
  EXPECT_EQ(copse_deregister(context_, values), COPSE_ERR_INVALID_ARGUMENT);
  int64_t* own = Alloc(10);
  EXPECT_EQ(copse_deregister(context_, own), COPSE_ERR_INVALID_ARGUMENT);
}

TEST_F(MemoryTest, MemoryThatWasUnmappedWithoutDeregisteringGivesWay) {
  constexpr uint64_t kMappedBytes = uint64_t{1} << 40, kBytes = 64 << 20;
  Start();
  void* const mapped = mmap(nullptr, kMappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(copse_register(context_, mapped, kMappedBytes), COPSE_OK);
  ASSERT_EQ(munmap(mapped, kMappedBytes), 0);
  const auto lies_there = [mapped](int64_t* memory) {
    return reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(mapped) < kMappedBytes;
  };
  std::vector<int64_t*> buffers;  // the kernel fills other gaps first
  do {
    buffers.push_back(Alloc(kBytes / sizeof(int64_t)));
  } while (!lies_there(buffers.back()) && buffers.size() < 1000);
  ASSERT_TRUE(lies_there(buffers.back()));
  ExpectAllreduces(buffers.back(), buffers.back() + 2000, 2000);
  EXPECT_EQ(copse_deregister(context_, mapped), COPSE_ERR_INVALID_ARGUMENT);
  for (int64_t* buffer : buffers) EXPECT_EQ(copse_free(context_, buffer), COPSE_OK);
}

}  // namespace
}  // namespace copse::client
