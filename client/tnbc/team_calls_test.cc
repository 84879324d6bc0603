// SPDX-License-Identifier: Apache-2.0
//
// Two ranks of a FakeDaemon agree on how their calls are fragmented.
#include "client/tnbc/team_calls.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kCount = 1 << 20;
constexpr double kPatience = 30;

// The calls of the agreements are made in the rank's team; what the rank has and wants is said here.
class RankOperations final : public TeamCalls::TeamOperations {
 public:
  explicit RankOperations(copse_team_t* team) : team_(team) {}

  copse_status_t Make(const copse_coll_args_t& args) override {
    ++made;
    if (fails) return COPSE_ERR_MEMBER_LOST;
    copse_request_t* request = nullptr;
    copse_status_t status = copse_collective_init(team_, &args, &request);
    if (status == COPSE_OK) status = copse_post(request);
    if (status == COPSE_OK) status = copse_wait(request, kPatience);
    if (status == COPSE_OK) status = copse_finalize(request);
    return status;
  }
  bool FormStream() override { return has_stream; }
  const std::vector<uint32_t>* KnownOrder(uint32_t, uint64_t) override { return known.empty() ? nullptr : &known; }
  bool may_wait_idly() const override { return waits_idly; }
  bool learns() const override { return learns_orders; }
  bool tries() const override { return tries_whole; }

  bool fails = false, has_stream = true, waits_idly = false, learns_orders = false, tries_whole = false;
  std::vector<uint32_t> known;
  int made = 0;

 private:
  copse_team_t* const team_;
};

struct Rank {
  explicit Rank(const client::FakeRank& self)
      : number(self.rank), calls(self.rank, kRanks, /*node=*/self.rank), team(self.team) {}

  // Returns whether the rank's next call is fragmented.
  bool Fragments(const copse_coll_args_t& args) {
    fragmentation = {};
    return calls.FragmentCall(args, calls.KindOf(1), /*site=*/&calls, &team, &fragmentation);
  }
  bool FragmentsAllreduce() {
    return Fragments(
        {.collective = COPSE_COLL_ALLREDUCE, .type = COPSE_DT_UINT64, .op = COPSE_OP_SUM, .count = kCount});
  }

  const uint32_t number;
  TeamCalls calls;
  RankOperations team;
  Fragmentation fragmentation;
};

class TeamCallsTest : public ::testing::Test {
 protected:
  void OnRanks(const std::function<void(Rank&)>& body) {
    client::OnRanks(daemon_, kRanks, [&body](client::FakeRank& self) {
      Rank rank(self);
      body(rank);
    });
  }

  client::FakeDaemon daemon_;
};

TEST_F(TeamCallsTest, CallsAreFragmentedIfAllRanksHaveTheSecondTeam) {
  for (const bool all : {true, false}) {
    OnRanks([all](Rank& rank) {
      rank.team.has_stream = all || rank.number == 0;
      EXPECT_EQ(rank.FragmentsAllreduce(), all);
      const int made = rank.team.made;
      EXPECT_GT(made, 0);
      EXPECT_EQ(rank.FragmentsAllreduce(), all);
      EXPECT_EQ(rank.team.made, made);  // they agree on it once
      EXPECT_FALSE(rank.fragmentation.announces);
    });
  }
}

TEST_F(TeamCallsTest, ShortCallsNeedNoAgreement) {
  OnRanks([](Rank& rank) {
    EXPECT_FALSE(
        rank.Fragments({.collective = COPSE_COLL_ALLREDUCE, .type = COPSE_DT_UINT64, .op = COPSE_OP_SUM, .count = 1}));
    EXPECT_EQ(rank.team.made, 0);
  });
}

TEST_F(TeamCallsTest, WhereAnAgreementFailsTheCallIsWholeAndTheNextOneAgreesAnew) {
  OnRanks([](Rank& rank) {
    rank.team.fails = true;
    EXPECT_FALSE(rank.FragmentsAllreduce());
    rank.team.fails = false;
    EXPECT_TRUE(rank.FragmentsAllreduce());
  });
}

TEST_F(TeamCallsTest, AllAnnounceTheirCallsIfOneRankMayWaitIdly) {
  OnRanks([](Rank& rank) {
    rank.team.waits_idly = rank.number == 1;
    EXPECT_TRUE(rank.FragmentsAllreduce());
    EXPECT_TRUE(rank.fragmentation.announces);
  });
}

