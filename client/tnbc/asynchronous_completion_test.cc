// SPDX-License-Identifier: Apache-2.0
//
// Calls that return early on two ranks of a FakeDaemon: each way of sending and receiving, with the invariants checked
// after each step. What programs see of it is in integration_tests/mpi/early.
#include "client/tnbc/asynchronous_completion.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"
#include "client/tnbc/pages/memory_kind.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kBytes = 2 << 20, kCount = kBytes / sizeof(uint64_t);
constexpr double kPatience = 30;

PageGuard* TheGuard() {
  const char* why = "";
  static PageGuard* const guard = PageGuard::Start({[](uintptr_t) { _exit(3); }, [] {}}, &why);
  EXPECT_NE(guard, nullptr) << why;
  return guard;
}

// Memory of the program's: pages of its own.
class Pages {
 public:
  Pages()
      : data_(
            static_cast<uint64_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
  }
  ~Pages() { munmap(data_, kBytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void Fill(uint64_t first) { std::iota(data_, data_ + kCount, first); }
  uint64_t* data() { return data_; }
  MemoryKind kind() const {
    const auto begin = reinterpret_cast<uintptr_t>(data_);
    return KindOf({begin, begin + kBytes});
  }

 private:
  uint64_t* const data_;
};

class TestCaller final : public Caller {
 public:
  explicit TestCaller(bool has_room) : has_room_(has_room) {}

  copse_status_t Post(copse_request_t* request) override {
    return has_room_ ? copse_post(request) : COPSE_ERR_NO_RESOURCE;
  }
  copse_status_t Await(copse_request_t* request) override { return copse_wait(request, kPatience); }
  double slice() const override { return 0.01; }
  bool Turn() override { return true; }
  void OnNotPosted(copse_status_t status) override { not_posted = status; }
  void OnEnd(const Cost& cost) override { fragments = cost.order.size(); }
  void OnLate(copse_status_t status, const char*) override { late = status; }

  size_t fragments = 0;
  copse_status_t not_posted = COPSE_OK;
  std::atomic<copse_status_t> late{COPSE_OK};

 private:
  const bool has_room_;
};

// One rank: what it calls returns early, or waits if it has to.
class Rank {
 public:
  Rank(const client::FakeRank& self, bool remaps = false)
      : self_(self),
        early_(self.context, TheGuard(), {.copy_bytes_max = 64 << 20, .remaps = remaps, .on_wait = [] {}}) {
    EXPECT_EQ(client::CreateNamed(self.context, "stream", self.rank, kRanks, &stream_), COPSE_OK);
  }

  copse_status_t Call(const copse_coll_args_t& args, bool may_return = true, bool has_room = true) {
    Fragmentation fragmentation;
    const std::vector<uint64_t> nodes = {1, 2};
    EXPECT_TRUE(FragmentCall(args, self_.rank, NodeLayout::Of(nodes), {}, &fragmentation));
    caller_ = std::make_shared<TestCaller>(has_room);
    const copse_status_t status = early_.Call(
        {.team = self_.team, .stream = stream_, .args = args, .fragmentation = fragmentation, .may_return = may_return},
        caller_, &returned_early_);
    Check();
    return status;
  }
  bool Drain() {
    Check();
    const bool is_there = early_.Drain(kPatience);
    Check();
    return is_there;
  }
  void Check() {
    const char* const broken = early_.CheckInvariants();
    EXPECT_EQ(broken, nullptr) << broken;
  }

  bool returned_early() const { return returned_early_; }
  AsynchronousCompletion& early() { return early_; }
  TestCaller& caller() { return *caller_; }

 private:
  const client::FakeRank& self_;
  AsynchronousCompletion early_;
  copse_team_t* stream_ = nullptr;
  std::shared_ptr<TestCaller> caller_;
  bool returned_early_ = false;
};

copse_coll_args_t ArgsOf(copse_collective_t collective, const void* send, void* receive) {
  copse_coll_args_t args{.collective = collective,
                         .type = COPSE_DT_UINT64,
                         .op = COPSE_OP_SUM,
                         .send = send,
                         .recv = receive,
                         .count = kCount};
  return args;
}

class AsynchronousCompletionTest : public ::testing::Test {
 protected:
  void OnRanks(const std::function<void(client::FakeRank&)>& body) { client::OnRanks(daemon_, kRanks, body); }

  client::FakeDaemon daemon_{client::FakeDaemon::Options{
      .dq_entries = 64, .eq_entries = 128, .data_bytes = 8 << 20, .message_bytes_max = 8 << 20}};
};

// Rank r has first = 10 r, so that element i of the sum is 2 i + 10.
void ExpectSum(const uint64_t* result) {
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(result[i], 2 * i + 10) << i;
}

TEST_F(AsynchronousCompletionTest, AResultComesAfterTheReturn) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    send.Fill(10 * self.rank);
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data())), COPSE_OK);
    EXPECT_TRUE(rank.returned_early());
    send.Fill(1 << 20);  // the others get what was there at the call
    ExpectSum(receive.data());
    EXPECT_TRUE(rank.Drain());
    EXPECT_GT(rank.caller().fragments, 1u);
  });
}

