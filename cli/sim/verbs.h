// SPDX-License-Identifier: Apache-2.0
//
// Declares copse-sim's verbs. Each is implemented in a file named for it; sweep_verbs.cc has `table` and `sweep`.
// docs/reference/copse-sim.md has their options, formats and JSON.

#ifndef COPSE_CLI_SIM_VERBS_H_
#define COPSE_CLI_SIM_VERBS_H_

#include <vector>

#include "cli/sim/verb.h"

namespace copse::simcli {

// `copse-sim golden FILE...` runs the tree algorithms on the clusters of golden vectors and compares the results. It
// prints a line for each difference, then the numbers of comparisons: "N passed, N failed". It fails if any comparison
// fails; a file that cannot be read is bad usage.
Verb GoldenVerb();

// `copse-sim run` executes one call of a plan with the daemons' engines on a simulated cluster, checks every rank's
// data, and prints simulated and predicted times.
Verb RunVerb();

// `copse-sim barrier` prices trees on a trigger unit by its overheads, selects the best for each number of nodes, and
// compares the model with published figures.
Verb BarrierVerb();

// `copse-sim table` shows completion times by the number of nodes, and `copse-sim sweep` by the message's size. Both
// compare several algorithms over seeds, and write a table, JSON, SVG or PNG.
std::vector<Verb> SweepVerbs();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_VERBS_H_
