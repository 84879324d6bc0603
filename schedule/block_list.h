// SPDX-License-Identifier: Apache-2.0
//
// Where the ranks' blocks lie in one rank's buffer.
#ifndef COPSE_SCHEDULE_BLOCK_LIST_H_
#define COPSE_SCHEDULE_BLOCK_LIST_H_

#include <cstdint>
#include <vector>

namespace copse::schedule {

// Bytes [offset, offset + bytes) of a buffer.
struct Block {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

// By rank.
using BlockList = std::vector<Block>;

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCK_LIST_H_
