// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files.
#ifndef COPSE_BASE_FILES_H_
#define COPSE_BASE_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace copse {

inline constexpr size_t kAnyLength = SIZE_MAX - 1;
// Returns the file's bytes, but at most `bytes_max` + 1, so that the caller can detect a file that is too long. Returns
// nothing, with errno set, if it cannot be read. "-" is standard input if `or_input`.
std::optional<std::string> ReadFile(const std::string& path, size_t bytes_max = kAnyLength, bool or_input = false);

// Replaces the file's content by `text`. Returns false, with errno set, if that fails; the file may then be incomplete.
bool WriteFile(const std::string& path, const std::string& text);

// Replaces the file by one of `text` and `mode` at once, so that no reader sees an incomplete one. Returns false, with
// errno set, if that fails; the file is then as before, and nothing is left beside it.
bool ReplaceFile(const std::string& path, const std::string& text, mode_t mode = 0666);

}  // namespace copse

#endif  // COPSE_BASE_FILES_H_
