// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/local_combination.h"

#include "client/mpi/data/packing.h"

namespace copse::mpi {

LocalCombination::LocalCombination(MPI_Op op, const Datatype& type, MPI_Comm comm)
    : mpi_op_(op), type_(type), comm_(comm) {
  has_failed_ = copse_op_create(&LocalCombination::Run, this, 0, &copse_op_) != COPSE_OK;
}

LocalCombination::~LocalCombination() { copse_op_free(copse_op_); }

// An int holds the number of elements, since kCombinedBytesMax limits the contributions of all ranks.
void LocalCombination::Run(const void* in, void* inout, uint64_t bytes, copse_datatype_t, void* argument) {
  auto* self = static_cast<LocalCombination*>(argument);
  self->Combine(static_cast<const char*>(in), static_cast<char*>(inout), static_cast<int>(bytes / self->type_.bytes));
}

void LocalCombination::UnpackInto(const char* bytes, int elements, Unpacked* unpacked) {
  MPI_Aint lower = 0, extent = 0;
  Mpi().Type_get_true_extent(type_.handle, &lower, &extent);
  // The extent may be negative, so that elements lie in descending order.
  const MPI_Aint stride = (elements - 1) * type_.extent;
  const MPI_Aint first = stride < 0 ? lower + stride : lower, length = extent + (stride < 0 ? -stride : stride);
  unpacked->memory.assign(static_cast<size_t>(length), 0);
  unpacked->address = unpacked->memory.data() - first;
  if (!Unpack(bytes, unpacked->address, elements, type_, comm_)) has_failed_ = true;
}

void LocalCombination::Combine(const char* in, char* inout, int elements) {
  if (type_.plain) {
    if (Mpi().Reduce_local(in, inout, elements, type_.handle, mpi_op_) != MPI_SUCCESS) has_failed_ = true;
    return;
  }
  UnpackInto(in, elements, &in_);
  UnpackInto(inout, elements, &inout_);
  if (Mpi().Reduce_local(in_.address, inout_.address, elements, type_.handle, mpi_op_) != MPI_SUCCESS ||
      !Pack(inout_.address, elements, type_, inout, comm_)) {
    has_failed_ = true;
  }
}

}  // namespace copse::mpi
