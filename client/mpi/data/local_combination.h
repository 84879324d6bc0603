// SPDX-License-Identifier: Apache-2.0
//
// Operations that daemons do not have, such as the program's own: Copse brings the contributions, and the rank that
// waits combines them in order of ranks.
#ifndef COPSE_CLIENT_MPI_DATA_LOCAL_COMBINATION_H_
#define COPSE_CLIENT_MPI_DATA_LOCAL_COMBINATION_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/element_types.h"

namespace copse::mpi {

// An operation of libcopse's that has MPI_Reduce_local do the work. Elements travel packed.
class LocalCombination {
 public:
  // `comm`: any of this process, for packing.
  LocalCombination(MPI_Op op, const Datatype& type, MPI_Comm comm);
  ~LocalCombination();
  LocalCombination(const LocalCombination&) = delete;
  LocalCombination& operator=(const LocalCombination&) = delete;

  // On COPSE_DT_BYTE.
  copse_op_t op() const { return copse_op_; }
  // Returns whether MPI has failed in any of the combinations.
  bool has_failed() const { return has_failed_; }

 private:
  // Elements of a type that is not plain, as they lie in memory.
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
