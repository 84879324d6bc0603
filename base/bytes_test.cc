// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(BytesTest, ReadsWhatWasWritten) {
  ByteWriter out;
  out.Put(uint8_t{7});
  out.Put(uint16_t{0x1234});
  out.Put(uint32_t{0xdeadbeef});
  out.Put(uint64_t{0x0123456789abcdef});
  out.PutText("copse");
  const std::string bytes = out.Take();
  ASSERT_EQ(bytes.size(), 1u + 2 + 4 + 8 + 4 + 5);
  EXPECT_EQ(bytes[1], 0x34) << "little-endian";
  ByteReader in(bytes);
  EXPECT_EQ(in.Get<uint8_t>(), 7);
  EXPECT_EQ(in.Get<uint16_t>(), 0x1234);
  EXPECT_EQ(in.Get<uint32_t>(), 0xdeadbeef);
  EXPECT_EQ(in.Get<uint64_t>(), 0x0123456789abcdefu);
  EXPECT_EQ(in.GetText(5), "copse");
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.left(), 0u);
}

TEST(BytesTest, ShortReadFailsForGood) {
  ByteReader in(std::string_view("abc"));
  EXPECT_EQ(in.Get<uint32_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.Get<uint8_t>(), 0u) << "also what would have fitted";
  EXPECT_FALSE(in.ok());
}

TEST(BytesTest, TextBeyondItsLimitFails) {
  ByteWriter out;
  out.PutText("copse");
  const std::string bytes = out.Take();
  ByteReader in(bytes);
  EXPECT_EQ(in.GetText(4), "");
  EXPECT_FALSE(in.ok());
}

TEST(BytesTest, CountBeyondTheRestFails) {
  ByteWriter out;
  out.Put(uint32_t{1000000000});
  out.Put(uint64_t{0});
  const std::string bytes = out.Take();
  ByteReader in(bytes);
  EXPECT_EQ(in.GetCount(8), 0u);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace copse
