// SPDX-License-Identifier: Apache-2.0
//
// The interface of a verb of copse-sim. Every verb, or family of verbs, has a file of its own.
#ifndef COPSE_CLI_SIM_VERB_H_
#define COPSE_CLI_SIM_VERB_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/command_line/verb_parser.h"

namespace copse::simcli {

using cli::Arguments;
using cli::Parameter;
// `out` and `err` are standard output and error. INVALID_ARGUMENT is bad usage; any other error is a failure, whose
// text is printed unless it is empty. All positionals are required.
using Verb = cli::Verb<absl::Status(const Arguments&, std::ostream& out, std::ostream& err)>;

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_VERB_H_
