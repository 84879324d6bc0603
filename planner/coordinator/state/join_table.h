// SPDX-License-Identifier: Apache-2.0
//
// Gathers the joins of teams that are not complete yet.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_JOIN_TABLE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_JOIN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A Join is the request of one process to become a rank.
struct Join {
  uint64_t session = 0;
  std::string node;
  schedule::JoinTeam message;
};

// Gathered is the outcome of the joins of one identity.
struct Gathered {
  enum class State { kWaiting, kComplete, kFailed };
  State state = State::kWaiting;
  std::vector<Join> joins;      // complete: by rank; failed: all joins that fail; waiting: none
  schedule::FailureReport why;  // the reason, if failed
};

// Forming describes a formation that waits for ranks, or for Release.
struct Forming {
  schedule::TeamIdentity identity;
  TeamId parent{0};
  uint32_t size = 0;
};

// Returns the failure of the other ranks of a formation from which `join` is withdrawn because of `why`.
schedule::FailureReport WentAway(const Join& join, schedule::FailureReport why);

// A JoinTable gathers joins by identity and parent. A mistake of one member fails the formation for all immediately,
// since the team could not be formed, and it is unknown which member erred. What one formation costs does not depend on
// how many others there are. Thread-compatible.
class JoinTable {
 public:
  // TakeLate returns at most so many formations, and ends with the one that brings the joins to that number.
  static constexpr size_t kLateFormationsMax = 256, kLateJoinsMax = 4096;

  explicit JoinTable(uint32_t team_size_max, uint32_t formations_max)
      : team_size_max_(team_size_max), formations_max_(formations_max) {}

  // Adds joins of one message, and returns their formation if that is now complete. It fails if a rank is not below the
  // size, the size is 0 or above the limit, sizes differ, a rank is claimed twice, or there are too many formations.
  // The last ones are kept for users who have few, so that nobody is kept from forming teams by another user's. The
  // caller must drop a join that a daemon repeats, since it would claim its rank twice. `timeout` counts from the
  // formation's first join.
  Gathered Add(std::vector<Join> joins, absl::Time now, absl::Duration timeout);
  // Refuses joins of one message: they fail with all others of their formation.
  Gathered Refuse(std::vector<Join> joins, schedule::FailureReport why);
  // Fails the join with all others of its formation. Returns kWaiting if there is no such join.
  Gathered Cancel(uint64_t session, uint64_t request, const schedule::FailureReport& why);
  // Drops the joins of a session that ended. Formations with other joins stay until their deadline, since the daemon
  // may come back and repeat its joins.
  void Drop(uint64_t session);
  // Makes complete formations wait until Release returns them.
  void Hold() { holds_ = true; }
  std::vector<Gathered> Release();
  // Removes and returns incomplete formations whose time-out has passed, the earliest first; they fail with the missing
  // ranks. There may be more: those that are left are as others until then, and may still become complete.
  std::vector<Gathered> TakeLate(absl::Time now);
  // Returns the earliest deadline of an incomplete formation, or InfiniteFuture if there is none.
  absl::Time NextDeadline() const;

  // Returns the formation after the one of `identity` and `parent`, or the first one if `identity` is null; nullopt if
  // there is none.
  std::optional<Forming> After(const schedule::TeamIdentity* identity, TeamId parent) const;
  size_t size() const { return formations_.size(); }

 private:
  using Key = std::pair<schedule::TeamIdentity, TeamId>;
  struct Formation {
    bool is_complete() const { return joins.size() == size; }
    uint64_t number = 0;  // tells it from all others
    uint32_t size = 0;
    std::map<Rank, Join> joins;
    std::set<std::string> away;  // nodes whose joins were dropped
    absl::Time deadline;
    absl::Duration timeout;
  };

  using Formations = std::map<Key, Formation>;
  // These order formations by their deadlines, and joins by their senders.
  using Deadline = std::pair<absl::Time, uint64_t>;  // time, Formation::number
  using Sender =
      std::tuple<uint64_t, uint64_t, uint64_t, Rank::ValueType>;  // session, request, Formation::number, rank

  static Key KeyOf(const Join& join) { return {join.message.identity, join.message.parent}; }
  Gathered Fail(const Key& key, schedule::FailureReport why, std::vector<Join> more = {});
  // Returns why joins of one message cannot be in any formation, or kNone.
  schedule::FailureReport MistakeOf(const std::vector<Join>& joins) const;
  // Returns the formation, which may be a new one, or the failure.
  std::variant<Formations::iterator, schedule::FailureReport> Begin(const Key& key, uint32_t size, absl::Time now,
                                                                    absl::Duration timeout);
  uint32_t UsedBy(uint32_t user) const;
  // Returns how many formations of all users there may be for `user` to begin one.
  uint32_t LimitFor(uint32_t user) const;
  void Erase(Formations::iterator formation);
  static Deadline DeadlineOf(const Formation& formation) { return {formation.deadline, formation.number}; }
  static Sender SenderOf(const Formation& formation, const Join& join) {
    return {join.session, join.message.request, formation.number, join.message.rank.value()};
  }

  uint32_t team_size_max_;
  uint32_t formations_max_;
  bool holds_ = false;
  Formations formations_;
  uint64_t formations_begun_ = 0;
  std::map<Deadline, Formations::iterator> deadlines_;  // only of incomplete ones
  std::map<Sender, Formations::iterator> senders_;
  std::map<uint32_t, uint32_t> by_user_;  // number of formations; only users who have one
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_JOIN_TABLE_H_
