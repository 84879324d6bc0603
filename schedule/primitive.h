// SPDX-License-Identifier: Apache-2.0
//
// Defines the primitives of which a node's part of a call consists.
#ifndef COPSE_SCHEDULE_PRIMITIVE_H_
#define COPSE_SCHEDULE_PRIMITIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "offload_emu/packet.h"

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
  // The offset counts bytes from the start of the segment's range in the place; in kNotes, and in rank buffers of a
  // block collective, from the start of the place.
  uint64_t offset = 0;
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// A Step is the operation of a primitive: one of the five of the barrier model (papers: barrier-model), or one of those
// that data needs in addition.
enum class Step : uint8_t {
  kStart,     // the node begins the call
  kRecvFrom,  // expects one packet or put of `bytes` from node `peer` in `phase`, which goes to the peer's eager buffer
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

// Returns one line of text: "RecvFrom(3) phase 0", "Reduce(scratch = send0 + send1 + cell3)".
std::string DescribePrimitive(const Primitive& primitive);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_PRIMITIVE_H_
