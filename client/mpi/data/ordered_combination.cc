// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/ordered_combination.h"

#include <cstring>

namespace copse::mpi {

OrderedCombination::OrderedCombination(MPI_Op op, const Datatype& type, int64_t count, void* result, int ranks)
    : op_(op),
      type_(type),
      count_(static_cast<int>(count)),
      bytes_(static_cast<uint64_t>(count) * type.bytes),
      result_(static_cast<char*>(result)),
      contributions_(result == nullptr ? 0 : bytes_ * static_cast<uint64_t>(ranks)) {}

// MPI_Reduce_local replaces its second operand by the result, which is the first operand of the next step.
int OrderedCombination::Run() {
  if (contributions_.empty()) return MPI_SUCCESS;
  char* sum = contributions_.data();
  for (char* next = sum + bytes_; next < contributions_.data() + contributions_.size(); next += bytes_) {
    const int error = Mpi().Reduce_local(sum, next, count_, type_.handle, op_);
    if (error != MPI_SUCCESS) return error;
    sum = next;
  }
  std::memcpy(result_, sum, bytes_);
  return MPI_SUCCESS;
}

}  // namespace copse::mpi
