// SPDX-License-Identifier: Apache-2.0
//
// CallSim runs copse-sim within a test and returns its output.
#ifndef COPSE_CLI_SIM_CALL_SIM_H_
#define COPSE_CLI_SIM_CALL_SIM_H_

#include <sstream>
#include <string>
#include <vector>

#include "cli/sim/sim.h"

namespace copse::simcli {

struct Answer {
  int exit_code = 0;
  std::string out, err;
};

inline Answer CallSim(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int exit_code = RunSim(arguments, out, err);
  return {exit_code, out.str(), err.str()};
}

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_CALL_SIM_H_
