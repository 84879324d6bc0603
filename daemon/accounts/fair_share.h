// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a user may have more of what all users of a node share.
#ifndef COPSE_DAEMON_ACCOUNTS_FAIR_SHARE_H_
#define COPSE_DAEMON_ACCOUNTS_FAIR_SHARE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::daemon {

// A FairShare is a limit for all users together, of which the last eighth is for users with at most the floor: a user
// who takes whatever there is keeps nobody out who has little.
struct FairShare {
  static constexpr uint64_t kKeptPart = 8;

  uint64_t limit = 0;
  uint64_t floor = 1;
  bool keeps = true;  // false: nothing is kept, as where one user has the node
  uint64_t unit = 1;  // the kept part is a multiple of it, so that a limit of a few units is not divided

  uint64_t kept() const { return keeps ? limit / unit / kKeptPart * unit : 0; }
  // Returns the most that a user may have while others have nothing.
  uint64_t most() const { return std::max(limit - kept(), std::min(floor, limit)); }
  // Returns whether a user who has `used` may have `more`, while all users together have `used_by_all` >= `used`.
  bool Allows(uint64_t used, uint64_t used_by_all, uint64_t more = 1) const {
    const bool has_little = more <= floor && used <= floor - more;
    const uint64_t open = has_little ? limit : limit - kept();
    return more <= open && used_by_all <= open - more;
  }
  // Says what a user is refused: "too many clients (uid=1000, used=13, used by all=14, limit=16, wanted=1)".
  std::string Refusal(std::string_view quota, uint32_t uid, uint64_t used, uint64_t used_by_all,
                      uint64_t more = 1) const {
    return absl::StrCat("too many ", AbslView(quota), " (uid=", uid, ", used=", used, ", used by all=", used_by_all,
                        ", limit=", limit, ", wanted=", more, ")");
  }
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_FAIR_SHARE_H_
