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

// A FairShare is a limit for all users together, of which the last part is for users with at most the floor: a user who
// takes whatever there is keeps nobody out who has little. Each of those may have as much of that part as remains for
// further ones, so that one after the other finds half of what there was; and `least` as long as there is so much.
struct FairShare {
  static constexpr uint64_t kKeptPart = 8;
  static constexpr uint64_t kLeastPart = 64;  // of amounts that have no smaller unit

  uint64_t limit = 0;
  uint64_t floor = 1;
  uint64_t least = 0;
  uint64_t kept_eighths = 1;  // of the limit
  bool keeps = true;          // false: nothing is kept, as where one user has the node
  uint64_t unit = 1;          // the kept part is a multiple of it, so that a limit of a few units is not divided

  uint64_t kept() const { return keeps ? limit / unit / kKeptPart * kept_eighths * unit : 0; }
  // Returns the most that a user may have while others have nothing.
  uint64_t most() const { return std::max(limit - kept(), std::min(floor, limit)); }
  // Returns whether a user who has `used` may have `more`, while all users together have `used_by_all` >= `used`.
  bool Allows(uint64_t used, uint64_t used_by_all, uint64_t more = 1) const {
    if (more > limit || used_by_all > limit - more) return false;
    const uint64_t left = limit - used_by_all - more;
    if (left >= kept()) return true;
    const bool has_little = more <= floor && used <= floor - more;
    return has_little && used + more <= std::max(least, left);
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
