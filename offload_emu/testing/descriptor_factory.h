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

inline Descriptor SendOf(uint32_t edge, uint32_t remote_counter, uint64_t call, MemoryRef source = {},
                         uint32_t bytes = 0) {
  return {.op = OpCode::kSend,
          .options = kOptionTrigger,
          .bytes = bytes,
          .source = source,
          .edge = edge,
          .remote_counter = remote_counter,
          .sequence = static_cast<uint16_t>(call),
          .hash = kTestHash};
}

inline Descriptor PutOf(uint32_t edge, uint32_t remote_counter, uint64_t call, MemoryRef source, uint32_t bytes,
                        uint64_t remote_offset = 0) {
  Descriptor d = SendOf(edge, remote_counter, call, source, bytes);
  d.op = OpCode::kPut;
  d.remote_offset = remote_offset;
  return d;
}

inline Descriptor GetOf(uint32_t edge, RegionIndex remote_region, uint64_t remote_offset, MemoryRef target,
                        uint32_t bytes, CounterIndex counter) {
  return {.op = OpCode::kGet,
          .bytes = bytes,
          .target = target,
          .edge = edge,
          .remote_region = remote_region,
          .remote_offset = remote_offset,
          .counter = counter};
}

inline Descriptor CopyOf(MemoryRef source, MemoryRef target, uint32_t bytes) {
  return {.op = OpCode::kCopy, .bytes = bytes, .source = source, .target = target};
}

inline Descriptor ReduceOf(ElementOp op, ElementType type, const std::vector<MemoryRef>& operands, MemoryRef target,
                           uint32_t bytes) {
  Descriptor d{.op = OpCode::kReduce, .alu_op = op, .alu_type = type, .bytes = bytes, .target = target};
  for (const MemoryRef& operand : operands) d.operands[d.operand_count++] = operand;
  return d;
}

inline Descriptor CountOf(CounterIndex counter) { return {.op = OpCode::kCount, .counter = counter}; }

inline Descriptor EventOf(uint64_t value, uint8_t options = 0) {
  Descriptor d{.op = OpCode::kEvent, .options = options};
  d.value = value;
  return d;
}

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_DESCRIPTOR_FACTORY_H_
