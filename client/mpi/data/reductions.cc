// SPDX-License-Identifier: Apache-2.0
//
// Prepares reductions. The path of a call depends on the operation, the canonical basic type and the length, which are
// equal on all ranks. If daemons have the operation, elements are sent with their type, pairs with C's padding. If not,
// and if all contributions together are short, they are sent as bytes and reduced by the ranks that get the result.
#include <cstdint>
#include <vector>

#include "client/mpi/data/argument_checks.h"
#include "client/mpi/data/collective_calls.h"

namespace copse::mpi {
namespace {

// Limits the sum of all ranks' contributions, in bytes, for calls that daemons cannot reduce. MPI's own trees are
// faster above it.
constexpr uint64_t kCombinedBytesMax = 256 << 10;
// Limits the sum of all ranks' contributions, in bytes, for ordered reductions in this process. Contributions that fit
// into a few packets take about as long as one.
constexpr uint64_t kOrderedBytesMax = 16 << 10;

struct Reduction {
  copse_collective_t collective;
  const void* send;
  void* recv;
  int64_t count;     // args.count, in elements
  int64_t elements;  // in the longest buffer
  int64_t results;   // elements received
  MPI_Datatype type;
  MPI_Op op;
  bool has_result = true;  // the receive buffer of this rank is used
  // It has the number of elements by rank, and is set for reduce_scatter.
  Integers recv_counts = static_cast<const int*>(nullptr);
};

// Returns whether the contribution is in the receive buffer. Some programs pass one buffer for both, which some MPIs
// accept, though MPI requires MPI_IN_PLACE.
bool IsInPlace(const Reduction& call) {
  return call.has_result && (call.send == MPI_IN_PLACE || (call.send == call.recv && call.elements > 0));
}

// Sets collective and counts; an element has `units` units of args.type.
void SetCounts(const Membership& member, const Reduction& call, uint64_t units, Offload* offload) {
  offload->args.collective = call.collective;
  offload->args.count = static_cast<uint64_t>(call.count) * units;
  if (call.recv_counts.IsNull()) return;
  std::vector<uint64_t> counts;
  for (int rank = 0; rank < member.size; ++rank) {
    counts.push_back(static_cast<uint64_t>(call.recv_counts[rank]) * units);
  }
  offload->SetReceiveCounts(std::move(counts));
}

// Prepares a call whose contributions are reduced by the ranks that get the result.
Reason PrepareLocally(const Membership& member, const Reduction& call, const Datatype& type, Offload* offload) {
  const bool predefined = IsPredefined(call.op);
  if (predefined && !IsDefinedOn(call.op, type)) return Reason::kType;
  const Reason otherwise = predefined ? Reason::kType : Reason::kUserOperation;
  const uint64_t bytes = static_cast<uint64_t>(call.elements) * type.bytes;
  if (bytes == 0 || bytes > kCombinedBytesMax / static_cast<uint64_t>(member.size)) return otherwise;
  // A program may free its operation as soon as its call has returned.
  if (offload->outlives_call()) return otherwise;
  SetCounts(member, call, type.bytes, offload);
  offload->CombineLocally(call.op, type);
  if (!IsInPlace(call)) {
    offload->Send(call.send, call.elements, type);
  } else if (type.plain) {
    offload->SendInPlace();
  } else {
    offload->Send(call.recv, call.elements, type);
  }
  if (call.has_result) offload->Receive(call.recv, call.results, type);
  return Reason::kNone;
}

// Returns whether an ordered reduction in this process is better. Short contributions of all ranks can be gathered by
// Copse or by MPI, whichever is faster, and the result is the same in every run. With two operands it is so anyway.
bool IsBetterInOrder(const Membership& member, const Reduction& call, const Datatype& type, const Offload& offload) {
  const bool has_form = call.collective == COPSE_COLL_REDUCE || call.collective == COPSE_COLL_ALLREDUCE;
  if (!has_form || !offload.is_order_sensitive || !offload.options().chooses_path) return false;
  if (offload.outlives_call() || !type.plain || member.size <= 2) return false;
  return call.elements > 0 && offload.known_bytes <= kOrderedBytesMax / static_cast<uint64_t>(member.size);
}

Reason Prepare(const Membership& member, const Reduction& call, Offload* offload) {
  Datatype type;
  if (call.op == MPI_OP_NULL || call.count < 0 || !Describe(call.type, &type)) return Reason::kBadArguments;
  const bool needs_recv = call.has_result && call.elements > 0;
  if (type.plain && call.elements > 0 && (call.send == nullptr || (call.recv == nullptr && needs_recv))) {
    return Reason::kBadArguments;
  }
  offload->known_bytes = static_cast<uint64_t>(call.elements) * type.bytes;
  offload->is_order_sensitive = IsOrderSensitive(call.op, type);
  copse_coll_args_t& args = offload->args;
  if (!ReductionFor(type, call.op, &args.type, &args.op)) return PrepareLocally(member, call, type, offload);
  const auto extent = static_cast<uint64_t>(type.extent);
  if (IsTooLong(*offload, static_cast<uint64_t>(call.elements)) ||
      IsTooLong(*offload, static_cast<uint64_t>(call.elements) * extent)) {
    return Reason::kTooLong;
  }
  SetCounts(member, call, 1, offload);
  args.send = IsInPlace(call) ? COPSE_IN_PLACE : call.send;
  if (call.has_result) args.recv = call.recv;
  if (IsBetterInOrder(member, call, type, *offload)) {
    offload->CombineInOrder(call.op, type, call.elements, call.has_result ? call.recv : nullptr, member.size);
  }
  return Reason::kNone;
}

}  // namespace

Reason ReduceCall::Prepare(const Membership& member, Offload* offload) const {
  const bool is_root = root == member.rank;
  if (!IsRank(member, root) || (send == MPI_IN_PLACE && !is_root)) return Reason::kBadArguments;
  offload->args.root = static_cast<uint32_t>(root);
  return mpi::Prepare(member, {COPSE_COLL_REDUCE, send, recv, count, count, count, type, op, is_root}, offload);
}

Reason Reduce_scatterCall::Prepare(const Membership& member, Offload* offload) const {
  if (recv_counts.IsNull()) return Reason::kBadArguments;
  int64_t total = 0;
  for (int rank = 0; rank < member.size; ++rank) {
    if (recv_counts[rank] < 0) return Reason::kBadArguments;
    total += recv_counts[rank];
  }
  const int64_t own = recv_counts[member.rank];
  const bool has_result = own > 0 || send == MPI_IN_PLACE;
  return mpi::Prepare(
      member, {COPSE_COLL_REDUCE_SCATTERV, send, recv, 0, total, own, type, op, has_result, recv_counts}, offload);
}

template <copse_collective_t kCollective>
Reason ReductionCall<kCollective>::Prepare(const Membership& member, Offload* offload) const {
  const int64_t total = kCollective == COPSE_COLL_REDUCE_SCATTER ? member.size * count : count;
  // An exscan does not write to rank 0's receive buffer, but in place that buffer has the contribution.
  const bool gets_result = kCollective != COPSE_COLL_EXSCAN || member.rank > 0;
  const bool has_result = gets_result || send == MPI_IN_PLACE;
  return mpi::Prepare(member, {kCollective, send, recv, count, total, gets_result ? count : 0, type, op, has_result},
                      offload);
}
template struct ReductionCall<COPSE_COLL_ALLREDUCE>;
template struct ReductionCall<COPSE_COLL_REDUCE_SCATTER>;
template struct ReductionCall<COPSE_COLL_SCAN>;
template struct ReductionCall<COPSE_COLL_EXSCAN>;

}  // namespace copse::mpi
