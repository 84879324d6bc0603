// SPDX-License-Identifier: Apache-2.0
//
// Implements operations that daemons do not have, such as the program's own: libcopse receives all contributions, and
// the thread that waits for the call reduces them in the order of ranks.
#ifndef COPSE_CLIENT_MPI_DATA_LOCAL_COMBINATION_H_
#define COPSE_CLIENT_MPI_DATA_LOCAL_COMBINATION_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/element_types.h"

namespace copse::mpi {

// A LocalCombination is an operation of copse_op_create that calls MPI_Reduce_local. Elements are sent packed. One
// thread at a time uses it.
class LocalCombination {
 public:
  // `comm` is any communicator of this process, for packing. has_failed() is true if copse_op_create fails.
  LocalCombination(MPI_Op op, const Datatype& type, MPI_Comm comm);
  ~LocalCombination();
  LocalCombination(const LocalCombination&) = delete;
  LocalCombination& operator=(const LocalCombination&) = delete;

  // Returns the operation for copse_coll_args_t, whose type must be COPSE_DT_BYTE.
  copse_op_t op() const { return copse_op_; }
  // Returns whether MPI has failed in any reduction.
  bool has_failed() const { return has_failed_; }

 private:
  // An Unpacked holds elements of a type that is not plain in its memory layout. `address` is that of the first element
  // and may lie outside of `memory`.
  struct Unpacked {
    std::vector<char> memory;
    char* address = nullptr;
  };

  static void Run(const void* in, void* inout, uint64_t bytes, copse_datatype_t, void* argument);
  void Combine(const char* in, char* inout, int elements);
  void UnpackInto(const char* bytes, int elements, Unpacked* unpacked);

  const MPI_Op mpi_op_;
  const Datatype type_;
  const MPI_Comm comm_;
  copse_op_t copse_op_{};
  bool has_failed_ = false;
  Unpacked in_, inout_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_LOCAL_COMBINATION_H_
