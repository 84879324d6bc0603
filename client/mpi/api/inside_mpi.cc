// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/inside_mpi.h"

namespace copse::mpi {

constinit const preload::SyscallGuard* OffSyscallGuard::guard = nullptr;
constinit thread_local int InsideMpi::depth = 0;
constinit thread_local int CallingMpi::depth = 0;

}  // namespace copse::mpi
