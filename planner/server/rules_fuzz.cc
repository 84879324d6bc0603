// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "base/check.h"
#include "planner/server/rules_file.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

std::vector<std::string> Seeds() {
  return {
      "version: 1\nrules:\n  - {collective: allreduce, algorithm: knomial-4}\n",
      "version: 1\nrules:\n  - {collective: barrier, algorithm: dissemination}\n"
      "  - {collective: bcast, algorithm: kary-2}\n",
      "version: 1\nrules:\n  - {collective: bcast, bytes_min: 1, bytes_max: 9000, ranks_max: 7, segment_bytes: 1024}\n"
      "  - {collective: bcast, ranks_min: 8, algorithm: best}\n",
      "{version: 1, rules: [&a {collective: bcast, algorithm: flat}, *a]}\n"};
}

void OneInput(std::string_view bytes) {
  const auto rules = planner::ParseRules(bytes, "f");
  if (!rules.ok()) CHECK(absl::StartsWith(rules.status().message(), "f:"));
}

}  // namespace copse::fuzzing
