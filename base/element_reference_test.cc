// SPDX-License-Identifier: Apache-2.0
#include "base/element_reference.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/element_types.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

// The values come from the formats' definitions.
TEST(ShortFloatTest, WellKnownNumbers) {
  EXPECT_EQ(Half(1.0).bits, 0x3c00);
  EXPECT_EQ(Half(-2.0).bits, 0xc000);
  EXPECT_EQ(Half(65504.0).bits, 0x7bff);
  EXPECT_EQ(Half(65519.99).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0).bits, 0x7c00) << "half way: to even, which is beyond the greatest";
  EXPECT_EQ(Half(std::ldexp(1, -24)).bits, 1);
  EXPECT_EQ(Half(std::ldexp(1, -25)).bits, 0) << "half way: to even";
  EXPECT_EQ(Half(std::ldexp(3, -25)).bits, 2) << "half way: to even";
  EXPECT_EQ(Half(std::ldexp(1, -14)).bits, 0x0400);
  EXPECT_EQ(Half(-0.0).bits, 0x8000);
  EXPECT_EQ(Half(-INFINITY).bits, 0xfc00);
  EXPECT_EQ(Half(std::nan("")).bits, 0x7e00);
  EXPECT_EQ(Bfloat16(1.0).bits, 0x3f80);
  EXPECT_EQ(Bfloat16(257.0).bits, 0x4380) << "half way between 256 and 258";
  EXPECT_EQ(Bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(Bfloat16(-std::ldexp(1, -133)).bits, 0x8001);
}

template <typename T>
void ExpectRoundTrips() {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    const auto number = static_cast<double>(value);
    if (std::isnan(number)) continue;
    ASSERT_EQ(T(number).bits, bits);
  }
}

TEST(ShortFloatTest, EveryNumberComesBack) {
  ExpectRoundTrips<Half>();
  ExpectRoundTrips<Bfloat16>();
}

TEST(PutElementTest, PaddingIsZero) {
  std::array<uint8_t, 16> bytes;
  bytes.fill(0xff);
  PutElement(ValueAndIndex<int16_t>{-1, -1}, bytes.data());
  EXPECT_EQ(bytes, (std::array<uint8_t, 16>{0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff}));
  PutElement(ValueAndIndex<int64_t>{-1, -1}, bytes.data());
  EXPECT_EQ(bytes[11], 0xff);
  EXPECT_EQ(bytes[12], 0);
}

TEST(CombineElementsTest, PairsOfEqualValuesGiveTheLowerIndex) {
  using Pair = ValueAndIndex<float>;
  const auto both = [](Pair a, Pair b) { return CombineElements(ElementOp::kMinloc, a, b).index; };
  EXPECT_EQ(both({1, 7}, {1, 3}), 3);
  EXPECT_EQ(both({1, 3}, {1, 7}), 3);
  EXPECT_EQ(both({0.0f, 3}, {-0.0f, 2}), 2);
  EXPECT_EQ(both({1, 3}, {0, 7}), 7);
  EXPECT_EQ(both({NAN, 3}, {0, 1}), 3);
  EXPECT_EQ(CombineElements(ElementOp::kMaxloc, Pair{1, 3}, Pair{2, 7}).index, 7);
}

}  // namespace
}  // namespace copse
