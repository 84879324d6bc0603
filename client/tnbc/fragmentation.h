// SPDX-License-Identifier: Apache-2.0
//
// Splits a collective into several calls of the same ranks, each of which carries a fragment of the result.
#ifndef COPSE_CLIENT_TNBC_FRAGMENTATION_H_
#define COPSE_CLIENT_TNBC_FRAGMENTATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/copse.h"

namespace copse::tnbc {

// Results are fragmented from this length on, on the rank that receives most.
inline constexpr uint64_t kWholeBytesMin = 64 << 10;
// Blocks of a rank are fragmented from this length on: shorter ones would arrive before their pages were protected.
inline constexpr uint64_t kBlockBytesMin = 32 << 10;

// A NodeLayout numbers the ranks of a team on each node.
struct NodeLayout {
  uint32_t ranks_per_node = 1;  // on the node that has the most
  std::vector<uint32_t> local;  // by rank: its number on its node, from 0

  // Makes the layout from a name of each rank's node; names are equal for ranks of the same node.
  static NodeLayout Of(std::span<const uint64_t> node_names);
};

// An Extent is a range of bytes of a buffer.
struct Extent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// A Move copies bytes from an offset of one buffer to an offset of another one.
struct Move {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
};

// A SubCall is one call of a fragmentation. Its buffers begin at offsets of the program's buffers, or of staging
// buffers.
struct SubCall {
  copse_coll_args_t args{};  // without buffers and without arrays
  bool sends = false, receives = false;
  bool keeps_own = false;  // its receive buffer is COPSE_IN_PLACE: a scatter's root
  uint64_t send_offset = 0, receive_offset = 0;
  std::vector<uint64_t> send_counts, send_displacements, receive_counts, receive_displacements;  // empty: not passed
  std::vector<Extent> extents;  // bytes of the program's receive buffer that it fills
  uint32_t fragment = 0;        // number of the fragment that it carries, less than FragmentsOf
  // The call begins only while at most this many calls of this rank, itself included, are in flight in the team, since
  // calls that send at the same time share the network. 0: no limit, for a call in which the rank sends nothing, or
  // which is the only one.
  uint8_t under_way_max = 0;
  // In an alltoallv, it limits the elements that one node sends to another one, or to itself; 0: not all ranks know
  // one, or it exceeds ring::kPairBoundMax.
  uint64_t pair_count_max = 0;
};

// Edges are the ends of the result: its first and last bytes, or those of each block where blocks differ in length. An
// edge has at least 4 KiB, or all of a shorter block. So with pages of 4 KiB all bytes on pages that the result does
// not fill belong to edges, wherever the buffer begins. One call with packed buffers carries all edges before the
// fragments (Li et al., T-NBC: head and tail fragments).
struct Edges {
  SubCall call;
  uint64_t send_bytes = 0, receive_bytes = 0;
  std::vector<Move> pack;    // from the program's send buffer; a broadcast's root: from its buffer
  std::vector<Move> unpack;  // to the program's receive buffer
};

// A Fragmentation holds the calls into which one rank's collective is split.
struct Fragmentation {
  uint64_t edge_bytes = 0;  // length of a full edge; calls return early only if a page is not longer
  Edges edges;
  std::vector<SubCall> calls;  // the fragments' calls, in the order in which they are posted
  // These are the lengths of the program's buffers. 0: this rank has none. `sends_received`: the contribution lies in
  // the receive buffer, from `send_at` on (COPSE_IN_PLACE).
  uint64_t send_bytes = 0, receive_bytes = 0;
  bool sends_received = false;
  uint64_t send_at = 0;
  // If it is not empty, the calls send from a packed copy of the send buffer, which these moves make, since a call's
  // data is not contiguous in the send buffer.
  std::vector<Move> send_pack;
  // This rank is a broadcast's root: the calls send from its receive buffer.
  bool is_source = false;
  // The rank copies its own block from the send buffer to the receive buffer itself.
  Move own;
  // A barrier is posted with the edges. Once it is complete, all members have begun the call, and the call needs no MPI
  // progress by them any more.
  bool announces = false;
  // Extents of the receive buffer, each of which the edges, the calls and this rank's own block fill completely.
  std::vector<Extent> runs;
};

// Returns whether calls with these arguments are long enough to be fragmented in a team of `size` ranks. All ranks get
// the same result. It is true for all collectives of NeedsAgreement, on which the ranks agree in addition.
bool MayFragment(const copse_coll_args_t& args, uint32_t size);

// Returns whether no rank knows how much all others receive. Then the ranks agree on whether to fragment a call, by the
// LateBytes of the rank that has most.
bool NeedsAgreement(copse_collective_t collective);
// Returns the bytes of this rank's result that neither the edges nor the rank itself bring. It is only for collectives
// of NeedsAgreement and allgatherv. If `rank` is `size`, no block counts as the rank's own.
uint64_t LateBytes(const copse_coll_args_t& args, uint32_t rank, uint32_t size);
// Returns whether a call is fragmented if the rank with the most late bytes has `late_bytes`.
bool IsWorthFragmenting(copse_collective_t collective, uint64_t late_bytes);

// Returns the number of fragments that may be received in any order: segments of a vector, or in an alltoall the ranks
// of a node, which send one after another; 1 for all other collectives. All ranks get the same result.
uint32_t FragmentsOf(const copse_coll_args_t& args, const NodeLayout& layout);

// Splits the valid call `args` of rank `rank`. Returns false, changing nothing, if it is too short or the team has one
// rank; all ranks get the same result. Requires that the ranks have agreed on collectives of NeedsAgreement. In
// reductions and broadcasts each call carries a segment; in an alltoall, what one rank of each node sends (Li et al.,
// T-NBC: "priorities, same rank" and "priorities, same node"). Other collectives get one call beside that of their
// edges. `order`: the fragments in the order in which they are to be received; empty: in the order of their numbers.
bool FragmentCall(const copse_coll_args_t& args, uint32_t rank, const NodeLayout& layout,
                  std::span<const uint32_t> order, Fragmentation* fragmentation);

// Returns the fragments in the order in which their calls are posted.
std::vector<uint32_t> OrderOf(const Fragmentation& fragmentation);

// Returns what this rank sends by `call`: extents of the program's send buffer, or of the receive buffer if
// `is_source`, ascending and disjoint. The list is empty if the calls send from a packed copy.
std::vector<Extent> SentBy(const Fragmentation& fragmentation, const SubCall& call);

// Returns whether the calls write no other bytes of the receive buffer than their `extents`: for example, not this
// rank's own block, which the program may have changed by then.
bool WritesExtentsOnly(const Fragmentation& fragmentation);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_FRAGMENTATION_H_
