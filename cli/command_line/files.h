// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files that are named on a program's command line.
#ifndef COPSE_CLI_COMMAND_LINE_FILES_H_
#define COPSE_CLI_COMMAND_LINE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace copse::cli {

inline constexpr size_t kAnyLength = SIZE_MAX - 1;
// Returns the file's bytes, but at most `bytes_max` + 1, so that the caller can detect a file that is too long. Returns
// nothing if it cannot be read. "-" is standard input if `or_input`.
std::optional<std::string> ReadFile(const std::string& path, size_t bytes_max = kAnyLength, bool or_input = false);

// Replaces the file's content by `text`. Returns false, with errno set, if that fails; the file may then be incomplete.
bool WriteFile(const std::string& path, const std::string& text);

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_FILES_H_
