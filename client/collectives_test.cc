// SPDX-License-Identifier: Apache-2.0
//
// Calls and requests by the C API, on the fake daemon.

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

using copse::testing::Names;

TEST(BlockingTest, TypesAndOperationsReachTheDaemonAsTheyAre) {
  FakeDaemon daemon;
  OnRanks(daemon, 2, [](FakeRank& self) {
    float value = self.rank == 0 ? 1.5f : 4.0f;
    ASSERT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, &value, 1, COPSE_DT_FLOAT, COPSE_OP_PROD), COPSE_OK);
    EXPECT_EQ(value, 6.0f);
    uint16_t bits = self.rank == 0 ? 0x0ff0 : 0x00ff;
    ASSERT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, &bits, 1, COPSE_DT_UINT16, COPSE_OP_BXOR), COPSE_OK);
    EXPECT_EQ(bits, 0x0f0f);
    uint8_t truth = self.rank == 0 ? 0 : 9;
    ASSERT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, &truth, 1, COPSE_DT_UINT8, COPSE_OP_LOR), COPSE_OK);
    EXPECT_EQ(truth, 1);
    double largest = self.rank;
    ASSERT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, &largest, 1, COPSE_DT_DOUBLE, COPSE_OP_MAX), COPSE_OK);
    EXPECT_EQ(largest, 1.0);
  });
  EXPECT_EQ(daemon.teams(), 0u);
  EXPECT_EQ(daemon.inline_contributions(), 8u);
}

TEST(BlockingTest, MismatchedArgumentsFailOnEveryRankWithTheDaemonsText) {
  FakeDaemon daemon;
  OnRanks(daemon, 2, [](FakeRank& self) {
    std::vector<double> values(4);
    EXPECT_EQ(copse_bcast(self.team, values.data(), self.rank == 0 ? 4 : 3, COPSE_DT_DOUBLE, 0), COPSE_ERR_MISMATCH);
    EXPECT_THAT(copse_last_error(), Names("copse: bcast: team world: ", "rank=0", "rank=1"));
    EXPECT_EQ(copse_barrier(self.team), COPSE_OK);
  });
}

