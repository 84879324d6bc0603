// SPDX-License-Identifier: Apache-2.0
//
// The types and operations of the arithmetic unit: all that there are.
#ifndef COPSE_OFFLOAD_EMU_ALU_TYPES_H_
#define COPSE_OFFLOAD_EMU_ALU_TYPES_H_

#include "base/element_types.h"

namespace copse::emu {

using AluOp = ElementOp;
inline constexpr int kAluOpCount = kElementOpCount;
using AluType = ElementType;
inline constexpr int kAluTypeCount = kElementTypeCount;

constexpr bool AluSupports(AluOp op, AluType type) { return IsDefined(op, type); }

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ALU_TYPES_H_
