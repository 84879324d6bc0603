// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/verb.h"

#include "absl/strings/str_join.h"

namespace copse::cli {

std::string Arguments::Text(const std::string& name, const std::string& fallback) const {
  const auto it = values.find(name);
  return it == values.end() ? fallback : absl::StrJoin(it->second, ",");
}

}  // namespace copse::cli
