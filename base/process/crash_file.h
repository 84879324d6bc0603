// SPDX-License-Identifier: Apache-2.0
//
// Lets a process that dies of a bug leave a file.
#ifndef COPSE_BASE_PROCESS_CRASH_FILE_H_
#define COPSE_BASE_PROCESS_CRASH_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace copse {

// Writes to a descriptor from a signal handler: functions are async-signal-safe, and ignore errors.
class CrashWriter {
 public:
  explicit CrashWriter(int fd) : fd_(fd) {}
  void Bytes(const void* data, size_t bytes);
  void Text(const char* text);
  void Number(uint64_t number);

 private:
  const int fd_;
};

// Has a file written when this process ends by SIGABRT (a failed CHECK), SIGSEGV, SIGBUS, SIGILL or SIGFPE: `write` is
// called in the signal's handler, once, with the file's writer and the signal's number. It must be async-signal-safe,
// and can run on any thread. The file is new and its owner's alone; an older one of the name is replaced. After that
// the signal does what it did before. Call it once, before the process has other threads; `context` lives as long as
// the process.
using WriteCrash = void (*)(CrashWriter& writer, int signal, const void* context);
void WriteFileOnCrash(const std::string& path, WriteCrash write, const void* context);

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_CRASH_FILE_H_
