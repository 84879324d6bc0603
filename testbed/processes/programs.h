// SPDX-License-Identifier: Apache-2.0
//
// Where the programs under test are, and files that come with tests.
#ifndef COPSE_TESTBED_PROCESSES_PROGRAMS_H_
#define COPSE_TESTBED_PROCESSES_PROGRAMS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace copse::procs {

// The path of the program with Bazel's name `label` ("daemon/copsed"): in the folder COPSE_BIN_DIR if it is set and has
// a program of that name, else among this program's runfiles. NOT_FOUND names both places.
absl::StatusOr<std::string> FindProgram(std::string_view label);
// The same for a file that programs read.
absl::StatusOr<std::string> FindFile(std::string_view label);

}  // namespace copse::procs

#endif  // COPSE_TESTBED_PROCESSES_PROGRAMS_H_
