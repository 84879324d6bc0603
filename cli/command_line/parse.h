// SPDX-License-Identifier: Apache-2.0
//
// One way to say help, version and mistakes, for all programs that read their command line with CLI11.
#ifndef COPSE_CLI_COMMAND_LINE_PARSE_H_
#define COPSE_CLI_COMMAND_LINE_PARSE_H_

#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::cli {

// Sets the program's name, --help, --version and the looks of its help.
void SetUp(CLI::App* app, const std::string& name, const std::string& footer, size_t column_width);

// "usage: WHAT; try --help", INVALID_ARGUMENT.
absl::Status UsageError(const std::string& what);

// Parses; `arguments` are those after the program's name. Gives what is to be printed if help or version were asked
// for. Errors: INVALID_ARGUMENT as UsageError, one line.
absl::StatusOr<std::optional<std::string>> Parse(CLI::App* app, std::vector<std::string> arguments);

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_PARSE_H_
