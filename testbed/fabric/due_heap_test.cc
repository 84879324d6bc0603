// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/due_heap.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

TEST(DueHeapTest, NothingIsDueAtFirst) {
  EXPECT_EQ(DueHeap(0).first_due(), kNever);
  EXPECT_EQ(DueHeap(3).first_due(), kNever);
}

TEST(DueHeapTest, FirstIsTheEarliestAfterEveryChange) {
  for (const uint32_t count : {1u, 2u, 3u, 7u, 64u}) {
    Prng prng(count);
    DueHeap heap(count);
    std::vector<int64_t> due(count, kNever);
    for (int step = 0; step < 2000; ++step) {
      const auto item = static_cast<uint32_t>(prng.Below(count));
      due[item] = prng.Chance(0.2) ? kNever : static_cast<int64_t>(prng.Below(50));
      heap.Set(item, due[item]);
      const auto first = std::min_element(due.begin(), due.end());  // the lowest of equal ones
      ASSERT_EQ(heap.first_due(), *first);
      ASSERT_EQ(heap.first(), first - due.begin());
    }
  }
}

}  // namespace
}  // namespace copse::fabric
