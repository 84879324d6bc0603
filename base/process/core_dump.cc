// SPDX-License-Identifier: Apache-2.0
#include "base/process/core_dump.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/unique_fd.h"

namespace copse {
namespace {

// The bit that is set stands for the first page of each program and library, which says which build it is (core(5)).
constexpr std::string_view kNoMemory = "0x10\n";

bool WriteFilter() {
  const UniqueFd file(open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         write(file.get(), kNoMemory.data(), kNoMemory.size()) == static_cast<ssize_t>(kNoMemory.size());
}

}  // namespace

absl::Status KeepMemoryOutOfCores() {
  if (WriteFilter() || prctl(PR_SET_DUMPABLE, 0) == 0) return absl::OkStatus();
  return absl::UnavailableError("core dumps of this program may hold keys (/proc/self/coredump_filter)");
}

void KeepOutOfCores(void* memory, size_t bytes) {
  const int error = errno;
  (void)madvise(memory, bytes, MADV_DONTDUMP);
  errno = error;
}

}  // namespace copse
