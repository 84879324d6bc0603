// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/range_index.h"

namespace copse::tnbc {

void RangeIndex::Publish(std::span<const IndexedRange> ranges) {
  const uint32_t next = version_.load(std::memory_order_relaxed) + 1;
  ListCopy& copy = copies_[next % 2];
  std::atomic_thread_fence(std::memory_order_release);  // pairs with the fence in Find
  for (size_t i = 0; i < ranges.size(); ++i) {
    copy.entries[i].begin.store(ranges[i].range.begin, std::memory_order_relaxed);
    copy.entries[i].end.store(ranges[i].range.end, std::memory_order_relaxed);
    copy.entries[i].word.store(ranges[i].word, std::memory_order_relaxed);
    copy.entries[i].copy.store(ranges[i].copy, std::memory_order_relaxed);
    copy.entries[i].access.store(ranges[i].access, std::memory_order_relaxed);
  }
  copy.count.store(ranges.size(), std::memory_order_relaxed);
  count_.store(static_cast<uint32_t>(ranges.size()), std::memory_order_relaxed);
  version_.store(next, std::memory_order_release);  // pairs with the acquire in version()
}

}  // namespace copse::tnbc
