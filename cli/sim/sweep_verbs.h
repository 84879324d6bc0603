// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_SWEEP_VERBS_H_
#define COPSE_CLI_SIM_SWEEP_VERBS_H_

#include <vector>

#include "cli/sim/verb.h"

namespace copse::simcli {

// Makes the verbs `copse-sim table`, which shows completion times by the number of nodes, and `copse-sim sweep`, which
// shows them by the message's size. Both compare several algorithms over seeds, and write a table, JSON, SVG or PNG.
// docs/reference/copse-sim.md has the options and the JSON.
std::vector<Verb> SweepVerbs();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_SWEEP_VERBS_H_