TEST_F(AsynchronousCompletionTest, ACallThatMayNotReturnWaits) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    send.Fill(10 * self.rank);
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data()), /*may_return=*/false), COPSE_OK);
    EXPECT_FALSE(rank.returned_early());
    ExpectSum(receive.data());
    EXPECT_TRUE(rank.Drain());
    EXPECT_EQ(rank.caller().fragments, 0u);  // nothing was measured
  });
}

TEST_F(AsynchronousCompletionTest, AResultInPlaceOfWhatIsSent) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    for (const bool may_return : {true, false}) {
      Pages both;
      both.Fill(10 * self.rank);
      EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, COPSE_IN_PLACE, both.data()), may_return), COPSE_OK);
      EXPECT_EQ(rank.returned_early(), may_return);
      ExpectSum(both.data());
      EXPECT_TRUE(rank.Drain());
    }
  });
}

TEST_F(AsynchronousCompletionTest, MemoryOfTheDaemonsGetsItWithoutACopy) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send;
    void* receive = nullptr;
    ASSERT_EQ(copse_alloc(self.context, kBytes, &receive), COPSE_OK);
    send.Fill(10 * self.rank);
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive)), COPSE_OK);
    EXPECT_TRUE(rank.returned_early());
    ExpectSum(static_cast<uint64_t*>(receive));
    EXPECT_TRUE(rank.Drain());
    EXPECT_EQ(copse_free(self.context, receive), COPSE_OK);
  });
}

TEST_F(AsynchronousCompletionTest, MemoryThatIsUsedAgainIsAdopted) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self, /*remaps=*/true);
    Pages send, receive;
    for (int i = 0; i < 4; ++i) {
      send.Fill(10 * self.rank);
      EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data())), COPSE_OK);
      EXPECT_TRUE(rank.returned_early());
      ExpectSum(receive.data());
      EXPECT_TRUE(rank.Drain());
    }
    EXPECT_GT(rank.early().remapped()->remappings(), 0u);
    EXPECT_NE(receive.kind(), MemoryKind::kPrivate);
    rank.early().remapped()->Release(nullptr, UINTPTR_MAX, MemoryEnd::kStays);
    EXPECT_EQ(receive.kind(), MemoryKind::kPrivate);  // ordinary memory again, with what it had
    ExpectSum(receive.data());
  });
}

TEST_F(AsynchronousCompletionTest, MemoryThatIsSentAgainIsAdopted) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self, /*remaps=*/true);
    Pages send;
    std::vector<uint64_t> sum(kBytes / sizeof(uint64_t));
    for (int i = 0; i < 4; ++i) {
      send.Fill(10 * self.rank);
      EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_REDUCE, send.data(), self.rank == 0 ? sum.data() : nullptr)), COPSE_OK);
      if (self.rank == 0) ExpectSum(sum.data());
      EXPECT_TRUE(rank.Drain());
    }
    if (self.rank != 0) {
      EXPECT_GT(rank.early().remapped()->remappings(), 0u);
      EXPECT_NE(send.kind(), MemoryKind::kPrivate);
    }
    rank.early().remapped()->Release(nullptr, UINTPTR_MAX, MemoryEnd::kStays);
    EXPECT_EQ(send.kind(), MemoryKind::kPrivate);
    for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(send.data()[i], 10 * self.rank + i) << i;
  });
}

