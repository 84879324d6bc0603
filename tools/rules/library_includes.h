// SPDX-License-Identifier: Apache-2.0

// These are the system headers that most libraries include; they take longer to read than most libraries to compile.
// They are compiled once (precompiled.bzl). A library still includes what it uses: gcc does without this
// header, and fails where an include is missing.

#ifndef COPSE_TOOLS_RULES_LIBRARY_INCLUDES_H_
#define COPSE_TOOLS_RULES_LIBRARY_INCLUDES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#endif  // COPSE_TOOLS_RULES_LIBRARY_INCLUDES_H_
