// SPDX-License-Identifier: Apache-2.0
#include "bench/measures/line_field.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace copse::bench {

absl::StatusOr<double> LineField(const std::string& program, const std::string& line, const std::string& key) {
  for (const absl::string_view field : absl::StrSplit(line, ' ')) {
    const std::vector<std::string> parts = absl::StrSplit(field, '=');
    double value = 0;
    if (parts.size() == 2 && parts[0] == key && absl::SimpleAtod(parts[1], &value)) return value;
  }
  return absl::InternalError(absl::StrCat(program, " printed no ", key, " (line=", line, ")"));
}

}  // namespace copse::bench
