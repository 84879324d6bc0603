// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/packing.h"

#include <algorithm>
#include <climits>

namespace copse::mpi {
namespace {

// MPI_Pack counts elements and bytes by int. Calls `copy(element, elements, offset, bytes)` for each piece.
template <typename Copy>
bool InPieces(int64_t count, const Type& type, Copy copy) {
  if (type.bytes == 0) return true;
  const int64_t most = std::max<int64_t>(1, INT_MAX / 2 / static_cast<int64_t>(type.bytes));
  for (int64_t element = 0; element < count; element += most) {
    const int64_t piece = std::min(count - element, most);
    const int64_t offset = element * static_cast<int64_t>(type.bytes);
    if (!copy(element, static_cast<int>(piece), offset, static_cast<int>(piece * static_cast<int64_t>(type.bytes)))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Pack(const char* address, int64_t count, const Type& type, char* bytes, MPI_Comm comm) {
  return InPieces(count, type, [&](int64_t element, int elements, int64_t offset, int piece_bytes) {
    int position = 0;
    return Mpi().Pack(address + element * type.extent, elements, type.handle, bytes + offset, piece_bytes, &position,
                      comm) == MPI_SUCCESS;
  });
}

bool Unpack(const char* bytes, char* address, int64_t count, const Type& type, MPI_Comm comm) {
  return InPieces(count, type, [&](int64_t element, int elements, int64_t offset, int piece_bytes) {
    int position = 0;
    return Mpi().Unpack(bytes + offset, piece_bytes, &position, address + element * type.extent, elements, type.handle,
                        comm) == MPI_SUCCESS;
  });
}

}  // namespace copse::mpi
