// SPDX-License-Identifier: Apache-2.0
//
// Defines descriptors, the operations that a virtual port posts to the engine. A sequence of them waits for one trigger
// and then runs in order, without the processor that posted it (papers: triggered operations, "descriptor sequence").
#ifndef COPSE_OFFLOAD_EMU_DESCRIPTOR_H_
#define COPSE_OFFLOAD_EMU_DESCRIPTOR_H_

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "offload_emu/alu/alu.h"
#include "offload_emu/packet.h"

namespace copse::emu {

// A PortId identifies a port of an engine. The index of a closed port is reused with another `generation`.
struct PortId {
  uint32_t index = 0;
  uint32_t generation = 0;
  friend bool operator==(const PortId&, const PortId&) = default;
};

using CounterIndex = uint32_t;
inline constexpr CounterIndex kNoCounter = 0xffffffff;
using RegionIndex = uint32_t;
inline constexpr RegionIndex kNoRegion = 0xffffffff;

// A MemoryRef refers to the bytes from `offset` on of a region in the port's table; the descriptor or CopyRun has their
// number.
struct MemoryRef {
  RegionIndex region = kNoRegion;
  uint64_t offset = 0;
};

// A CopyRun is one entry of a copy list: `bytes` bytes from `source` to `target`.
struct CopyRun {
  MemoryRef source;
  MemoryRef target;
  uint64_t bytes = 0;
};

enum class OpCode : uint8_t {
  kSend,      // MP packet (bytes <= kMpPayloadBytes) from `source` to the edge `edge`
  kPut,       // `source` to (remote_region, remote_offset) at the peer
  kGet,       // (remote_region, remote_offset) at the peer to `target`
  kReduce,    // target = operands[0] op operands[1] ...; up to kAluOperandsMax, combined in this
              // order
  kCopy,      // source to target
  kCount,     // adds 1 to `counter`
  kEvent,     // calls PortSink::OnEvent with `value` and whether the sequence has failed
  kCopyList,  // copies the first `bytes` entries of `runs`, in order
};

enum DescriptorOptions : uint8_t {
  kOptionTrigger = 1,       // kSend, kPut: the record counts at the receiver
  kOptionEventOnError = 2,  // kEvent: only if the sequence has failed
  // kCopy, kCopyList: direct placement. The poster promises that the whole source comes in one put of `edge` to its
  // eager buffer, which counts on `remote_counter` of this slot, and that only this copy reads it. If the put arrives
  // after ExpectHash while the sequence is armed, it is written directly to the target and not to the eager buffer, and
  // the copy is done. All such descriptors of a sequence name the same counter.
  kOptionLand = 4,
};

// A Descriptor is one operation. OpCode above gives the meaning of the fields; an op ignores fields that it does not
// use.
struct Descriptor {
  OpCode op = OpCode::kCount;
  uint8_t options = 0;
  uint8_t operand_count = 0;
  ElementOp alu_op = ElementOp::kSum;
  ElementType alu_type = ElementType::kUint8;
  uint32_t bytes = 0;
  MemoryRef source;
  MemoryRef target;
  std::array<MemoryRef, kAluOperandsMax> operands;
  uint32_t edge = 0;            // kSend, kPut, kGet, kOptionLand: index of the port's edge
  uint32_t remote_counter = 0;  // kSend, kPut: counter within the slot at the receiver; kOptionLand: here
  uint32_t remote_region = kCellOfEdge;
  uint64_t remote_offset = 0;
  uint16_t sequence = 0;  // kSend, kPut, kGet: the call's number modulo 2^16, for the header
  uint16_t hash = 0;
  // The counter is incremented when the operation is done (a get: when its reply has arrived), in its failure half if
  // the sequence has failed. kNoCounter: none.
  CounterIndex counter = kNoCounter;
  union {
    uint64_t value = 0;  // kEvent: passed to OnEvent
    // kCopyList: the poster's memory, which must stay unchanged until the sequence has run or its call is over.
    const CopyRun* runs;
  };
};

// An Arrival is a record of a neighbor that counts at a call: one that has come, or one that the call awaits.
struct Arrival {
  uint32_t edge = 0;     // index of the port's edge
  uint32_t counter = 0;  // within the call's slot
  uint32_t bytes = 0;    // of payload
  bool failed = false;   // an error record, which has no payload
  uint64_t offset = 0;   // in the edge's eager buffer
};

// A Trigger is the condition on which a sequence becomes ready: success + failure of `counter` reaches `threshold`;
// kNoCounter: at once. Sequences with equal counter and threshold become ready in the order in which they were posted.
// Among the ready sequences of a job, those of higher priority run first.
struct Trigger {
  CounterIndex counter = kNoCounter;
  uint64_t threshold = 0;
  uint8_t priority = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_DESCRIPTOR_H_