TEST_F(TeamCallsTest, ARankThatMayWaitIdlyLaterMakesAllAnnounceFromTheNextAgreementOn) {
  constexpr int kCallsMax = 16;
  OnRanks([](Rank& rank) {
    rank.team.learns_orders = true;
    EXPECT_TRUE(rank.FragmentsAllreduce());
    EXPECT_FALSE(rank.fragmentation.announces);
    for (const bool idle : {true, false}) {  // once they announce, they go on
      rank.team.waits_idly = idle && rank.number == 1;
      for (int i = 0; i < kCallsMax; ++i) EXPECT_TRUE(rank.FragmentsAllreduce());
      EXPECT_TRUE(rank.fragmentation.announces) << idle;
    }
  });
}

TEST_F(TeamCallsTest, TheOrderThatIsKnownIsTaken) {
  OnRanks([](Rank& rank) {
    EXPECT_TRUE(rank.FragmentsAllreduce());
    std::vector<uint32_t> order = OrderOf(rank.fragmentation);
    ASSERT_GT(order.size(), 2u);
    std::swap(order.front(), order.back());
    rank.team.known = order;
    EXPECT_TRUE(rank.FragmentsAllreduce());
    EXPECT_EQ(OrderOf(rank.fragmentation), order);
  });
}

TEST_F(TeamCallsTest, AllTakeTheOrderInWhichTheyAccessWhatTheyReceive) {
  OnRanks([](Rank& rank) {
    rank.team.learns_orders = true;
    EXPECT_TRUE(rank.FragmentsAllreduce());
    const auto last = static_cast<uint32_t>(OrderOf(rank.fragmentation).size() - 1);
    for (int i = 0; i < 200; ++i) {
      Caller::Cost cost{.order = OrderOf(rank.fragmentation)};
      if (cost.order.front() != last) cost.accesses.push_back({last, 0});
      rank.calls.KindOf(1)->At(&rank.calls).Learn(cost);
      EXPECT_TRUE(rank.FragmentsAllreduce());
    }
    EXPECT_EQ(OrderOf(rank.fragmentation).front(), last);
  });
}

TEST_F(TeamCallsTest, CallsThatNeverReturnEarlyAreWholeIfAllRanksTryThat) {
  for (const bool all : {true, false}) {
    OnRanks([all](Rank& rank) {
      rank.team.tries_whole = all || rank.number == 0;
      bool is_fragmented = true;
      for (int i = 0; i < 10; ++i) is_fragmented = rank.FragmentsAllreduce();
      EXPECT_EQ(is_fragmented, !all);
    });
  }
}

// Only rank 1 receives. The ranks agree before calls 1, 2, 4 and so on.
TEST_F(TeamCallsTest, IrregularCallsGoByTheRankThatReceivesMost) {
  OnRanks([](Rank& rank) {
    const uint64_t nothing[kRanks] = {}, zeros[kRanks] = {};
    const auto fragments = [&](uint64_t elements) {
      const uint64_t to_other[kRanks] = {0, elements}, from_other[kRanks] = {elements, 0};
      copse_coll_args_t args{.mask = COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_COUNTS,
                             .collective = COPSE_COLL_ALLTOALLV,
                             .type = COPSE_DT_UINT64};
      args.send_counts = rank.number == 0 ? to_other : nothing;
      args.recv_counts = rank.number == 0 ? zeros : from_other;
      return rank.Fragments(args);
    };
    EXPECT_TRUE(fragments(kCount));
    const int made = rank.team.made;
    EXPECT_FALSE(fragments(1));
    EXPECT_EQ(rank.team.made, made + 1);
    EXPECT_FALSE(fragments(kCount));
    EXPECT_EQ(rank.team.made, made + 1);  // as agreed before call 2
    EXPECT_TRUE(fragments(kCount));
    EXPECT_EQ(rank.team.made, made + 2);
  });
}

TEST(CallKindTest, BeyondTheLimitSitesShareACircuitBreaker) {
  constexpr size_t kSites = 256;
  std::vector<char> sites(kSites + 2);
  CallKind kind;
  CircuitBreaker* const first = kind.At(&sites[0]).breaker;
  for (size_t i = 1; i < kSites; ++i) EXPECT_NE(kind.At(&sites[i]).breaker, first);
  EXPECT_EQ(kind.At(&sites[0]).breaker, first);
  EXPECT_EQ(kind.At(&sites[kSites]).breaker, kind.At(&sites[kSites + 1]).breaker);
  EXPECT_NE(kind.At(&sites[kSites]).breaker, first);
}

}  // namespace
}  // namespace copse::tnbc
