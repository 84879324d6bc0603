// SPDX-License-Identifier: Apache-2.0
//
// Prepares the collectives that move blocks with individual counts. Data is sent as bytes, as in data_collectives.cc.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "client/mpi/data/argument_checks.h"
#include "client/mpi/data/collective_calls.h"

namespace copse::mpi {
namespace {

using Runs = std::vector<ElementRun>;

void Describe(copse_collective_t collective, uint64_t bytes, int root, Offload* offload) {
  offload->args.collective = collective;
  offload->args.type = COPSE_DT_BYTE;
  offload->args.count = bytes;
  offload->args.root = static_cast<uint32_t>(root);
}

const MPI_Datatype* TypesOf(const MPI_Datatype& one) { return &one; }
const MPI_Datatype* TypesOf(const MPI_Datatype* const& each) { return each; }

// Appends the blocks of all ranks to `*runs`; BlockExchangeCall explains `Types`. Returns false if the arguments cannot
// be described, so that MPI has to report the error.
template <typename Types>
bool BlocksOf(const void* buffer, Integers counts, Integers displacements, const Types& all_types,
              const Membership& member, Runs* runs) {
  constexpr bool kHasEach = std::is_same_v<Types, const MPI_Datatype*>;
  const MPI_Datatype* const types = TypesOf(all_types);
  if (counts.IsNull() || displacements.IsNull() || types == nullptr) return false;
  Datatype type;
  for (int rank = 0; rank < member.size; ++rank) {
    if ((kHasEach || rank == 0) && !Describe(types[rank], &type)) return false;
    if (counts[rank] < 0) return false;
    const int64_t displacement = counts[rank] > 0 ? displacements[rank] : 0;
    char* const begin = static_cast<char*>(const_cast<void*>(buffer));
    runs->push_back({begin + displacement * (kHasEach ? 1 : type.extent), counts[rank], type});
  }
  return true;
}

bool IsPlain(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const ElementRun& run) { return run.type.plain; });
}

// Receives all blocks in place: this rank's block is already in the receive buffer. If it has to be unpacked, it is
// sent like any other.
void ReceiveAroundOwn(const Membership& member, const Runs& runs, Offload* offload) {
  const ElementRun& own = runs[member.rank];
  offload->args.count = own.bytes();
  if (own.type.plain) {
    offload->SendInPlace();
  } else {
    offload->Send(own.address, own.count, own.type);
  }
  offload->ReceiveBlocks(runs);
}

// Sets the buffers of a gatherv or allgatherv. `received` is empty on ranks that receive nothing.
void Gather(const Membership& member, const void* send, int64_t send_count, const Datatype& sent, const Runs& received,
            bool in_place, Offload* offload) {
  if (in_place) return ReceiveAroundOwn(member, received, offload);
  offload->Send(send, send_count, sent);
  if (!received.empty()) offload->ReceiveBlocks(received);
}

// Sets the arguments of an alltoallv. In place, the receive buffer's blocks are sent and then replaced.
void Exchange(const Runs& sent, const Runs& received, bool in_place, Offload* offload) {
  Describe(COPSE_COLL_ALLTOALLV, 0, 0, offload);
  if (!in_place) {
    offload->SendBlocks(sent);
  } else if (IsPlain(received)) {
    offload->SendInPlace();
  } else {
    offload->SendBlocks(received);
  }
  offload->ReceiveBlocks(received);
}

}  // namespace

Reason GathervCall::Prepare(const Membership& member, Offload* offload) const {
  const bool is_root = root == member.rank, in_place = is_root && send == MPI_IN_PLACE;
  Runs received;
  Datatype sent;
  if (!IsRank(member, root) || (!in_place && !IsRun(send, send_count, send_type, &sent)) ||
      (is_root && !BlocksOf(recv, recv_counts, displacements, recv_type, member, &received))) {
    return Reason::kBadArguments;
  }
  Describe(COPSE_COLL_GATHERV, in_place ? 0 : Bytes(send_count, sent), root, offload);
  Gather(member, send, send_count, sent, received, in_place, offload);
  return Reason::kNone;
}

Reason ScattervCall::Prepare(const Membership& member, Offload* offload) const {
  const bool is_root = root == member.rank, in_place = is_root && recv == MPI_IN_PLACE;
  Runs sent;
  Datatype received;
  if (!IsRank(member, root) || (!in_place && !IsRun(recv, recv_count, recv_type, &received)) ||
      (is_root && !BlocksOf(send, send_counts, displacements, send_type, member, &sent))) {
    return Reason::kBadArguments;
  }
  Describe(COPSE_COLL_SCATTERV, in_place ? sent[root].bytes() : Bytes(recv_count, received), root, offload);
  if (is_root) offload->SendBlocks(sent);
  if (in_place) {
    offload->args.recv = COPSE_IN_PLACE;
  } else {
    offload->Receive(recv, recv_count, received);
  }
  return Reason::kNone;
}

Reason AllgathervCall::Prepare(const Membership& member, Offload* offload) const {
  const bool in_place = send == MPI_IN_PLACE;
  Runs received;
  Datatype sent;
  if (!BlocksOf(recv, recv_counts, displacements, recv_type, member, &received) ||
      (!in_place && !IsRun(send, send_count, send_type, &sent))) {
    return Reason::kBadArguments;
  }
  uint64_t total = 0;
  for (const ElementRun& run : received) {
    if (IsTooLong(*offload, run.bytes()) || IsTooLong(*offload, total += run.bytes())) return Reason::kTooLong;
  }
  Describe(COPSE_COLL_ALLGATHERV, in_place ? 0 : Bytes(send_count, sent), 0, offload);
  offload->known_bytes = total;
  Gather(member, send, send_count, sent, received, in_place, offload);
  return Reason::kNone;
}

template <typename Types>
Reason BlockExchangeCall<Types>::Prepare(const Membership& member, Offload* offload) const {
  const bool in_place = send == MPI_IN_PLACE;
  Runs sent, received;
  if (!BlocksOf(recv, recv_counts, recv_displacements, recv_types, member, &received) ||
      (!in_place && !BlocksOf(send, send_counts, send_displacements, send_types, member, &sent))) {
    return Reason::kBadArguments;
  }
  Exchange(sent, received, in_place, offload);
  return Reason::kNone;
}
template struct BlockExchangeCall<MPI_Datatype>;
template struct BlockExchangeCall<const MPI_Datatype*>;

}  // namespace copse::mpi
