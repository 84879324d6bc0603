// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/alu/alu_loops.h"

#if defined(__AVX2__) && defined(__F16C__)

#include "offload_emu/alu/alu_loops_inc.h"

namespace copse::emu {
namespace {

constexpr AluLoops kLoops = MakeLoops();

}  // namespace

constinit const AluLoops* const kAvx2AluLoops = &kLoops;

}  // namespace copse::emu

#else

namespace copse::emu {

constinit const AluLoops* const kAvx2AluLoops = nullptr;

}  // namespace copse::emu

#endif
