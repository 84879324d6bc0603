// SPDX-License-Identifier: Apache-2.0
//
// copse-sim runs Copse's planner, cost model and engines without a cluster.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "cli/sim/sim.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const int exit_code = copse::simcli::RunSim(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
  std::cout.flush();
  if (!std::cout) {
    std::fputs("copse-sim: cannot write the answer\n", stderr);
    return 1;
  }
  return exit_code;
}
