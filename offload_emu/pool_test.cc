// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/pool.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace copse::emu {
namespace {

bool IsZero(const PoolBuffer& buffer) {
  return std::all_of(buffer.data, buffer.data + buffer.bytes, [](uint8_t byte) { return byte == 0; });
}

TEST(BufferPoolTest, SizesArePowersOfTwo) {
  EXPECT_EQ(BufferPool::RoundedBytes(0), 64u);
  EXPECT_EQ(BufferPool::RoundedBytes(64), 64u);
  EXPECT_EQ(BufferPool::RoundedBytes(65), 128u);
  EXPECT_EQ(BufferPool::RoundedBytes(40'000), 65'536u);
  EXPECT_EQ(BufferPool::RoundedBytes(BufferPool::kBytesMax), BufferPool::kBytesMax);
}

TEST(BufferPoolTest, AnotherOwnersBytesAreNeverSeen) {
  BufferPool pool(1 << 20);
  PoolBuffer buffer = pool.Acquire(1000, 1);
  EXPECT_TRUE(IsZero(buffer));
  std::memset(buffer.data, 0xff, buffer.bytes);
  pool.Release(&buffer, 1);
  EXPECT_EQ(buffer.data, nullptr);
  buffer = pool.Acquire(1000, 2);
  EXPECT_TRUE(IsZero(buffer));
  std::memset(buffer.data, 0xff, buffer.bytes);
  pool.Release(&buffer, BufferPool::kOverwritten);
  buffer = pool.Acquire(1000, 2);
  EXPECT_TRUE(IsZero(buffer));
  pool.Release(&buffer, 2);
}

TEST(BufferPoolTest, KeepsReleasedBuffersUpToItsBound) {
  BufferPool pool(256);
  std::vector<PoolBuffer> buffers;
  for (int i = 0; i < 10; ++i) buffers.push_back(pool.Acquire(64, 1));
  EXPECT_EQ(pool.used_bytes(), 640u);
  for (PoolBuffer& buffer : buffers) pool.Release(&buffer, 1);
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_EQ(pool.retained_bytes(), 256u);
  PoolBuffer again = pool.Acquire(10, 1);
  EXPECT_EQ(pool.retained_bytes(), 192u);
  pool.Release(&again, 1);
  pool.Release(&again, 1);  // empty: a no-op
  EXPECT_EQ(pool.retained_bytes(), 256u);
}

TEST(BufferPoolTest, GrowsKeepingTheContent) {
  BufferPool pool(1 << 20);
  PoolBuffer buffer;
  pool.Grow(&buffer, 50, 1);
  EXPECT_EQ(buffer.bytes, 64u);
  buffer.data[63] = 9;
  const uint8_t* before = buffer.data;
  pool.Grow(&buffer, 64, 1);
  EXPECT_EQ(buffer.data, before);
  pool.Grow(&buffer, 5000, 1);
  EXPECT_EQ(buffer.bytes, 8192u);
  EXPECT_EQ(buffer.data[63], 9);
  EXPECT_EQ(buffer.data[64], 0);
  pool.Release(&buffer, 1);
  EXPECT_EQ(pool.used_bytes(), 0u);
}

}  // namespace
}  // namespace copse::emu
