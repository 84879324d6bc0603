// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_BARRIER_VERB_H_
#define COPSE_CLI_SIM_BARRIER_VERB_H_

#include "cli/sim/verb.h"

namespace copse::simcli {

// Makes the verb `copse-sim barrier`, which prices trees on a trigger unit by its overheads, selects the best for each
// number of nodes, and compares the model with published figures. docs/reference/copse-sim.md has the options and the
// JSON.
Verb BarrierVerb();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_BARRIER_VERB_H_
