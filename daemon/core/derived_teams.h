// SPDX-License-Identifier: Apache-2.0
//
// Requests derived teams of this node's teams, one for each collective class except the common one, and keeps the calls
// that wait for their formation.
#ifndef COPSE_DAEMON_CORE_DERIVED_TEAMS_H_
#define COPSE_DAEMON_CORE_DERIVED_TEAMS_H_

#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/formations.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// DerivedTeams keeps the calls of a collective class until the derived team for the class is formed, and then posts
// them there. A failed attempt to form it fails one call of every rank: the oldest that waits, or else the rank's next
// one. All nodes count the attempts alike (docs/reference/control.md), so all ranks of a call get the same result.
//
// The derived teams themselves are Teams in the TeamTable. Thread-compatible.
class DerivedTeams {
 public:
  // All three pointers must outlive this object.
  DerivedTeams(const FormationParts* parts, const TeamTable* teams, Formations* formations)
      : parts_(parts), teams_(teams), formations_(formations) {}

  // A rank of `team`, which is not broken, calls a collective whose class is not the common one. `post` was validated;
  // it gets exactly one event, unless the rank leaves before: kNoResource if `pending_max` calls of the rank wait
  // already. While the planner is away, calls wait without a limit in time, as for a late rank.
  void Post(Team* team, Rank rank, CallPost&& post, uint32_t pending_max);
  // Returns whether Post would not refuse another call of the rank for lack of room.
  bool HasRoom(const Team& team, Family family, Rank rank, uint32_t pending_max) const;
  // Return whether a call waits for a derived team to be formed: of this team and rank, or any at this node.
  bool HasCallWaiting(TeamId team, Rank rank) const;
  bool HasCallWaiting() const;

  // --- Formation ---
  // The planner has accepted this daemon: sends joins for all classes in which calls wait.
  void AskAgain();
  // The stream to the planner is down, so no join that was sent is answered any more.
  void PlannerLost();
  // Returns why the team of `prepare` cannot be prepared; kNone: it can. Attempts that have failed elsewhere are
  // counted here, too, and fail calls.
  schedule::FailureReport Check(const CheckedPrepare& prepare);
  // Records that the checked team is prepared here.
  void Prepared(const Team& derived);
  // An epoch of the derived team is committed. With the first one, the parent's ranks here join it, and the calls that
  // have waited are posted there.
  void Committed(Team* derived, uint32_t pending_max);
  // This node has refused a derived team, so the attempt fails; the planner aborts it on all nodes.
  void Refused(const schedule::TeamLayout& layout, const schedule::FailureReport& why);
  // The planner has refused a join, so the attempt fails. Returns false if the join is not for a derived team.
  bool JoinFailed(uint64_t request, const schedule::FailureReport& why);
  // A prepared derived team was aborted. If calls still wait for it, its join is sent again.
  void Dropped(const schedule::TeamLayout& layout);

  // --- Queries, and events of the parent team ---
  // Returns the derived teams of `team` in the table, in the order of their ids.
  std::vector<TeamId> Of(TeamId team) const;
  // The team is broken: fails the calls that wait for its derived teams.
  void FailWaiting(TeamId team, const schedule::FailureReport& why);
  // Adds the waiting calls of this node's ranks.
  void AppendStatus(schedule::DaemonStatus* status) const;
  // Drops the waiting calls of a rank that leaves the team, without events.
  void MemberLeft(TeamId team, Rank rank);
  // Drops the state of a team that has ended here. No call of it waits.
  void Forget(TeamId team);

 private:
  struct RankState {
    std::list<CallPost> waiting;
    uint64_t failed = 0;  // number of failed attempts that have failed a call of the rank
  };
  struct Derived {
    TeamId id{0};  // 0: not prepared
    bool committed = false;
    uint64_t failed = 0;          // number of failed attempts
    schedule::FailureReport why;  // failure of the last failed attempt
    uint64_t request = 0;         // number of the unanswered join; 0: none
    std::map<Rank, RankState> members;

    bool HasWaiting() const;
  };
  using Key = std::pair<TeamId, Family>;

  static Key KeyOf(const schedule::TeamLayout& layout) { return {layout.parent, layout.identity.family}; }
  // Sends the join if calls wait, the team is not prepared, no join is unanswered and the planner is there. Fails the
  // waiting calls if the planner is too old for derived teams.
  void Ask(const Key& key, Derived* derived);
  // Raises the number of failed attempts to `failed`; each of them fails one call of every rank. Does nothing if it is
  // not higher than before.
  void Fail(const Key& key, Derived* derived, uint64_t failed, const schedule::FailureReport& why);
  // Sends the failure of a call to the rank's client, if it is still there.
  void Notify(const Key& key, Rank rank, uint64_t value, const schedule::FailureReport& why);

  const FormationParts* const parts_;
  const TeamTable* const teams_;
  Formations* const formations_;
  std::map<Key, Derived> derived_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DERIVED_TEAMS_H_
