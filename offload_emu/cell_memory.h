// SPDX-License-Identifier: Apache-2.0
//
// Allocates the eager buffers and scratch regions of one port, on their first use.
#ifndef COPSE_OFFLOAD_EMU_CELL_MEMORY_H_
#define COPSE_OFFLOAD_EMU_CELL_MEMORY_H_

#include <algorithm>
#include <cstdint>

#include "offload_emu/pool.h"

namespace copse::emu {

// A Cell is an edge's eager buffer in one slot, or a slot's scratch region. It is allocated on first use.
struct Cell {
  PoolBuffer buffer;
  uint64_t used = 0;  // bytes from the start to the end of the farthest access
};

// A CellMemory takes the memory of a port's cells from the engine's pool. Thread-compatible.
class CellMemory {
 public:
  // A cell has at most `cell_bytes`. `*pool` must outlive this object; `owner` identifies the port's buffers in it.
  CellMemory(BufferPool* pool, uint64_t owner, uint64_t cell_bytes)
      : pool_(pool), owner_(owner), cell_bytes_(cell_bytes) {}

  // Returns the memory of [offset, offset + bytes) of the cell, which grows if need be; null if it is out of bounds.
  // The result is valid until the next call for the same cell.
  uint8_t* At(Cell* cell, uint64_t offset, uint64_t bytes) {
    if (bytes > cell_bytes_ || offset > cell_bytes_ - bytes) return nullptr;
    const uint64_t end = offset + bytes;
    if (cell->buffer.bytes < end) pool_->Grow(&cell->buffer, std::max(end, first_bytes_), owner_);
    cell->used = std::max(cell->used, end);
    return cell->buffer.data + offset;
  }

  void Release(Cell* cell) {
    if (cell->buffer.data == nullptr) return;
    first_bytes_ = cell->used;
    pool_->Release(&cell->buffer, owner_);
    cell->used = 0;
  }

 private:
  BufferPool* const pool_;
  const uint64_t owner_;
  const uint64_t cell_bytes_;
  uint64_t first_bytes_ = 0;  // used of the buffer that was released last; new ones begin with this size
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_CELL_MEMORY_H_
