// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic unit's inner loops, compiled once for every processor and once for processors with wider vectors.
// Private to the ALU and its tests.
#ifndef COPSE_OFFLOAD_EMU_ALU_LOOPS_H_
#define COPSE_OFFLOAD_EMU_ALU_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "base/element_types.h"

namespace copse::emu {

// out[i] = a[i] op b[i] for `count` elements, at any alignment. `out` may be `a` or `b`, but not overlap one partially.
using AluLoop = void (*)(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t count);

// One loop for each operation on each type; null where IsDefined is false. All tables give the same bits.
struct AluLoops {
  AluLoop loops[kElementOpCount][kElementTypeCount];
  AluLoop Of(ElementOp op, ElementType type) const { return loops[static_cast<int>(op)][static_cast<int>(type)]; }
};

extern const AluLoops kBaselineAluLoops;
// Requires AVX2 and F16C; null in builds for other processors.
extern const AluLoops* const kAvx2AluLoops;

// Returns kAvx2AluLoops if this processor can run them; else null.
const AluLoops* FastAluLoops();

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ALU_LOOPS_H_
