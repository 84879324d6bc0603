// SPDX-License-Identifier: Apache-2.0
//
// This process's memory by /proc/self/mem, which the kernel reads and writes whatever its protection.
#ifndef COPSE_CLIENT_TNBC_PAGES_PROCESS_MEMORY_H_
#define COPSE_CLIENT_TNBC_PAGES_PROCESS_MEMORY_H_

#include <atomic>
#include <cstdint>

namespace copse::tnbc {

// Thread-safe. Opens the file anew if the program has closed it.
class ProcessMemory {
 public:
  ProcessMemory() = default;
  ~ProcessMemory();
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

  // Returns false if this system does not let inaccessible memory be written so, or a page be protected.
  bool Open();
  // Writes into memory, accessible or not, of mappings that are private. Returns false if the kernel refuses.
  bool Write(uintptr_t to, const void* from, uint64_t bytes) const;
  // Reads memory, accessible or not. Returns false if the kernel refuses.
  bool Read(void* to, uintptr_t from, uint64_t bytes) const;
  // In a child of fork: what it writes to is its own memory, not its parent's. Async-signal-safe.
  void OnForked();

 private:
  bool IsOurs(int file) const;
  int OpenFile() const;
  bool CanWriteProtected() const;
  // By pread64 or pwrite64, all of it.
  bool Transfer(long call, char* data, uintptr_t address, uint64_t bytes) const;

  // Which file it is, too: a program that closes all descriptors may have another one by this number.
  mutable std::atomic<int> file_{-1};
  mutable std::atomic<uint64_t> device_{0}, inode_{0};
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PROCESS_MEMORY_H_