TEST(BlockingTest, ADeadMemberBreaksTheTeam) {
  FakeDaemon daemon;
  std::vector<std::thread> threads;
  copse_context_t* contexts[2];
  copse_team_t* teams[2];
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ASSERT_EQ(InitOn(daemon, &contexts[rank]), COPSE_OK);
      ASSERT_EQ(CreateNamed(contexts[rank], "pair", rank, 2, &teams[rank]), COPSE_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::thread survivor([&] {
    EXPECT_EQ(copse_barrier(teams[0]), COPSE_ERR_MEMBER_LOST);
    EXPECT_THAT(copse_last_error(), Names("rank 1", "node=fake"));
    EXPECT_EQ(copse_barrier(teams[0]), COPSE_ERR_MEMBER_LOST);
  });
  daemon.KillClientOf("pair", 1);
  survivor.join();
  EXPECT_EQ(copse_fini(contexts[0]), COPSE_OK);
  EXPECT_EQ(copse_fini(contexts[1]), COPSE_OK);
}

TEST(BlockingTest, LongMessagesNameTheLimit) {
  FakeDaemon daemon;
  OnRanks(daemon, 1, [](FakeRank& self) {
    std::vector<uint8_t> bytes(65537);
    EXPECT_EQ(copse_bcast(self.team, bytes.data(), bytes.size(), COPSE_DT_UINT8, 0), COPSE_ERR_NOT_SUPPORTED);
    EXPECT_THAT(copse_last_error(), Names("limit=65536"));
  });
}

TEST(BlockingTest, WhatIsTooLongForTheDataAreaGetsMemoryOfItsOwn) {
  FakeDaemon daemon({.data_bytes = 4096, .message_bytes_max = uint64_t{1} << 40});
  OnRanks(daemon, 1, [&](FakeRank& self) {
    std::vector<uint8_t> bytes(5u << 20, 7), result(bytes.size());
    for (int round = 0; round < 3; ++round) {
      for (const uint64_t count : {uint64_t{2049}, uint64_t{5000}, uint64_t{bytes.size()}}) {
        std::fill(result.begin(), result.end(), 0);
        ASSERT_EQ(copse_allreduce(self.team, bytes.data(), result.data(), count, COPSE_DT_UINT8, COPSE_OP_SUM),
                  COPSE_OK)
            << copse_last_error();
        ASSERT_TRUE(std::equal(result.begin(), result.begin() + static_cast<ptrdiff_t>(count), bytes.begin()));
      }
    }
    EXPECT_EQ(daemon.regions(), 2u);  // of 2 and of 6 MiB, kept
  });
}

TEST(BlockingTest, WhatCopiesMoreThanMayBeKeptHasMemoryForItsTime) {
  setenv("COPSE_COPIES_MIB", "4", 1);
  FakeDaemon daemon({.data_bytes = 4096, .message_bytes_max = uint64_t{1} << 40});
  OnRanks(daemon, 1, [&](FakeRank& self) {
    std::vector<uint8_t> bytes(9u << 20, 7), result(bytes.size());
    const auto sum = [&](uint64_t count) {
      std::fill(result.begin(), result.end(), 0);
      EXPECT_EQ(copse_allreduce(self.team, bytes.data(), result.data(), count, COPSE_DT_UINT8, COPSE_OP_SUM), COPSE_OK)
          << copse_last_error();
      EXPECT_TRUE(std::equal(result.begin(), result.begin() + static_cast<ptrdiff_t>(count), bytes.begin()));
    };
    sum(1u << 20);
    for (int round = 0; round < 3; ++round) sum(bytes.size());
    while (daemon.regions() != 1) sched_yield();  // the first call's, once the others are taken back
    // Others have theirs, and do not wait for it.
    copse_coll_args_t args{
        .collective = COPSE_COLL_BCAST, .type = COPSE_DT_UINT8, .recv = result.data(), .count = bytes.size()};
    copse_request_t* requests[2] = {};
    for (copse_request_t*& request : requests) {
      ASSERT_EQ(copse_collective_init(self.team, &args, &request), COPSE_OK);
      ASSERT_EQ(copse_post(request), COPSE_OK) << copse_last_error();
    }
    for (copse_request_t* const request : requests) {
      EXPECT_EQ(copse_wait(request, 10), COPSE_OK);
      EXPECT_EQ(copse_finalize(request), COPSE_OK);
    }
  });
  unsetenv("COPSE_COPIES_MIB");
}

TEST(BlockingTest, ADaemonThatRegistersNoMemoryIsNamed) {
  FakeDaemon daemon({.data_bytes = 4096, .registers_memory = false});
  OnRanks(daemon, 1, [](FakeRank& self) {
    std::vector<uint8_t> bytes(5000);
    EXPECT_EQ(copse_bcast(self.team, bytes.data(), bytes.size(), COPSE_DT_UINT8, 0), COPSE_ERR_NO_RESOURCE);
    EXPECT_THAT(copse_last_error(), Names("bytes=2097152", "data_bytes=4096"));
    EXPECT_EQ(copse_bcast(self.team, bytes.data(), 2048, COPSE_DT_UINT8, 0), COPSE_OK) << copse_last_error();
  });
}

// --- Requests ---

class SingleTest : public SoloTest {
 protected:
  copse_request_t* Allreduce(const void* send, void* recv, uint64_t count) {
    copse_coll_args_t args{.collective = COPSE_COLL_ALLREDUCE,
                           .type = COPSE_DT_INT32,
                           .op = COPSE_OP_SUM,
                           .send = send,
                           .recv = recv,
                           .count = count};
    return Request(args);
  }
};

TEST_F(SingleTest, ARequestIsPostedAgainAndAgain) {
  std::vector<int32_t> send(1000), recv(1000);
  copse_request_t* request = Allreduce(send.data(), recv.data(), send.size());
  EXPECT_EQ(copse_test(request), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("copse: test: ", "team=solo"));
  EXPECT_EQ(copse_wait(request, 1), COPSE_ERR_INVALID_ARGUMENT);
  for (int32_t round = 0; round < 200; ++round) {
    std::fill(send.begin(), send.end(), round);
    ASSERT_EQ(copse_post(request), COPSE_OK) << copse_last_error();
    std::fill(send.begin(), send.end(), -1);  // the contribution was copied
    ASSERT_EQ(copse_wait(request, -1), COPSE_OK) << copse_last_error();
    ASSERT_EQ(recv, std::vector<int32_t>(1000, round));
    ASSERT_EQ(copse_wait(request, 0), COPSE_OK);
    ASSERT_EQ(copse_test(request), COPSE_OK);
  }
  EXPECT_EQ(copse_finalize(request), COPSE_OK);
  EXPECT_EQ(copse_finalize(request), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("request="));
  EXPECT_EQ(copse_post(request), COPSE_ERR_INVALID_ARGUMENT);
}

TEST_F(SingleTest, TestPollsToTheEnd) {
  copse_request_t* request = PostedBarrier();
  copse_status_t status;
  while ((status = copse_test(request)) == COPSE_INPROGRESS) std::this_thread::yield();
  EXPECT_EQ(status, COPSE_OK);
}

TEST_F(SingleTest, AWaitThatTimesOutLeavesTheRoundInProgress) {
  daemon_.HoldCalls(true);
  int32_t value = 5;
  copse_request_t* request = Allreduce(COPSE_IN_PLACE, &value, 1);
  ASSERT_EQ(copse_post(request), COPSE_OK);
  EXPECT_EQ(copse_wait(request, 0.03), COPSE_ERR_TIMED_OUT);
  EXPECT_THAT(copse_last_error(), Names("allreduce", "team solo", "calls_in_flight=1"));
  EXPECT_EQ(copse_wait(request, 0), COPSE_INPROGRESS);
  EXPECT_EQ(copse_test(request), COPSE_INPROGRESS);
  EXPECT_EQ(copse_post(request), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("copse: post: ", "team=solo"));
  EXPECT_EQ(copse_finalize(request), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_team_destroy(team_), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("team solo", "calls=1"));
  daemon_.HoldCalls(false);
  EXPECT_EQ(copse_wait(request, -1), COPSE_OK);
  EXPECT_EQ(copse_finalize(request), COPSE_OK);
}

TEST_F(SingleTest, ACanceledRoundWritesNothingAndKeepsTheOrderOfCalls) {
  daemon_.HoldCalls(true);
  std::vector<int32_t> send(100, 3), recv(100, -1);
  copse_request_t* request = Allreduce(send.data(), recv.data(), send.size());
  EXPECT_EQ(copse_cancel(request), COPSE_ERR_INVALID_ARGUMENT);
  ASSERT_EQ(copse_post(request), COPSE_OK);
  ASSERT_EQ(copse_cancel(request), COPSE_OK);
  EXPECT_EQ(copse_test(request), COPSE_ERR_CANCELED);
  EXPECT_THAT(copse_last_error(), Names("allreduce", "team solo", "COPSE_ERR_CANCELED"));
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_CANCELED);
  // The same request again, while its first round is still out: another staging block, another event.
  std::fill(send.begin(), send.end(), 4);
  ASSERT_EQ(copse_post(request), COPSE_OK);
  daemon_.HoldCalls(false);
  ASSERT_EQ(copse_wait(request, -1), COPSE_OK);
  EXPECT_EQ(recv, std::vector<int32_t>(100, 4));
  EXPECT_EQ(copse_cancel(request), COPSE_OK);  // complete: stays so
  EXPECT_EQ(copse_test(request), COPSE_OK);
  EXPECT_EQ(daemon_.calls_completed(), 2u);
}

