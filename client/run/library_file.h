// SPDX-License-Identifier: Apache-2.0
//
// Whether a file is libcopse-mpi.so, by what it says of itself: it is not loaded. A dynamic linker that cannot preload
// a file prints a line in each process and goes on without, and other libraries do no good.
#ifndef COPSE_CLIENT_RUN_LIBRARY_FILE_H_
#define COPSE_CLIENT_RUN_LIBRARY_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace copse::run {

enum class LibraryFault { kNone, kNoLibrary, kOtherMachine, kCutOff, kOtherLibrary };

// Why the bytes of a file are not those of a shared library that exports `symbol`, for the machine of the program that
// begins with `own`. Source: System V ABI, "Object Files" (ELF).
LibraryFault FaultOfLibrary(std::string_view file, std::string_view own, std::string_view symbol);

// Errors: FAILED_PRECONDITION, with what is wrong.
absl::Status CheckLibrary(const std::string& path);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_LIBRARY_FILE_H_
