// SPDX-License-Identifier: Apache-2.0
//
// Provides copse-sim as a function, for main and for tests.
#ifndef COPSE_CLI_SIM_SIM_H_
#define COPSE_CLI_SIM_SIM_H_

#include <ostream>
#include <string>
#include <vector>

#include "cli/sim/verb.h"

namespace copse::simcli {

const std::vector<Verb>& AllVerbs();

// Runs copse-sim with `arguments`, which exclude the program's name. Returns the exit code: 0 done; 1 failed; 2 bad
// usage, which is any INVALID_ARGUMENT.
int RunSim(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_SIM_H_
