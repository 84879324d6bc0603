// SPDX-License-Identifier: Apache-2.0
//
// Describes where the ranks' blocks lie in a buffer of an irregular collective.
#ifndef COPSE_CLIENT_PORT_BLOCKS_H_
#define COPSE_CLIENT_PORT_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "collectives/block.h"

namespace copse::client {

// Blocks holds the offset and length of each rank's block, in bytes from the buffer's address. Empty blocks have offset
// 0. It is immutable once made.
class Blocks {
 public:
  // Makes the blocks of `size` ranks. Counts and displacements are in elements; without displacements blocks lie one
  // after another. `what`, "send" or "recv", is for error messages.
  // Errors: INVALID_ARGUMENT without counts, or if a block's offset exceeds 2^62 bytes; NOT_SUPPORTED if the blocks
  // have more than `bytes_max` bytes together.
  static copse_status_t Make(const char* what, const uint64_t* counts, const uint64_t* displacements, uint32_t size,
                             uint64_t type_bytes, uint64_t bytes_max, Blocks* blocks);

  const std::vector<Block>& list() const { return list_; }
  uint64_t bytes() const { return bytes_; }  // sum over all blocks
  uint64_t span() const { return span_; }    // bytes from the buffer's address to the last block's end
  // Returns the offset that the block of rank `rank` would have if they were packed. O(rank).
  uint64_t PackedOffset(uint32_t rank) const;

  // Writes the list that the daemon reads, `list().size()` entries, with the blocks' offsets or with those of packed
  // blocks.
  void WriteList(bool packed, uint8_t* to) const;
  // Copy all blocks: Pack from a buffer with these offsets into a packed one, Unpack back.
  void Pack(const uint8_t* from, uint8_t* to) const;
  void Unpack(const uint8_t* from, uint8_t* to) const;

  // Errors: INVALID_ARGUMENT, which names two ranks, if blocks overlap. O(ranks) if offsets ascend, else O(ranks log
  // ranks).
  copse_status_t CheckDisjoint() const;
  // Returns whether any non-empty block overlaps [other, other + bytes) if the buffer begins at `address`.
  bool Touches(const uint8_t* address, const uint8_t* other, uint64_t bytes) const;

 private:
  std::vector<Block> list_;
  uint64_t bytes_ = 0;
  uint64_t span_ = 0;
  bool is_packed_ = true;  // the blocks lie one after another, from the buffer's address on
};

// Returns whether any block of `a`, whose buffer is at `a_address`, overlaps one of `b`. The blocks of `b` must be
// disjoint. O((a + b) log b).
bool Overlap(const Blocks& a, const uint8_t* a_address, const Blocks& b, const uint8_t* b_address);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_BLOCKS_H_
