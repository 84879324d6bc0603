// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/copy_memory.h"

#include <cstdint>

#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

constexpr uint64_t kUnit = 256 << 10;

// The daemon knows a region for each block that is allocated.
class CopyMemoryTest : public client::SoloTest {
 protected:
  uint64_t Blocks() {
    daemon_.teams();  // reads what this client has sent, such as the ends of regions
    return daemon_.regions();
  }
};

TEST_F(CopyMemoryTest, ABlockThatWasGivenBackIsTakenAgainByOneCallAtATime) {
  CopyMemory memory(context_, 16 * kUnit);
  const CopyMemory::Buffer first = memory.Take(1);
  ASSERT_NE(first.address, nullptr);
  EXPECT_EQ(first.bytes, kUnit);
  memory.GiveBack(first);
  EXPECT_EQ(memory.Take(kUnit).address, first.address);
  const CopyMemory::Buffer second = memory.Take(kUnit);
  EXPECT_NE(second.address, first.address);
  EXPECT_EQ(Blocks(), 2u);
  memory.GiveBack(first);
  memory.GiveBack(second);
}

TEST_F(CopyMemoryTest, TakesTheShortestThatIsLongEnoughAndNotOverTwiceTooLong) {
  CopyMemory memory(context_, 64 * kUnit);
  const CopyMemory::Buffer five = memory.Take(5 * kUnit), four = memory.Take(4 * kUnit), two = memory.Take(2 * kUnit);
  for (const CopyMemory::Buffer& block : {five, four, two}) memory.GiveBack(block);
  const CopyMemory::Buffer three = memory.Take(2 * kUnit + 1);
  EXPECT_EQ(three.address, four.address);
  EXPECT_EQ(three.bytes, 4 * kUnit);
  memory.GiveBack(three);
  const CopyMemory::Buffer one = memory.Take(1);  // twice as long is not too long
  EXPECT_EQ(one.address, two.address);
  const CopyMemory::Buffer another = memory.Take(1);
  EXPECT_EQ(another.bytes, kUnit);
  EXPECT_EQ(Blocks(), 4u);
  memory.GiveBack(one);
  memory.GiveBack(another);
}

TEST_F(CopyMemoryTest, BeyondTheLimitFreeBlocksGoAndThenNothingIsGiven) {
  CopyMemory memory(context_, 4 * kUnit);
  const CopyMemory::Buffer a = memory.Take(kUnit), b = memory.Take(kUnit), c = memory.Take(2 * kUnit);
  ASSERT_NE(c.address, nullptr);
  EXPECT_EQ(memory.Take(1).address, nullptr);
  memory.GiveBack(a);
  memory.GiveBack(b);
  EXPECT_EQ(Blocks(), 3u);
  EXPECT_EQ(memory.Take(3 * kUnit).address, nullptr);
  const CopyMemory::Buffer d = memory.Take(2 * kUnit);
  EXPECT_NE(d.address, nullptr);
  EXPECT_EQ(Blocks(), 2u);
  memory.Drop(c);
  EXPECT_EQ(Blocks(), 1u);
  const CopyMemory::Buffer e = memory.Take(2 * kUnit);
  EXPECT_NE(e.address, nullptr);
  memory.GiveBack(d);
  memory.GiveBack(e);
}

TEST_F(CopyMemoryTest, ItsEndFreesWhatWasGivenBack) {
  {
    CopyMemory memory(context_, 4 * kUnit);
    const CopyMemory::Buffer none = memory.Take(5 * kUnit);
    memory.GiveBack(none);
    memory.Drop(none);
    memory.GiveBack(memory.Take(1));
    EXPECT_EQ(Blocks(), 1u);
  }
  EXPECT_EQ(Blocks(), 0u);
}

}  // namespace
}  // namespace copse::tnbc
