// SPDX-License-Identifier: Apache-2.0
//
// Collectives that combine. Whether Copse has a reduction depends on the operation and the canonical basic type alone,
// which all ranks of a call share. Elements travel as they are: pairs with C's padding.
#include "client/mpi/argument_checks.h"
#include "client/mpi/collectives.h"
#include "client/mpi/intercepted.h"

namespace copse::mpi {
namespace {

struct Reduction {
  copse_collective_t collective;
  const void* send;
  void* recv;
  int64_t count;     // of args.count
  int64_t elements;  // in the longest buffer
  MPI_Datatype type;
  MPI_Op op;
  bool has_result = true;  // on this rank
};

// One buffer for both, though MPI wants it said by MPI_IN_PLACE, is what some programs give and some MPIs take.
bool IsInPlace(const Reduction& call) {
  return call.has_result && (call.send == MPI_IN_PLACE || (call.send == call.recv && call.elements > 0));
}

Reason Prepare(const Reduction& call, Offload* offload) {
  if (call.op == MPI_OP_NULL || call.count < 0) return Reason::kBadArguments;
  if (!IsPredefined(call.op)) return Reason::kUserOperation;
  Type type;
  if (!Describe(call.type, &type)) return Reason::kBadArguments;
  copse_coll_args_t& args = offload->args;
  if (!ReductionFor(type, call.op, &args.type, &args.op)) return Reason::kType;
  const bool needs_recv = call.has_result && call.elements > 0;
  if ((call.send == nullptr && call.elements > 0) || (call.recv == nullptr && needs_recv)) return Reason::kBadArguments;
  if (IsTooLong(static_cast<uint64_t>(call.elements) * static_cast<uint64_t>(type.extent))) return Reason::kTooLong;
  args.collective = call.collective;
  args.count = static_cast<uint64_t>(call.count);
  args.send = IsInPlace(call) ? COPSE_IN_PLACE : call.send;
  if (call.has_result) args.recv = call.recv;
  return Reason::kNone;
}

}  // namespace

int Reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  return Collective(
      kEntryReduce, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const bool is_root = root == communicator.rank();
        if (!IsRank(communicator, root) || (send == MPI_IN_PLACE && !is_root)) return Reason::kBadArguments;
        offload->args.root = static_cast<uint32_t>(root);
        return Prepare({COPSE_COLL_REDUCE, send, recv, count, count, type, op, is_root}, offload);
      },
      [&] { return Mpi().Reduce(send, recv, count, type, op, root, comm); });
}

int Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return Collective(
      kEntryAllreduce, comm,
      [&](const Communicator&, Offload* offload) {
        return Prepare({COPSE_COLL_ALLREDUCE, send, recv, count, count, type, op}, offload);
      },
      [&] { return Mpi().Allreduce(send, recv, count, type, op, comm); });
}

int Reduce_scatter(const void* send, void* recv, const int* recv_counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  std::vector<uint64_t> counts;  // until the call is over
  return Collective(
      kEntryReduce_scatter, comm,
      [&](const Communicator& communicator, Offload* offload) {
        if (recv_counts == nullptr) return Reason::kBadArguments;
        int64_t total = 0;
        for (int rank = 0; rank < communicator.size(); ++rank) {
          if (recv_counts[rank] < 0) return Reason::kBadArguments;
          counts.push_back(static_cast<uint64_t>(recv_counts[rank]));
          total += recv_counts[rank];
        }
        offload->args.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
        offload->args.recv_counts = counts.data();
        const bool has_result = recv_counts[communicator.rank()] > 0 || send == MPI_IN_PLACE;
        return Prepare({COPSE_COLL_REDUCE_SCATTERV, send, recv, 0, total, type, op, has_result}, offload);
      },
      [&] { return Mpi().Reduce_scatter(send, recv, recv_counts, type, op, comm); });
}

int Reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return Collective(
      kEntryReduce_scatter_block, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const int64_t total = int64_t{communicator.size()} * count;
        return Prepare({COPSE_COLL_REDUCE_SCATTER, send, recv, count, total, type, op}, offload);
      },
      [&] { return Mpi().Reduce_scatter_block(send, recv, count, type, op, comm); });
}

int Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return Collective(
      kEntryScan, comm,
      [&](const Communicator&, Offload* offload) {
        return Prepare({COPSE_COLL_SCAN, send, recv, count, count, type, op}, offload);
      },
      [&] { return Mpi().Scan(send, recv, count, type, op, comm); });
}

int Exscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return Collective(
      kEntryExscan, comm,
      [&](const Communicator& communicator, Offload* offload) {
        // Rank 0's receive buffer is not used, but in place it has the contribution.
        const bool has_result = communicator.rank() > 0 || send == MPI_IN_PLACE;
        return Prepare({COPSE_COLL_EXSCAN, send, recv, count, count, type, op, has_result}, offload);
      },
      [&] { return Mpi().Exscan(send, recv, count, type, op, comm); });
}

}  // namespace copse::mpi
