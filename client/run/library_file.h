// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a file is libcopse-mpi.so by its contents, without loading it. A dynamic linker that cannot preload a
// file only prints a line in each process and continues, and another library would have no effect.
#ifndef COPSE_CLIENT_RUN_LIBRARY_FILE_H_
#define COPSE_CLIENT_RUN_LIBRARY_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace copse::run {

enum class LibraryFault { kNone, kNoLibrary, kOtherMachine, kCutOff, kOtherLibrary };

// Returns kNone if `file` has the bytes of a shared library that exports `symbol`, for the machine of the program whose
// bytes begin with `own`; else what is wrong. Source: System V ABI, "Object Files" (ELF).
LibraryFault FaultOfLibrary(std::string_view file, std::string_view own, std::string_view symbol);

// Returns OK if the file is libcopse-mpi.so for this machine. Errors: FAILED_PRECONDITION, with the reason.
absl::Status CheckLibrary(const std::string& path);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_LIBRARY_FILE_H_