TEST_F(SingleTest, AFullQueueIsNamedAndDrainsLater) {
  daemon_.HoldQueues(true);
  std::vector<copse_request_t*> requests;
  for (int i = 0; i < 17; ++i) requests.push_back(Barrier());
  for (int i = 0; i < 16; ++i) ASSERT_EQ(copse_post(requests[static_cast<size_t>(i)]), COPSE_OK);
  EXPECT_EQ(copse_post(requests[16]), COPSE_ERR_NO_RESOURCE);
  EXPECT_THAT(copse_last_error(), Names("calls_in_flight=16", "dq_entries=16"));
  EXPECT_EQ(copse_test(requests[16]), COPSE_ERR_INVALID_ARGUMENT);  // it was not posted
  std::thread releaser([&] { daemon_.HoldQueues(false); });
  EXPECT_EQ(copse_barrier(team_), COPSE_OK) << copse_last_error();  // a blocking call waits for room
  releaser.join();
  ASSERT_EQ(copse_post(requests[16]), COPSE_OK);
  for (copse_request_t* request : requests) EXPECT_EQ(copse_wait(request, -1), COPSE_OK);
}

TEST_F(SingleTest, TooManyCallsInFlightIsNamed) {
  daemon_.HoldCalls(true);
  std::vector<copse_request_t*> requests;
  for (int i = 0; i < 33; ++i) requests.push_back(Barrier());
  copse_status_t status = COPSE_OK;
  size_t posted = 0;
  while (posted < 32) {
    status = copse_post(requests[posted]);
    if (status == COPSE_OK) ++posted;
  }
  while ((status = copse_post(requests[32])) == COPSE_ERR_NO_RESOURCE &&
         std::string_view(copse_last_error()).find("eq_entries=") == std::string_view::npos) {
  }
  EXPECT_EQ(status, COPSE_ERR_NO_RESOURCE);
  EXPECT_THAT(copse_last_error(), Names("calls_in_flight=32", "eq_entries=32"));
  daemon_.HoldCalls(false);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(copse_wait(requests[i], -1), COPSE_OK);
}

