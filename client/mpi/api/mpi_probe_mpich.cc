// SPDX-License-Identifier: Apache-2.0
//
// MPICH's handles are numbers that programs have from their header: bits 30 and 31 tell what they stand for (0: null,
// 1: predefined, 2 and 3: made later), bits 26 to 29 the kind of object (1: communicator, 3: type, 7: info).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/api/mpi_probe.h"

namespace copse::mpi {
namespace {

constexpr uint32_t kKindBits = 0x3c000000;

std::string Differs(const char* name, uint32_t found, uint32_t wanted) {
  char text[128];
  std::snprintf(text, sizeof(text), "%s is another handle (value=0x%08x, wanted=0x%08x)", name, found, wanted);
  return text;
}

// A HandleRoom takes a handle of another MPI, too, which may be as long as an address.
template <typename Handle>
class HandleRoom {
 public:
  Handle* place() { return reinterpret_cast<Handle*>(bytes_); }
  uint32_t number() const {
    uint32_t number;
    std::memcpy(&number, bytes_, sizeof(number));
    return number;
  }

 private:
  alignas(std::max_align_t) unsigned char bytes_[64] = {};
};

uint32_t Number(int handle) { return static_cast<uint32_t>(handle); }

// Handles that the MPI makes.
std::string DifferenceOfMade() {
  HandleRoom<MPI_Info> info;
  if (Mpi().Info_create(info.place()) != MPI_SUCCESS || Mpi().Info_free(info.place()) != MPI_SUCCESS ||
      info.number() != Number(MPI_INFO_NULL)) {
    return Differs("MPI_INFO_NULL", info.number(), Number(MPI_INFO_NULL));
  }
  // The parent of spawned processes is a communicator as well, which is not null.
  HandleRoom<MPI_Comm> parent;
  Mpi().Comm_get_parent(parent.place());
  const uint32_t null = Number(MPI_COMM_NULL);
  const bool spawned = (parent.number() & ~kKindBits) != 0;
  if (parent.number() != null && !(spawned && (parent.number() & kKindBits) == null)) {
    return Differs("MPI_COMM_NULL", parent.number(), null);
  }
  return "";
}

std::string Unknown(const char* name, uint32_t handle) {
  char text[128];
  std::snprintf(text, sizeof(text), "%s is no handle of its (wanted=0x%08x)", name, handle);
  return text;
}

// Handles that programs have from the header.
std::string DifferenceOfPredefined() {
  int inter = -1, size = 0;
  if (Mpi().Comm_test_inter(MPI_COMM_WORLD, &inter) != MPI_SUCCESS || inter != 0) {
    return Unknown("MPI_COMM_WORLD", Number(MPI_COMM_WORLD));
  }
  if (Mpi().Comm_size(MPI_COMM_SELF, &size) != MPI_SUCCESS || size != 1) {
    return Unknown("MPI_COMM_SELF", Number(MPI_COMM_SELF));
  }
#define COPSE_MPI_CHECK_TYPE(type, bytes)                                  \
  if (Mpi().Type_size(type, &size) != MPI_SUCCESS || size != int{bytes}) { \
    return Unknown(#type, Number(type));                                   \
  }
  COPSE_MPI_CHECK_TYPE(MPI_BYTE, 1)
  COPSE_MPI_CHECK_TYPE(MPI_INT, sizeof(int))
  COPSE_MPI_CHECK_TYPE(MPI_LONG, sizeof(long))
  COPSE_MPI_CHECK_TYPE(MPI_DOUBLE, sizeof(double))
  COPSE_MPI_CHECK_TYPE(MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double))
  COPSE_MPI_CHECK_TYPE(MPI_DOUBLE_INT, sizeof(double) + sizeof(int))
#undef COPSE_MPI_CHECK_TYPE
  return "";
}

}  // namespace

std::string DifferenceOfHandles() {
  const std::string made = DifferenceOfMade();
  return made.empty() ? DifferenceOfPredefined() : made;
}

}  // namespace copse::mpi
