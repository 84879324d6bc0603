// SPDX-License-Identifier: Apache-2.0
//
// Memory of the application that copse_alloc gave out or copse_register announced.
#ifndef COPSE_CLIENT_PORT_USER_MEMORY_H_
#define COPSE_CLIENT_PORT_USER_MEMORY_H_

#include <cstdint>
#include <map>

#include "client/port/file_descriptor.h"
#include "collectives/block.h"

namespace copse::client {

// Ranges of this process's addresses, none overlapping another. The context's lock guards it.
class UserMemory {
 public:
  enum class Kind {
    kDataArea,    // copse_alloc, in the port's data area
    kRegion,      // copse_alloc, a memfd registered with the daemon
    kPlain,       // copse_alloc where the daemon registers nothing: an unregistered memfd, copied from and to
    kRegistered,  // copse_register: the caller's own, copied from and to
  };
  struct UserRange {
    Kind kind = Kind::kRegistered;
    uint8_t* address = nullptr;
    uint64_t bytes = 0;
    uint32_t region = 0;  // kRegion
    Block block;          // kDataArea
    Mapping mapping;      // kRegion, kPlain
    uint32_t calls = 0;   // in flight that the daemon may still use it for
    bool freed = false;   // to be dropped with the last of them
  };

  // Returns false, leaving `range` alone, if it overlaps another.
  bool Add(UserRange&& range);
  // Returns the range that starts at `address`, unless it was freed; null if there is none.
  UserRange* At(const void* address);
  // Returns the range that holds all of [address, address + bytes) and that the daemon can reach; null if there is
  // none.
  UserRange* Reachable(const void* address, uint64_t bytes);
  void Drop(UserRange* range);

 private:
  std::map<uintptr_t, UserRange> ranges_;  // by start; nodes stay where they are
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_USER_MEMORY_H_
