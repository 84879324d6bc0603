// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between copse-sim and its verbs. Each verb, or group of similar verbs, has its own file.
#ifndef COPSE_CLI_SIM_VERB_H_
#define COPSE_CLI_SIM_VERB_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/command_line/verb.h"

namespace copse::simcli {

using cli::Arguments;
using cli::Parameter;
// A verb's function writes to `out` and `err`, the standard output and error. If it returns INVALID_ARGUMENT, that is
// reported as bad usage; any other error is a failure, whose text is printed unless it is empty. All positionals are
// required.
using Verb = cli::Verb<absl::Status(const Arguments&, std::ostream& out, std::ostream& err)>;

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_VERB_H_
