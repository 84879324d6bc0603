// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/mpi_probe.h"

#include <cstddef>
#include <cstring>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {
namespace {

// An MPI_Status may be longer than the header's; all that are known have at most 32 bytes.
constexpr size_t kRoomBytes = 256;

// Returns how many bytes the MPI copies of a status.
size_t StatusBytes() {
  alignas(std::max_align_t) unsigned char from[kRoomBytes], to[kRoomBytes];
  std::memset(from, 0x5a, sizeof(from));
  std::memset(to, 0xa5, sizeof(to));
  Mpi().Status_c2f(reinterpret_cast<const MPI_Status*>(from), reinterpret_cast<MPI_Fint*>(to));
  size_t bytes = sizeof(to);
  while (bytes > 0 && to[bytes - 1] == 0xa5) --bytes;
  return bytes;
}

std::string DifferenceOfStatus() {
  if (const size_t bytes = StatusBytes(); bytes != sizeof(MPI_Status)) {
    return "MPI_Status has another size (bytes=" + std::to_string(bytes) +
           ", wanted=" + std::to_string(sizeof(MPI_Status)) + ")";
  }
  // The status of a request that is null is empty, with a source and a tag that are known. No function that completes
  // one request sets the third member.
  MPI_Status empty;
  std::memset(&empty, 0x5a, sizeof(empty));
  MPI_Request none = MPI_REQUEST_NULL;
  Mpi().Wait(&none, &empty);
  if (empty.MPI_SOURCE != MPI_ANY_SOURCE || empty.MPI_TAG != MPI_ANY_TAG) {
    return "MPI_Status has other members (MPI_SOURCE=" + std::to_string(empty.MPI_SOURCE) +
           ", MPI_TAG=" + std::to_string(empty.MPI_TAG) + ", wanted=" + std::to_string(MPI_ANY_SOURCE) + " and " +
           std::to_string(MPI_ANY_TAG) + ")";
  }
  return "";
}

}  // namespace

std::string DifferenceFromHeader() {
  const std::string handles = DifferenceOfHandles();
  return handles.empty() ? DifferenceOfStatus() : handles;
}

}  // namespace copse::mpi
