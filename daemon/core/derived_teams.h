// SPDX-License-Identifier: Apache-2.0
//
// The companions of this node's teams: which there are, which attempts to form one have failed, and the calls that
// wait.
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

// Calls of other families than the common one wait here until their team's companion is formed, and go to it then. An
// attempt to form it that fails, fails one call of every rank: the oldest here, or the next to come. All nodes count
// the same attempts (docs/reference/control.md), so all ranks of a call are told the same.
//
// The companions themselves are Teams of the daemon. Thread-compatible.
class DerivedTeams {
 public:
  // While the planner is away calls wait for it, as they would for a rank that is late.
  // The three outlive it.
  DerivedTeams(const FormationParts* parts, const TeamTable* teams, Formations* formations)
      : parts_(parts), teams_(teams), formations_(formations) {}

  // A rank of `team`, which is not broken, calls a collective of another family. `post` was validated.
  void Post(Team* team, Rank rank, CallPost&& post, uint32_t pending_max);
  // Whether another call of the rank may wait.
  bool HasRoom(const Team& team, Family family, Rank rank, uint32_t pending_max) const;
  bool HasCallWaiting(TeamId team, Rank rank) const;
  bool HasCallWaiting() const;

  // --- Formation ---
  // The planner has accepted this daemon (again): says once more what is asked for.
  void AskAgain();
  void PlannerLost();
  // May the team of `prepare` be prepared? kNone, or why not.
  schedule::FailureReport Check(const schedule::Prepare& prepare);
  void Prepared(const Team& derived);
  // Its members join it, and their calls begin.
  void Committed(Team* derived, uint32_t pending_max);
  // It was refused here, so it is aborted everywhere.
  void Refused(const schedule::TeamLayout& layout, const schedule::FailureReport& why);
  // The planner has answered a join. False: of no companion.
  bool JoinFailed(uint64_t request, const schedule::FailureReport& why);
  // A prepared one is no more; if calls wait for it, it is asked for again.
  void Dropped(const schedule::TeamLayout& layout);

  // --- With the team ---
  std::vector<TeamId> Of(TeamId team) const;  // prepared or committed, here
  // The team is broken: what waits ends.
  void FailWaiting(TeamId team, const schedule::FailureReport& why);
  // The calls that wait, as far as they are known here.
  void AppendStatus(schedule::DaemonStatus* status) const;
  void MemberLeft(TeamId team, Rank rank);  // its waiting calls are told nothing
  void Forget(TeamId team);

 private:
  struct Member {
    std::list<CallPost> waiting;
    uint64_t told = 0;  // of how many failed attempts
  };
  struct Derived {
    TeamId id{0};  // 0: not prepared
    bool committed = false;
    uint64_t failed = 0;          // attempts
    schedule::FailureReport why;  // of the last one
    uint64_t request = 0;         // the join that asks for it
    std::map<Rank, Member> members;

    bool HasWaiting() const;
  };
  using Key = std::pair<TeamId, Family>;

  static Key KeyOf(const schedule::TeamLayout& layout) { return {layout.parent, layout.identity.family}; }
  void Ask(const Key& key, Derived* derived);
  // All attempts before number `failed` have failed.
  void Fail(const Key& key, Derived* derived, uint64_t failed, const schedule::FailureReport& why);
  void Tell(const Key& key, Rank rank, uint64_t value, const schedule::FailureReport& why);

  const FormationParts* const parts_;
  const TeamTable* const teams_;
  Formations* const formations_;
  std::map<Key, Derived> derived_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DERIVED_TEAMS_H_
