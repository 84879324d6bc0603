// SPDX-License-Identifier: Apache-2.0
#include "base/process/missing_pages.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace copse {
namespace {

// Returns a userfaultfd that raises SIGBUS rather than to send messages; -1 if there is none. It needs no privilege, as
// it serves accesses in user mode only.
int OpenFaults() {
  const auto fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (fd < 0) return -1;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM;
  if (ioctl(fd, UFFDIO_API, &api) == 0) return fd;
  close(fd);
  return -1;
}

// Returns the process's userfaultfd, which stays open.
int Faults() {
  static const int fd = OpenFaults();
  return fd;
}

uffdio_range WholePages(const void* base, uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uffdio_range range{};
  range.start = reinterpret_cast<uintptr_t>(base);
  range.len = (bytes + page - 1) / page * page;
  return range;
}

}  // namespace

bool RefuseMissingPages(void* base, uint64_t bytes) {
  if (Faults() < 0) return false;
  uffdio_register request{};
  request.range = WholePages(base, bytes);
  request.mode = UFFDIO_REGISTER_MODE_MISSING;
  return ioctl(Faults(), UFFDIO_REGISTER, &request) == 0;
}

bool HasAllPages(int fd, uint64_t bytes) {
  const off_t hole = lseek(fd, 0, SEEK_HOLE);
  return hole >= 0 && static_cast<uint64_t>(hole) >= bytes;
}

}  // namespace copse
