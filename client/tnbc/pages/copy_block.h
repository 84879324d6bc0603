// SPDX-License-Identifier: Apache-2.0
//
// Defines an owner of a block of CopyMemory.
#ifndef COPSE_CLIENT_TNBC_PAGES_COPY_BLOCK_H_
#define COPSE_CLIENT_TNBC_PAGES_COPY_BLOCK_H_

#include <cstdint>

#include "client/tnbc/pages/copy_memory.h"

namespace copse::tnbc {

// A CopyBlock takes a block and gives it back when it is destroyed. Thread-compatible. The CopyMemory must outlive it.
class CopyBlock {
 public:
  CopyBlock(CopyMemory* memory, uint64_t bytes) : memory_(memory), block_(memory->Take(bytes)) {}
  ~CopyBlock() {
    if (is_spoilt_) {
      memory_->Drop(block_);
    } else {
      memory_->GiveBack(block_);
    }
  }
  CopyBlock(const CopyBlock&) = delete;
  CopyBlock& operator=(const CopyBlock&) = delete;

  // Returns null if the CopyMemory had no room.
  uint8_t* address() const { return block_.address; }
  // It is called if the daemon may still use the block, which is then freed, and not given to another call.
  void Spoil() { is_spoilt_ = true; }

 private:
  CopyMemory* const memory_;
  const CopyMemory::Buffer block_;
  bool is_spoilt_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_COPY_BLOCK_H_
