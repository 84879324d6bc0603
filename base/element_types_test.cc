// SPDX-License-Identifier: Apache-2.0
#include "base/element_types.h"

#include <complex>
#include <string>

#include "gtest/gtest.h"

namespace copse {
namespace {

template <typename Value>
struct Pair {
  Value value;
  int index;
};

TEST(ElementTypesTest, AreAsLongAsInC) {
  const size_t bytes[] = {1,
                          2,
                          4,
                          8,
                          1,
                          2,
                          4,
                          8,
                          sizeof(float),
                          sizeof(double),
                          2,
                          2,
                          sizeof(std::complex<float>),
                          sizeof(std::complex<double>),
                          1,
                          sizeof(Pair<float>),
                          sizeof(Pair<double>),
                          sizeof(Pair<int64_t>),
                          sizeof(Pair<int>),
                          sizeof(Pair<short>)};
  ASSERT_EQ(std::size(bytes), std::size(kElementTypes));
  for (int t = 0; t < kElementTypeCount; ++t) {
    EXPECT_EQ(kElementTypes[t].bytes, bytes[t]) << kElementTypes[t].name;
    EXPECT_LE(kElementTypes[t].bytes, kElementBytesMax);
    EXPECT_EQ(kElementBytesMax % kElementTypes[t].bytes, 0u) << "segments are multiples of the longest";
  }
}

// The rows are operations, the columns types.
TEST(ElementTypesTest, OperationsAreDefinedAsMpiSaysAndLogicalOnesOnFloatingPointToo) {
  // The columns are integers, floating point, complex, byte, pairs.
  const std::string expected[kElementOpCount] = {
      "xxxxxxxxxxxxxx......", "xxxxxxxxxxxxxx......", "xxxxxxxxxxxx........", "xxxxxxxxxxxx........",
      "xxxxxxxxxxxx........", "xxxxxxxxxxxx........", "xxxxxxxxxxxx........", "xxxxxxxx......x.....",
      "xxxxxxxx......x.....", "xxxxxxxx......x.....", "...............xxxxx", "...............xxxxx",
  };
  for (int op = 0; op < kElementOpCount; ++op) {
    for (int type = 0; type < kElementTypeCount; ++type) {
      EXPECT_EQ(IsDefined(static_cast<ElementOp>(op), static_cast<ElementType>(type)), expected[op][type] == 'x')
          << kElementOpNames[op] << " " << kElementTypes[type].name;
    }
  }
  EXPECT_FALSE(IsDefined(static_cast<ElementOp>(kElementOpCount), ElementType::kInt8));
  EXPECT_FALSE(IsDefined(ElementOp::kSum, static_cast<ElementType>(kElementTypeCount)));
  EXPECT_FALSE(IsDefined(static_cast<ElementOp>(255), static_cast<ElementType>(255)));
}

}  // namespace
}  // namespace copse
