// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/page_bytes.h"

namespace copse::tnbc {

ProcessMemory::~ProcessMemory() {
  if (file_ >= 0) close(file_);
}

bool ProcessMemory::Open() { return OpenFile() >= 0 && CanWriteProtected(); }

int ProcessMemory::OpenFile() const {
  const auto file = static_cast<int>(Free(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC));
  struct stat info {};
  if (file < 0 || Free(SYS_fstat, file, &info) != 0) return -1;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  file_ = file;
  return file;
}

bool ProcessMemory::IsOurs(int file) const {
  struct stat info {};
  return file >= 0 && Free(SYS_fstat, file, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

bool ProcessMemory::CanWriteProtected() const {
  void* const page = mmap(nullptr, PageBytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  constexpr char kText[] = "copse";
  const bool written = Write(reinterpret_cast<uintptr_t>(page), kText, sizeof(kText)) &&
                       mprotect(page, PageBytes(), PROT_READ) == 0 && memcmp(page, kText, sizeof(kText)) == 0;
  munmap(page, PageBytes());
  return written;
}

// An open /proc/self/mem refers to the memory of the process that has opened it.
void ProcessMemory::OnForked() {
  if (IsOurs(file_)) close(file_);
  OpenFile();
}

bool ProcessMemory::Transfer(long call, char* data, uintptr_t address, uint64_t bytes) const {
  int file = file_;
  if (!IsOurs(file)) file = OpenFile();
  while (bytes > 0) {
    const long done = Free(call, file, data, bytes, address);
    if (done == -EINTR) continue;
    if (done <= 0) return false;
    data += done;
    address += static_cast<uint64_t>(done);
    bytes -= static_cast<uint64_t>(done);
  }
  return true;
}

bool ProcessMemory::Write(uintptr_t to, const void* from, uint64_t bytes) const {
  return Transfer(SYS_pwrite64, const_cast<char*>(static_cast<const char*>(from)), to, bytes);
}

bool ProcessMemory::Read(void* to, uintptr_t from, uint64_t bytes) const {
  return Transfer(SYS_pread64, static_cast<char*>(to), from, bytes);
}

}  // namespace copse::tnbc
