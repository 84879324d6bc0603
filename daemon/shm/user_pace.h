// SPDX-License-Identifier: Apache-2.0
//
// Bounds the time of the daemon's loop that one user's connections, messages and ends take while another user makes
// calls.
#ifndef COPSE_DAEMON_SHM_USER_PACE_H_
#define COPSE_DAEMON_SHM_USER_PACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace copse::daemon {

// A UserPace gives each user an eighth of the loop's time for errands (all of a user's work that is not a call) as long
// as another user makes calls: after an errand the user's next one waits for seven times as long as it took. While no
// other user makes calls, no errand waits. Calls themselves are shared by PostShares. Thread-compatible.
class UserPace {
 public:
  // A user makes calls if the last one was posted less than this ago.
  static constexpr absl::Duration kRecent = absl::Milliseconds(10);
  static constexpr int kPausePerErrand = 7;
  // No pause is longer, whatever the errand took.
  static constexpr absl::Duration kPauseMax = absl::Milliseconds(100);

  // An Errand's user is charged for as long as it lives.
  class Errand {
   public:
    Errand(UserPace* pace, uint32_t uid);
    ~Errand();
    Errand(const Errand&) = delete;
    Errand& operator=(const Errand&) = delete;

   private:
    UserPace* const pace_;
    const uint32_t uid_;
    const absl::Time begin_;
  };

  // `*clock` must outlive this object.
  explicit UserPace(const Clock* clock) : clock_(clock) {}

  void NotePosts(uint32_t uid, absl::Time now);
  // Returns whether an errand of the user may begin now: no earlier one waits, and the user is not in a pause.
  bool MayBegin(uint32_t uid) const;
  // Keeps an errand until its turn comes: a user's errands keep their order. `owner` names it for Forget.
  void Keep(uint32_t uid, const void* owner, absl::AnyInvocable<void()> errand);
  // Drops what waits for this owner.
  void Forget(uint32_t uid, const void* owner);
  void Clear();
  // Runs errands whose turn has come, a few of each user's; they charge themselves. Returns whether there were any.
  bool RunDue();
  // Returns when RunDue has something to do.
  absl::Time NextDue() const;
  size_t waiting(uint32_t uid) const;
  // Returns how many errands had to wait since the start.
  uint64_t kept() const { return kept_; }

 private:
  struct Waiting {
    const void* owner;
    absl::AnyInvocable<void()> errand;
  };
  struct Errands {
    absl::Time pause_end = absl::InfinitePast();
    std::deque<Waiting> waiting;
  };

  bool MustPause(uint32_t uid, const Errands& user, absl::Time now) const;
  void Charge(uint32_t uid, absl::Time begin, absl::Time end);

  const Clock* const clock_;
  std::map<uint32_t, Errands> users_;  // users with recent or waiting errands
  size_t waiting_ = 0;
  uint64_t kept_ = 0;
  // The user who posted last, and the last post of any other.
  uint32_t last_uid_ = 0;
  absl::Time last_post_ = absl::InfinitePast(), last_of_others_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_USER_PACE_H_
