// SPDX-License-Identifier: Apache-2.0
//
// Files that a program will make: what can be said of them before it starts.
#ifndef COPSE_BASE_CONFIG_PLACES_H_
#define COPSE_BASE_CONFIG_PLACES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace copse::config {

// Whether this process may make something in the folder of `path`. FAILED_PRECONDITION names key, path and folder.
absl::Status CheckFolder(std::string_view key, const std::string& path);

// Whether this process may write the file, or make it. An empty path is none, and fine. FAILED_PRECONDITION.
absl::Status CheckWritable(std::string_view key, const std::string& path);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_PLACES_H_
