// SPDX-License-Identifier: Apache-2.0
#include "planner/schedule/control.h"

#include "absl/strings/str_cat.h"

namespace copse::schedule {

std::string_view CallPartName(CallPart part) {
  switch (part) {
    case CallPart::kCall:
      return "call";
    case CallPart::kRanks:
      return "ranks";
    case CallPart::kNetwork:
      return "network";
  }
  return "unknown";
}

std::string DescribeTeam(const TeamIdentity& identity) {
  std::string text = absl::StrCat("'", identity.name, "'");
  if (!identity.job.empty()) absl::StrAppend(&text, " of job ", identity.job);
  absl::StrAppend(&text, " of user ", identity.uid);
  return text;
}

}  // namespace copse::schedule
