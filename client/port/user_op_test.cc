// SPDX-License-Identifier: Apache-2.0
//
// Operations of the application's own, by the C API on the fake daemon.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

using copse::testing::Names;

constexpr uint32_t kSize = 4;

// Decimal digits, put one after another: neither commutative nor blind to what is missing.
void Append(const void* in, void* inout, uint64_t count, copse_datatype_t type, void* argument) {
  ASSERT_EQ(type, COPSE_DT_INT64);
  ++*static_cast<uint64_t*>(argument);
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t left = static_cast<const int64_t*>(in)[i];
    int64_t& right = static_cast<int64_t*>(inout)[i];
    right = left * (right < 10 ? 10 : 100) + right;
  }
}

class UserOpTest : public ::testing::Test {
 protected:
  void OnAll(const std::function<void(FakeRank&, copse_op_t)>& body) {
    OnRanks(daemon_, kSize, [&](FakeRank& self) {
      uint64_t calls = 0;
      copse_op_t op = COPSE_OP_SUM;
      ASSERT_EQ(copse_op_create(&Append, &calls, 0, &op), COPSE_OK) << copse_last_error();
      body(self, op);
      EXPECT_EQ(copse_op_free(op), COPSE_OK);
      EXPECT_EQ(copse_op_free(op), COPSE_ERR_INVALID_ARGUMENT);
    });
  }

  FakeDaemon daemon_;
};

TEST_F(UserOpTest, OperandsAreInOrderOfRank) {
  OnAll([](FakeRank& self, copse_op_t op) {
    const int64_t expected[kSize] = {1, 12, 123, 1234};
    for (const uint64_t count : {1, 100}) {
      const std::vector<int64_t> mine(count, self.rank + 1), untouched(count, -1);
      std::vector<int64_t> result = untouched;
      const auto all = [&](int64_t value) { return std::vector<int64_t>(count, value); };
      ASSERT_EQ(copse_allreduce(self.team, mine.data(), result.data(), count, COPSE_DT_INT64, op), COPSE_OK)
          << copse_last_error();
      EXPECT_EQ(result, all(1234));
      result = mine;
      ASSERT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, result.data(), count, COPSE_DT_INT64, op), COPSE_OK);
      EXPECT_EQ(result, all(1234));
      result = untouched;
      ASSERT_EQ(copse_reduce(self.team, mine.data(), result.data(), count, COPSE_DT_INT64, op, 2), COPSE_OK);
      EXPECT_EQ(result, self.rank == 2 ? all(1234) : untouched);
      ASSERT_EQ(copse_scan(self.team, mine.data(), result.data(), count, COPSE_DT_INT64, op), COPSE_OK);
      EXPECT_EQ(result, all(expected[self.rank]));
      result = untouched;
      ASSERT_EQ(copse_exscan(self.team, mine.data(), result.data(), count, COPSE_DT_INT64, op), COPSE_OK);
      EXPECT_EQ(result, self.rank == 0 ? untouched : all(expected[self.rank - 1]));
    }
  });
}

TEST_F(UserOpTest, EachRankGetsItsSlice) {
  OnAll([](FakeRank& self, copse_op_t op) {
    std::vector<int64_t> mine(4 * kSize, self.rank + 1), result(4, -1);
    ASSERT_EQ(copse_reduce_scatter_block(self.team, mine.data(), result.data(), 4, COPSE_DT_INT64, op), COPSE_OK)
        << copse_last_error();
    EXPECT_EQ(result, std::vector<int64_t>(4, 1234));
    const uint64_t counts[kSize] = {3, 0, 1, 4};
    result.assign(5, -1);
    ASSERT_EQ(copse_reduce_scatter(self.team, mine.data(), result.data(), counts, COPSE_DT_INT64, op), COPSE_OK)
        << copse_last_error();
    std::vector<int64_t> expected(5, -1);
    std::fill_n(expected.begin(), counts[self.rank], 1234);
    EXPECT_EQ(result, expected);
  });
}

TEST_F(UserOpTest, ARequestCombinesOnceARound) {
  OnAll([](FakeRank& self, copse_op_t op) {
    int64_t mine = self.rank + 1, result = 0;
    copse_coll_args_t args{.collective = COPSE_COLL_ALLREDUCE,
                           .type = COPSE_DT_INT64,
                           .op = op,
                           .send = &mine,
                           .recv = &result,
                           .count = 1};
    copse_request_t* request = nullptr;
    ASSERT_EQ(copse_collective_init(self.team, &args, &request), COPSE_OK);
    for (int round = 0; round < 3; ++round) {
      result = 0;
      ASSERT_EQ(copse_post(request), COPSE_OK);
      ASSERT_EQ(copse_wait(request, -1), COPSE_OK);
      EXPECT_EQ(result, 1234);
      EXPECT_EQ(copse_test(request), COPSE_OK);
      EXPECT_EQ(result, 1234);
    }
  });
}

TEST(UserOpMemoryTest, WhatCouldNeverBeCopiedTakesNoMemory) {
  FakeDaemon daemon({.message_bytes_max = uint64_t{1} << 46});
  OnRanks(daemon, 2, [](FakeRank& self) {
    copse_op_t op = COPSE_OP_SUM;
    uint64_t calls = 0;
    ASSERT_EQ(copse_op_create(&Append, &calls, 0, &op), COPSE_OK);
    uint8_t nobody_looks_at_it = 0;
    EXPECT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, &nobody_looks_at_it, uint64_t{1} << 40, COPSE_DT_BYTE, op),
              COPSE_ERR_NO_RESOURCE);
    EXPECT_THAT(copse_last_error(), Names("count=1099511627776", "ranks=2"));
    EXPECT_EQ(copse_op_free(op), COPSE_OK);
  });
}

TEST_F(UserOpTest, MistakesAreNamed) {
  OnRanks(daemon_, 1, [](FakeRank& self) {
    int64_t value = 1;
    copse_op_t op = COPSE_OP_SUM;
    EXPECT_EQ(copse_op_create(nullptr, nullptr, 0, &op), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(copse_last_error(), Names("copse: op_create: ", "NULL"));
    EXPECT_EQ(copse_op_create(&Append, nullptr, 0, nullptr), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(copse_op_free(COPSE_OP_SUM), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(copse_last_error(), Names("copse_op_create", "op=0"));
    ASSERT_EQ(copse_op_create(&Append, &value, 0, &op), COPSE_OK);
    ASSERT_EQ(copse_op_free(op), COPSE_OK);
    EXPECT_EQ(copse_allreduce(self.team, COPSE_IN_PLACE, &value, 1, COPSE_DT_INT64, op), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(copse_last_error(), Names("op=" + std::to_string(op)));
    ASSERT_EQ(copse_op_create(&Append, &value, 0, &op), COPSE_OK);
    EXPECT_EQ(copse_allreduce(self.team, nullptr, &value, 1, COPSE_DT_INT64, op), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(copse_last_error(), Names("copse: allreduce: ", "buffer=send", "count=1"));
  });
}

}  // namespace
}  // namespace copse::client
