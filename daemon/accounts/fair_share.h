// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a user may have more of what all users of a node share.
#ifndef COPSE_DAEMON_ACCOUNTS_FAIR_SHARE_H_
#define COPSE_DAEMON_ACCOUNTS_FAIR_SHARE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::daemon {

// A FairShare is a limit for all users together, of which the last eighth is for users with less than the floor: a user
// who takes whatever there is keeps nobody out who has little.
struct FairShare {
  static constexpr uint64_t kKeptPart = 8;

  uint64_t limit = 0;
  uint64_t floor = 1;

  uint64_t kept() const { return limit / kKeptPart; }
  // Returns whether a user who has `used` may have one more, while all users together have `used_by_all`.
  bool Allows(uint64_t used, uint64_t used_by_all) const {
    return used_by_all < (used < floor ? limit : limit - kept());
  }
  // Says what a user is refused: "too many clients (uid=1000, used=13, used by all=14, limit=16)".
  std::string Refusal(std::string_view quota, uint32_t uid, uint64_t used, uint64_t used_by_all) const {
    return absl::StrCat("too many ", AbslView(quota), " (uid=", uid, ", used=", used, ", used by all=", used_by_all,
                        ", limit=", limit, ")");
  }
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_FAIR_SHARE_H_
