// SPDX-License-Identifier: Apache-2.0
//
// Elements as they travel: by MPI's own MPI_Pack and MPI_Unpack.
#ifndef COPSE_CLIENT_MPI_DATA_PACKING_H_
#define COPSE_CLIENT_MPI_DATA_PACKING_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/element_types.h"

namespace copse::mpi {

// Between `count` elements at `address` and as many times type.bytes at `bytes`. `comm`: any of this process. Returns
// false if MPI refuses, after a call of that communicator's error handler.
bool Pack(const char* address, int64_t count, const Datatype& type, char* bytes, MPI_Comm comm);
bool Unpack(const char* bytes, char* address, int64_t count, const Datatype& type, MPI_Comm comm);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_PACKING_H_
