// SPDX-License-Identifier: Apache-2.0

#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace copse::check_internal {

void Fail(const char* file, int line, const char* condition, const std::string& values) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s%s\n", file, line, condition, values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace copse::check_internal
