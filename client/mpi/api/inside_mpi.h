// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_API_INSIDE_MPI_H_
#define COPSE_CLIENT_MPI_API_INSIDE_MPI_H_

#include "client/preload/memory_hooks.h"

namespace copse::mpi {

// While an OffSyscallGuard exists, this thread's system calls are not intercepted to wait for pending memory
// (COPSE_TNBC_SYSCALLS=strict).
class OffSyscallGuard {
 public:
  // If `always`, this also holds for memory that becomes pending while the object exists, which costs half a
  // microsecond.
  explicit OffSyscallGuard(bool always = false) {
    if (guard != nullptr) guard->leave(always);
  }
  ~OffSyscallGuard() {
    if (guard != nullptr) guard->enter();
  }
  OffSyscallGuard(const OffSyscallGuard&) = delete;
  OffSyscallGuard& operator=(const OffSyscallGuard&) = delete;

  // It is the preload's guard, which is set before the program's first MPI call. Null: system calls are not
  // intercepted.
  static constinit const preload::SyscallGuard* guard;
};

// While an InsideMpi exists, MPI calls of this thread are made by MPI itself or by this library, and are passed to MPI.
class InsideMpi {
 public:
  InsideMpi() { ++depth; }
  ~InsideMpi() { --depth; }
  InsideMpi(const InsideMpi&) = delete;
  InsideMpi& operator=(const InsideMpi&) = delete;

  static bool IsNested() { return depth > 0; }

 private:
  // It is not inline, since an inline variable would be shared by all libraries of the process. initial-exec lets each
  // passed call access it by two instructions.
  static constinit thread_local int depth __attribute__((tls_model("initial-exec")));
  const OffSyscallGuard off_;
};

// While a CallingMpi exists, this thread is in an MPI function that the program has called and that is passed on. MPI
// makes progress there itself, and a fault handler that interrupts it must not call MPI. MPI calls from there, such as
// those of an error handler, are the program's, unlike those within InsideMpi.
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
