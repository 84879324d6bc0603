// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_SWEEP_VERBS_H_
#define COPSE_CLI_SIM_SWEEP_VERBS_H_

#include <vector>

#include "cli/sim/verb.h"

namespace copse::simcli {

// Makes the verbs `copse-sim table`: completion against the number of nodes, and `copse-sim sweep`: completion against
// the message's size. Both compare several algorithms, over seeds; as a table, JSON, SVG and PNG.
// docs/reference/copse-sim.md has the options and the JSON.
std::vector<Verb> SweepVerbs();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_SWEEP_VERBS_H_
