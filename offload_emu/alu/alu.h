// SPDX-License-Identifier: Apache-2.0
//
// The engine's arithmetic unit reduces up to seven operands at once, element by element.
#ifndef COPSE_OFFLOAD_EMU_ALU_ALU_H_
#define COPSE_OFFLOAD_EMU_ALU_ALU_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/element_types.h"

namespace copse::emu {

// The Tianhe unit takes this many operands at once. schedule/lower.h chains reductions of more.
inline constexpr int kAluOperandsMax = 7;

// Computes target[i] = operands[0][i] op operands[1][i] op ..., from left to right, for `count` elements. Operands and
// target need no alignment; target may be one of the operands, but must not overlap one partially. The resulting bits
// do not depend on the instruction set or on how many elements an instruction processes:
// - Integers wrap. Logical results are 0 or 1, also for one operand.
// - half and bfloat16 are summed and multiplied in float, and rounded after each operand to nearest, ties to even. The
//   product of complex numbers is (ac - bd) + (ad + bc)i, without C's search for infinities.
// - min and max of floating point do not depend on the order of operands: -0 is less than 0, and a NaN prevails over
//   numbers, so that none is lost. The first of several NaNs stays.
// - The first NaN stays in sum and prod, too, made quiet; for half, bfloat16 and products of complex numbers every NaN
//   result is the one quiet NaN without sign or payload.
// - minloc and maxloc take an element whole, with its padding. Among equal values (-0 and 0 are equal) the one with the
//   lower index is taken, and the first if the indices are equal, too. NaNs prevail here, too, and are equal to each
//   other.
// Errors: INVALID_ARGUMENT if there are no operands or more than kAluOperandsMax, or !IsDefined(op, type).
// Source: papers, triggered operations ("reduces up to 7 operands at once").
absl::Status AluReduce(ElementOp op, ElementType type, absl::Span<const uint8_t* const> operands, size_t count,
                       uint8_t* target);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ALU_ALU_H_
