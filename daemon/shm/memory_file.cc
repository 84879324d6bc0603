// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/core_dump.h"
#include "base/status_macros.h"

namespace copse::daemon {

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      tracked_(std::move(other.tracked_)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(tracked_, other.tracked_);
  return *this;
}

Mapping::~Mapping() {
  tracked_ = TrackedMemory();
  if (data_ != nullptr) munmap(data_, bytes_);
}

absl::StatusOr<Mapping> Mapping::Map(int fd, uint64_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return absl::ErrnoToStatus(errno, absl::StrCat("mmap (bytes=", bytes, ")"));
  KeepOutOfCores(base, bytes);
  Mapping mapping;
  mapping.data_ = static_cast<uint8_t*>(base);
  mapping.bytes_ = bytes;
  return mapping;
}

absl::StatusOr<Mapping> Mapping::MapForClient(int fd, uint64_t bytes) {
  ASSIGN_OR_RETURN(Mapping mapping, Map(fd, bytes));
  ASSIGN_OR_RETURN(mapping.tracked_, TrackedMemory::Track(mapping.data(), bytes));
  return mapping;
}

absl::StatusOr<UniqueFd> CreateMemoryFile(const char* name, uint64_t bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("ftruncate (bytes=", bytes, ")"));
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return absl::ErrnoToStatus(errno, "F_ADD_SEALS");
  return fd;
}

absl::Status SealSeals(int fd, bool against_new_writers) {
  const int seals = F_SEAL_SEAL | (against_new_writers ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(fd, F_ADD_SEALS, seals) != 0) return absl::ErrnoToStatus(errno, "F_SEAL_SEAL");
  return absl::OkStatus();
}

absl::Status CheckClientMemory(int fd, uint64_t bytes) {
  struct stat file;
  struct statfs system;
  if (fstat(fd, &file) != 0 || fstatfs(fd, &system) != 0) return absl::ErrnoToStatus(errno, "stat of memory");
  if (!S_ISREG(file.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: the descriptor is not a memfd (mode=0x", absl::Hex(file.st_mode & S_IFMT), ")"));
  }
  if (system.f_type == HUGETLBFS_MAGIC) {
    return absl::InvalidArgumentError(
        "memory: the memfd has huge pages, which can run out under a mapping (MFD_HUGETLB)");
  }
  if (system.f_type != TMPFS_MAGIC) return absl::InvalidArgumentError("memory: the descriptor is a file, not a memfd");
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError("memory: the memfd is not sealed against shrinking (F_SEAL_SHRINK)");
  }
  if ((seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: the memfd is sealed against writing (seals=0x", absl::Hex(seals), ")"));
  }
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) {
    return absl::InvalidArgumentError("memory: the memfd is not open for reading and writing (O_RDWR)");
  }
  if (static_cast<uint64_t>(file.st_size) < bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: the memfd is shorter than registered (bytes=", bytes, ", limit=", file.st_size, ")"));
  }
  return absl::OkStatus();
}

}  // namespace copse::daemon
