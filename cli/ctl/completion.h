// SPDX-License-Identifier: Apache-2.0
//
// Writes what makes shells complete copsectl's command lines.
#ifndef COPSE_CLI_CTL_COMPLETION_H_
#define COPSE_CLI_CTL_COMPLETION_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/ctl/command_line.h"
#include "cli/ctl/verb.h"

namespace copse::ctl {

// Returns a script for `shell`: bash, zsh or fish. INVALID_ARGUMENT for another one. `common` are the options of all
// verbs.
absl::StatusOr<std::string> CompletionScript(std::string_view shell, const std::vector<Verb>& verbs,
                                             const OptionWords& common);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COMPLETION_H_
