// SPDX-License-Identifier: Apache-2.0

#include "client/port/data_area.h"

#include <algorithm>

namespace copse::client {

DataArea::DataArea(uint64_t bytes) : bytes_(bytes / kGranuleBytes * kGranuleBytes), bytes_free_(bytes_) {
  free_.reserve(64);
  if (bytes_ > 0) free_.push_back({0, bytes_});
}

std::optional<Block> DataArea::Allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > bytes_free_) return std::nullopt;
  const uint64_t wanted = (bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->bytes < wanted) continue;
    const Block block{range->offset, wanted};
    range->offset += wanted;
    range->bytes -= wanted;
    if (range->bytes == 0) free_.erase(range);
    bytes_free_ -= wanted;
    return block;
  }
  return std::nullopt;
}

void DataArea::Free(const Block& block) {
  if (block.bytes == 0) return;
  bytes_free_ += block.bytes;
  auto after = std::lower_bound(free_.begin(), free_.end(), block,
                                [](const Block& a, const Block& b) { return a.offset < b.offset; });
  const bool joins_after = after != free_.end() && block.offset + block.bytes == after->offset;
  const bool joins_before = after != free_.begin() && (after - 1)->offset + (after - 1)->bytes == block.offset;
  if (joins_before && joins_after) {
    (after - 1)->bytes += block.bytes + after->bytes;
    free_.erase(after);
  } else if (joins_before) {
    (after - 1)->bytes += block.bytes;
  } else if (joins_after) {
    after->offset = block.offset;
    after->bytes += block.bytes;
  } else {
    free_.insert(after, block);
  }
}

}  // namespace copse::client
