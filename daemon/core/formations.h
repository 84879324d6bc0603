// SPDX-License-Identifier: Apache-2.0
//
// Ranks of this node that wait for their teams to be formed.
#ifndef COPSE_DAEMON_CORE_FORMATIONS_H_
#define COPSE_DAEMON_CORE_FORMATIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/client_table.h"
#include "daemon/core/core_options.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// Parts of the daemon that Formations and DerivedTeams use. All outlive them.
struct FormationParts {
  const Clock* clock = nullptr;
  const CoreOptions* options = nullptr;
  PlannerSession* planner = nullptr;
  ClientTable* clients = nullptr;
};

// Formations holds the joins of this node: a rank's request to join a team, from CreateTeam until the team is formed or
// fails. The planner answers joins with Prepare for a team; its commit or abort ends them. Each join ends with one
// OnTeamReady or OnTeamFailed, unless its client detaches before. Thread-compatible.
class Formations {
 public:
  // `*parts` and `*teams` outlive it.
  Formations(const FormationParts* parts, const TeamTable* teams) : parts_(parts), teams_(teams) {}

  // --- Clients ---
  // `drained`: why this node accepts no new teams; empty: it accepts them.
  void Create(Client* client, const TeamRequest& request, std::string_view drained);
  void Cancel(ClientId client, uint64_t request, const std::string& why);
  // The client is gone; `how` says in what way.
  void CancelAll(ClientId client, const std::string& how);

  // --- The planner ---
  // Sends the join of a derived team, and returns the number that it was given.
  uint64_t SendJoin(schedule::JoinTeam join);
  // The planner has accepted this daemon: sends the unanswered joins again.
  void OnRegistered();
  // Fails the joins if the planner has been away for too long.
  void FailWithoutPlanner();
  bool empty() const { return joins_.empty(); }

  // --- Teams that are formed ---
  // NOT_FOUND: a process whose join the team answers is gone. INVALID_ARGUMENT: its rank is on another node.
  absl::Status Check(const schedule::Prepare& prepare, NodeIndex self) const;
  void Prepared(const schedule::Prepare& prepare) { forming_[prepare.layout.id] = prepare.requests; }
  // The team was refused here.
  void Refused(TeamId team) { forming_.erase(team); }
  // Its first epoch is committed: its ranks join, and their clients are notified. Returns a rank whose client is gone,
  // if there is one: the team must break.
  std::optional<Rank> Committed(Team* team);
  // The planner has refused a client's join.
  void FailJoin(uint64_t request, const schedule::FailureReport& why);
  // Sends these joins again, which the planner does not have any more.
  void SendAgain(const std::set<uint64_t>& requests);
  // Returns the joins that an aborted team was to answer.
  std::set<uint64_t> TakeJoinsOf(TeamId team);
  // `parent` is broken: fails the joins of teams that its ranks create from it.
  void FailJoinsOf(TeamId parent, const schedule::FailureReport& why);
  // A neighbor or the planner may break a team before its commit has come. Fails the joins of such teams, and returns
  // the teams.
  std::vector<TeamId> FailBroken();
  bool AnyForming() const { return !forming_.empty(); }

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  struct Join {
    ClientId client = 0;
    TeamRequest request;
    schedule::TeamIdentity identity;
    TeamId parent{0};
    absl::Time given_up;
  };

  void Fail(const Join& join, const schedule::FailureReport& why);
  void SendJoinOf(uint64_t request, const Join& join);
  // Notifies the planner, so that the other members need not wait for the formation's time-out.
  void Refuse(const Join& join, schedule::FailureReport why);
  void GiveUp(Join join);  // the planner is missing
  // The joins of prepared teams, which are decided with their team; Register names it.
  std::set<uint64_t> PreparedJoins() const;
  bool LacksPlanner() const {
    return parts_->planner->IsMissing(parts_->clock->Now(), parts_->options->planner_patience);
  }
  static schedule::FailureReport ParentBroken(const Join& join, const schedule::FailureReport& why);

  const FormationParts* const parts_;
  const TeamTable* const teams_;
  std::map<uint64_t, Join> joins_;                                    // by request number
  std::map<TeamId, std::vector<std::pair<uint64_t, Rank>>> forming_;  // joins by the prepared team that answers them
  std::vector<Join> given_up_;  // the planner, once it is back, notifies other nodes
  uint64_t next_join_ = 1;
  uint32_t next_handle_ = 1;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_FORMATIONS_H_
