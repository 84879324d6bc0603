// SPDX-License-Identifier: Apache-2.0
//
// Shares the posts of one turn of the daemon's loop among users.
#ifndef COPSE_DAEMON_SHM_POST_SHARES_H_
#define COPSE_DAEMON_SHM_POST_SHARES_H_

#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "daemon/shm/client_calls.h"

namespace copse::daemon {

// A PostShares bounds what one user, with however many clients, adds to the turn that another user's client waits for.
// Nothing is lost to a user who is alone: the next turn follows at once. Thread-compatible.
class PostShares {
 public:
  // Posts of one user in one turn: those of a node whose ranks have all posted a call, mostly.
  static constexpr uint32_t kPerUser = 8 * kPostsPerTurn;

  void BeginTurn() { left_.clear(); }
  // Returns how many posts of the user may be taken yet in this turn. Valid until the next call.
  uint32_t* LeftOf(uint32_t uid) {
    for (auto& [user, left] : left_) {
      if (user == uid) return &left;
    }
    return &left_.emplace_back(uid, kPerUser).second;
  }

 private:
  absl::InlinedVector<std::pair<uint32_t, uint32_t>, 4> left_;  // of users who have posted; few do in one turn
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_POST_SHARES_H_
