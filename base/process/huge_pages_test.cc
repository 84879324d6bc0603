// SPDX-License-Identifier: Apache-2.0
#include "base/process/huge_pages.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace copse {
namespace {

// Returns the VmFlags that the kernel reports for the mapping that holds `address`; empty: there is none.
std::string FlagsOf(const void* address) {
  const auto wanted = reinterpret_cast<uint64_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &first, &last) == 2) {
      here = first <= wanted && wanted < last;
    } else if (here && line.rfind("VmFlags:", 0) == 0) {
      return line + " ";
    }
  }
  return "";
}

struct alignas(64) Line {
  uint64_t value = 7;
};

TEST(HugePagesTest, VectorsOfEverySizeKeepWhatIsPutIntoThem) {
  // The vector grows from small blocks to mappings.
  LargeVector<uint32_t> numbers;
  for (uint32_t i = 0; i < 3'000'000; ++i) numbers.push_back(i);
  LargeVector<uint32_t> copy = numbers;
  const LargeVector<uint32_t> moved = std::move(numbers);
  ASSERT_EQ(moved.size(), 3'000'000u);
  for (uint32_t i = 0; i < moved.size(); ++i) ASSERT_EQ(moved[i], i);
  EXPECT_EQ(copy, moved);
  copy.resize(10);
  copy.shrink_to_fit();
  EXPECT_EQ(copy.back(), 9u);
}

TEST(HugePagesTest, BlocksAreAlignedAndBeginAsTheirElementsDo) {
  for (const size_t count : {size_t{1}, size_t{1000}, kLargeBlockBytes / sizeof(Line)}) {
    const LargeVector<Line> lines(count);
    EXPECT_EQ(reinterpret_cast<uint64_t>(lines.data()) % alignof(Line), 0u);
    EXPECT_EQ(lines.front().value, 7u);
    EXPECT_EQ(lines.back().value, 7u);
  }
}

TEST(HugePagesTest, OnlyLargeBlocksAskForHugePages) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "this kernel has no huge pages";
  const LargeVector<char> large(kLargeBlockBytes), small(kLargeBlockBytes - 1);
  EXPECT_NE(FlagsOf(large.data()).find(" hg "), std::string::npos) << FlagsOf(large.data());
  EXPECT_EQ(FlagsOf(small.data()).find(" hg "), std::string::npos) << FlagsOf(small.data());
}

TEST(HugePagesTest, AMappingGoesWithItsVector) {
  const void* was = nullptr;
  {
    const LargeVector<char> large(kLargeBlockBytes + 1);
    was = large.data();
    ASSERT_NE(FlagsOf(was), "");
  }
  EXPECT_EQ(FlagsOf(was), "");
}

}  // namespace
}  // namespace copse
