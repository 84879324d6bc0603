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

// All verbs, by family.
const std::vector<Verb>& AllVerbs();

struct Outcome {
  int exit_code = 0;
  std::string out;  // for standard output
  std::string err;  // for standard error
};

// `arguments` without the program's name; `width`: of the terminal, 0: none. `print` gets what has to be seen before
// the end, and is false to end it.
Outcome RunCopsectl(const std::vector<std::string>& arguments, size_t width,
                    std::function<bool(const std::string&)> print);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COPSECTL_H_
