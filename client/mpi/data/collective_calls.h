// SPDX-License-Identifier: Apache-2.0
//
// Defines the arguments of each collective in MPI's order. They are the same for blocking, non-blocking and persistent
// calls, which only add arguments at the end, and for counts of all widths.
#ifndef COPSE_CLIENT_MPI_DATA_COLLECTIVE_CALLS_H_
#define COPSE_CLIENT_MPI_DATA_COLLECTIVE_CALLS_H_

#include <concepts>
#include <cstdint>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/data/reason.h"

namespace copse::mpi {

// A Membership is the calling rank and the size of the communicator.
struct Membership {
  int rank = 0;
  int size = 1;
};

// An Integers refers to the program's array of counts or displacements by rank, of int, MPI_Aint or MPI_Count. The
// array may be null.
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

// Each Prepare describes the call to `offload` and returns kNone, or returns why the call goes to MPI. All reasons but
// kBadArguments are equal on all ranks. After it only the buffers are needed, not the arguments' arrays.

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

// A RootedCall has equal blocks and a root.
template <copse_collective_t kCollective>
struct RootedCall {
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
using GatherCall = RootedCall<COPSE_COLL_GATHER>;
using ScatterCall = RootedCall<COPSE_COLL_SCATTER>;
template <>
Reason GatherCall::Prepare(const Membership& member, Offload* offload) const;
template <>
Reason ScatterCall::Prepare(const Membership& member, Offload* offload) const;

// An UnrootedCall has equal blocks and no root.
template <copse_collective_t kCollective>
struct UnrootedCall {
  const void* send;
  int64_t send_count;
  MPI_Datatype send_type;
  void* recv;
  int64_t recv_count;
  MPI_Datatype recv_type;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};
using AllgatherCall = UnrootedCall<COPSE_COLL_ALLGATHER>;
using AlltoallCall = UnrootedCall<COPSE_COLL_ALLTOALL>;
template <>
Reason AllgatherCall::Prepare(const Membership& member, Offload* offload) const;
template <>
Reason AlltoallCall::Prepare(const Membership& member, Offload* offload) const;

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

// A BlockExchangeCall is an alltoallv or alltoallw. `Types` is one type for all blocks, with displacements in elements,
// or an array with a type for each block, with displacements in bytes.
template <typename Types>
struct BlockExchangeCall {
  const void* send;
  Integers send_counts;
  Integers send_displacements;
  Types send_types;
  void* recv;
  Integers recv_counts;
  Integers recv_displacements;
  Types recv_types;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};
using AlltoallvCall = BlockExchangeCall<MPI_Datatype>;
using AlltoallwCall = BlockExchangeCall<const MPI_Datatype*>;

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

struct Reduce_scatterCall {
  const void* send;
  void* recv;
  Integers recv_counts;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};

// A ReductionCall is a reduction without a root, with equal counts on all ranks.
template <copse_collective_t kCollective>
struct ReductionCall {
  const void* send;
  void* recv;
  int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  Reason Prepare(const Membership& member, Offload* offload) const;
};
using AllreduceCall = ReductionCall<COPSE_COLL_ALLREDUCE>;
using Reduce_scatter_blockCall = ReductionCall<COPSE_COLL_REDUCE_SCATTER>;
using ScanCall = ReductionCall<COPSE_COLL_SCAN>;
using ExscanCall = ReductionCall<COPSE_COLL_EXSCAN>;

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_COLLECTIVE_CALLS_H_
