// SPDX-License-Identifier: Apache-2.0
//
// Reduces the contributions of all ranks in the order of ranks.
#ifndef COPSE_CLIENT_MPI_DATA_ORDERED_COMBINATION_H_
#define COPSE_CLIENT_MPI_DATA_ORDERED_COMBINATION_H_

#include <cstdint>
#include <vector>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/element_types.h"

namespace copse::mpi {

// An OrderedCombination holds all ranks' contributions to a reduction, which Copse or MPI gathers, and the destination
// of the result.
class OrderedCombination {
 public:
  // Each of `ranks` ranks contributes `count` elements of a plain type. `result` is null on ranks that do not get it.
  OrderedCombination(MPI_Op op, const Datatype& type, int64_t count, void* result, int ranks);

  // Returns the length of one contribution.
  uint64_t bytes() const { return bytes_; }
  // Returns where the contributions go, one after another.
  char* contributions() { return contributions_.data(); }
  // Reduces the contributions to the result, if it is here. Returns the MPI error code.
  int Run();

 private:
  const MPI_Op op_;
  const Datatype type_;
  const int count_;
  const uint64_t bytes_;
  char* const result_;
  std::vector<char> contributions_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_ORDERED_COMBINATION_H_
