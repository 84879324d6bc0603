// SPDX-License-Identifier: Apache-2.0

#include "client/copse.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/testing/fake_daemon.h"

namespace copse {
namespace {

using client::FakeDaemon;
using copse::testing::Names;

copse_init_params_t On(const FakeDaemon& daemon) {
  copse_init_params_t params{.mask = COPSE_INIT_PARAM_FIELD_SOCKET, .socket = daemon.socket().c_str()};
  return params;
}

static_assert(std::is_nothrow_move_constructible_v<Context> && !std::is_copy_constructible_v<Context>);
static_assert(std::is_nothrow_move_assignable_v<Team> && !std::is_copy_assignable_v<Team>);
static_assert(Datatype<int32_t>::value == COPSE_DT_INT32 && Datatype<int64_t>::value == COPSE_DT_INT64);
static_assert(Datatype<uint8_t>::value == COPSE_DT_UINT8 && Datatype<double>::value == COPSE_DT_DOUBLE);

TEST(CppTest, EverythingOfATeam) {
  FakeDaemon daemon;
  const copse_init_params_t params = On(daemon);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      Context context(&params);
      context.ping();
      EXPECT_STREQ(context.attr().node, "fake");
      Team team(context, "world", rank, 3);
      EXPECT_EQ(team.rank(), rank);
      EXPECT_EQ(team.size(), 3u);
      team.barrier();
      EXPECT_EQ(team.allreduce(static_cast<int>(rank), COPSE_OP_SUM), 3);
      std::vector<double> values(100, rank), sums(100);
      team.allreduce(values.data(), sums.data(), values.size(), COPSE_OP_SUM);
      EXPECT_EQ(sums, std::vector<double>(100, 3.0));
      using Complex = std::complex<double>;
      EXPECT_EQ(team.allreduce(Complex(1, rank), COPSE_OP_SUM), Complex(3, 3));
      team.bcast(values.data(), values.size(), 2);
      EXPECT_EQ(values, std::vector<double>(100, 2.0));
      team.reduce(values.data(), sums.data(), values.size(), COPSE_OP_PROD, 1);
      EXPECT_EQ(sums, std::vector<double>(100, rank == 1 ? 8.0 : 3.0));
      int32_t mine[3] = {1, 2, static_cast<int32_t>(rank)}, gathered[9] = {};
      team.allgather(mine, gathered, 3);
      EXPECT_EQ(gathered[5], 1);
      EXPECT_EQ(gathered[8], 2);
      team.alltoall(gathered, mine, 1);
      EXPECT_EQ(mine[2], gathered[rank]);
      team.scan(&mine[0], &mine[1], 1, COPSE_OP_SUM);
      team.exscan(&mine[1], &mine[2], 1, COPSE_OP_MAX);
      team.gather(mine, gathered, 3, 1);
      team.scatter(gathered, mine, 3, 1);
      team.reduce_scatter_block(gathered, mine, 3, COPSE_OP_SUM);
      const std::vector<uint64_t> counts = {2, 0, 1};
      team.reduce_scatter(gathered, mine, counts, COPSE_OP_SUM);
      for (int32_t& value : mine) value = static_cast<int32_t>(10 + rank);
      team.allgatherv(mine, counts[rank], gathered, counts);
      EXPECT_EQ(gathered[1], 10);
      EXPECT_EQ(gathered[2], 12);
      team.gatherv(mine, counts[rank], gathered, counts, 0);
      team.scatterv(gathered, counts, mine, counts[rank], 0);
      const std::vector<uint64_t> ones = {1, 1, 1};
      team.alltoallv(gathered, ones, mine, ones);

      Request request = team.allreduce_init(values.data(), sums.data(), values.size(), COPSE_OP_SUM);
      Request barrier = team.barrier_init();
      Request bcast = team.bcast_init(values.data(), values.size(), 0);
      Request reduce = team.reduce_init(values.data(), sums.data(), values.size(), COPSE_OP_MAX, 0);
      for (Request* each : {&request, &barrier, &bcast, &reduce}) {
        each->post();
        each->wait();
        EXPECT_TRUE(each->test());
        EXPECT_TRUE(each->wait_for(0));
      }

      Team pair = team.split(rank == 1 ? COPSE_UNDEFINED : 7, -static_cast<int64_t>(rank));
      EXPECT_EQ(static_cast<bool>(pair), rank != 1);
      if (pair) {
        EXPECT_EQ(pair.rank(), rank == 2 ? 0u : 1u);
      }
      Team all = team.subteam(true);
      EXPECT_EQ(all.size(), 3u);
      Team two = team.subteam(std::vector<uint32_t>{2, 1});
      EXPECT_EQ(static_cast<bool>(two), rank != 0);
      Team one = team.subteam({1});  // the list, not `true`
      EXPECT_EQ(static_cast<bool>(one), rank == 1);
      // Who does not use a buffer gives none.
      double value = 1 + rank, result = 0;
      team.reduce(&value, rank == 1 ? &result : nullptr, 1, COPSE_OP_SUM, 1);
      EXPECT_EQ(result, rank == 1 ? 6 : 0);
      if (rank == 1) {
        team.gather(mine, gathered, 3, 1);
        team.scatter(gathered, mine, 3, 1);
        team.gatherv(mine, counts[rank], gathered, counts, 1);
        team.scatterv(gathered, counts, mine, counts[rank], 1);
      } else {
        team.gather(mine, nullptr, 3, 1);
        team.scatter(nullptr, mine, 3, 1);
        team.gatherv(mine, counts[rank], nullptr, counts, 1);
        team.scatterv(nullptr, counts, mine, counts[rank], 1);
      }
      if (rank == 0) {
        team.exscan(&value, nullptr, 1, COPSE_OP_SUM);
      } else {
        team.exscan(&value, &result, 1, COPSE_OP_SUM);
        EXPECT_EQ(result, rank == 1 ? 1 : 3);
      }
      team.reduce_init(&value, nullptr, 0, COPSE_OP_SUM, 1);
      Team moved = std::move(all);
      EXPECT_FALSE(all);  // NOLINT(bugprone-use-after-move)
      moved.barrier();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(daemon.teams(), 0u);
}

TEST(CppTest, FailuresAreExceptionsWithTheLine) {
  FakeDaemon daemon;
  const copse_init_params_t params = On(daemon);
  Context context(&params);
  Team team(context, "solo", 0, 1);
  double value = 0;
  try {
    team.bcast(&value, 1, 9);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), Names("copse: bcast: ", "root=9", "size=1"));
  }
  EXPECT_THROW(Team(context, "", 0, 1), Error);
  copse_init_params_t nowhere{.mask = COPSE_INIT_PARAM_FIELD_SOCKET, .socket = "/nonexistent/copsed.sock"};
  EXPECT_THROW(Context other(&nowhere), Error);
}

TEST(CppTest, ARequestInProgressIsCancelledByItsDestructor) {
  FakeDaemon daemon;
  const copse_init_params_t params = On(daemon);
  Context context(&params);
  Team team(context, "solo", 0, 1);
  daemon.HoldCalls(true);
  std::vector<int> values(100, 1);
  {
    Request request = team.allreduce_init(values.data(), values.data() + 50, 50, COPSE_OP_SUM);
    request.post();
    EXPECT_FALSE(request.test());
    EXPECT_FALSE(request.wait_for(0.01));
  }
  Request request = team.barrier_init();
  request.post();
  request.cancel();
  EXPECT_THROW(request.wait(), Error);
  daemon.HoldCalls(false);
  team.barrier();
}

}  // namespace
}  // namespace copse
