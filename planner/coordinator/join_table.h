// SPDX-License-Identifier: Apache-2.0
//
// Joins of teams that are not complete yet.
#ifndef COPSE_PLANNER_COORDINATOR_JOIN_TABLE_H_
#define COPSE_PLANNER_COORDINATOR_JOIN_TABLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "protocol/control.h"

namespace copse::coordinator {

// Join is the request of one process to become a rank.
struct Join {
  uint64_t session = 0;
  std::string node;
  schedule::JoinTeam message;
};

// Gathered is the outcome of the joins of one identity.
struct Gathered {
  enum class State { kWaiting, kComplete, kFailed };
  State state = State::kWaiting;
  std::vector<Join> joins;      // complete: one per rank, ascending. Failed: all that end. Waiting: none
  schedule::FailureReport why;  // if failed
};

// Forming is a formation that waits for ranks.
struct Forming {
  schedule::TeamIdentity identity;
  TeamId parent{0};
  uint32_t size = 0;
  std::vector<Join> joins;  // by rank
  std::vector<Rank> missing;
};

// Returns the reason for the other ranks' failure when a process does not join after all.
schedule::FailureReport WentAway(const Join& join, schedule::FailureReport why);

// Formats "2,5-6"; "..." replaces what exceeds about 60 characters.
std::string RankList(const std::vector<Rank>& ranks);

// A JoinTable gathers joins by identity and parent. A mistake of one member fails the formation for all, at once: the
// team could not be formed, and it is unknown which member erred. Thread-compatible.
class JoinTable {
 public:
  explicit JoinTable(uint32_t team_size_max, uint32_t formations_max)
      : team_size_max_(team_size_max), formations_max_(formations_max) {}

  // Fails: rank not below size, size 0 or above the limit, sizes that differ, a rank claimed twice, too many
  // formations. A repeated join, from the same session with the same request, changes nothing.
  Gathered Add(Join join, absl::Time now, absl::Duration timeout);
  // Refuses an impossible join: it and all others of its formation fail.
  Gathered Refuse(Join join, schedule::FailureReport why);
  // Fails the join's formation for all other members too. Returns Waiting if there is no such join.
  Gathered Cancel(uint64_t session, uint64_t request, const schedule::FailureReport& why);
  // Drops the joins of a session that ended; their formations stay pending until it returns.
  void Drop(uint64_t session);
  // From now on complete formations wait until Release returns them.
  void Hold() { holds_ = true; }
  std::vector<Gathered> Release();
  // Returns formations that timed out: "3 of 8 ranks missing after 30 s: 2,5-6 (team='x' of user 0)".
  std::vector<Gathered> TakeLate(absl::Time now);
  absl::Time NextDeadline() const;

  std::vector<Forming> List() const;

 private:
  using Key = std::pair<schedule::TeamIdentity, TeamId>;
  struct Formation {
    bool is_complete() const { return joins.size() == size; }
    uint32_t size = 0;
    std::map<Rank, Join> joins;
    std::set<std::string> away;  // nodes whose joins were dropped
    absl::Time deadline;
    absl::Duration timeout;
  };

  Gathered Fail(const Key& key, schedule::FailureReport why, std::vector<Join> more = {});
  static std::vector<Rank> Missing(const Formation& formation);

  uint32_t team_size_max_;
  uint32_t formations_max_;
  bool holds_ = false;
  std::map<Key, Formation> formations_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_JOIN_TABLE_H_
