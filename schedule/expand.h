// SPDX-License-Identifier: Apache-2.0
//
// Expansion: makes the primitive sequence of one node from a plan and a call's arguments.
#ifndef COPSE_SCHEDULE_EXPAND_H_
#define COPSE_SCHEDULE_EXPAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "offload_emu/packet.h"
#include "schedule/plan.h"

namespace copse::schedule {

// The buffer at the node in which a primitive's data lies.
enum class Place : uint8_t {
  kNone,      // no data (barrier)
  kScratch,   // the slot's accumulator
  kCell,      // eager buffer of node `index`
  kRankSend,  // send buffer of the local rank with local index `index`
  kRankRecv,  // receive buffer of the local rank with local index `index`
  kNotes,     // metadata that the node's daemon itself sends or receives in a block collective (blocks.h)
};
struct Buffer {
  Place place = Place::kNone;
  uint32_t index = 0;
  // Byte offset into the place, beyond the segment's own range of it; from the beginning in a block collective's rank
  // buffers and metadata, which have no such ranges.
  uint64_t offset = 0;
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// The five primitives of the barrier model (papers: barrier-model) and the steps that data needs beside them.
enum class Step : uint8_t {
  kStart,      // the node takes up the call (its first rank has arrived)
  kRecvFrom,   // posts: one packet or put from `peer` in `phase`; its data will lie in Cell(peer)
  kRecvLocal,  // posts: local rank `peer` (a local index) has given its buffers
  kWait,       // until every kRecvFrom and kRecvLocal since the last kWait or kStart has completed
  kReduce,     // target = operands combined in this order
  kCopy,       // operands[0] to target
  kCopyRuns,   // every run, in order
  kSendTo,     // operands[0] to `peer` in `phase`
  kDeliver,    // operands[0] to the receive buffer of local rank `peer`, which then is done with this segment
  kRelease,    // local rank `peer`'s send buffer is not needed any more, and it gets no data: it is done with this
               // segment
  kEnd,
};
// One entry of a copy list: bytes that are contiguous at both ends.
struct BufferRun {
  Buffer from;
  Buffer to;
  uint64_t bytes = 0;
  friend bool operator==(const BufferRun&, const BufferRun&) = default;
};

inline constexpr uint32_t kWholeSegment = 0xffffffff;

struct Primitive {
  Step step = Step::kStart;
  uint32_t peer = 0;
  uint16_t phase = 0;
  uint8_t priority = 0;
  // kCopyRuns, kDeliver: the runs are all that comes in `phase` from one neighbor, and nothing else reads it. If it
  // comes by a put, it may be placed directly at its targets, without lying in the neighbor's eager buffer first.
  bool lands = false;
  std::vector<Buffer> operands;
  Buffer target;
  uint32_t bytes = kWholeSegment;
  std::vector<BufferRun> runs;  // kCopyRuns
  friend bool operator==(const Primitive&, const Primitive&) = default;
};

// Whether a message of `bytes` bytes travels by a put, not in a packet.
inline bool IsPut(uint64_t bytes) { return bytes > emu::kMpPayloadBytes; }

// One segment's byte range of the message.
struct Segment {
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The sequence of one node for one segment. It is the same for every segment, so it is made once and shared (except
// where RotationsOf says otherwise).
struct NodeSequence {
  NodeIndex node{0};
  std::vector<Primitive> primitives;  // kStart ... kEnd
};

// How many ranks each node has and which local rank is the root's, without the whole team.
struct NodeView {
  NodeIndex node{0};
  uint32_t local_ranks = 0;
  uint32_t root_node = 0;         // node of the call's root, or else of the segment's owner, or else plan.root_node
  uint32_t root_local_index = 0;  // of the root rank, on its own node
};
// `rotation`: the segment's number in the whole message modulo RotationsOf(plan).
NodeView ViewOf(const ShapeIndex& shape, const Plan& plan, NodeIndex node, const CallArguments& arguments,
                uint32_t rotation = 0);

// A tree plan prepared to be directed towards any root: O(n) to build, O(log n) per query. Empty for other kinds.
// Precondition: the plan was verified.
class TreeIndex {
 public:
  explicit TreeIndex(const Plan& plan);
  // Returns the neighbor of `node` on the path to `root`; kNobody if they are the same.
  uint32_t Towards(uint32_t node, uint32_t root) const;
  // Preorder numbers from plan.root_node: the subtree of `node` is [Enter, Leave).
  uint32_t Enter(uint32_t node) const { return enter_[node]; }
  uint32_t Leave(uint32_t node) const { return leave_[node]; }
  // Returns the parent towards plan.root_node; kNobody at the root itself.
  uint32_t Parent(uint32_t node) const { return parent_[node]; }

 private:
  std::vector<uint32_t> parent_;  // towards plan.root_node
  std::vector<uint32_t> enter_;   // preorder numbers: v's subtree is [enter_[v], leave_[v])
  std::vector<uint32_t> leave_;
  std::vector<std::vector<uint32_t>> children_;  // by ascending enter_
};

// Returns the sequence of `view.node`. Order of operands: own ranks ascending, then children in plan order.
// Errors: INVALID_ARGUMENT if plan and arguments do not fit (collective, bytes beyond the size class, node out of
//         range, root not in the tree).
// Cost:   O(node's neighbors + local ranks + log n).
// Source: papers, triggered operations (algorithms 1 and 2) and barrier model (primitives). Differs: local ranks take
//         part.
absl::StatusOr<NodeSequence> Expand(const Plan& plan, const TreeIndex& index, const NodeView& view,
                                    const CallArguments& arguments);

// Expand without a check of the arguments, as if the plan were made for barrier, bcast, reduce or allreduce. It takes
// trees, symmetric schedules, and rings except for barriers.
NodeSequence ExpandAs(Collective collective, const Plan& plan, const TreeIndex& index, const NodeView& view);

std::vector<Segment> SegmentsOf(const Plan& plan, uint64_t bytes);

// Returns one line for a primitive: "RecvFrom(3) up", "Reduce(scratch = rank0 + rank1 + cell3)".
std::string DescribePrimitive(const Primitive& primitive);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_EXPAND_H_
