// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a program's arguments can be described to Copse. Calls with others go to MPI, which reports the error.
#ifndef COPSE_CLIENT_MPI_DATA_ARGUMENT_CHECKS_H_
#define COPSE_CLIENT_MPI_DATA_ARGUMENT_CHECKS_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/collective_calls.h"
#include "client/mpi/data/element_types.h"
#include "client/mpi/data/offload.h"

namespace copse::mpi {

// Returns whether `count` elements of a type at `buffer` can be described, and describes the type.
inline bool IsRun(const void* buffer, int64_t count, MPI_Datatype handle, Datatype* type) {
  if (count < 0 || !Describe(handle, type)) return false;
  // MPI_BOTTOM, which is NULL, is for types that have addresses in them.
  return buffer != nullptr || !type->plain || count == 0 || type->bytes == 0;
}

inline bool IsRank(const Membership& member, int root) { return root >= 0 && root < member.size; }

// Returns whether a length that all ranks know is above the limit.
inline bool IsTooLong(const Offload& offload, uint64_t bytes) { return bytes > offload.options().message_bytes_max; }

inline uint64_t Bytes(int64_t count, const Datatype& type) { return static_cast<uint64_t>(count) * type.bytes; }

// Returns the address of an element of a buffer by its index.
inline void* ElementAt(void* buffer, int64_t index, const Datatype& type) {
  return static_cast<char*>(buffer) + index * type.extent;
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_ARGUMENT_CHECKS_H_
