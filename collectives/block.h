// SPDX-License-Identifier: Apache-2.0
//
// A piece of a buffer. C++ without any library: lists of blocks lie in memory that client and daemon share.
#ifndef COPSE_COLLECTIVES_BLOCK_H_
#define COPSE_COLLECTIVES_BLOCK_H_

#include <cstdint>
#include <vector>

namespace copse {

// Bytes [offset, offset + bytes) of a buffer.
struct Block {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Block&, const Block&) = default;
};
// A list of blocks by rank.
using BlockList = std::vector<Block>;

}  // namespace copse

#endif  // COPSE_COLLECTIVES_BLOCK_H_
