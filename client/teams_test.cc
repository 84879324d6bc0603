// SPDX-License-Identifier: Apache-2.0
//
// Teams by name, by out-of-band callbacks and from a parent, on the fake daemon.

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

using copse::testing::Names;
using copse::testing::NamesMatcher;

uint32_t RankOf(copse_team_t* team) {
  uint32_t rank = 77;
  EXPECT_EQ(copse_team_rank(team, &rank), COPSE_OK) << copse_last_error();
  return rank;
}

uint32_t SizeOf(copse_team_t* team) {
  uint32_t size = 0;
  EXPECT_EQ(copse_team_size(team, &size), COPSE_OK) << copse_last_error();
  return size;
}

// The ranks of the world in the order that they have in `team`.
std::vector<uint32_t> Members(copse_team_t* team, uint32_t world_rank) {
  std::vector<uint32_t> members(SizeOf(team));
  members[RankOf(team)] = world_rank + 1;
  EXPECT_EQ(copse_allreduce(team, COPSE_IN_PLACE, members.data(), members.size(), COPSE_DT_UINT32, COPSE_OP_SUM),
            COPSE_OK)
      << copse_last_error();
  for (uint32_t& member : members) --member;
  return members;
}

using TeamCreateTest = SoloTest;

TEST_F(TeamCreateTest, RankAndSizeAreWhatWasAsked) {
  OnRanks(daemon_, 3, [](FakeRank& self) {
    EXPECT_EQ(RankOf(self.team), self.rank);
    EXPECT_EQ(SizeOf(self.team), 3u);
    EXPECT_EQ(copse_team_rank(self.team, nullptr), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(copse_team_size(self.team, nullptr), COPSE_ERR_INVALID_ARGUMENT);
  });
}

TEST_F(TeamCreateTest, WrongParametersAreRefused) {
  copse_team_t* team = nullptr;
  copse_team_params_t good{
      .mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE,
      .name = "t",
      .size = 1};
  const auto expect_refused = [&](const copse_team_params_t& params, const NamesMatcher& names) {
    EXPECT_EQ(copse_team_create(context_, &params, &team), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(copse_last_error(), names);
    EXPECT_EQ(team, nullptr);
  };
  copse_team_params_t params = good;
  params.mask |= 1 << 9;
  expect_refused(params, Names("copse_team_params_t", "mask=0x207", "known=0x7f"));
  params = good;
  params.rank = 1;
  expect_refused(params, Names("rank=1", "size=1"));
  params = good;
  params.size = 0;
  expect_refused(params, Names("rank=0", "size=0"));
  params = good;
  params.name = nullptr;
  expect_refused(params, Names("name=NULL"));
  params.name = "";
  expect_refused(params, Names("bytes=0", "limit=127"));
  const std::string long_name(128, 'n');
  params.name = long_name.c_str();
  expect_refused(params, Names("bytes=128", "limit=127"));
  params.name = "a\nb";
  expect_refused(params, Names("code=10"));
  params = good;
  params.mask &= ~uint64_t{COPSE_TEAM_PARAM_FIELD_NAME};
  expect_refused(params, Names("bytes=0", "limit=127"));
  params = good;
  params.mask &= ~uint64_t{COPSE_TEAM_PARAM_FIELD_RANK};
  expect_refused(params, Names("mask=0x5"));
  params = good;
  params.mask |= COPSE_TEAM_PARAM_FIELD_OOB;
  expect_refused(params, Names("mask=0xf"));
  params = good;
  params.mask = COPSE_TEAM_PARAM_FIELD_OOB;
  params.oob.n_oob_eps = 1;
  expect_refused(params, Names("callback=NULL"));
  params = good;
  params.mask |= COPSE_TEAM_PARAM_FIELD_TIMEOUT;
  params.timeout = __builtin_nan("");
  expect_refused(params, Names("timeout=nan"));
  params = good;
  params.mask |= COPSE_TEAM_PARAM_FIELD_PARENT;
  expect_refused(params, Names("parent=NULL"));
  params.parent = team_;
  params.size = 2;
  expect_refused(params, Names("size=2", "limit=1"));
  copse_context_t* other = nullptr;
  ASSERT_EQ(InitOn(daemon_, &other), COPSE_OK);
  ASSERT_EQ(CreateNamed(other, "elsewhere", 0, 1, &params.parent), COPSE_OK);
  params.size = 1;
  expect_refused(params, Names("parent", "context"));
  EXPECT_EQ(copse_fini(other), COPSE_OK);
  expect_refused(params, Names("parent", "context"));
  EXPECT_EQ(copse_team_create(context_, nullptr, &team), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_team_create(context_, &good, nullptr), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_team_create(context_, &good, &team), COPSE_OK) << copse_last_error();
}

TEST_F(TeamCreateTest, ATeamWithAParentOutlivesIt) {
  const copse_team_params_t params{.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK |
                                           COPSE_TEAM_PARAM_FIELD_SIZE | COPSE_TEAM_PARAM_FIELD_PARENT,
                                   .name = "child",
                                   .size = 1,
                                   .parent = team_};
  copse_team_t* team = nullptr;
  ASSERT_EQ(copse_team_create(context_, &params, &team), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_team_destroy(team_), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_barrier(team), COPSE_OK) << copse_last_error();
}

TEST_F(TeamCreateTest, ATeamThatIsNotFormedInTimeIsAnError) {
  copse_team_params_t params{.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK |
                                     COPSE_TEAM_PARAM_FIELD_SIZE | COPSE_TEAM_PARAM_FIELD_TIMEOUT,
                             .name = "lonely",
                             .size = 2,
                             .timeout = 0.05};
  copse_team_t* team = nullptr;
  EXPECT_EQ(copse_team_create(context_, &params, &team), COPSE_ERR_TIMED_OUT);
  EXPECT_THAT(copse_last_error(), Names("copse: team_create: ", "team lonely"));
}

TEST_F(TeamCreateTest, NoncesTellTeamsOfOneNameApart) {
  copse_team_params_t params{.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK |
                                     COPSE_TEAM_PARAM_FIELD_SIZE | COPSE_TEAM_PARAM_FIELD_NONCE,
                             .name = "pair",
                             .size = 2,
                             .nonce = 1};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      copse_team_params_t own = params;
      own.rank = i % 2;
      own.nonce = 1 + i / 2;
      copse_team_t* team = nullptr;
      EXPECT_EQ(copse_team_create(context_, &own, &team), COPSE_OK) << copse_last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(daemon_.teams(), 5u);
}

// --- Out of band ---

// An allgather among threads. req_test returns in-progress a few times first.
class Board {
 public:
  explicit Board(uint32_t size) : size_(size) {}

  copse_oob_coll_t Callbacks(uint32_t rank, void* info) {
    copse_oob_coll_t oob{};
    oob.allgather = &Board::Allgather;
    oob.req_test = &Board::Test;
    oob.req_free = &Board::Free;
    oob.coll_info = info;
    oob.n_oob_eps = size_;
    oob.oob_ep = rank;
    return oob;
  }
  struct Info {
    Board* board;
    uint32_t rank;
    copse_status_t start = COPSE_OK;
    copse_status_t end = COPSE_OK;
  };
  int freed() const { return freed_; }

 private:
  struct Request {
    Info* info;
    uint8_t* target;
    size_t bytes;
    int polls = 0;
  };
  static copse_status_t Allgather(void* send, void* recv, size_t bytes, void* info, void** request) {
    auto* self = static_cast<Info*>(info);
    if (self->start != COPSE_OK) return self->start;
    std::lock_guard<std::mutex> lock(self->board->mutex_);
    self->board->bytes_.resize(bytes * self->board->size_);
    memcpy(self->board->bytes_.data() + self->rank * bytes, send, bytes);
    ++self->board->arrived_;
    *request = new Request{self, static_cast<uint8_t*>(recv), bytes};
    return COPSE_OK;
  }
  static copse_status_t Test(void* opaque) {
    auto* request = static_cast<Request*>(opaque);
    std::lock_guard<std::mutex> lock(request->info->board->mutex_);
    if (request->info->end != COPSE_OK) return request->info->end;
    if (request->info->board->arrived_ < request->info->board->size_ || ++request->polls < 3) return COPSE_INPROGRESS;
    memcpy(request->target, request->info->board->bytes_.data(), request->info->board->bytes_.size());
    return COPSE_OK;
  }
  static copse_status_t Free(void* opaque) {
    auto* request = static_cast<Request*>(opaque);
    {
      std::lock_guard<std::mutex> lock(request->info->board->mutex_);
      ++request->info->board->freed_;
    }
    delete request;
    return COPSE_OK;
  }

  const uint32_t size_;
  std::mutex mutex_;
  std::vector<uint8_t> bytes_;
  uint32_t arrived_ = 0;
  int freed_ = 0;
};

using OutOfBandTest = SoloTest;

TEST_F(OutOfBandTest, FormsATeamWithoutAName) {
  Board board(3);
  OnRanks(daemon_, 3, [&](FakeRank& self) {
    Board::Info info{&board, self.rank};
    copse_team_params_t params{.mask = COPSE_TEAM_PARAM_FIELD_OOB, .oob = board.Callbacks(self.rank, &info)};
    copse_team_t* team = nullptr;
    ASSERT_EQ(copse_team_create(self.context, &params, &team), COPSE_OK) << copse_last_error();
    EXPECT_EQ(RankOf(team), self.rank);
    EXPECT_EQ(Members(team, self.rank), (std::vector<uint32_t>{0, 1, 2}));
  });
  EXPECT_EQ(board.freed(), 3);
}

TEST_F(OutOfBandTest, DisagreementIsAMismatchForAll) {
  Board board(2);
  OnRanks(daemon_, 2, [&](FakeRank& self) {
    Board::Info info{&board, self.rank};
    copse_team_params_t params{.mask = COPSE_TEAM_PARAM_FIELD_OOB | COPSE_TEAM_PARAM_FIELD_NAME,
                               .name = self.rank == 0 ? "a" : "b",
                               .oob = board.Callbacks(self.rank, &info)};
    copse_team_t* team = nullptr;
    EXPECT_EQ(copse_team_create(self.context, &params, &team), COPSE_ERR_MISMATCH);
    EXPECT_THAT(copse_last_error(), Names("its_rank=", "its_size=2", "size=2"));
  });
}

TEST_F(OutOfBandTest, FailingCallbacksAreTheResult) {
  Board board(1);
  Board::Info info{&board, 0, COPSE_ERR_NO_MEMORY, COPSE_OK};
  copse_team_params_t params{.mask = COPSE_TEAM_PARAM_FIELD_OOB, .oob = board.Callbacks(0, &info)};
  copse_team_t* team = nullptr;
  EXPECT_EQ(copse_team_create(context_, &params, &team), COPSE_ERR_NO_MEMORY);
  EXPECT_THAT(copse_last_error(), Names("status=-10"));
  info = {&board, 0, COPSE_OK, COPSE_ERR_INTERNAL};
  EXPECT_EQ(copse_team_create(context_, &params, &team), COPSE_ERR_INTERNAL);
  EXPECT_THAT(copse_last_error(), Names("status=-12"));
  EXPECT_EQ(board.freed(), 1);
  // What is no status of Copse is a failure all the same.
  info = {&board, 0, COPSE_OK, static_cast<copse_status_t>(5)};
  EXPECT_EQ(copse_team_create(context_, &params, &team), COPSE_ERR_INTERNAL);
  EXPECT_THAT(copse_last_error(), Names("status=5"));
  info = {&board, 0, static_cast<copse_status_t>(-99), COPSE_OK};
  EXPECT_EQ(copse_team_create(context_, &params, &team), COPSE_ERR_INTERNAL);
}

// --- From a parent ---

copse_team_t* FromParent(copse_team_t* parent, const copse_subteam_params_t& params) {
  auto* team = reinterpret_cast<copse_team_t*>(const_cast<copse_subteam_params_t*>(&params));  // not null
  const copse_status_t status = copse_team_create_from_parent(parent, &params, &team);
  EXPECT_EQ(status, COPSE_OK) << copse_last_error();
  return status == COPSE_OK ? team : nullptr;
}

// Returns the parameters of the sub-team of these ranks, which have to outlive the result.
copse_subteam_params_t Listed(const std::vector<uint32_t>& ranks) {
  return {.mask = COPSE_SUBTEAM_PARAM_FIELD_RANKS,
          .ranks = ranks.empty() ? nullptr : ranks.data(),
          .rank_count = static_cast<uint32_t>(ranks.size())};
}

copse_subteam_params_t Color(int64_t color, int64_t key) {
  copse_subteam_params_t params{
      .mask = COPSE_SUBTEAM_PARAM_FIELD_COLOR | COPSE_SUBTEAM_PARAM_FIELD_KEY, .color = color, .key = key};
  return params;
}

TEST(SubteamTest, ColorAndKeySplitAndOrder) {
  FakeDaemon daemon;
  OnRanks(daemon, 5, [](FakeRank& self) {
    // Even ranks backwards; odd ones in order, as their keys are equal.
    const bool even = self.rank % 2 == 0;
    const copse_subteam_params_t params =
        Color(even ? INT64_MAX : -3, even ? INT64_MIN + static_cast<int64_t>(10 - self.rank) : 4);
    copse_team_t* team = FromParent(self.team, params);
    EXPECT_EQ(Members(team, self.rank), even ? (std::vector<uint32_t>{4, 2, 0}) : (std::vector<uint32_t>{1, 3}));
    // A second one of the same members is another team.
    copse_team_t* again = FromParent(self.team, params);
    EXPECT_EQ(copse_team_destroy(team), COPSE_OK);
    EXPECT_EQ(copse_barrier(again), COPSE_OK) << copse_last_error();
  });
}

TEST(SubteamTest, WhoIsInNoneGetsNone) {
  FakeDaemon daemon;
  OnRanks(daemon, 3, [](FakeRank& self) {
    copse_subteam_params_t params{.mask = COPSE_SUBTEAM_PARAM_FIELD_INCLUDED, .included = self.rank != 1};
    copse_team_t* team = FromParent(self.team, params);
    ASSERT_EQ(team == nullptr, self.rank == 1);
    if (team != nullptr) {
      EXPECT_EQ(Members(team, self.rank), (std::vector<uint32_t>{0, 2}));
    }
    EXPECT_EQ(FromParent(self.team, Color(COPSE_UNDEFINED, 0)), nullptr);
    EXPECT_EQ(copse_barrier(self.team), COPSE_OK);
  });
}

TEST(SubteamTest, ListsOfRanksGiveTheirOrder) {
  FakeDaemon daemon;
  OnRanks(daemon, 4, [](FakeRank& self) {
    const std::vector<uint32_t> lists[] = {{3, 0}, {}, {2}, {3, 0}};
    const std::vector<uint32_t>& mine = lists[self.rank];
    copse_team_t* team = FromParent(self.team, Listed(mine));
    ASSERT_EQ(team == nullptr, self.rank == 1);
    if (team != nullptr) {
      EXPECT_EQ(Members(team, self.rank), mine);
    }
  });
}

TEST(SubteamTest, DifferentListsAreAMismatchForAllOfThem) {
  FakeDaemon daemon;
  OnRanks(daemon, 3, [](FakeRank& self) {
    const std::vector<uint32_t> lists[] = {{0, 1}, {0, 1, 2}, {0, 1, 2}};
    const copse_subteam_params_t params = Listed(lists[self.rank]);
    copse_team_t* team = nullptr;
    EXPECT_EQ(copse_team_create_from_parent(self.team, &params, &team), COPSE_ERR_MISMATCH);
    EXPECT_THAT(copse_last_error(), Names("rank=1", "other=0"));
  });
}

TEST(SubteamTest, WhoIsListedButGaveAnotherListIsAMismatch) {
  FakeDaemon daemon;
  OnRanks(daemon, 4, [](FakeRank& self) {
    // Lists that begin with different ranks name different sub-teams; rank 3 gives none.
    const std::vector<uint32_t> lists[] = {{0, 1}, {1, 0}, {2, 3}, {}};
    const copse_subteam_params_t params = Listed(lists[self.rank]);
    copse_team_t* team = nullptr;
    const copse_status_t status = copse_team_create_from_parent(self.team, &params, &team);
    EXPECT_EQ(team, nullptr);
    if (self.rank == 3) {
      EXPECT_EQ(status, COPSE_OK) << copse_last_error();
    } else {
      EXPECT_EQ(status, COPSE_ERR_MISMATCH);
      EXPECT_THAT(copse_last_error(), Names("rank_count=2"));
    }
    EXPECT_EQ(copse_barrier(self.team), COPSE_OK) << copse_last_error();
  });
}

TEST(SubteamTest, SubteamsOfSubteamsAndALongName) {
  FakeDaemon daemon;
  OnRanks(daemon, 2, [](FakeRank& self) {
    copse_team_t* team = nullptr;
    ASSERT_EQ(CreateNamed(self.context, std::string(127, 'n'), self.rank, 2, &team), COPSE_OK) << copse_last_error();
    const copse_subteam_params_t params = Color(0, 0);
    for (int depth = 0; depth < 30; ++depth) {
      copse_team_t* child = FromParent(team, params);
      ASSERT_EQ(copse_team_destroy(team), COPSE_OK);
      team = child;
    }
    EXPECT_EQ(copse_barrier(team), COPSE_OK) << copse_last_error();
  });
}

TEST(SubteamTest, RecordsLongerThanAMessageGoInPieces) {
  FakeDaemon daemon({.message_bytes_max = 40});  // 5 words; 4 ranks have 12
  OnRanks(daemon, 4, [](FakeRank& self) {
    const copse_subteam_params_t params = Color(1, -static_cast<int64_t>(self.rank));
    copse_team_t* team = FromParent(self.team, params);
    EXPECT_EQ(RankOf(team), 3 - self.rank);
  });
}

TEST(SubteamTest, WrongParametersAreRefusedBeforeAnybodyWaits) {
  FakeDaemon daemon;
  OnRanks(daemon, 1, [](FakeRank& self) {
    copse_team_t* team = nullptr;
    const auto expect_refused = [&](const copse_subteam_params_t& params, const NamesMatcher& names) {
      EXPECT_EQ(copse_team_create_from_parent(self.team, &params, &team), COPSE_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(copse_last_error(), names);
    };
    copse_subteam_params_t params{};
    expect_refused(params, Names("mask=0x0"));
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_COLOR | COPSE_SUBTEAM_PARAM_FIELD_INCLUDED;
    expect_refused(params, Names("mask=0x3"));
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_INCLUDED | COPSE_SUBTEAM_PARAM_FIELD_KEY;
    expect_refused(params, Names("key=0"));
    params.mask = 1 << 7;
    expect_refused(params, Names("copse_subteam_params_t", "mask=0x80", "known=0x1f"));
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_RANKS;
    params.rank_count = 1;
    expect_refused(params, Names("NULL", "rank_count=1"));
    const uint32_t outside[] = {1};
    params.ranks = outside;
    expect_refused(params, Names("rank=1", "size=1"));
    const uint32_t twice[] = {0, 0};
    params.ranks = twice;
    params.rank_count = 2;
    expect_refused(params, Names("rank=0"));
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_COLOR | COPSE_SUBTEAM_PARAM_FIELD_TIMEOUT;
    params.timeout = __builtin_nan("");
    expect_refused(params, Names("timeout=nan"));
    EXPECT_EQ(copse_team_create_from_parent(self.team, nullptr, &team), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(copse_team_create_from_parent(self.team, &params, nullptr), COPSE_ERR_INVALID_ARGUMENT);
  });
}

// --- Time ---

copse_status_t InitWithTimeout(const FakeDaemon& daemon, const char* timeout, copse_context_t** context) {
  setenv("COPSE_TIMEOUT", timeout, 1);
  const copse_status_t status = InitOn(daemon, context);
  unsetenv("COPSE_TIMEOUT");
  return status;
}

TEST(TimeoutTest, OneThatIsNoNumberIsRefused) {
  FakeDaemon daemon;
  copse_context_t* context = nullptr;
  EXPECT_EQ(InitWithTimeout(daemon, "5s", &context), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("copse: init: ", "COPSE_TIMEOUT", "value=5s"));
  EXPECT_EQ(context, nullptr);
}

TEST(TimeoutTest, EndsBlockingCallsWhichAreThenCanceled) {
  FakeDaemon daemon;
  copse_context_t* context = nullptr;
  ASSERT_EQ(InitWithTimeout(daemon, "0.1", &context), COPSE_OK);
  copse_team_t* team = nullptr;
  ASSERT_EQ(CreateNamed(context, "solo", 0, 1, &team), COPSE_OK);
  daemon.HoldCalls(true);
  EXPECT_EQ(copse_barrier(team), COPSE_ERR_TIMED_OUT);
  EXPECT_THAT(copse_last_error(), Names("copse: barrier: ", "team solo", "calls_in_flight=1"));
  copse_team_t* lonely = nullptr;
  EXPECT_EQ(CreateNamed(context, "lonely", 0, 2, &lonely), COPSE_ERR_TIMED_OUT);
  daemon.HoldCalls(false);
  // The late event of the first barrier does not end the second.
  EXPECT_EQ(copse_barrier(team), COPSE_OK) << copse_last_error();
  EXPECT_EQ(daemon.calls_completed(), 2u);
  EXPECT_EQ(copse_fini(context), COPSE_OK);
}

}  // namespace
}  // namespace copse::client
