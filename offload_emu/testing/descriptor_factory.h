// SPDX-License-Identifier: Apache-2.0
//
// Makes descriptors in one line each, for tests.
#ifndef COPSE_OFFLOAD_EMU_TESTING_DESCRIPTOR_FACTORY_H_
#define COPSE_OFFLOAD_EMU_TESTING_DESCRIPTOR_FACTORY_H_

#include <cstdint>
#include <vector>

#include "offload_emu/descriptor.h"

namespace copse::emu {

inline constexpr uint16_t kTestHash = 0x4242;

inline Descriptor SendOf(uint32_t edge, uint32_t remote_counter, uint64_t call) {
  Descriptor d;
  d.op = OpCode::kSend;
  d.options = kOptionTrigger;
  d.edge = edge;
  d.remote_counter = remote_counter;
  d.sequence = static_cast<uint16_t>(call);
  d.hash = kTestHash;
  return d;
}

inline Descriptor PutOf(uint32_t edge, uint32_t remote_counter, uint64_t call, MemoryRef source, uint32_t bytes,
                        uint64_t remote_offset = 0) {
  Descriptor d = SendOf(edge, remote_counter, call);
  d.op = OpCode::kPut;
  d.source = source;
  d.bytes = bytes;
  d.remote_offset = remote_offset;
  return d;
}

inline Descriptor GetOf(uint32_t edge, RegionIndex remote_region, uint64_t remote_offset, MemoryRef target,
                        uint32_t bytes, CounterIndex counter) {
  Descriptor d;
  d.op = OpCode::kGet;
  d.edge = edge;
  d.remote_region = remote_region;
  d.remote_offset = remote_offset;
  d.target = target;
  d.bytes = bytes;
  d.counter = counter;
  return d;
}

inline Descriptor CopyOf(MemoryRef source, MemoryRef target, uint32_t bytes) {
  Descriptor d;
  d.op = OpCode::kCopy;
  d.source = source;
  d.target = target;
  d.bytes = bytes;
  return d;
}

inline Descriptor ReduceOf(ElementOp op, ElementType type, const std::vector<MemoryRef>& operands, MemoryRef target,
                           uint32_t bytes) {
  Descriptor d;
  d.op = OpCode::kReduce;
  d.alu_op = op;
  d.alu_type = type;
  for (const MemoryRef& operand : operands) d.operands[d.operand_count++] = operand;
  d.target = target;
  d.bytes = bytes;
  return d;
}

inline Descriptor CountOf(CounterIndex counter) {
  Descriptor d;
  d.op = OpCode::kCount;
  d.counter = counter;
  return d;
}

inline Descriptor EventOf(uint64_t value, uint8_t options = 0) {
  Descriptor d;
  d.op = OpCode::kEvent;
  d.options = options;
  d.value = value;
  return d;
}

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_DESCRIPTOR_FACTORY_H_
