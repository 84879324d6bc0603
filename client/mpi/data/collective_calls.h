// SPDX-License-Identifier: Apache-2.0
//
// The arguments of each collective, as the program gives them: in MPI's order, whatever the mode (blocking,
// non-blocking, persistent) and the width of counts, which only add arguments behind these.
#ifndef COPSE_CLIENT_MPI_DATA_COLLECTIVE_CALLS_H_
#define COPSE_CLIENT_MPI_DATA_COLLECTIVE_CALLS_H_

#include <concepts>
#include <cstdint>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/data/reason.h"

namespace copse::mpi {

// The calling rank's place in the communicator.
struct Membership {
  int rank = 0;
  int size = 1;
};

// A program's array of counts or displacements, one a rank: of int, MPI_Aint or MPI_Count. It may be null.
class Integers {
 public:
  template <std::integral T>
  Integers(const T* array) : array_(array), wide_(sizeof(T) == sizeof(int64_t)) {  // NOLINT: stands for the array
    static_assert(sizeof(T) == sizeof(int64_t) || sizeof(T) == sizeof(int));
  }
  bool IsNull() const { return array_ == nullptr; }
  int64_t operator[](int i) const {
    return wide_ ? static_cast<const int64_t*>(array_)[i] : static_cast<const int*>(array_)[i];
  }

 private:
  const void* array_;
  bool wide_;
};

// Each Prepare describes the call to `offload` and returns kNone, or says why the call goes to MPI; all reasons but
// kBadArguments are the same on all ranks. The arguments are not needed after it, the buffers are.

struct BarrierCall {
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct BcastCall {
  void* buffer;
  int64_t count;
  MPI_Datatype type;
  int root;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct GatherCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  int64_t recv_count;
  MPI_Datatype recv_type;
  int root;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct ScatterCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  int64_t recv_count;
  MPI_Datatype recv_type;
  int root;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct AllgatherCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  int64_t recv_count;
  MPI_Datatype recv_type;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct AlltoallCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  int64_t recv_count;
  MPI_Datatype recv_type;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct GathervCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  Integers recv_counts;
  Integers displacements;
  MPI_Datatype recv_type;
  int root;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct ScattervCall {
  const void* send;
  Integers send_counts;
  Integers displacements;
  MPI_Datatype send_type;
  void* recv;
  int64_t recv_count;
  MPI_Datatype recv_type;
  int root;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct AllgathervCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  Integers recv_counts;
  Integers displacements;
  MPI_Datatype recv_type;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct AlltoallvCall {
  const void* send;
  Integers send_counts;
  Integers send_displacements;
  MPI_Datatype send_type;
  void* recv;
  Integers recv_counts;
  Integers recv_displacements;
  MPI_Datatype recv_type;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

// Displacements are in bytes here.
struct AlltoallwCall {
  const void* send;
  Integers send_counts;
  Integers send_displacements;
  const MPI_Datatype* send_types;
  void* recv;
  Integers recv_counts;
  Integers recv_displacements;
  const MPI_Datatype* recv_types;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct ReduceCall {
  const void* send;
  void* recv;
  int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct AllreduceCall {
  const void* send;
  void* recv;
  int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct Reduce_scatterCall {
  const void* send;
  void* recv;
  Integers recv_counts;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct Reduce_scatter_blockCall {
  const void* send;
  void* recv;
  int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct ScanCall {
  const void* send;
  void* recv;
  int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

struct ExscanCall {
  const void* send;
  void* recv;
  int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_COLLECTIVE_CALLS_H_
