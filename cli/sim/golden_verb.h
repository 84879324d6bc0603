// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_GOLDEN_VERB_H_
#define COPSE_CLI_SIM_GOLDEN_VERB_H_

#include "cli/sim/verb.h"

namespace copse::simcli {

// Makes the verb `copse-sim golden FILE...`, which runs the tree algorithms on the clusters of golden vectors
// (docs/reference/copse-sim.md has the format) and compares the results. It prints a line for each difference, then the
// numbers of comparisons: "N passed, N failed". It fails if any comparison fails; a file that cannot be read is bad
// usage.
Verb GoldenVerb();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_GOLDEN_VERB_H_
