// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/alu/alu_loops.h"
#include "offload_emu/alu/alu_loops_inc.h"

namespace copse::emu {

constinit const AluLoops kBaselineAluLoops = MakeLoops();

}  // namespace copse::emu
