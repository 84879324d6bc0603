// SPDX-License-Identifier: Apache-2.0
//
// Defines blocks of a buffer and lists of them. It uses no library but the language's, as lists of blocks lie in
// memory that client and daemon share.
#ifndef COPSE_COLLECTIVES_BLOCK_H_
#define COPSE_COLLECTIVES_BLOCK_H_

#include <cstdint>
#include <vector>

namespace copse {

// A Block is the byte range [offset, offset + bytes) of a buffer.
struct Block {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Block&, const Block&) = default;
};
// A BlockList holds one block for each rank, by rank.
using BlockList = std::vector<Block>;

}  // namespace copse

#endif  // COPSE_COLLECTIVES_BLOCK_H_
