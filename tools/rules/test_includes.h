// SPDX-License-Identifier: Apache-2.0

// These are the system headers that most tests include. They are compiled once for all tests (precompiled.bzl). A test
// still includes what it uses: gcc does without this header, and fails where an include is missing.

#ifndef COPSE_TOOLS_RULES_TEST_INCLUDES_H_
#define COPSE_TOOLS_RULES_TEST_INCLUDES_H_

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#endif  // COPSE_TOOLS_RULES_TEST_INCLUDES_H_
