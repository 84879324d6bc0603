// SPDX-License-Identifier: Apache-2.0
//
// copse-trace shows which fragments of results programs access first.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "cli/trace/copse_trace.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const int code = copse::trace::RunTrace(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
  std::cout.flush();
  if (!std::cout) {
    std::fputs("copse-trace: cannot write the answer\n", stderr);
    return 1;
  }
  return code;
}
