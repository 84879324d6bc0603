// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_INSIDE_MPI_H_
#define COPSE_CLIENT_MPI_INSIDE_MPI_H_

#include "client/mpi/memory_hooks.h"

namespace copse::mpi {

// While one exists, this thread's system calls are not stopped for pending memory (COPSE_TNBC_SYSCALLS=strict).
class OffSyscallGuard {
 public:
  // `always`: also for what becomes pending meanwhile, which costs half a microsecond.
  explicit OffSyscallGuard(bool always = false) {
    if (guard != nullptr) guard->leave(always);
  }
  ~OffSyscallGuard() {
    if (guard != nullptr) guard->enter();
  }
  OffSyscallGuard(const OffSyscallGuard&) = delete;
  OffSyscallGuard& operator=(const OffSyscallGuard&) = delete;

  // The preload's, set before any of the program's calls; null: none.
  static constinit const SyscallGuard* guard;
};

// While one exists, what this thread calls is MPI's own doing, or ours, and goes straight to MPI.
class InsideMpi {
 public:
  InsideMpi() { ++depth; }
  ~InsideMpi() { --depth; }
  InsideMpi(const InsideMpi&) = delete;
  InsideMpi& operator=(const InsideMpi&) = delete;

  static bool IsNested() { return depth > 0; }

 private:
  // Not inline: that would be one variable for all libraries of a process.
  static constinit thread_local int depth;
  const OffSyscallGuard off_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_INSIDE_MPI_H_
