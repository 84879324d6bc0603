// SPDX-License-Identifier: Apache-2.0
//
// What needs no daemon of RemappedMemory; the rest is in integration_tests/mpi/early: adoption.c, sends.c.
#include "client/tnbc/pages/remapped_memory.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// How many calls are not to send from there.
int CallsThatCopy(RemappedMemory* remapped, const Range& sent) {
  int calls = 0;
  while (!remapped->MaySendFrom(sent)) ++calls;
  return calls;
}

TEST(RemappedMemoryTest, WhereSomebodyWaitedCallsCopyForAWhile) {
  RemappedMemory remapped(nullptr, nullptr, 0, nullptr);
  const Range one{0x1000, 0x9000}, longer{0x1000, 0xa000}, other{0x2000, 0x9000};
  EXPECT_EQ(CallsThatCopy(&remapped, one), 0);
  remapped.Regret(one);
  EXPECT_TRUE(remapped.MaySendFrom(other));
  EXPECT_EQ(CallsThatCopy(&remapped, longer), 8);
  EXPECT_EQ(CallsThatCopy(&remapped, one), 0);
  int last = 8;
  for (int i = 0; i < 10; ++i) {
    remapped.Regret(one);
    const int calls = CallsThatCopy(&remapped, one);
    EXPECT_EQ(calls, last < 1024 ? 2 * last : 1024);
    last = calls;
  }
  EXPECT_EQ(last, 1024);
}

TEST(RemappedMemoryTest, SomePlacesAreRemembered) {
  RemappedMemory remapped(nullptr, nullptr, 0, nullptr);
  for (uintptr_t i = 1; i <= 1000; ++i) remapped.Regret({i << 20, (i + 1) << 20});
  EXPECT_FALSE(remapped.MaySendFrom({uintptr_t{1000} << 20, uintptr_t{1001} << 20}));
  EXPECT_TRUE(remapped.MaySendFrom({uintptr_t{1} << 20, uintptr_t{2} << 20}));
}

}  // namespace
}  // namespace copse::tnbc
