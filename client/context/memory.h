// SPDX-License-Identifier: Apache-2.0
//
// The functions of copse.h on memory: copse_alloc, copse_free, copse_register, copse_deregister.
#ifndef COPSE_CLIENT_CONTEXT_MEMORY_H_
#define COPSE_CLIENT_CONTEXT_MEMORY_H_

#include <cstdint>

#include "client/context/attachment.h"
#include "client/context/completion.h"
#include "client/copse.h"

namespace copse::client {

// The application's memory that a context knows (UserMemory). Thread-safe: the lock of its Completion guards it.
class Memory {
 public:
  Memory(Attachment* attachment, Completion* completion) : attachment_(*attachment), completion_(*completion) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  copse_status_t Allocate(uint64_t bytes, void** memory);
  copse_status_t Free(void* memory);
  copse_status_t Register(void* memory, uint64_t bytes);
  copse_status_t Deregister(void* memory);
  // Returns whether the memory is all pages of one copse_alloc, which the daemon reads and writes as they lie.
  bool ReachesPages(const void* memory, uint64_t bytes);

 private:
  copse_status_t AllocateInDataArea(uint64_t bytes, void** memory, bool* has_room);
  copse_status_t AllocateRegion(uint64_t bytes, void** memory);

  Attachment& attachment_;
  Completion& completion_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_MEMORY_H_
