// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_SWEEP_VERBS_H_
#define COPSE_CLI_SIM_SWEEP_VERBS_H_

#include <vector>

#include "cli/sim/verb.h"

namespace copse::simcli {

// `copse-sim table`: completion against the number of nodes. `copse-sim sweep`: against the message's size. Of several
// algorithms, over seeds; as a table, JSON, SVG and PNG. docs/reference/copse-sim.md has the options and the JSON.
std::vector<Verb> SweepVerbs();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_SWEEP_VERBS_H_
