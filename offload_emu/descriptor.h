// SPDX-License-Identifier: Apache-2.0
//
// Descriptors: the operations that a virtual port posts to the engine. A sequence of them waits for one trigger and
// then runs in order, without the processor that posted it (papers: triggered operations, "descriptor sequence").
#ifndef COPSE_OFFLOAD_EMU_DESCRIPTOR_H_
#define COPSE_OFFLOAD_EMU_DESCRIPTOR_H_

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "offload_emu/alu.h"
#include "offload_emu/packet.h"

namespace copse::emu {

// A port's number in its engine; the number of a closed port is not reused soon (`generation` differs).
struct PortId {
  uint32_t index = 0;
  uint32_t generation = 0;
  friend bool operator==(const PortId&, const PortId&) = default;
};

using CounterIndex = uint32_t;
inline constexpr CounterIndex kNoCounter = 0xffffffff;
using RegionIndex = uint32_t;
inline constexpr RegionIndex kNoRegion = 0xffffffff;

// Bytes [offset, offset + bytes of the descriptor) of a region in the port's table.
struct MemoryRef {
  RegionIndex region = kNoRegion;
  uint64_t offset = 0;
};

// One entry of a copy list: `bytes` bytes from `source` to `target`.
struct CopyRun {
  MemoryRef source;
  MemoryRef target;
  uint64_t bytes = 0;
};

enum class OpCode : uint8_t {
  kSend,      // MP packet (bytes <= kMpPayloadBytes) from `source` to the edge `edge`
  kPut,       // `source` to (remote_region, remote_offset) behind the edge
  kGet,       // (remote_region, remote_offset) behind the edge to `target`
  kReduce,    // target = operands[0] op operands[1] ...; up to kAluOperandsMax, combined in this
              // order
  kCopy,      // source to target
  kCount,     // adds 1 to `counter`
  kEvent,     // puts (value, status of the sequence's trigger) into the port's EQ
  kCopyList,  // `bytes` runs of `runs`, in order
};

enum DescriptorOptions : uint8_t {
  kOptionTrigger = 1,       // kSend, kPut: the record counts at the receiver
  kOptionEventOnError = 2,  // kEvent: only if the trigger saw a failure
  // kCopy, kCopyList: direct placement. All of the source comes in one put of `edge` to its eager buffer, which
  // counts on `remote_counter` of this slot, and nothing else reads it. If the put arrives while the sequence is
  // armed, it goes straight to the target (never into the eager buffer), and the copy counts as done. One sequence
  // names one counter.
  kOptionLand = 4,
};

// One operation. OpCode above gives the meaning of the fields; an op ignores fields that it does not use.
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
  uint32_t edge = 0;            // kSend, kPut, kGet: index in the port's table of outgoing edges
  uint32_t remote_counter = 0;  // kSend, kPut: counter within the slot at the receiver; kOptionLand: here
  uint32_t remote_region = kCellOfEdge;
  uint64_t remote_offset = 0;
  uint16_t sequence = 0;  // kSend, kPut: goes into the packet's header
  uint16_t hash = 0;
  // Incremented when the operation is done (failure half if it failed or its trigger had failed); kNoCounter: none.
  CounterIndex counter = kNoCounter;
  union {
    uint64_t value = 0;  // kEvent: chosen by the poster
    // kCopyList: the poster's memory, which must stay unchanged until the sequence has run or its call is over.
    const CopyRun* runs;
  };
};

// The condition on which a sequence may run: success + failure of `counter` reaches `threshold`; kNoCounter: at once.
// Sequences with the same counter and threshold run in the order in which they were posted. Among ready ones, higher
// priority runs first.
struct Trigger {
  CounterIndex counter = kNoCounter;
  uint64_t threshold = 0;
  uint8_t priority = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_DESCRIPTOR_H_
