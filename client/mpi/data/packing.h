// SPDX-License-Identifier: Apache-2.0
//
// Packs and unpacks elements by MPI_Pack and MPI_Unpack, for any number of elements.
#ifndef COPSE_CLIENT_MPI_DATA_PACKING_H_
#define COPSE_CLIENT_MPI_DATA_PACKING_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/element_types.h"

namespace copse::mpi {

// Copy `count` elements between `address` and their packed form at `bytes`, of count * type.bytes bytes. `comm` is any
// communicator of this process. Return false if MPI fails, after a call of the communicator's error handler.
bool Pack(const char* address, int64_t count, const Datatype& type, char* bytes, MPI_Comm comm);
bool Unpack(const char* bytes, char* address, int64_t count, const Datatype& type, MPI_Comm comm);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_PACKING_H_
