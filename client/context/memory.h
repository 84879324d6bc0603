// SPDX-License-Identifier: Apache-2.0
//
// Implements copse_alloc, copse_free, copse_register and copse_deregister.
#ifndef COPSE_CLIENT_CONTEXT_MEMORY_H_
#define COPSE_CLIENT_CONTEXT_MEMORY_H_

#include <cstdint>

#include "client/context/attachment.h"
#include "client/context/completion.h"
#include "client/copse.h"

namespace copse::client {

// Memory allocates and registers the application's memory for one context, and records it in the context's UserMemory.
// Thread-safe: the lock of its Completion guards it.
class Memory {
 public:
  Memory(Attachment* attachment, Completion* completion) : attachment_(*attachment), completion_(*completion) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Allocates zeroed memory. If the daemon refuses to register it, succeeds with memory that calls copy. Errors:
  // INVALID_ARGUMENT for 0 bytes; NO_MEMORY; NO_DAEMON; TIMED_OUT; INTERNAL if the port is corrupt.
  copse_status_t Allocate(uint64_t bytes, void** memory);
  // Errors: INVALID_ARGUMENT if `memory` is neither null nor an allocation.
  copse_status_t Free(void* memory);
  // Errors: INVALID_ARGUMENT if the range is empty, wraps around or overlaps another that is registered or allocated.
  copse_status_t Register(void* memory, uint64_t bytes);
  // Errors: INVALID_ARGUMENT if no registered range starts at `memory`.
  copse_status_t Deregister(void* memory);
  // Returns whether all of the memory lies in one registered region of copse_alloc, whose pages the daemon reads and
  // writes directly. Short allocations, in the data area, do not count.
  bool ReachesPages(const void* memory, uint64_t bytes);

 private:
  // Sets *has_room to false, and succeeds, if the memory should be a region.
  copse_status_t AllocateInDataArea(uint64_t bytes, void** memory, bool* has_room);
  copse_status_t AllocateRegion(uint64_t bytes, void** memory);

  Attachment& attachment_;
  Completion& completion_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_MEMORY_H_