// They may wait for other ranks, and these for this call.
TEST_F(SingleTest, CallsDoNotWaitForThoseThatFillTheDataArea) {
  daemon_.HoldCalls(true);
  std::vector<int32_t> values(16384);  // 64 KiB; the area has room for 16
  std::vector<copse_request_t*> requests;
  std::vector<std::vector<int32_t>> results(17, std::vector<int32_t>(values.size()));
  for (auto& result : results) requests.push_back(Allreduce(values.data(), result.data(), values.size()));
  for (size_t i = 0; i < 16; ++i) ASSERT_EQ(copse_post(requests[i]), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_post(requests[16]), COPSE_OK) << copse_last_error();
  daemon_.HoldCalls(false);
  for (copse_request_t* request : requests) EXPECT_EQ(copse_wait(request, -1), COPSE_OK);
}

TEST_F(SingleTest, AFailedCallGivesTheDaemonsTextToWhoeverAsks) {
  daemon_.FailNextCall(COPSE_ERR_MEMBER_LOST, "rank 3 of team solo died (node=n3)");
  copse_request_t* request = PostedBarrier();
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_MEMBER_LOST);
  EXPECT_THAT(copse_last_error(), Names("copse: wait: ", "team solo", "rank 3", "node=n3"));
  std::thread other([&] {
    EXPECT_STREQ(copse_last_error(), "");
    EXPECT_EQ(copse_test(request), COPSE_ERR_MEMBER_LOST);
    EXPECT_THAT(copse_last_error(), Names("copse: test: ", "team solo", "rank 3", "node=n3"));
  });
  other.join();
  daemon_.FailNextCall(-999, "");
  EXPECT_EQ(copse_barrier(team_), COPSE_ERR_INTERNAL);  // no status of ours
}

TEST_F(SingleTest, RequestsOfADestroyedTeamAreFinalisedOnly) {
  copse_request_t* request = Barrier();
  ASSERT_EQ(copse_team_destroy(team_), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_post(request), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("request="));
  EXPECT_EQ(copse_finalize(request), COPSE_OK);
  EXPECT_EQ(copse_barrier(team_), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("team="));
  EXPECT_EQ(copse_team_destroy(team_), COPSE_ERR_INVALID_ARGUMENT);
  ASSERT_EQ(copse_ping(context_, -1), COPSE_OK);
  EXPECT_EQ(daemon_.teams(), 0u);
}

TEST_F(SingleTest, ATeamWithACanceledCallCanBeDestroyed) {
  copse_request_t* request = HeldBarrier();
  ASSERT_EQ(copse_cancel(request), COPSE_OK);
  EXPECT_EQ(copse_team_destroy(team_), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_finalize(request), COPSE_OK);
  EXPECT_EQ(daemon_.teams(), 1u);  // the daemon keeps it while the call is in flight
  daemon_.HoldCalls(false);
  while (daemon_.teams() != 0) ASSERT_EQ(copse_ping(context_, -1), COPSE_OK);
}

TEST_F(SingleTest, NotANumberIsNoTime) {
  copse_request_t* request = Barrier();
  EXPECT_EQ(copse_wait(request, __builtin_nan("")), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_ping(context_, __builtin_nan("")), COPSE_ERR_INVALID_ARGUMENT);
}

TEST_F(SingleTest, PingGoesThereAndBack) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(copse_ping(context_, -1), COPSE_OK) << copse_last_error();
  daemon_.HoldQueues(true);
  EXPECT_EQ(copse_ping(context_, 0.02), COPSE_ERR_TIMED_OUT);
  daemon_.HoldQueues(false);
  EXPECT_EQ(copse_ping(context_, -1), COPSE_OK);
}

TEST_F(SingleTest, FiniEndsWhatIsInProgress) {
  copse_request_t* request = HeldBarrier();
  EXPECT_EQ(copse_fini(context_), COPSE_OK);
  EXPECT_EQ(copse_test(request), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_barrier(team_), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_fini(context_), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("context="));
  EXPECT_EQ(daemon_.teams(), 0u);
  context_ = nullptr;
}

TEST(ThreadsTest, ManyThreadsWaitOnOneContext) {
  FakeDaemon daemon;
  constexpr int kThreads = 6;
  constexpr int kRounds = 150;
  OnRanks(daemon, 2, [](FakeRank& self) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        copse_team_t* team = nullptr;
        // Teams form at once and in any order.
        ASSERT_EQ(CreateNamed(self.context, "thread" + std::to_string(t), self.rank, 2, &team), COPSE_OK)
            << copse_last_error();
        for (int round = 0; round < kRounds; ++round) {
          uint64_t value[20] = {};
          value[19] = static_cast<uint64_t>(round * (t + 1)) + self.rank;
          ASSERT_EQ(copse_allreduce(team, COPSE_IN_PLACE, value, 20, COPSE_DT_UINT64, COPSE_OP_SUM), COPSE_OK)
              << copse_last_error();
          ASSERT_EQ(value[19], static_cast<uint64_t>(2 * round * (t + 1)) + 1);
        }
        EXPECT_EQ(copse_team_destroy(team), COPSE_OK);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace copse::client
