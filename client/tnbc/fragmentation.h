// SPDX-License-Identifier: Apache-2.0
//
// A collective as several calls of the same team, each of which brings a fragment of the result.
#ifndef COPSE_CLIENT_TNBC_FRAGMENTATION_H_
#define COPSE_CLIENT_TNBC_FRAGMENTATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/copse.h"

namespace copse::tnbc {

// Which of its node's ranks each rank of a team is.
struct NodeLayout {
  uint32_t ranks_per_node = 1;  // of the node that has most
  std::vector<uint32_t> local;  // by rank, from 0 on each node

  // From a name for each rank's node, equal for ranks of one.
  static NodeLayout Of(std::span<const uint64_t> node_names);
};

// Bytes of a buffer.
struct Extent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Bytes that lie in one buffer here and in another one there.
struct Move {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
};

// One call of a fragmentation. Its buffers begin at offsets in the whole's, or in copies of these.
struct SubCall {
  copse_coll_args_t args{};  // without buffers and arrays
  bool sends = false, receives = false;
  bool keeps_own = false;  // COPSE_IN_PLACE as receive buffer: a scatter's root
  uint64_t send_offset = 0, receive_offset = 0;
  std::vector<uint64_t> send_counts, send_displacements, receive_counts, receive_displacements;  // empty: none
  std::vector<Extent> extents;  // of the whole's receive buffer, which it fills
  uint32_t fragment = 0;        // of FragmentsOf, that it brings
  // It begins while so many of this rank's calls, with it, are under way: what is sent at once shares the network. 0: a
  // call in which the rank only receives does not wait.
  uint8_t under_way_max = 0;
  // In an alltoallv, the most elements that one node has for another, or for itself; 0: not all ranks know.
  uint64_t pair_count_max = 0;
};

// The ends of the result, so long that what lies between them is whole pages and less than a page more at each side,
// wherever the buffer is: they are brought first (Li et al., T-NBC: head and tail fragments), by one call whose buffers
// have nothing else in them.
struct Edges {
  SubCall call;
  uint64_t send_bytes = 0, receive_bytes = 0;
  std::vector<Move> pack;    // from the whole's send buffer
  std::vector<Move> unpack;  // to the whole's receive buffer
};

struct Fragmentation {
  uint64_t edge_bytes = 0;  // at least a page's, where pages are not larger
  Edges edges;
  std::vector<SubCall> calls;  // in order of priority, in which they are posted
  // Bytes of the whole call's buffers; 0: this rank has none. What is sent may lie in the receive buffer, at send_at.
  uint64_t send_bytes = 0, receive_bytes = 0;
  bool sends_received = false;
  uint64_t send_at = 0;
  // Not empty: the calls send from a copy of the send buffer in which it lies so, since none has one piece of it.
  std::vector<Move> send_pack;
  // The receive buffer has what the calls send: a broadcast's root.
  bool is_source = false;
  // A rank's own block, which no call brings: from the send buffer to the receive buffer.
  Move own;
  // A barrier goes with the edges: once that is over, all members have begun the call, and nothing of it needs turns of
  // their MPI any more.
  bool announces = false;
  // Runs of the receive buffer: the edges, the calls or `own` bring all bytes of a run, before or after.
  std::vector<Extent> runs;
};

// Returns whether calls like this one, of `size` ranks, are fragmented, if teams' layouts are known. All ranks find the
// same.
bool MayFragment(const copse_coll_args_t& args, uint32_t size);

// In these collectives no rank knows how much all others receive: the ranks agree whether to fragment one, by the
// rank of which most may come late.
bool NeedsAgreement(copse_collective_t collective);
// Bytes of its result that are not brought by the edges, nor by this rank itself.
uint64_t LateBytes(const copse_coll_args_t& args, uint32_t rank, uint32_t size);
bool IsWorthFragmenting(copse_collective_t collective, uint64_t late_bytes);

// The number of fragments that may come in any order: segments of a vector, ranks of a node that send
// one after the other; 1: none. All ranks find the same.
uint32_t FragmentsOf(const copse_coll_args_t& args, const NodeLayout& layout);

// What `args`, of rank `rank`, is as several calls. Returns false if it is not; all ranks find the same, since it
// depends on what they have in common. Of reductions and broadcasts each call has a segment; of an alltoall, what one
// rank of each node sends (Li et al., T-NBC: "priorities, same rank" and "priorities, same node"). Others are one call,
// beside their edges. What NeedsAgreement has been agreed upon. `order`: the fragments, first the one to be brought
// first; empty: as they are numbered.
bool FragmentCall(const copse_coll_args_t& args, uint32_t rank, const NodeLayout& layout,
                  std::span<const uint32_t> order, Fragmentation* fragmentation);

// In which its fragments are brought, each by one call.
std::vector<uint32_t> OrderOf(const Fragmentation& fragmentation);

// What this rank sends by a call of the fragmentation: of the whole's send buffer, or of the receive buffer if
// `is_source`. In order of addresses, none overlapping another; none if what is sent is packed.
std::vector<Extent> SentBy(const Fragmentation& fragmentation, const SubCall& call);

// Returns whether calls write to the receive buffer what `extents` say and nothing else: not a rank's own block again,
// which the program may have changed by then.
bool WritesExtentsOnly(const Fragmentation& fragmentation);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_FRAGMENTATION_H_
