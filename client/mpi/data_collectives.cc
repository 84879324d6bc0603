// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move data, of equal blocks. Everything travels as bytes: ranks may give one message different types
// and counts, as long as these have the same signature.
#include "client/mpi/argument_checks.h"
#include "client/mpi/collectives.h"
#include "client/mpi/intercepted.h"

namespace copse::mpi {
namespace {

const void* Offset(const void* buffer, int64_t elements, const Type& type) {
  return static_cast<const char*>(buffer) + elements * type.extent;
}

uint64_t Bytes(int64_t count, const Type& type) { return static_cast<uint64_t>(count) * type.bytes; }

// Sets the type, the length of a rank's part, and the root, if there is one.
Reason Describe(copse_collective_t collective, uint64_t bytes, uint64_t blocks, int root, Offload* offload) {
  offload->args.collective = collective;
  offload->args.type = COPSE_DT_BYTE;
  offload->args.count = bytes;
  offload->args.root = static_cast<uint32_t>(root);
  return IsTooLong(bytes * blocks) ? Reason::kTooLong : Reason::kNone;
}

// All blocks at once, of which this rank's own is in the receive buffer already. What has to be unpacked would be
// overwritten by itself, so such a block is sent like any other.
void ReceiveAroundOwn(const Communicator& communicator, void* recv, int count, const Type& type, Offload* offload) {
  if (type.plain) {
    offload->SendInPlace();
  } else {
    offload->Send(Offset(recv, int64_t{communicator.rank()} * count, type), count, type);
  }
  offload->Receive(recv, int64_t{communicator.size()} * count, type);
}

}  // namespace

int Barrier(MPI_Comm comm) {
  return Collective(
      kEntryBarrier, comm,
      [&](const Communicator&, Offload* offload) { return Describe(COPSE_COLL_BARRIER, 0, 1, 0, offload); },
      [&] { return Mpi().Barrier(comm); });
}

int Bcast(void* buffer, int count, MPI_Datatype handle, int root, MPI_Comm comm) {
  return Collective(
      kEntryBcast, comm,
      [&](const Communicator& communicator, Offload* offload) {
        Type type;
        if (!IsRank(communicator, root) || !IsRun(buffer, count, handle, &type)) return Reason::kBadArguments;
        const Reason reason = Describe(COPSE_COLL_BCAST, Bytes(count, type), 1, root, offload);
        if (reason == Reason::kNone) offload->Broadcast(buffer, count, type, root == communicator.rank());
        return reason;
      },
      [&] { return Mpi().Bcast(buffer, count, handle, root, comm); });
}

int Gather(const void* send, int send_count, MPI_Datatype send_handle, void* recv, int recv_count,
           MPI_Datatype recv_handle, int root, MPI_Comm comm) {
  return Collective(
      kEntryGather, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const int64_t size = communicator.size();
        const bool is_root = root == communicator.rank(), in_place = is_root && send == MPI_IN_PLACE;
        Type send_type, recv_type;
        if (!IsRank(communicator, root) || (!in_place && !IsRun(send, send_count, send_handle, &send_type)) ||
            (is_root && !IsRun(recv, recv_count, recv_handle, &recv_type))) {
          return Reason::kBadArguments;
        }
        const uint64_t bytes = in_place ? Bytes(recv_count, recv_type) : Bytes(send_count, send_type);
        const Reason reason = Describe(COPSE_COLL_GATHER, bytes, size, root, offload);
        if (reason != Reason::kNone) return reason;
        if (in_place) {
          ReceiveAroundOwn(communicator, recv, recv_count, recv_type, offload);
          return reason;
        }
        offload->Send(send, send_count, send_type);
        if (is_root) offload->Receive(recv, size * recv_count, recv_type);
        return reason;
      },
      [&] { return Mpi().Gather(send, send_count, send_handle, recv, recv_count, recv_handle, root, comm); });
}

int Scatter(const void* send, int send_count, MPI_Datatype send_handle, void* recv, int recv_count,
            MPI_Datatype recv_handle, int root, MPI_Comm comm) {
  return Collective(
      kEntryScatter, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const int64_t size = communicator.size();
        const bool is_root = root == communicator.rank(), in_place = is_root && recv == MPI_IN_PLACE;
        Type send_type, recv_type;
        if (!IsRank(communicator, root) || (!in_place && !IsRun(recv, recv_count, recv_handle, &recv_type)) ||
            (is_root && !IsRun(send, send_count, send_handle, &send_type))) {
          return Reason::kBadArguments;
        }
        const uint64_t bytes = in_place ? Bytes(send_count, send_type) : Bytes(recv_count, recv_type);
        const Reason reason = Describe(COPSE_COLL_SCATTER, bytes, size, root, offload);
        if (reason != Reason::kNone) return reason;
        if (is_root) offload->Send(send, size * send_count, send_type);
        if (in_place) {
          offload->args.recv = COPSE_IN_PLACE;
        } else {
          offload->Receive(recv, recv_count, recv_type);
        }
        return reason;
      },
      [&] { return Mpi().Scatter(send, send_count, send_handle, recv, recv_count, recv_handle, root, comm); });
}

int Allgather(const void* send, int send_count, MPI_Datatype send_handle, void* recv, int recv_count,
              MPI_Datatype recv_handle, MPI_Comm comm) {
  return Collective(
      kEntryAllgather, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const bool in_place = send == MPI_IN_PLACE;
        Type send_type, recv_type;
        if (!IsRun(recv, recv_count, recv_handle, &recv_type) ||
            (!in_place && !IsRun(send, send_count, send_handle, &send_type))) {
          return Reason::kBadArguments;
        }
        const Reason reason =
            Describe(COPSE_COLL_ALLGATHER, Bytes(recv_count, recv_type), communicator.size(), 0, offload);
        if (reason != Reason::kNone) return reason;
        if (in_place) {
          ReceiveAroundOwn(communicator, recv, recv_count, recv_type, offload);
          return reason;
        }
        offload->Send(send, send_count, send_type);
        offload->Receive(recv, int64_t{communicator.size()} * recv_count, recv_type);
        return reason;
      },
      [&] { return Mpi().Allgather(send, send_count, send_handle, recv, recv_count, recv_handle, comm); });
}

int Alltoall(const void* send, int send_count, MPI_Datatype send_handle, void* recv, int recv_count,
             MPI_Datatype recv_handle, MPI_Comm comm) {
  return Collective(
      kEntryAlltoall, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const int64_t size = communicator.size();
        const bool in_place = send == MPI_IN_PLACE;
        Type send_type, recv_type;
        if (!IsRun(recv, recv_count, recv_handle, &recv_type) ||
            (!in_place && !IsRun(send, send_count, send_handle, &send_type))) {
          return Reason::kBadArguments;
        }
        const Reason reason = Describe(COPSE_COLL_ALLTOALL, Bytes(recv_count, recv_type), size, 0, offload);
        if (reason != Reason::kNone) return reason;
        if (!in_place) {
          offload->Send(send, size * send_count, send_type);
        } else if (recv_type.plain) {
          offload->SendInPlace();
        } else {
          offload->Send(recv, size * recv_count, recv_type);
        }
        offload->Receive(recv, size * recv_count, recv_type);
        return reason;
      },
      [&] { return Mpi().Alltoall(send, send_count, send_handle, recv, recv_count, recv_handle, comm); });
}

}  // namespace copse::mpi
