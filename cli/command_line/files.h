// SPDX-License-Identifier: Apache-2.0
//
// Whole files, for programs that name them on their command lines.
#ifndef COPSE_CLI_COMMAND_LINE_FILES_H_
#define COPSE_CLI_COMMAND_LINE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace copse::cli {

// Returns the file's text, of a longer one the first `bytes_max` + 1 bytes; nothing if it cannot be read. "-" is
// standard input if `or_input`.
inline constexpr size_t kAnyLength = SIZE_MAX - 1;
std::optional<std::string> ReadFile(const std::string& path, size_t bytes_max = kAnyLength, bool or_input = false);

// Replaces the file by `text`. Returns false, with errno, if it cannot be written.
bool WriteFile(const std::string& path, const std::string& text);

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_FILES_H_
