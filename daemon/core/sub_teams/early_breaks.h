// SPDX-License-Identifier: Apache-2.0
//
// Keeps the breaks of teams that come before the Prepare of their team.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_EARLY_BREAKS_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_EARLY_BREAKS_H_

#include <cstddef>
#include <list>
#include <optional>

#include "base/ids.h"
#include "daemon/core/team/indexed_layout.h"
#include "protocol/control.h"

namespace copse::daemon {

// EarlyBreaks keeps the last kMax breaks of teams that are not here. A member that has broken a team before this node
// has prepared it does not have it any more, but the root may not know that when this node answers. Thread-compatible.
class EarlyBreaks {
 public:
  static constexpr size_t kMax = 256;

  // Daemon `from` has broken the team.
  void Add(TeamId team, Incarnation from, const schedule::FailureReport& why);
  // Returns why one of its nodes has broken the team of `layout`, and forgets it; nothing: none has.
  std::optional<schedule::FailureReport> Take(const IndexedLayout& layout);

 private:
  struct Break {
    TeamId team{0};
    Incarnation from{0};
    schedule::FailureReport why;
  };

  std::list<Break> breaks_;  // in the order of their arrival; a list, since a deque takes memory without elements
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_EARLY_BREAKS_H_
