// SPDX-License-Identifier: Apache-2.0
//
// Keeps the requests of this node's ranks for teams until the teams are formed.
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
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/client_table.h"
#include "daemon/core/core_options.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// FormationParts are the parts of the daemon that Formations and DerivedTeams use. All must outlive both.
struct FormationParts {
  const Clock* clock = nullptr;
  const CoreOptions* options = nullptr;
  PlannerSession* planner = nullptr;
  ClientTable* clients = nullptr;
};

// SubTeamJoins forms sub-teams without the planner.
class SubTeamJoins {
 public:
  virtual ~SubTeamJoins() = default;
  // Returns whether the joins of sub-teams of this team are for Join, and not for the planner.
  virtual bool Takes(TeamId parent) const = 0;
  // Takes a join, which ends by Committed, FailJoin or PassToPlanner, perhaps before this returns.
  virtual void Join(uint64_t request, TeamId parent, const schedule::TeamIdentity& identity, Rank rank,
                    uint32_t size) = 0;
  // The join, which Formations has ended, does not take part any more.
  virtual void Withdraw(uint64_t request, schedule::FailureReport why) = 0;
  // A rank here cannot join, so that the team cannot be formed.
  virtual void Refuse(TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size,
                      const schedule::FailureReport& why) = 0;
  // Reports the team to the planner, if it is a sub-team that has not been reported: a message that names it follows.
  virtual void ReportFormed(TeamId team) = 0;
};

// Formations holds the joins of this node: the requests of ranks to join a team, from CreateTeam until the team is
// formed or fails. The planner, or the other daemons of a sub-team's parent (SubTeamJoins), answer joins with Prepare
// for a team, whose commit or abort ends them. Each join ends with one OnTeamReady or OnTeamFailed, unless the client
// cancels it or detaches before. Thread-compatible.
class Formations {
 public:
  // All three must outlive this object.
  Formations(const FormationParts* parts, const TeamTable* teams, SubTeamJoins* sub_teams)
      : parts_(parts), teams_(teams), sub_teams_(sub_teams) {}

  // --- Clients ---
  // Adds a join. If it is refused, the client gets OnTeamFailed before this returns. `drained`: reason why this node
  // accepts no new teams; empty: it accepts them.
  void Create(Client* client, const TeamRequest& request, std::string_view drained);
  // Drops the client's join of that number, if there is one, without an event, and notifies the planner: `why`.
  void Cancel(ClientId client, uint64_t request, const std::string& why);
  // Drops all joins of a client that has ended. `how` it ended is part of the reason for the other members.
  void CancelAll(ClientId client, const std::string& how);

  // --- The planner ---
  // Sends the join of a derived team, which is not kept here. Returns the request number given to it, unique among all
  // joins of this daemon.
  uint64_t SendJoin(schedule::JoinTeam join);
  // The planner has accepted this daemon: sends the joins that no prepared team answers again, and refuses those given
  // up meanwhile, for which members on other nodes may still wait.
  void OnRegistered();
  // Fails the joins that no prepared team answers and that have waited for it, if the planner has been away for
  // CoreOptions::planner_patience.
  void FailWithoutPlanner();
  bool empty() const { return joins_.empty(); }

  // --- Teams that are formed ---
  // Checks the joins that the team answers. NOT_FOUND: a join is gone with its process, or was canceled.
  // INVALID_ARGUMENT: a rank is not on this node.
  absl::Status Check(const std::vector<std::pair<uint64_t, Rank>>& requests, const schedule::TeamShape& shape,
                     NodeIndex self) const;
  // Returns the account of a checked team: that of its first rank here.
  Account* AccountOf(const std::vector<std::pair<uint64_t, Rank>>& requests) const;
  // The checked team is being prepared: from now on its decision ends these joins.
  void Prepared(TeamId team, const std::vector<std::pair<uint64_t, Rank>>& requests) { forming_[team] = requests; }
  // This node has refused the team after Prepared. Its joins stay, until the planner's Abort names them.
  void Refused(TeamId team) { forming_.erase(team); }
  // The team's first epoch is committed: its ranks join it, and their clients get OnTeamReady. Later commits of the
  // team do nothing. Returns a rank whose client is gone, if there is one: then the team must break.
  std::optional<Rank> Committed(Team* team);
  // The planner has refused a client's join. Does nothing if the join is gone.
  void FailJoin(uint64_t request, const schedule::FailureReport& why);
  // The planner forms the team of this join, which SubTeamJoins has had. Does nothing if the join is gone. The daemon
  // that has decided so may have found the planner sooner than this one: the join waits CoreOptions::planner_patience.
  void PassToPlanner(uint64_t request);
  // Sends the joins again that still wait, since the planner has dropped them.
  void SendAgain(const std::set<uint64_t>& requests);
  // Forgets an aborted team, and returns the joins that it was to answer.
  std::set<uint64_t> TakeJoinsOf(TeamId team);
  // `parent` is broken: fails the joins of teams that its ranks create from it, except those of prepared teams.
  void FailJoinsOf(TeamId parent, const schedule::FailureReport& why);
  // A neighbor or the planner may break a team before its commit has arrived. Fails the joins of such teams, and
  // returns the teams, which the caller removes.
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
    bool is_with_daemons = false;              // SubTeamJoins has it, and not the planner
    absl::Time passed = absl::InfinitePast();  // when SubTeamJoins passed it to the planner
    absl::Time given_up;
    Account::Holding held;  // counts as a team; none once it is given up
  };

  void Fail(const Join& join, const schedule::FailureReport& why);
  void SendJoinOf(uint64_t request, const Join& join);
  // The join, which is not in joins_ any more, does not take part in its team's formation.
  void Withdraw(uint64_t request, const Join& join, schedule::FailureReport why);
  // Sends the join and its cancellation, so that the other members need not wait for the formation's time-out.
  void Refuse(const Join& join, schedule::FailureReport why);
  // Fails the join for lack of a planner, and keeps it for the planner's return.
  void GiveUp(Join join);
  // Returns the joins of prepared teams. They are decided with their team, which Register names, so they are neither
  // repeated nor failed on their own.
  std::set<uint64_t> PreparedJoins() const;
  bool LacksPlanner() const {
    return parts_->planner->IsMissing(parts_->clock->Now(), parts_->options->planner_patience);
  }
  static schedule::FailureReport ParentBroken(const Join& join, const schedule::FailureReport& why);

  const FormationParts* const parts_;
  const TeamTable* const teams_;
  SubTeamJoins* const sub_teams_;
  std::map<uint64_t, Join> joins_;                                    // by request number
  std::map<TeamId, std::vector<std::pair<uint64_t, Rank>>> forming_;  // joins by the prepared team that answers them
  // These joins of attached clients failed for lack of a planner. It is informed when it is back, for the members on
  // other nodes.
  std::vector<Join> given_up_;
  uint64_t next_join_ = 1;
  uint32_t next_handle_ = 1;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_FORMATIONS_H_
