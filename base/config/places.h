// SPDX-License-Identifier: Apache-2.0
//
// Checks, before a program starts, that it can create its files.
#ifndef COPSE_BASE_CONFIG_PLACES_H_
#define COPSE_BASE_CONFIG_PLACES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace copse::config {

// Checks that this process may create files in the folder of `path`. FAILED_PRECONDITION names key, path and reason.
absl::Status CheckFolder(std::string_view key, const std::string& path);

// Checks that this process may write the file, or create it. Accepts an empty path. FAILED_PRECONDITION names key, path
// and reason.
absl::Status CheckWritable(std::string_view key, const std::string& path);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_PLACES_H_
