// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_RUN_VERB_H_
#define COPSE_CLI_SIM_RUN_VERB_H_

#include "cli/sim/verb.h"

namespace copse::simcli {

// Makes the verb `copse-sim run`, which executes one call of a plan with the daemons' engines on a simulated cluster,
// checks every rank's data, and prints simulated and predicted times. docs/reference/copse-sim.md has the options and
// the JSON.
Verb RunVerb();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_RUN_VERB_H_
