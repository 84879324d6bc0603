// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/circuit_breaker.h"

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// So many calls of which each costs that. Returns how many returned early.
int MakeCalls(CircuitBreaker* breaker, int calls, uint64_t early_ns, uint64_t blocking_ns) {
  int early = 0;
  for (int i = 0; i < calls; ++i) {
    if (breaker->MayReturnEarly()) {
      ++early;
      breaker->CountEarly(early_ns);
    } else {
      breaker->CountBlocking(blocking_ns);
    }
  }
  return early;
}

TEST(CircuitBreakerTest, CallsThatPayReturnEarly) {
  CircuitBreaker breaker;
  EXPECT_EQ(MakeCalls(&breaker, 6, 50, 100), 6);
  EXPECT_GT(MakeCalls(&breaker, 1000, 50, 100), 900);
  EXPECT_FALSE(breaker.is_tripped());
  EXPECT_EQ(breaker.trips(), 0u);
}

TEST(CircuitBreakerTest, CallsThatDoNotPayBlock) {
  CircuitBreaker breaker;
  EXPECT_LT(MakeCalls(&breaker, 1000, 100, 100), 60);
  EXPECT_TRUE(breaker.is_tripped());
  EXPECT_EQ(breaker.trips(), 1u);
}

TEST(CircuitBreakerTest, ItIsTriedAgainNowAndThen) {
  CircuitBreaker breaker;
  MakeCalls(&breaker, 500, 200, 100);
  ASSERT_TRUE(breaker.is_tripped());
  EXPECT_GT(MakeCalls(&breaker, 10'000, 50, 100), 5'000);
  EXPECT_FALSE(breaker.is_tripped());
  MakeCalls(&breaker, 10'000, 200, 100);
  EXPECT_TRUE(breaker.is_tripped());
  EXPECT_EQ(breaker.trips(), 2u);
}

// Its memory cannot be protected, say: then there is nothing to compare with.
TEST(CircuitBreakerTest, WithoutEarlyCallsNothingIsDecided) {
  CircuitBreaker breaker;
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(breaker.MayReturnEarly());
    breaker.CountBlocking(100);
  }
  EXPECT_FALSE(breaker.is_tripped());
}

}  // namespace
}  // namespace copse::tnbc
