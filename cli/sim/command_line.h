// SPDX-License-Identifier: Apache-2.0
//
// copse-sim's command line.
#ifndef COPSE_CLI_SIM_COMMAND_LINE_H_
#define COPSE_CLI_SIM_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/verb.h"

namespace copse::simcli {

struct CommandLine {
  // If set, the program prints it and ends.
  std::optional<std::string> answer;

  const Verb* verb = nullptr;
  Arguments arguments;
};

// Parses `arguments`, which exclude the program's name; `verbs` must outlive the result. INVALID_ARGUMENT describes the
// mistake in one line.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_COMMAND_LINE_H_
