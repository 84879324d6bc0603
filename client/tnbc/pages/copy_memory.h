// SPDX-License-Identifier: Apache-2.0
//
// Provides memory for copies of the program's buffers that the daemon reaches without another copy.
#ifndef COPSE_CLIENT_TNBC_PAGES_COPY_MEMORY_H_
#define COPSE_CLIENT_TNBC_PAGES_COPY_MEMORY_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "client/copse.h"

namespace copse::tnbc {

// A CopyMemory keeps blocks from copse_alloc for later calls, up to `bytes_max` bytes in all. Thread-safe.
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

  // Returns a block of at least `bytes` bytes, or a null one if the limit would be exceeded or copse_alloc fails.
  Buffer Take(uint64_t bytes);
  void GiveBack(const Buffer& block);
  // Frees a block that a canceled call may still use.
  void Drop(const Buffer& block);

 private:
  copse_context_t* const context_;
  const uint64_t bytes_max_;
  std::mutex mutex_;
  std::vector<Buffer> free_;
  uint64_t bytes_ = 0;  // bytes of all blocks, those that were taken included
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_COPY_MEMORY_H_
