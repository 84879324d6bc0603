// SPDX-License-Identifier: Apache-2.0
//
// The C API's blocking calls that return early, on the fake daemon: ranks are threads. On real ones:
// integration_tests/procs/early_returns_test.cc.
#include <stdlib.h>
#include <string.h>

#include <cstdint>
#include <functional>
#include <latch>
#include <string>
#include <vector>

#include "client/copse.h"
#include "client/fake_cluster.h"
#include "client/fake_daemon.h"
#include "client/tnbc/test_pages.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using client::FakeDaemon;
using client::FakeRank;

constexpr uint64_t kPages = 80, kBytes = kPages * 4096;

class BlockingCallsTest : public testing::Test {
 protected:
  void Run(uint32_t ranks, const std::function<void(FakeRank&)>& body) {
    FakeDaemon daemon({.dq_entries = 64, .eq_entries = 128, .message_bytes_max = 16 << 20});
    OnRanks(daemon, ranks, [&body](FakeRank& self) {
      copse_context_attr_t attr{};
      attr.mask = COPSE_CONTEXT_ATTR_FIELD_EARLY;
      ASSERT_EQ(copse_context_get_attr(self.context, &attr), COPSE_OK);
      ASSERT_EQ(attr.early, COPSE_EARLY_ON);
      body(self);
    });
  }
  void SetUp() override { setenv("COPSE_TNBC", "on", 1); }
  void TearDown() override {
    unsetenv("COPSE_TNBC");
    unsetenv("COPSE_TIMEOUT");
  }
};

copse_status_t Sum(FakeRank& self, const void* send, void* receive) {
  return copse_allreduce(self.team, send, receive, kBytes, COPSE_DT_UINT8, COPSE_OP_SUM);
}

// Teams are formed, and an order agreed upon.
void MakeTwo(FakeRank& self, const Pages& send, const Pages& receive) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Sum(self, send.data(), receive.data()), COPSE_OK) << copse_last_error();
    ASSERT_EQ(copse_await(self.context, receive.data(), kBytes), COPSE_OK) << copse_last_error();
  }
}

copse_status_t AwaitPatiently(FakeRank& self, const Pages& memory) {
  copse_status_t status = COPSE_ERR_TIMED_OUT;
  while (status == COPSE_ERR_TIMED_OUT) status = copse_await(self.context, memory.data(), kBytes);
  return status;
}

bool LastErrorHas(const std::string& text) { return std::string(copse_last_error()).find(text) != std::string::npos; }

TEST_F(BlockingCallsTest, ResultsAreThereWhoeverLooksAtThem) {
  constexpr uint32_t kRanks = 3;
  Run(kRanks, [](FakeRank& self) {
    for (int round = 0; round < 10; ++round) {
      const Pages send(kPages), sum(kPages), all(kRanks * kPages);
      memset(send.data(), static_cast<int>(self.rank + 1), kBytes);
      ASSERT_EQ(Sum(self, send.data(), sum.data()), COPSE_OK) << copse_last_error();
      ASSERT_EQ(copse_allgather(self.team, send.data(), all.data(), kBytes, COPSE_DT_UINT8), COPSE_OK);
      memset(send.data(), 0, kBytes);  // it is the caller's again
      for (uint64_t at = kRanks * kBytes; at-- > 0;) {
        ASSERT_EQ(static_cast<uint64_t>(all.data()[at]), at / kBytes + 1) << at;
      }
      // Sent before it is looked at.
      ASSERT_EQ(Sum(self, sum.data(), all.data()), COPSE_OK) << copse_last_error();
      ASSERT_EQ(copse_await(self.context, all.data(), kBytes), COPSE_OK);
      ASSERT_EQ(std::string(all.data(), kBytes), std::string(kBytes, kRanks * (1 + 2 + 3)));
    }
  });
}

// Of a buffer that shares its pages with others: the call waits for its ends.
TEST_F(BlockingCallsTest, ATimeOutEndsACallWhosePeerNeverComes) {
  setenv("COPSE_TIMEOUT", "1", 1);
  std::latch is_over(2);
  Run(2, [&is_over](FakeRank& self) {
    const Pages send(kPages), receive(kPages + 1);
    char* const result = receive.data() + 16;
    MakeTwo(self, send, receive);
    if (self.rank == 0) {
      EXPECT_EQ(Sum(self, send.data(), result), COPSE_ERR_TIMED_OUT);
      EXPECT_STREQ(copse_last_error(),
                   "copse: allreduce: allreduce on team world: a part of the call has failed: COPSE_ERR_TIMED_OUT: "
                   "the time is over");
      // From then on the ranks' calls are not the same.
      EXPECT_EQ(copse_barrier(self.team), COPSE_ERR_TIMED_OUT);
      EXPECT_STREQ(copse_last_error(),
                   "copse: barrier: team world: an earlier call has failed, perhaps after it had returned: "
                   "COPSE_ERR_TIMED_OUT: the time is over");
      result[kBytes / 2] = 'p';  // the program's again
    }
    is_over.arrive_and_wait();
  });
}

TEST_F(BlockingCallsTest, ATimeOutEndsAnAwaitWhichMayBeMadeAgain) {
  setenv("COPSE_TIMEOUT", "1", 1);
  std::latch has_waited(2);
  Run(2, [&has_waited](FakeRank& self) {
    const Pages send(kPages), receive(kPages);
    MakeTwo(self, send, receive);
    memset(send.data(), 1, kBytes);
    if (self.rank == 1) has_waited.arrive_and_wait();
    // Of whole pages nobody waits in the call.
    ASSERT_EQ(Sum(self, send.data(), receive.data()), COPSE_OK) << copse_last_error();
    if (self.rank == 0) {
      EXPECT_EQ(copse_await(self.context, receive.data(), kBytes), COPSE_ERR_TIMED_OUT);
      EXPECT_TRUE(LastErrorHas("copse: await: the memory's data is not there in time"));
      has_waited.arrive_and_wait();
    }
    EXPECT_EQ(AwaitPatiently(self, receive), COPSE_OK) << copse_last_error();
    EXPECT_EQ(std::string(receive.data(), kBytes), std::string(kBytes, 2));
    EXPECT_EQ(copse_barrier(self.team), COPSE_OK) << copse_last_error();
  });
}

// Others may make it, so from then on the ranks' calls are not the same.
TEST_F(BlockingCallsTest, ATimeOutEndsACallThatSendsWhatIsNotThere) {
  setenv("COPSE_TIMEOUT", "1", 1);
  std::latch has_failed(2);
  Run(2, [&has_failed](FakeRank& self) {
    const Pages send(kPages), receive(kPages), other(kPages);
    MakeTwo(self, send, receive);
    if (self.rank == 1) has_failed.arrive_and_wait();
    ASSERT_EQ(Sum(self, send.data(), receive.data()), COPSE_OK) << copse_last_error();
    if (self.rank == 0) {
      EXPECT_EQ(Sum(self, receive.data(), other.data()), COPSE_ERR_TIMED_OUT);
      EXPECT_TRUE(LastErrorHas("copse: allreduce: the memory's data is not there in time"));
      EXPECT_EQ(copse_barrier(self.team), COPSE_ERR_TIMED_OUT);
      EXPECT_TRUE(LastErrorHas("an earlier call has failed"));
      has_failed.arrive_and_wait();
    }
    EXPECT_EQ(AwaitPatiently(self, receive), COPSE_OK) << copse_last_error();
  });
}

}  // namespace
}  // namespace copse::tnbc
