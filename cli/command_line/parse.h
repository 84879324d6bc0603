// SPDX-License-Identifier: Apache-2.0
//
// Handles help, version and usage errors in one way for all programs that read their command line with CLI11.
#ifndef COPSE_CLI_COMMAND_LINE_PARSE_H_
#define COPSE_CLI_COMMAND_LINE_PARSE_H_

#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::cli {

// Sets the program's name, --help, --version and the format of its help, whose first column has `column_width`
// characters. `footer` ends the help. Flags that are added afterwards take no value (--once=3), unless they say so
// (disable_flag_override(false)).
void SetUp(CLI::App* app, const std::string& name, const std::string& footer, size_t column_width);

// Adds the option -w of programs that write a table or JSON; only "table" and "json" are accepted. `*format` must
// outlive `*app`.
CLI::Option* AddFormatOption(CLI::App* app, std::string* format, const std::string& help);

// Makes the error "usage: WHAT; try --help", INVALID_ARGUMENT.
absl::Status UsageError(const std::string& what);

// Parses `arguments`, which exclude the program's name. Returns the text to print if help or version was requested,
// else nothing. Errors: INVALID_ARGUMENT from UsageError, one line.
absl::StatusOr<std::optional<std::string>> Parse(CLI::App* app, std::vector<std::string> arguments);

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_PARSE_H_
