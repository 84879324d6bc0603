// SPDX-License-Identifier: Apache-2.0
//
// Provides copsectl as a function, for main and for tests.
#ifndef COPSE_CLI_CTL_COPSECTL_H_
#define COPSE_CLI_CTL_COPSECTL_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/ctl/progress.h"
#include "cli/ctl/verb.h"

namespace copse::ctl {

// Returns all verbs; those of one family are adjacent.
const std::vector<Verb>& AllVerbs();

struct Outcome {
  int exit_code = 0;
  std::string out;  // for standard output
  std::string err;  // for standard error
};

// Runs copsectl with `arguments`, which exclude the program's name. `width` is that of the terminal in characters, or 0
// if standard output is none. Verbs that run until they are stopped pass their output to `print`, which returns false
// to end them; all other output is in the result.
Outcome RunCopsectl(const std::vector<std::string>& arguments, size_t width,
                    std::function<bool(const std::string&)> print, const ProgressOutput& progress = {});

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COPSECTL_H_
