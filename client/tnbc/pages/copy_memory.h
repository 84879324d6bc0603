// SPDX-License-Identifier: Apache-2.0
//
// Memory for copies of a program's buffers that the daemon reaches without another copy.
#ifndef COPSE_CLIENT_TNBC_PAGES_COPY_MEMORY_H_
#define COPSE_CLIENT_TNBC_PAGES_COPY_MEMORY_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "client/copse.h"

namespace copse::tnbc {

// Blocks of copse_alloc, kept for later calls, up to a limit. Thread-safe.
class CopyMemory {
 public:
  struct Buffer {
    uint8_t* address = nullptr;  // null: none
    uint64_t bytes = 0;
  };

  CopyMemory(copse_context_t* context, uint64_t bytes_max) : context_(context), bytes_max_(bytes_max) {}
  ~CopyMemory();
  CopyMemory(const CopyMemory&) = delete;
  CopyMemory& operator=(const CopyMemory&) = delete;

  // At least `bytes`; a null block if that is beyond the limit, or the system or the daemon has no room.
  Buffer Take(uint64_t bytes);
  void GiveBack(const Buffer& block);
  // Frees a block that a canceled call may still use.
  void Drop(const Buffer& block);

 private:
  copse_context_t* const context_;
  const uint64_t bytes_max_;
  std::mutex mutex_;
  std::vector<Buffer> free_;
  uint64_t bytes_ = 0;  // of all blocks
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_COPY_MEMORY_H_
