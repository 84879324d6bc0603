// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/range_index.h"

#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

std::vector<uintptr_t> BeginsFound(const RangeIndex& index, uintptr_t address, uint64_t bytes) {
  std::vector<uintptr_t> begins;
  index.Find(address, bytes, [&](const IndexedRange& found) {
    begins.push_back(found.range.begin);
    return false;
  });
  return begins;
}

TEST(RangeIndexTest, FindsInOrderWhatOverlaps) {
  RangeIndex index(4);
  EXPECT_EQ(BeginsFound(index, 0, 100), std::vector<uintptr_t>());
  const std::vector<IndexedRange> ranges = {{{10, 20}}, {{20, 30}}, {{50, 60}}};
  index.Publish(ranges);
  EXPECT_EQ(index.count(), 3u);
  EXPECT_EQ(BeginsFound(index, 0, 10), std::vector<uintptr_t>());
  EXPECT_EQ(BeginsFound(index, 19, 2), (std::vector<uintptr_t>{10, 20}));
  EXPECT_EQ(BeginsFound(index, 30, 20), std::vector<uintptr_t>());
  EXPECT_EQ(BeginsFound(index, 29, 1000), (std::vector<uintptr_t>{20, 50}));
}

TEST(RangeIndexTest, StopsAtTheRangeThatIsAccepted) {
  RangeIndex index(2);
  uint8_t copy = 0;
  FirstAccess access;
  const std::vector<IndexedRange> ranges = {{{10, 20}}, {{20, 30}, 7, &copy, &access}};
  index.Publish(ranges);
  IndexedRange last;
  const auto accept = [&](const IndexedRange& found) {
    last = found;
    return found.word == 7;
  };
  EXPECT_TRUE(index.Find(10, 20, accept));
  EXPECT_EQ(last.range, (Range{20, 30}));
  EXPECT_EQ(last.copy, &copy);
  EXPECT_EQ(last.access, &access);
  EXPECT_FALSE(index.Find(10, 10, accept));
}

TEST(RangeIndexTest, AReaderThatAWriterHasOvertakenBeginsAnew) {
  RangeIndex index(1);
  const std::vector<IndexedRange> before = {{{10, 20}, 1}}, after = {{{10, 20}, 2}};
  index.Publish(before);
  std::vector<uint32_t> words;
  EXPECT_TRUE(index.Find(10, 1, [&](const IndexedRange& found) {
    words.push_back(found.word);
    if (words.size() == 1) index.Publish(after);
    return true;
  }));
  EXPECT_EQ(words, (std::vector<uint32_t>{1, 2}));
}

}  // namespace
}  // namespace copse::tnbc
