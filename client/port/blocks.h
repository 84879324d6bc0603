// SPDX-License-Identifier: Apache-2.0
//
// The places of the ranks' blocks in a buffer of an irregular collective.
#ifndef COPSE_CLIENT_PORT_BLOCKS_H_
#define COPSE_CLIENT_PORT_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "collectives/block.h"

namespace copse::client {

// Blocks holds the offset and length of each rank's block, in bytes from the buffer's address. Empty blocks have offset
// 0. Immutable once made.
class Blocks {
 public:
  // Counts and displacements are in elements; without displacements blocks lie one after another. `what`: "send" or
  // "recv".
  // Errors: INVALID_ARGUMENT: no counts, or a block beyond what can be addressed; NOT_SUPPORTED: more than `bytes_max`
  // together.
  static copse_status_t Make(const char* what, const uint64_t* counts, const uint64_t* displacements, uint32_t size,
                             uint64_t type_bytes, uint64_t bytes_max, Blocks* blocks);

  const std::vector<Block>& list() const { return list_; }
  uint64_t bytes() const { return bytes_; }  // together
  uint64_t span() const { return span_; }    // from the buffer's address to the last block's end
  // Returns whether the blocks lie one after another, from the buffer's address on.
  bool is_packed() const { return is_packed_; }
  // Returns the offset that rank `rank`'s block would have if they did.
  uint64_t PackedOffset(uint32_t rank) const;

  // Writes the list that the daemon reads, `list().size()` entries: as the blocks lie, or packed.
  void WriteList(bool packed, uint8_t* to) const;
  // Copies all blocks from where they lie to one after another, and back.
  void Pack(const uint8_t* from, uint8_t* to) const;
  void Unpack(const uint8_t* from, uint8_t* to) const;

  // Errors: INVALID_ARGUMENT with two ranks whose blocks overlap. O(ranks) if the blocks ascend, else O(ranks log
  // ranks).
  copse_status_t CheckDisjoint() const;
  // Returns whether any non-empty block overlaps [other, other + bytes) if the buffer begins at `address`.
  bool Touches(const uint8_t* address, const uint8_t* other, uint64_t bytes) const;

 private:
  std::vector<Block> list_;
  uint64_t bytes_ = 0;
  uint64_t span_ = 0;
  bool is_packed_ = true;
};

// Returns whether any block of `a` at `a_address` overlaps one of `b`, whose blocks are disjoint. O((a + b) log b).
bool Overlap(const Blocks& a, const uint8_t* a_address, const Blocks& b, const uint8_t* b_address);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_BLOCKS_H_
