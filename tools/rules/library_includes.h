// SPDX-License-Identifier: Apache-2.0

// These are the system headers that most libraries include; they take longer to read than most libraries to compile.
// They are compiled once (precompiled.bzl). A library still includes what it uses: gcc does without this
// header, and fails where an include is missing.

#ifndef COPSE_TOOLS_RULES_LIBRARY_INCLUDES_H_
#define COPSE_TOOLS_RULES_LIBRARY_INCLUDES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#endif  // COPSE_TOOLS_RULES_LIBRARY_INCLUDES_H_
