// SPDX-License-Identifier: Apache-2.0
//
// Accesses this process's memory through /proc/self/mem, by which the kernel ignores page protection.
#ifndef COPSE_CLIENT_TNBC_PAGES_PROCESS_MEMORY_H_
#define COPSE_CLIENT_TNBC_PAGES_PROCESS_MEMORY_H_

#include <atomic>
#include <cstdint>

namespace copse::tnbc {

// A ProcessMemory keeps the file open, and opens it again if the program has closed it. Thread-safe.
class ProcessMemory {
 public:
  ProcessMemory() = default;
  ~ProcessMemory();
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

  // Opens the file. Returns false if that fails, or if this system does not let inaccessible memory be written through
  // it, or a page be protected.
  bool Open();
  // Writes to private mappings, accessible or not. Returns false if the kernel refuses, perhaps after writing a part.
  bool Write(uintptr_t to, const void* from, uint64_t bytes) const;
  // Reads memory, accessible or not. Returns false if the kernel refuses.
  bool Read(void* to, uintptr_t from, uint64_t bytes) const;
  // Opens, in a child of fork, the file of the child's memory in place of the parent's. Async-signal-safe.
  void OnForked();

 private:
  bool IsOurs(int file) const;
  int OpenFile() const;
  bool CanWriteProtected() const;
  // Calls pread64 or pwrite64 until all bytes are transferred. Returns false if the kernel refuses.
  bool Transfer(long call, char* data, uintptr_t address, uint64_t bytes) const;

  // The file's identity is kept, too: a program that closes all descriptors may get this number for another file.
  mutable std::atomic<int> file_{-1};
  mutable std::atomic<uint64_t> device_{0}, inode_{0};
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PROCESS_MEMORY_H_
