// SPDX-License-Identifier: Apache-2.0
//
// What needs no daemon of AdoptedMemory; the rest is in integration_tests/mpi/early_adoption.c and early_sends.c.
#include "client/tnbc/pages/remapped_memory.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// How many calls are not to send from there.
int CallsThatCopy(AdoptedMemory* adopted, const Range& sent) {
  int calls = 0;
  while (!adopted->MaySendFrom(sent)) ++calls;
  return calls;
}

TEST(AdoptedMemoryTest, WhereSomebodyWaitedCallsCopyForAWhile) {
  AdoptedMemory adopted(nullptr, nullptr, 0, nullptr);
  const Range one{0x1000, 0x9000}, longer{0x1000, 0xa000}, other{0x2000, 0x9000};
  EXPECT_EQ(CallsThatCopy(&adopted, one), 0);
  adopted.Regret(one);
  EXPECT_TRUE(adopted.MaySendFrom(other));
  EXPECT_EQ(CallsThatCopy(&adopted, longer), 8);
  EXPECT_EQ(CallsThatCopy(&adopted, one), 0);
  int last = 8;
  for (int i = 0; i < 10; ++i) {
    adopted.Regret(one);
    const int calls = CallsThatCopy(&adopted, one);
    EXPECT_EQ(calls, last < 1024 ? 2 * last : 1024);
    last = calls;
  }
  EXPECT_EQ(last, 1024);
}

TEST(AdoptedMemoryTest, SomePlacesAreRemembered) {
  AdoptedMemory adopted(nullptr, nullptr, 0, nullptr);
  for (uintptr_t i = 1; i <= 1000; ++i) adopted.Regret({i << 20, (i + 1) << 20});
  EXPECT_FALSE(adopted.MaySendFrom({uintptr_t{1000} << 20, uintptr_t{1001} << 20}));
  EXPECT_TRUE(adopted.MaySendFrom({uintptr_t{1} << 20, uintptr_t{2} << 20}));
}

}  // namespace
}  // namespace copse::tnbc
