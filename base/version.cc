// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse {

absl::Status CheckVersion(std::string_view what, uint32_t mine, uint32_t theirs) {
  if (Compatible(mine, theirs)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(AbslView(what), " ", theirs, " (this side ", mine, ")"));
}

}  // namespace copse
