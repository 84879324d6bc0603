// SPDX-License-Identifier: Apache-2.0
//
// Memory that travels as a descriptor: memfds that we make, memfds that clients hand us, and
// mappings of both.
#ifndef COPSE_DAEMON_SHM_MEMORY_FILE_H_
#define COPSE_DAEMON_SHM_MEMORY_FILE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lost_memory.h"
#include "daemon/loop/unique_fd.h"

namespace copse::daemon {

// A shared, writable mapping with an owner. Movable.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // The first `bytes` > 0 of `fd`.
  static absl::StatusOr<Mapping> Map(int fd, uint64_t bytes);
  // The same of memory that a client uses too: a fault in it (SIGBUS) costs the client, not the process.
  // RESOURCE_EXHAUSTED: too many such mappings.
  static absl::StatusOr<Mapping> MapForClient(int fd, uint64_t bytes);

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // A page of it could not be read any more and was replaced (base/lost_memory.h).
  bool lost() const { return tracked_.lost(); }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  TrackedMemory tracked_;
};

// A zeroed memfd of fixed size: sealed against shrinking and growing.
absl::StatusOr<UniqueFd> CreateMemoryFile(const char* name, uint64_t bytes);
// No more seals can be added: a client cannot seal us out. `against_new_writers`: whoever maps `fd`
// from now on can only read it; mappings that exist stay writable.
absl::Status SealSeals(int fd, bool against_new_writers);

// What a client hands us is safe to map if it can neither shrink nor run out of huge pages under us
// (either would be a SIGBUS): INVALID_ARGUMENT unless `fd` is a tmpfs memfd, sealed against
// shrinking, open for writing, of at least `bytes`.
absl::Status CheckClientMemory(int fd, uint64_t bytes);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_MEMORY_FILE_H_
