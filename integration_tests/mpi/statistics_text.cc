// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/mpi/statistics_text.h"

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace copse::mpi_test {
namespace {

bool ParseReasons(const std::string& text, std::map<std::string, uint64_t>* reasons) {
  for (const auto reason : absl::StrSplit(text, ", ")) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(reason, ": ");
    if (!absl::SimpleAtoi(pair.second, &(*reasons)[pair.first])) return false;
  }
  return true;
}

// "offloaded 3 in 0.1 s, by MPI 5 in 0.1 s (first calls: 4, too long: 1)"
bool ParseCounts(const std::string& text, CollectiveCounts* counts) {
  int length = 0;  // stays so unless the text has all of that
  std::sscanf(text.c_str(), "offloaded %" SCNu64 " in %*f s, by MPI %" SCNu64 " in %*f s%n", &counts->offloaded,
              &counts->by_mpi, &length);
  if (length == 0) return false;
  const size_t open = text.find('(');
  return open == std::string::npos || ParseReasons(text.substr(open + 1, text.size() - open - 2), &counts->reasons);
}

}  // namespace

absl::StatusOr<std::map<std::string, CollectiveCounts>> ParseStatisticsText(const std::vector<std::string>& lines) {
  std::map<std::string, CollectiveCounts> all;
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 2));
    if (parts.size() != 3 || parts[0] != "copse-mpi" || !absl::StartsWith(parts[2], "offloaded ")) continue;
    if (!ParseCounts(parts[2], &all[parts[1]])) {
      return absl::InvalidArgumentError(absl::StrCat("statistics: not as expected (line=", line, ")"));
    }
  }
  return all;
}

}  // namespace copse::mpi_test
