// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/packing.h"

#include <algorithm>
#include <climits>

namespace copse::mpi {
namespace {

// An Addressable gives the address and type of an element for MPI_Pack. MPICH 4.0.2 refuses MPI_BOTTOM, which is NULL,
// so there the type is replaced by one that reaches the elements from another address.
class Addressable {
 public:
  Addressable(const char* address, const Datatype& type) : address_(const_cast<char*>(address)), handle_(type.handle) {
    if (address != nullptr) return;
    static char anchor;
    const MPI_Aint back = -reinterpret_cast<MPI_Aint>(&anchor);
    Mpi().Type_create_hindexed_block(1, 1, &back, type.handle, &handle_);
    Mpi().Type_commit(&handle_);
    address_ = &anchor;
    made_ = true;
  }
  ~Addressable() {
    if (made_) Mpi().Type_free(&handle_);
  }
  Addressable(const Addressable&) = delete;
  Addressable& operator=(const Addressable&) = delete;

  char* address() const { return address_; }
  MPI_Datatype type() const { return handle_; }

 private:
  char* address_;
  MPI_Datatype handle_;
  bool made_ = false;
};

// Splits `count` elements into runs whose elements and bytes an int can count, as MPI_Pack requires. Calls
// `copy(element, elements, offset, bytes)` for each run; returns false if one returns false.
template <typename Copy>
bool InRuns(int64_t count, const Datatype& type, Copy copy) {
  if (type.bytes == 0) return true;
  const int64_t most = std::max<int64_t>(1, INT_MAX / 2 / static_cast<int64_t>(type.bytes));
  for (int64_t element = 0; element < count; element += most) {
    const int64_t run = std::min(count - element, most);
    const int64_t offset = element * static_cast<int64_t>(type.bytes);
    if (!copy(element, static_cast<int>(run), offset, static_cast<int>(run * static_cast<int64_t>(type.bytes)))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Pack(const char* address, int64_t count, const Datatype& type, char* bytes, MPI_Comm comm) {
  return InRuns(count, type, [&](int64_t element, int elements, int64_t offset, int run_bytes) {
    const Addressable from(address + element * type.extent, type);
    int position = 0;
    return Mpi().Pack(from.address(), elements, from.type(), bytes + offset, run_bytes, &position, comm) == MPI_SUCCESS;
  });
}

bool Unpack(const char* bytes, char* address, int64_t count, const Datatype& type, MPI_Comm comm) {
  return InRuns(count, type, [&](int64_t element, int elements, int64_t offset, int run_bytes) {
    const Addressable to(address + element * type.extent, type);
    int position = 0;
    return Mpi().Unpack(bytes + offset, run_bytes, &position, to.address(), elements, to.type(), comm) == MPI_SUCCESS;
  });
}

}  // namespace copse::mpi
