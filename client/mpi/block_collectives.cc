// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move data, of blocks with a count each. As their equal kin, everything travels as bytes.
#include "client/mpi/argument_checks.h"
#include "client/mpi/collectives.h"
#include "client/mpi/intercepted.h"

namespace copse::mpi {
namespace {

const void* Offset(const void* buffer, int64_t elements, const Type& type) {
  return static_cast<const char*>(buffer) + elements * type.extent;
}

void Describe(copse_collective_t collective, int64_t count, const Type& type, int root, Offload* offload) {
  offload->args.collective = collective;
  offload->args.type = COPSE_DT_BYTE;
  offload->args.count = static_cast<uint64_t>(count) * type.bytes;
  offload->args.root = static_cast<uint32_t>(root);
}

// This rank's own block is in the receive buffer already; if it has to be unpacked, it is sent like any other.
void ReceiveAroundOwn(const Communicator& communicator, void* recv, const MpiBlocks& blocks, const Type& type,
                      Offload* offload) {
  const int own = communicator.rank();
  offload->args.count = static_cast<uint64_t>(blocks.counts[own]) * type.bytes;
  if (type.plain) {
    offload->SendInPlace();
  } else {
    offload->Send(Offset(recv, blocks.displacements[own], type), blocks.counts[own], type);
  }
  offload->ReceiveBlocks(recv, blocks, type);
}

}  // namespace

int Gatherv(const void* send, int send_count, MPI_Datatype send_handle, void* recv, const int* recv_counts,
            const int* displacements, MPI_Datatype recv_handle, int root, MPI_Comm comm) {
  return Collective(
      kEntryGatherv, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const bool is_root = root == communicator.rank(), in_place = is_root && send == MPI_IN_PLACE;
        const MpiBlocks blocks = {recv_counts, displacements, communicator.size()};
        Type send_type, recv_type;
        if (!IsRank(communicator, root) || (!in_place && !IsRun(send, send_count, send_handle, &send_type)) ||
            (is_root && !AreBlocks(blocks, recv_handle, &recv_type))) {
          return Reason::kBadArguments;
        }
        Describe(COPSE_COLL_GATHERV, send_count, send_type, root, offload);
        if (in_place) {
          ReceiveAroundOwn(communicator, recv, blocks, recv_type, offload);
          return Reason::kNone;
        }
        offload->Send(send, send_count, send_type);
        if (is_root) offload->ReceiveBlocks(recv, blocks, recv_type);
        return Reason::kNone;
      },
      [&] {
        return Mpi().Gatherv(send, send_count, send_handle, recv, recv_counts, displacements, recv_handle, root, comm);
      });
}

int Scatterv(const void* send, const int* send_counts, const int* displacements, MPI_Datatype send_handle, void* recv,
             int recv_count, MPI_Datatype recv_handle, int root, MPI_Comm comm) {
  return Collective(
      kEntryScatterv, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const bool is_root = root == communicator.rank(), in_place = is_root && recv == MPI_IN_PLACE;
        const MpiBlocks blocks = {send_counts, displacements, communicator.size()};
        Type send_type, recv_type;
        if (!IsRank(communicator, root) || (!in_place && !IsRun(recv, recv_count, recv_handle, &recv_type)) ||
            (is_root && !AreBlocks(blocks, send_handle, &send_type))) {
          return Reason::kBadArguments;
        }
        Describe(COPSE_COLL_SCATTERV, recv_count, recv_type, root, offload);
        if (is_root) offload->SendBlocks(send, blocks, send_type);
        if (in_place) {
          offload->args.count = static_cast<uint64_t>(send_counts[root]) * send_type.bytes;
          offload->args.recv = COPSE_IN_PLACE;
        } else {
          offload->Receive(recv, recv_count, recv_type);
        }
        return Reason::kNone;
      },
      [&] {
        return Mpi().Scatterv(send, send_counts, displacements, send_handle, recv, recv_count, recv_handle, root, comm);
      });
}

int Allgatherv(const void* send, int send_count, MPI_Datatype send_handle, void* recv, const int* recv_counts,
               const int* displacements, MPI_Datatype recv_handle, MPI_Comm comm) {
  return Collective(
      kEntryAllgatherv, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const bool in_place = send == MPI_IN_PLACE;
        const MpiBlocks blocks = {recv_counts, displacements, communicator.size()};
        Type send_type, recv_type;
        if (!AreBlocks(blocks, recv_handle, &recv_type) ||
            (!in_place && !IsRun(send, send_count, send_handle, &send_type))) {
          return Reason::kBadArguments;
        }
        uint64_t total = 0;
        for (int i = 0; i < blocks.count; ++i) total += static_cast<uint64_t>(recv_counts[i]) * recv_type.bytes;
        if (IsTooLong(total)) return Reason::kTooLong;
        Describe(COPSE_COLL_ALLGATHERV, send_count, send_type, 0, offload);
        if (in_place) {
          ReceiveAroundOwn(communicator, recv, blocks, recv_type, offload);
          return Reason::kNone;
        }
        offload->Send(send, send_count, send_type);
        offload->ReceiveBlocks(recv, blocks, recv_type);
        return Reason::kNone;
      },
      [&] {
        return Mpi().Allgatherv(send, send_count, send_handle, recv, recv_counts, displacements, recv_handle, comm);
      });
}

int Alltoallv(const void* send, const int* send_counts, const int* send_displacements, MPI_Datatype send_handle,
              void* recv, const int* recv_counts, const int* recv_displacements, MPI_Datatype recv_handle,
              MPI_Comm comm) {
  return Collective(
      kEntryAlltoallv, comm,
      [&](const Communicator& communicator, Offload* offload) {
        const bool in_place = send == MPI_IN_PLACE;
        const MpiBlocks sent = {send_counts, send_displacements, communicator.size()};
        const MpiBlocks received = {recv_counts, recv_displacements, communicator.size()};
        Type send_type, recv_type;
        if (!AreBlocks(received, recv_handle, &recv_type) || (!in_place && !AreBlocks(sent, send_handle, &send_type))) {
          return Reason::kBadArguments;
        }
        Describe(COPSE_COLL_ALLTOALLV, 0, recv_type, 0, offload);
        if (!in_place) {
          offload->SendBlocks(send, sent, send_type);
        } else if (recv_type.plain) {
          offload->SendInPlace();
        } else {
          offload->SendBlocks(recv, received, recv_type);
        }
        offload->ReceiveBlocks(recv, received, recv_type);
        return Reason::kNone;
      },
      [&] {
        return Mpi().Alltoallv(send, send_counts, send_displacements, send_handle, recv, recv_counts,
                               recv_displacements, recv_handle, comm);
      });
}

}  // namespace copse::mpi
