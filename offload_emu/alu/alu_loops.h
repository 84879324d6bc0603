// SPDX-License-Identifier: Apache-2.0
//
// Declares the arithmetic unit's inner loops, which are compiled twice: for every processor, and for those with AVX2
// and F16C. Only the ALU and its tests include this file.
#ifndef COPSE_OFFLOAD_EMU_ALU_ALU_LOOPS_H_
#define COPSE_OFFLOAD_EMU_ALU_ALU_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "base/element_types.h"

namespace copse::emu {

// An AluLoop computes out[i] = a[i] op b[i] for `count` elements, at any alignment. `out` may be `a` or `b`, but must
// not overlap one partially.
using AluLoop = void (*)(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count);

// AluLoops holds one loop for each operation on each type; null where IsDefined is false. The loops of all tables give
// the same bits.
struct AluLoops {
  AluLoop loops[kElementOpCount][kElementTypeCount];
  AluLoop Of(ElementOp op, ElementType type) const { return loops[static_cast<int>(op)][static_cast<int>(type)]; }
};

extern const AluLoops kBaselineAluLoops;
// These loops need a processor with AVX2 and F16C. Null in builds for other architectures.
extern const AluLoops* const kAvx2AluLoops;

// Returns kAvx2AluLoops if this processor can run them; else null.
const AluLoops* FastAluLoops();

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ALU_ALU_LOOPS_H_
