// SPDX-License-Identifier: Apache-2.0
//
// copsectl as a function.
#ifndef COPSE_CLI_CTL_COPSECTL_H_
#define COPSE_CLI_CTL_COPSECTL_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/ctl/verb.h"

namespace copse::ctl {

// Returns all verbs, by family.
const std::vector<Verb>& AllVerbs();

struct Outcome {
  int exit_code = 0;
  std::string out;  // for standard output
  std::string err;  // for standard error
};

// Runs copsectl with `arguments`, which exclude the program's name. `width` is the terminal's; 0: no terminal. `print`
// writes output before the end, and returns false to end the verb.
Outcome RunCopsectl(const std::vector<std::string>& arguments, size_t width,
                    std::function<bool(const std::string&)> print);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COPSECTL_H_