TEST_F(AsynchronousCompletionTest, ACallThatCannotBePostedIsReported) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    const copse_coll_args_t args = ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data());
    EXPECT_EQ(rank.Call(args, /*may_return=*/true, /*has_room=*/false), COPSE_ERR_NO_RESOURCE);
    EXPECT_EQ(rank.caller().not_posted, COPSE_ERR_NO_RESOURCE);
    EXPECT_EQ(rank.Call(args), COPSE_OK);
    EXPECT_EQ(rank.caller().not_posted, COPSE_OK);
    EXPECT_TRUE(rank.Drain());
  });
}

TEST_F(AsynchronousCompletionTest, ARankWithoutAResultReturnsEarly) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    send.Fill(10 * self.rank);
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_REDUCE, send.data(), self.rank == 0 ? receive.data() : nullptr)), COPSE_OK);
    EXPECT_TRUE(rank.returned_early());
    if (self.rank == 0) ExpectSum(receive.data());
    EXPECT_TRUE(rank.Drain());
  });
}

TEST_F(AsynchronousCompletionTest, ABroadcastsRootKeepsWhatItSends) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages buffer;
    if (self.rank == 0) buffer.Fill(7);
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_BCAST, nullptr, buffer.data())), COPSE_OK);
    EXPECT_TRUE(rank.returned_early());
    if (self.rank == 0) buffer.Fill(99);
    const uint64_t first = self.rank == 0 ? 99 : 7;
    for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(buffer.data()[i], first + i);
    EXPECT_TRUE(rank.Drain());
  });
}

// On their pages there is something else, so that the call waits for the edges.
TEST_F(AsynchronousCompletionTest, BuffersThatShareTheirPages) {
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    send.Fill(10 * self.rank);
    receive.Fill(0);
    copse_coll_args_t args = ArgsOf(COPSE_COLL_ALLREDUCE, send.data() + 1, receive.data() + 1);
    args.count -= 2;
    EXPECT_EQ(rank.Call(args), COPSE_OK);
    EXPECT_TRUE(rank.returned_early());
    for (uint64_t i = 1; i < kCount - 1; ++i) ASSERT_EQ(receive.data()[i], 2 * i + 10);
    EXPECT_EQ(receive.data()[0], 0u);
    EXPECT_EQ(receive.data()[kCount - 1], kCount - 1);
    EXPECT_TRUE(rank.Drain());
  });
}

TEST_F(AsynchronousCompletionTest, ACallThatFailsAfterTheReturnIsLostUntilItIsForgotten) {
  daemon_.FailNextCall(COPSE_ERR_MEMBER_LOST, "");  // the edges', which the calls below do not wait for
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    send.Fill(10 * self.rank);
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data())), COPSE_OK);
    ASSERT_TRUE(rank.returned_early());
    EXPECT_TRUE(rank.Drain());
    EXPECT_EQ(rank.caller().late, COPSE_ERR_MEMBER_LOST);
    EXPECT_FALSE(TheGuard()->Await(receive.data(), kBytes, [] {}));
    EXPECT_TRUE(rank.early().ForgetLost());
    rank.Check();
    receive.Fill(1);
  });
}

TEST_F(AsynchronousCompletionTest, ACallThatFailsBeforeTheReturnSaysSo) {
  daemon_.FailNextCall(COPSE_ERR_MEMBER_LOST, "");
  OnRanks([](client::FakeRank& self) {
    Rank rank(self);
    Pages send, receive;
    EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data()), /*may_return=*/false),
              COPSE_ERR_MEMBER_LOST);
    EXPECT_TRUE(rank.Drain());
    EXPECT_FALSE(rank.early().ForgetLost());
  });
}

// It goes while its data is held back. A rank that leaves ends the other's call, so that both look first.
TEST_F(AsynchronousCompletionTest, WhatIsUnderWayAtTheEndIsAbandoned) {
  daemon_.HoldCalls(true);
  std::barrier both_looked(kRanks);
  OnRanks([&both_looked](client::FakeRank& self) {
    Pages send, receive;
    {
      Rank rank(self);
      EXPECT_EQ(rank.Call(ArgsOf(COPSE_COLL_ALLREDUCE, send.data(), receive.data())), COPSE_OK);
      EXPECT_TRUE(rank.returned_early());
      EXPECT_FALSE(rank.early().Drain(0));
      EXPECT_TRUE(TheGuard()->IsPending(receive.data(), kBytes));
      rank.Check();
      both_looked.arrive_and_wait();
    }
    EXPECT_FALSE(TheGuard()->IsPending(receive.data(), kBytes));
    receive.Fill(1);
  });
}

}  // namespace
}  // namespace copse::tnbc
