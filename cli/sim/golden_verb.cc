// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/golden_verb.h"

#include <cstdint>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace copse::simcli {
namespace {

using Json = nlohmann::json;

struct Tally {
  uint32_t passed = 0, failed = 0;
};

absl::Status CompareFile(const std::string& file, Tally*, std::ostream&) {
  std::ifstream stream(file);
  if (!stream) return absl::InvalidArgumentError(absl::StrCat("cannot be read (file=", file, ")"));
  std::ostringstream text;
  text << stream.rdbuf();
  const Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat("not a JSON object (file=", file, ")"));
  return absl::OkStatus();
}

absl::Status RunGolden(const Arguments& arguments, std::ostream& out, std::ostream&) {
  Tally tally;
  for (const std::string& file : arguments.Texts("file")) {
    const absl::Status status = CompareFile(file, &tally, out);
    if (!status.ok()) return status;
  }
  out << tally.passed << " passed, " << tally.failed << " failed\n";
  return tally.failed == 0 ? absl::OkStatus() : absl::FailedPreconditionError("");
}

}  // namespace

Verb GoldenVerb() {
  return {.name = "golden",
          .help = "compare the tree algorithms with golden vectors",
          .positionals = {{"file", "", "golden vectors, a cluster each", true}},
          .options = {},
          .run = RunGolden};
}

}  // namespace copse::simcli
