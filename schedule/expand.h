// SPDX-License-Identifier: Apache-2.0
//
// Expands a plan and a call's arguments to the primitive sequence of one node.
#ifndef COPSE_SCHEDULE_EXPAND_H_
#define COPSE_SCHEDULE_EXPAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "offload_emu/packet.h"
#include "schedule/plan.h"

namespace copse::schedule {

// A Place is a kind of memory at the node in which a primitive's data lies.
enum class Place : uint8_t {
  kNone,      // no data (barrier)
  kScratch,   // the slot's accumulator
  kCell,      // eager buffer of node `index`
  kRankSend,  // send buffer of the local rank with local index `index`
  kRankRecv,  // receive buffer of the local rank with local index `index`
  kNotes,     // memory of the node's daemon for a block collective: metadata (blocks.h), or results (folds.h)
};
// A Buffer is an address in one of the node's places; the primitive has the length.
struct Buffer {
  Place place = Place::kNone;
  uint32_t index = 0;
  // Byte offset from the begin of the segment's range in the place; in kNotes, and in rank buffers of a block
  // collective, from the begin of the place.
  uint64_t offset = 0;
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// A Step is the operation of a primitive: one of the five of the barrier model (papers: barrier-model), or one of those
// that data needs in addition.
enum class Step : uint8_t {
  kStart,      // the node begins the call
  kRecvFrom,   // expects one packet or put from node `peer` in `phase`, whose data goes to the peer's eager buffer
  kRecvLocal,  // expects the arrival of local rank `peer` (a local index), which binds its buffers
  kWait,       // waits until every kRecvFrom and kRecvLocal since the last kWait or kStart has completed
  kReduce,     // reduces the operands, in this order, to target
  kCopy,       // copies operands[0] to target
  kCopyRuns,   // copies every run, in order
  kSendTo,     // sends operands[0] to node `peer` in `phase`
  kDeliver,    // copies operands[0] to the receive buffer of local rank `peer`, which then is done with this segment
  kRelease,    // completes this segment for local rank `peer`, which gets no data
  kEnd,        // completes the node's part
};
// A BufferRun is one entry of a copy list: bytes that are contiguous in both buffers.
struct BufferRun {
  Buffer from;
  Buffer to;
  uint64_t bytes = 0;
  friend bool operator==(const BufferRun&, const BufferRun&) = default;
};

inline constexpr uint32_t kWholeSegment = 0xffffffff;  // as Primitive::bytes: all bytes of the segment

// A Primitive is one step of a node in a call; `step` determines which of the other fields it uses.
struct Primitive {
  Step step = Step::kStart;
  uint32_t peer = 0;
  uint16_t phase = 0;
  uint8_t priority = 0;
  // kCopyRuns, kDeliver: the copied data is the whole message of one neighbor in `phase`, and nothing else reads it. If
  // the message is a put, it may be placed directly at the targets, and bypass the eager buffer.
  bool lands = false;
  std::vector<Buffer> operands;
  Buffer target;
  uint32_t bytes = kWholeSegment;
  std::vector<BufferRun> runs;  // kCopyRuns
  friend bool operator==(const Primitive&, const Primitive&) = default;
};

// Returns whether a message of `bytes` bytes is too long for a packet, so that it is a put in every segment. (Shorter
// messages are packets in the first segment only.)
inline bool IsPut(uint64_t bytes) { return bytes > emu::kMpPayloadBytes; }

// A Segment is the byte range [offset, offset + bytes) of a message.
struct Segment {
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// A NodeSequence holds the primitives of one node for one segment. Segment s runs the sequence of rotation
// s % RotationsOf(plan), so one sequence usually serves all segments; in block collectives each segment has another.
struct NodeSequence {
  NodeIndex node{0};
  std::vector<Primitive> primitives;  // kStart ... kEnd
};

// A NodeView describes one call at one node without the whole team: the number of local ranks, and where the root is.
struct NodeView {
  NodeIndex node{0};
  uint32_t local_ranks = 0;
  uint32_t root_node = 0;         // node of the call's root, or else of the segment's owner, or else plan.root_node
  uint32_t root_local_index = 0;  // local index of the root rank on root_node; 0 if there is no root rank
};
// Returns the view of a call at `node`. `rotation` is the segment's number in the whole message modulo
// RotationsOf(plan). Dies if the root is not a rank of the team.
NodeView ViewOf(const ShapeIndex& shape, const Plan& plan, NodeIndex node, const CallArguments& arguments,
                uint32_t rotation = 0);

// A TreeIndex is a tree plan prepared to be directed towards any root: O(n) to build, O(log n) per query. For plans of
// other kinds it is empty and must not be queried. Precondition: the plan was verified.
class TreeIndex {
 public:
  explicit TreeIndex(const Plan& plan);
  // Returns the neighbor of `node` on the path to `root`; kNobody if node == root.
  uint32_t Towards(uint32_t node, uint32_t root) const;
  // Return preorder numbers from plan.root_node: the nodes in the subtree of `node` have the numbers [Enter, Leave).
  uint32_t Enter(uint32_t node) const { return enter_[node]; }
  uint32_t Leave(uint32_t node) const { return leave_[node]; }
  // Returns the parent towards plan.root_node; kNobody at the root itself.
  uint32_t Parent(uint32_t node) const { return parent_[node]; }

 private:
  std::vector<uint32_t> parent_;  // towards plan.root_node
  std::vector<uint32_t> enter_;   // preorder numbers: v's subtree has [enter_[v], leave_[v])
  std::vector<uint32_t> leave_;
  std::vector<std::vector<uint32_t>> children_;  // by ascending enter_
};

// Returns the sequence of `view.node` by a plan for barrier, bcast, reduce or allreduce that was verified. On trees and
// cycles, operands are the node's own ranks, ascending, and then its children in the plan's order; in each round of a
// symmetric schedule they are in order of nodes.
// Errors: INVALID_ARGUMENT if the plan is for another collective, the message is outside its size class, node or root
//         node is out of range, or the number of local ranks is 0 or above kLocalRanksMax.
// Cost:   O(node's neighbors + local ranks + log n); O(n) on a cycle.
// Source: papers, triggered operations (algorithms 1 and 2) and barrier model (primitives). Differs: nodes have several
//         ranks.
absl::StatusOr<NodeSequence> Expand(const Plan& plan, const TreeIndex& index, const NodeView& view,
                                    const CallArguments& arguments);

// Returns the sequence as Expand does, but without any check, and as if the plan were for `collective`: barrier, bcast,
// reduce or allreduce. The plan may be a tree; a symmetric schedule for barrier and allreduce; or a cycle for all but
// the barrier.
NodeSequence ExpandAs(Collective collective, const Plan& plan, const TreeIndex& index, const NodeView& view);

// Returns the segments of a message of `bytes` bytes, in order; one empty segment for 0 bytes.
std::vector<Segment> SegmentsOf(const Plan& plan, uint64_t bytes);

// Returns one line of text: "RecvFrom(3) phase 0", "Reduce(scratch = send0 + send1 + cell3)".
std::string DescribePrimitive(const Primitive& primitive);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_EXPAND_H_
