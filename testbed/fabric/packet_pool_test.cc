// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/packet_pool.h"

#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

TEST(PacketPoolTest, BuffersComeBack) {
  PacketPool pool(65536, 1 << 20);
  const uint32_t small = pool.Take(100), large = pool.Take(5000);
  EXPECT_NE(small, large);
  EXPECT_EQ(pool.At(small).size(), 100u);
  EXPECT_EQ(pool.At(large).size(), 5000u);
  pool.Resize(large, 65536);
  pool.At(large)[65535] = 1;
  pool.Return(small);
  EXPECT_EQ(pool.Take(2048), small);
  EXPECT_NE(pool.Take(1), small);
}

TEST(PacketPoolTest, TheLimitIsOfBothSizesTogether) {
  PacketPool pool(65536, 65536 + 2048);
  const uint32_t large = pool.Take(65536);
  EXPECT_NE(pool.Take(1), PacketPool::kNoBuffer);
  EXPECT_EQ(pool.Take(1), PacketPool::kNoBuffer);
  EXPECT_EQ(pool.Take(65536), PacketPool::kNoBuffer);
  pool.Return(large);
  EXPECT_EQ(pool.Take(3000), large);
}

}  // namespace
}  // namespace copse::fabric
