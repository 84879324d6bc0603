// SPDX-License-Identifier: Apache-2.0
//
// Who is cut off, judged by which nodes say that they hear nothing from which others.
#ifndef COPSE_PLANNER_COORDINATOR_INQUIRY_H_
#define COPSE_PLANNER_COORDINATOR_INQUIRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"

namespace copse::coordinator {

// Two daemons, the lower incarnation first.
using DaemonPair = std::pair<Incarnation, Incarnation>;
DaemonPair PairOf(Incarnation a, Incarnation b);

// What became of two neighbours that do not hear each other.
struct LinkVerdict {
  DaemonPair link;
  std::optional<Incarnation> lost;  // empty: as well the one as the other
  std::set<TeamId> teams;           // that have this link
  absl::Duration silent;            // the longest that was said
};

// An Inquiry gathers reports and judges them. A dead link looks the same from both ends, and the node that is cut off
// may be the first to complain; so the one is lost that explains most:
//
//   - whoever hears another neighbour is not cut off;
//   - of two ends that may be, the one with more dead links is; if they have equally many, the one that said nothing
//     itself though it could have; else neither can be told from the other.
//
// Links that hang together are judged together; other incidents do not wait for them. Deterministic, thread-compatible.
class Inquiry {
 public:
  // `from` hears nothing from `about`, but does hear `living` other neighbours. True if nobody said so of this link.
  bool Accuse(Incarnation from, Incarnation about, uint32_t living, std::set<TeamId> teams, absl::Duration silent);
  // `from` hears `about` again, or is not its neighbour any more.
  void Withdraw(Incarnation from, Incarnation about);

  // Verdicts on the link and on all that hang together with it, which are forgotten by this; by link. Empty if nobody
  // says any more that it is dead. `can_speak`: whether a daemon's word would have come.
  std::vector<LinkVerdict> Judge(const DaemonPair& link, const std::function<bool(Incarnation)>& can_speak);

  bool empty() const { return links_.empty(); }

 private:
  struct Link {
    std::set<Incarnation> accusers;
    std::set<TeamId> teams;
    absl::Duration silent;
  };
  // Dead links that are not explained yet: the other ends of each daemon's.
  using Unexplained = std::map<Incarnation, std::set<Incarnation>>;
  Unexplained Connected(const DaemonPair& link) const;
  bool Beats(Incarnation a, Incarnation b, const Unexplained& links,
             const std::function<bool(Incarnation)>& can_speak) const;
  void ForgetUnused();

  std::map<DaemonPair, Link> links_;
  std::map<Incarnation, uint32_t> living_;  // of those that have said so, the latest
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_INQUIRY_H_
