// SPDX-License-Identifier: Apache-2.0
//
// Requests the derived teams of this node's teams, one for each collective class but the common one, and keeps the
// calls that wait for them to be formed.
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
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// DerivedTeams keeps a call whose class has a derived team until that team is formed, and posts it there then. A failed
// attempt to form one fails one call of every rank: the oldest that waits, or the rank's next one. All nodes count the
// same attempts (docs/reference/control.md), so all ranks of a call get the same result.
//
// The derived teams themselves are Teams of the daemon. Thread-compatible.
class DerivedTeams {
 public:
  // All three must outlive this object.
  DerivedTeams(const FormationParts* parts, const TeamTable* teams, Formations* formations)
      : parts_(parts), teams_(teams), formations_(formations) {}

  // A rank of `team`, which is not broken, calls a collective of another class than the common one. `post` was
  // validated. While the planner is away, calls wait for it as they would for a late rank.
  void Post(Team* team, Rank rank, CallPost&& post, uint32_t pending_max);
  // Returns whether another call of the rank may wait.
  bool HasRoom(const Team& team, Family family, Rank rank, uint32_t pending_max) const;
  bool HasCallWaiting(TeamId team, Rank rank) const;
  bool HasCallWaiting() const;

  // --- Formation ---
  // The planner has accepted this daemon: repeats the joins that it has not answered.
  void AskAgain();
  void PlannerLost();
  // Returns why the team of `prepare` cannot be prepared; kNone: it can.
  schedule::FailureReport Check(const schedule::Prepare& prepare);
  void Prepared(const Team& derived);
  // The ranks of its team join it, and their calls begin.
  void Committed(Team* derived, uint32_t pending_max);
  // A derived team was refused here, so the planner aborts it everywhere.
  void Refused(const schedule::TeamLayout& layout, const schedule::FailureReport& why);
  // The planner has refused a join. Returns false if the join is not for a derived team.
  bool JoinFailed(uint64_t request, const schedule::FailureReport& why);
  // A prepared derived team was aborted; if calls wait for it, its join is sent again.
  void Dropped(const schedule::TeamLayout& layout);

  // --- Queries, and events of the parent team ---
  // Returns the derived teams of `team` that are prepared or committed here.
  std::vector<TeamId> Of(TeamId team) const;
  // The team is broken: fails the calls that wait.
  void FailWaiting(TeamId team, const schedule::FailureReport& why);
  // Adds the calls that wait, as far as this node knows them.
  void AppendStatus(schedule::DaemonStatus* status) const;
  // Drops the rank's calls that wait, without events.
  void MemberLeft(TeamId team, Rank rank);
  void Forget(TeamId team);

 private:
  struct RankState {
    std::list<CallPost> waiting;
    uint64_t failed = 0;  // attempts whose failure the rank has received
  };
  struct Derived {
    TeamId id{0};  // 0: not prepared
    bool committed = false;
    uint64_t failed = 0;          // attempts
    schedule::FailureReport why;  // the last attempt's failure
    uint64_t request = 0;         // number of the unanswered join; 0: none
    std::map<Rank, RankState> members;

    bool HasWaiting() const;
  };
  using Key = std::pair<TeamId, Family>;

  static Key KeyOf(const schedule::TeamLayout& layout) { return {layout.parent, layout.identity.family}; }
  void Ask(const Key& key, Derived* derived);
  // Counts attempts as failed until there are `failed`.
  void Fail(const Key& key, Derived* derived, uint64_t failed, const schedule::FailureReport& why);
  void Notify(const Key& key, Rank rank, uint64_t value, const schedule::FailureReport& why);

  const FormationParts* const parts_;
  const TeamTable* const teams_;
  Formations* const formations_;
  std::map<Key, Derived> derived_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DERIVED_TEAMS_H_
