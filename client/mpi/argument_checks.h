// SPDX-License-Identifier: Apache-2.0
//
// Whether a program's arguments can be described to Copse. What is wrong with others MPI says, so they go there.
#ifndef COPSE_CLIENT_MPI_ARGUMENT_CHECKS_H_
#define COPSE_CLIENT_MPI_ARGUMENT_CHECKS_H_

#include <cstdint>

#include "client/mpi/communicator.h"
#include "client/mpi/element_types.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/session.h"

namespace copse::mpi {

// `count` elements at `buffer`; describes their type.
inline bool IsRun(const void* buffer, int64_t count, MPI_Datatype handle, Type* type) {
  if (count < 0 || !Describe(handle, type)) return false;
  // MPI_BOTTOM, which is NULL, is for types that have addresses in them.
  return buffer != nullptr || !type->plain || count == 0 || type->bytes == 0;
}

inline bool IsRank(const Communicator& communicator, int root) { return root >= 0 && root < communicator.size(); }

// A length that all ranks know.
inline bool IsTooLong(uint64_t bytes) {
  const Session* session = TheSession();
  return session == nullptr || bytes > session->settings.message_bytes_max;
}

inline uint64_t Bytes(int64_t count, const Type& type) { return static_cast<uint64_t>(count) * type.bytes; }

// The `index`-th element of a buffer.
inline void* ElementAt(void* buffer, int64_t index, const Type& type) {
  return static_cast<char*>(buffer) + index * type.extent;
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ARGUMENT_CHECKS_H_
