// SPDX-License-Identifier: Apache-2.0
//
// Locates the programs under test, and files that come with tests.
#ifndef COPSE_TESTBED_PROCESSES_PROGRAMS_H_
#define COPSE_TESTBED_PROCESSES_PROGRAMS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace copse::procs {

// Returns the path of the program with Bazel's name `label` ("daemon/copsed"): in the folder COPSE_BIN_DIR if it is
// set and has a program of that name, else among this program's runfiles. NOT_FOUND names both places.
absl::StatusOr<std::string> FindProgram(std::string_view label);
// Returns the path of a data file in the same way.
absl::StatusOr<std::string> FindFile(std::string_view label);

// Returns the content of a file; an empty string if it cannot be read.
std::string ContentOf(const std::string& path);

}  // namespace copse::procs

#endif  // COPSE_TESTBED_PROCESSES_PROGRAMS_H_
