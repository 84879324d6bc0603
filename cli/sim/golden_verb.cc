// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/verbs.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "planner/algorithms/golden_vector.h"

namespace copse::simcli {
namespace {

absl::StatusOr<planner::GoldenVector> ReadVector(const std::string& file) {
  const std::optional<std::string> text = ReadFile(file);
  if (!text.has_value() || text->empty())
    return absl::InvalidArgumentError(absl::StrCat("cannot be read (file=", file, ")"));
  auto vector = planner::ParseGoldenVector(*text);
  if (!vector.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ": ", vector.status().message()));
  return vector;
}

absl::Status RunGolden(const Arguments& arguments, std::ostream& out, std::ostream&) {
  uint64_t passed = 0, failed = 0;
  for (const std::string& file : arguments.values.at("file")) {
    ASSIGN_OR_RETURN(const planner::GoldenVector vector, ReadVector(file));
    const planner::GoldenComparison comparison = planner::CompareWithGolden(vector);
    passed += comparison.passed;
    failed += comparison.failed.size();
    for (const std::string& line : comparison.failed) out << file << ": " << line << "\n";
  }
  out << passed << " passed, " << failed << " failed" << std::endl;
  return failed == 0 ? absl::OkStatus() : absl::FailedPreconditionError("");
}

}  // namespace

Verb GoldenVerb() {
  return {.name = "golden",
          .help = "compare the tree algorithms with golden vectors",
          .positionals = {{"file", "", "golden vectors, a cluster each", true}},
          .run = RunGolden};
}

}  // namespace copse::simcli
