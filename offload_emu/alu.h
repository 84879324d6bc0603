// SPDX-License-Identifier: Apache-2.0
//
// The engine's arithmetic unit: reduces up to seven operands at once, elementwise.
#ifndef COPSE_OFFLOAD_EMU_ALU_H_
#define COPSE_OFFLOAD_EMU_ALU_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace copse::emu {

// As many operands as the Tianhe unit takes at once; longer lists are chained by the lowering.
inline constexpr int kAluOperandsMax = 7;

// The values are those of copse_op_t and copse_datatype_t in copse.h, and part of the packet hash:
// never renumber.
enum class AluOp : uint8_t { kSum = 0, kProd, kMin, kMax, kLand, kLor, kLxor, kBand, kBor, kBxor };
inline constexpr int kAluOpCount = 10;
enum class AluType : uint8_t { kInt8 = 0, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64, kFloat, kDouble };
inline constexpr int kAluTypeCount = 10;

std::string_view AluOpName(AluOp op);
std::string_view AluTypeName(AluType type);
uint32_t AluTypeBytes(AluType type);

// Bitwise operations are not defined on floating point; everything else is.
bool AluSupports(AluOp op, AluType type);

// target[i] = operands[0][i] op operands[1][i] op ..., combined from left to right, for `count`
// elements. Operands and target need no alignment; target may be one of the operands, but must not
// overlap one partially. Integers wrap; logical results are 0 or 1; min and max of floating point
// follow operands[k] < acc comparisons, so a NaN in operands[0] stays and a later one is ignored.
// Errors: INVALID_ARGUMENT if there are no operands or more than kAluOperandsMax, or
// !AluSupports(op, type). Source: papers, triggered operations ("reduces up to 7 operands at
// once").
absl::Status AluReduce(AluOp op, AluType type, absl::Span<const uint8_t* const> operands, size_t count,
                       uint8_t* target);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ALU_H_
