// SPDX-License-Identifier: Apache-2.0
//
// What becomes of memory that the daemon may still use when a call is destroyed. How calls run is in
// asynchronous_completion_test.cc.
#include "client/tnbc/pending_call.h"

#include <unistd.h>

#include <barrier>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"
#include "client/tnbc/call_means.h"
#include "client/tnbc/pages/copy_memory.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/remapped_memory.h"
#include "client/tnbc/testing/test_pages.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kBytes = 2 << 20, kMemoryMax = 64 << 20;

PageGuard* TheGuard() {
  const char* why = "";
  static PageGuard* const guard = PageGuard::Start({[](uintptr_t) { _exit(3); }, [] {}}, &why);
  EXPECT_NE(guard, nullptr) << why;
  return guard;
}

class TestCaller final : public Caller {
 public:
  copse_status_t Post(copse_request_t* request) override { return copse_post(request); }
  copse_status_t Await(copse_request_t*) override { return COPSE_ERR_TIMED_OUT; }
  double slice() const override { return 0; }
  bool Turn() override { return false; }
  void OnNotPosted(copse_status_t) override {}
  void OnEnd(const Cost&) override {}
  void OnLate(copse_status_t, const char*) override {}
};

// Rank 0 makes calls, and rank 1 none, so that the daemon completes none of them.
class PendingCallTest : public ::testing::Test {
 protected:
  void OnRank0(const std::function<void()>& body) {
    std::barrier done(kRanks);
    client::OnRanks(daemon_, kRanks, [&](client::FakeRank& self) {
      copse_team_t* stream = nullptr;
      EXPECT_EQ(client::CreateNamed(self.context, "stream", self.rank, kRanks, &stream), COPSE_OK);
      if (self.rank == 0) {
        team_ = self.team;
        stream_ = stream;
        memory_ = std::make_unique<CopyMemory>(self.context, kMemoryMax);
        remapped_ = std::make_unique<RemappedMemory>(memory_.get(), TheGuard(), kMemoryMax, [] {});
        means_ = {self.context, memory_.get(), nullptr, TheGuard(), &counters_, SendSnapshot::Way::kInPieces};
        body();
        remapped_->Release(nullptr, UINTPTR_MAX, MemoryEnd::kStays);
        remapped_ = nullptr;
        memory_ = nullptr;
      }
      done.arrive_and_wait();
    });
  }
  // The buffer has kBytes for all ranks if it is an allgather, else for each.
  std::unique_ptr<PendingCall> PreparedCall(copse_collective_t collective, const void* send) {
    copse_coll_args_t args{.collective = collective,
                           .type = COPSE_DT_UINT64,
                           .op = COPSE_OP_SUM,
                           .send = send,
                           .recv = receive_.data(),
                           .count = kBytes / sizeof(uint64_t) / (collective == COPSE_COLL_ALLGATHER ? kRanks : 1)};
    Fragmentation fragmentation;
    EXPECT_TRUE(FragmentCall(args, 0, NodeLayout::Of(std::vector<uint64_t>{1, 2}), {}, &fragmentation));
    auto call =
        std::make_unique<PendingCall>(means_, stream_, args, fragmentation, nullptr, std::make_shared<TestCaller>());
    EXPECT_TRUE(call->Prepare(/*may_return=*/true));
    return call;
  }
  // Expects that the call has so many blocks.
  void StartAndAbandon(copse_collective_t collective, const void* send, uint64_t blocks) {
    const auto call = PreparedCall(collective, send);
    EXPECT_EQ(call->Start(team_), COPSE_OK);
    EXPECT_EQ(Blocks(), blocks);
    call->Abandon();
  }
  // The daemon knows a region for each block that is allocated.
  uint64_t Blocks() {
    daemon_.teams();  // reads what this client has sent, such as the ends of regions
    return daemon_.regions();
  }
  // Memory that is used again and again is remapped.
  bool IsUsedOften(const Pages& pages) {
    for (int i = 0; i < 10; ++i) {
      if (remapped_->Use(pages.All(), /*may_remap=*/true) != nullptr) return true;
    }
    return false;
  }

  client::FakeDaemon daemon_{client::FakeDaemon::Options{
      .dq_entries = 64, .eq_entries = 128, .data_bytes = 8 << 20, .message_bytes_max = 8 << 20}};
  Pages send_{kBytes / kPage}, receive_{kBytes / kPage};
  copse_team_t* team_ = nullptr;
  copse_team_t* stream_ = nullptr;
  EarlyCounters counters_;
  std::unique_ptr<CopyMemory> memory_;
  std::unique_ptr<RemappedMemory> remapped_;
  CallMeans means_{};
};

TEST_F(PendingCallTest, BlocksOfACallThatIsNotUnderWayAreKeptForOthers) {
  OnRank0([this] {
    for (int i = 0; i < 2; ++i) {
      PreparedCall(COPSE_COLL_ALLREDUCE, send_.data());
      EXPECT_EQ(Blocks(), 2u);
    }
  });
}

TEST_F(PendingCallTest, BlocksThatACanceledCallMayStillUseAreNotKeptForOthers) {
  OnRank0([this] {
    for (const void* const send : std::initializer_list<const void*>{send_.data(), COPSE_IN_PLACE}) {
      StartAndAbandon(COPSE_COLL_ALLREDUCE, send, 2);
      EXPECT_EQ(Blocks(), 0u);
    }
  });
}

TEST_F(PendingCallTest, MemoryThatACanceledCallMayStillUseIsNotRemappedAnyMore) {
  OnRank0([this] {
    means_.remapped = remapped_.get();
    // An allgather brings a rank its own block, too, and so not into the result.
    for (const auto& [collective, blocks] : {std::pair(COPSE_COLL_ALLREDUCE, 2), std::pair(COPSE_COLL_ALLGATHER, 3)}) {
      ASSERT_TRUE(IsUsedOften(send_) && IsUsedOften(receive_));
      const uint64_t before = remapped_->remappings();
      StartAndAbandon(collective, send_.data(), static_cast<uint64_t>(blocks));
      EXPECT_EQ(remapped_->remappings(), before + 1);  // what is sent; the result would be at the return
      EXPECT_EQ(Blocks(), 0u);
      EXPECT_EQ(KindOf(send_.All()), MemoryKind::kPrivate);
      EXPECT_EQ(std::string(send_.data(), kBytes), std::string(kBytes, 'o'));
    }
  });
}

}  // namespace
}  // namespace copse::tnbc
