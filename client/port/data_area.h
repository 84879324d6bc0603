// SPDX-License-Identifier: Apache-2.0
//
// Allocates the bytes of the port's data area.
#ifndef COPSE_CLIENT_PORT_DATA_AREA_H_
#define COPSE_CLIENT_PORT_DATA_AREA_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/block.h"

namespace copse::client {

// A DataArea allocates by first fit from a list of free blocks, ordered by offset and coalesced. It uses offsets and
// never accesses the memory, so a stray write there cannot corrupt it. The list is short, since there are only as many
// allocations as calls in flight and short buffers of copse_alloc.
//
// Thread-compatible: the context's lock guards it. Invariant: free blocks neither overlap nor are adjacent.
class DataArea {
 public:
  static constexpr uint64_t kGranuleBytes = 64;

  explicit DataArea(uint64_t bytes);

  // Rounds up to kGranuleBytes. Returns nullopt if no free block is large enough, or `bytes` is 0.
  std::optional<Block> Allocate(uint64_t bytes);
  // Frees `block`, as Allocate returned it. A block of 0 bytes is ignored.
  void Free(const Block& block);

  uint64_t bytes() const { return bytes_; }
  uint64_t bytes_free() const { return bytes_free_; }

 private:
  uint64_t bytes_;
  uint64_t bytes_free_;
  std::vector<Block> free_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_DATA_AREA_H_
