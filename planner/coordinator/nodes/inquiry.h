// SPDX-License-Identifier: Apache-2.0
//
// Judges which nodes are cut off, by the nodes' reports about silent neighbors.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_INQUIRY_H_
#define COPSE_PLANNER_COORDINATOR_NODES_INQUIRY_H_

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

// A DaemonPair is two daemons, the lower incarnation first.
using DaemonPair = std::pair<Incarnation, Incarnation>;
DaemonPair PairOf(Incarnation a, Incarnation b);

// A LinkVerdict is the decision about two neighbors whose link is dead.
struct LinkVerdict {
  DaemonPair link;
  std::optional<Incarnation> lost;  // the end that is cut off; nullopt: undecided
  std::set<TeamId> teams;           // teams that have this link
  absl::Duration silent;            // the longest silence reported
};

// An Inquiry gathers reports and judges them. A dead link looks the same from both ends, and the node that is cut off
// may report first. So the daemon that explains most of the dead links is judged as lost:
//
//   - a daemon that receives from another neighbor is not cut off;
//   - if both ends of a link may be cut off, the one with more dead links is; if they have equally many, the one that
//     sent no report although it could have; otherwise the two cannot be distinguished.
//
// Links that are connected by common daemons are judged together, independently of others. Deterministic,
// thread-compatible.
class Inquiry {
 public:
  // Records that `from` receives nothing from `about`, but does receive from `living` other neighbors. Returns true if
  // this is the first report of the link.
  bool Accuse(Incarnation from, Incarnation about, uint32_t living, std::set<TeamId> teams, absl::Duration silent);
  // Withdraws the report of `from`, which receives from `about` again or is no longer its neighbor.
  void Withdraw(Incarnation from, Incarnation about);

  // Returns verdicts on the link and on all links connected with it, sorted by link, and forgets these links. The
  // result is empty if no report of the link is left. `can_speak` returns whether a report of this daemon would have
  // arrived.
  std::vector<LinkVerdict> Judge(const DaemonPair& link, const std::function<bool(Incarnation)>& can_speak);

  bool empty() const { return links_.empty(); }

 private:
  struct Link {
    std::set<Incarnation> accusers;
    std::set<TeamId> teams;
    absl::Duration silent;
  };
  // Unexplained maps each daemon to the other ends of its dead links that are not explained yet.
  using Unexplained = std::map<Incarnation, std::set<Incarnation>>;
  Unexplained Connected(const DaemonPair& link) const;
  bool Beats(Incarnation a, Incarnation b, const Unexplained& links,
             const std::function<bool(Incarnation)>& can_speak) const;
  void ForgetUnused();

  std::map<DaemonPair, Link> links_;
  std::map<Incarnation, uint32_t> living_;  // by daemon that has reported: its latest count
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_INQUIRY_H_
