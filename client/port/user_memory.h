// SPDX-License-Identifier: Apache-2.0
//
// Records the application's memory that copse_alloc has allocated or copse_register has registered.
#ifndef COPSE_CLIENT_PORT_USER_MEMORY_H_
#define COPSE_CLIENT_PORT_USER_MEMORY_H_

#include <cstdint>
#include <map>

#include "client/port/file_descriptor.h"
#include "collectives/block.h"

namespace copse::client {

// A UserMemory holds ranges of this process's addresses, which do not overlap. The context's lock guards it.
class UserMemory {
 public:
  enum class Kind {
    kDataArea,    // copse_alloc, in the port's data area
    kRegion,      // copse_alloc, a memfd registered with the daemon
    kPlain,       // copse_alloc, a memfd that the daemon has refused to register; calls copy
    kRegistered,  // copse_register, the caller's memory; calls copy
  };
  struct UserRange {
    Kind kind = Kind::kRegistered;
    uint8_t* address = nullptr;
    uint64_t bytes = 0;
    uint32_t region = 0;  // set for kRegion
    Block block;          // set for kDataArea
    Mapping mapping;      // set for kRegion and kPlain
    uint32_t calls = 0;   // uses by calls in flight
    bool freed = false;   // true: the range is dropped when `calls` becomes 0
  };

  // Returns false, and leaves `range` unchanged, if it overlaps another.
  bool Add(UserRange&& range);
  // Adds memory that was mapped just now. Registered ranges that it overlaps are dropped: the program has unmapped
  // theirs without deregistering it.
  void AddMapped(UserRange&& range);
  // Returns the range that starts at `address`; null if there is none or it was freed.
  UserRange* At(const void* address);
  // Returns the range that contains [address, address + bytes) and that the daemon can access, even if it was freed
  // while calls use it; null if there is none.
  UserRange* Reachable(const void* address, uint64_t bytes);
  void Drop(UserRange* range);

 private:
  std::map<uintptr_t, UserRange> ranges_;  // by start; a map, since calls hold pointers to ranges
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_USER_MEMORY_H_
