// SPDX-License-Identifier: Apache-2.0
//
// Prepares the collectives that move equal blocks. Data is sent as bytes, since ranks may describe one message by
// different types and counts with the same signature.
#include "client/mpi/data/argument_checks.h"
#include "client/mpi/data/collective_calls.h"

namespace copse::mpi {
namespace {

// Sets collective, type, root and the length of a block. Returns kTooLong if `blocks` blocks exceed the limit.
Reason Describe(copse_collective_t collective, uint64_t bytes, uint64_t blocks, int root, Offload* offload) {
  offload->args.collective = collective;
  offload->args.type = COPSE_DT_BYTE;
  offload->args.count = bytes;
  offload->args.root = static_cast<uint32_t>(root);
  offload->known_bytes = bytes * blocks;
  return IsTooLong(*offload, bytes) || IsTooLong(*offload, bytes * blocks) ? Reason::kTooLong : Reason::kNone;
}

// Receives all blocks in place: this rank's block is already in the receive buffer. If the type has to be unpacked, the
// block is sent like any other, since the result goes through a staging buffer.
void ReceiveAroundOwn(const Membership& member, void* recv, int64_t count, const Datatype& type, Offload* offload) {
  if (type.plain) {
    offload->SendInPlace();
  } else {
    offload->Send(ElementAt(recv, member.rank * count, type), count, type);
  }
  offload->Receive(recv, member.size * count, type);
}

// Prepares a gather or an allgather. In an allgather the receive count gives the length, as all ranks know it.
template <typename Call>
Reason Gather(copse_collective_t collective, const Membership& member, const Call& call, int root, bool receives,
              Offload* offload) {
  const bool in_place = receives && call.send == MPI_IN_PLACE;
  Datatype sent, received;
  if ((!in_place && !IsRun(call.send, call.send_count, call.send_type, &sent)) ||
      (receives && !IsRun(call.recv, call.recv_count, call.recv_type, &received))) {
    return Reason::kBadArguments;
  }
  const bool by_result = in_place || collective == COPSE_COLL_ALLGATHER;
  const uint64_t bytes = by_result ? Bytes(call.recv_count, received) : Bytes(call.send_count, sent);
  const Reason reason = Describe(collective, bytes, member.size, root, offload);
  if (reason != Reason::kNone) return reason;
  if (in_place) {
    ReceiveAroundOwn(member, call.recv, call.recv_count, received, offload);
    return reason;
  }
  offload->Send(call.send, call.send_count, sent);
  if (receives) offload->Receive(call.recv, member.size * call.recv_count, received);
  return reason;
}

}  // namespace

Reason BarrierCall::Prepare(const Membership&, Offload* offload) const {
  return Describe(COPSE_COLL_BARRIER, 0, 1, 0, offload);
}

Reason BcastCall::Prepare(const Membership& member, Offload* offload) const {
  Datatype described;
  if (!IsRank(member, root) || !IsRun(buffer, count, type, &described)) return Reason::kBadArguments;
  const Reason reason = Describe(COPSE_COLL_BCAST, Bytes(count, described), 1, root, offload);
  if (reason == Reason::kNone) offload->Broadcast(buffer, count, described, root == member.rank);
  return reason;
}

template <>
Reason GatherCall::Prepare(const Membership& member, Offload* offload) const {
  if (!IsRank(member, root)) return Reason::kBadArguments;
  return Gather(COPSE_COLL_GATHER, member, *this, root, root == member.rank, offload);
}

template <>
Reason ScatterCall::Prepare(const Membership& member, Offload* offload) const {
  const int64_t size = member.size;
  const bool is_root = root == member.rank, in_place = is_root && recv == MPI_IN_PLACE;
  Datatype sent, received;
  if (!IsRank(member, root) || (!in_place && !IsRun(recv, recv_count, recv_type, &received)) ||
      (is_root && !IsRun(send, send_count, send_type, &sent))) {
    return Reason::kBadArguments;
  }
  const uint64_t bytes = in_place ? Bytes(send_count, sent) : Bytes(recv_count, received);
  const Reason reason = Describe(COPSE_COLL_SCATTER, bytes, size, root, offload);
  if (reason != Reason::kNone) return reason;
  if (is_root) offload->Send(send, size * send_count, sent);
  if (in_place) {
    offload->args.recv = COPSE_IN_PLACE;
  } else {
    offload->Receive(recv, recv_count, received);
  }
  return reason;
}

template <>
Reason AllgatherCall::Prepare(const Membership& member, Offload* offload) const {
  return Gather(COPSE_COLL_ALLGATHER, member, *this, 0, /*receives=*/true, offload);
}

template <>
Reason AlltoallCall::Prepare(const Membership& member, Offload* offload) const {
  const int64_t size = member.size;
  const bool in_place = send == MPI_IN_PLACE;
  Datatype sent, received;
  if (!IsRun(recv, recv_count, recv_type, &received) || (!in_place && !IsRun(send, send_count, send_type, &sent))) {
    return Reason::kBadArguments;
  }
  const Reason reason = Describe(COPSE_COLL_ALLTOALL, Bytes(recv_count, received), size, 0, offload);
  if (reason != Reason::kNone) return reason;
  if (!in_place) {
    offload->Send(send, size * send_count, sent);
  } else if (received.plain) {
    offload->SendInPlace();
  } else {
    offload->Send(recv, size * recv_count, received);
  }
  offload->Receive(recv, size * recv_count, received);
  return reason;
}

}  // namespace copse::mpi
