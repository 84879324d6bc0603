// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_API_INSIDE_MPI_H_
#define COPSE_CLIENT_MPI_API_INSIDE_MPI_H_

#include "client/preload/memory_hooks.h"

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
  static constinit const preload::SyscallGuard* guard;
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
  // Not inline: that would be one variable for all libraries of a process. At a fixed place of the thread's, so that
  // each call that is passed on takes two instructions for it.
  static constinit thread_local int depth __attribute__((tls_model("initial-exec")));
  const OffSyscallGuard off_;
};

// While one exists, this thread is in a function of MPI's that the program has called and that is passed on. Its turns
// are MPI's own: a fault handler that interrupts it must not call MPI. Unlike InsideMpi, what the program calls from
// there (in an error handler) is the program's own.
class CallingMpi {
 public:
  CallingMpi() { ++depth; }
  ~CallingMpi() { --depth; }
  CallingMpi(const CallingMpi&) = delete;
  CallingMpi& operator=(const CallingMpi&) = delete;

  static bool IsNested() { return depth > 0; }

 private:
  static constinit thread_local int depth __attribute__((tls_model("initial-exec")));
  const OffSyscallGuard off_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_INSIDE_MPI_H_
