// SPDX-License-Identifier: Apache-2.0
//
// Creates, checks and maps memory that is passed as a descriptor: memfds of the daemon and of clients.
#ifndef COPSE_DAEMON_SHM_MEMORY_FILE_H_
#define COPSE_DAEMON_SHM_MEMORY_FILE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/process/lost_memory.h"
#include "base/unique_fd.h"

namespace copse::daemon {

// A Mapping owns a shared, writable mapping, which core dumps do not hold, and unmaps it in its destructor. Movable.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // Maps the first `bytes` > 0 of `fd`. Errors: mmap's.
  static absl::StatusOr<Mapping> Map(int fd, uint64_t bytes);
  // Maps memory that a client also uses: a fault in it (SIGBUS) does not end the process, but makes lost() true.
  // RESOURCE_EXHAUSTED: too many such mappings. Other errors: mmap's.
  static absl::StatusOr<Mapping> MapForClient(int fd, uint64_t bytes);

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Returns whether a page of the mapping was lost and replaced (base/process/lost_memory.h). Returns false if Map has
  // made it.
  bool lost() const { return tracked_.lost(); }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  TrackedMemory tracked_;
};

// Returns a zeroed memfd that is sealed against shrinking and growing.
absl::StatusOr<UniqueFd> CreateMemoryFile(const char* name, uint64_t bytes);
// Forbids more seals, so that a client cannot add one. `against_new_writers`: later mappings of `fd` are read-only;
// mappings that exist stay writable.
absl::Status SealSeals(int fd, bool against_new_writers);

// Checks that a client's memory is safe to map: it can neither shrink nor run out of huge pages, which would be a
// SIGBUS. INVALID_ARGUMENT unless `fd` is a tmpfs memfd of at least `bytes`, sealed against shrinking but not against
// writing, and open for reading and writing.
absl::Status CheckClientMemory(int fd, uint64_t bytes);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_MEMORY_FILE_H_
