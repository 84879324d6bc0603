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

// What formations, and derived teams, use of their daemon. All outlive them.
struct FormationParts {
  const Clock* clock = nullptr;
  const CoreOptions* options = nullptr;
  PlannerSession* planner = nullptr;
  ClientTable* clients = nullptr;
};

// A rank that wants to join a team is a join, until its team is formed or fails; the planner answers joins by preparing
// a team, which then answers them. Each join ends with one OnTeamReady or OnTeamFailed, unless its client goes before.
// Thread-compatible.
class Formations {
 public:
  // `*parts` and `*teams` outlive it.
  Formations(const FormationParts* parts, const TeamTable* teams) : parts_(parts), teams_(teams) {}

  // --- Clients ---
  // `drained`: why this node takes no new teams; empty: it does.
  void Create(Client* client, const TeamRequest& request, std::string_view drained);
  void Cancel(ClientId client, uint64_t request, const std::string& why);
  // The client is gone; `how` is the text.
  void CancelAll(ClientId client, const std::string& how);

  // --- The planner ---
  // Sends a join of a derived team, with a number of its own, which is returned.
  uint64_t SendJoin(schedule::JoinTeam join);
  // It has accepted this daemon: repeats what is asked for.
  void OnRegistered();
  // It is away for so long that new teams fail.
  void FailWithoutPlanner();
  bool empty() const { return joins_.empty(); }

  // --- Teams that are formed ---
  // NOT_FOUND: a process whose join the team answers is gone. INVALID_ARGUMENT: the layout places it elsewhere.
  absl::Status Check(const schedule::Prepare& prepare, NodeIndex self) const;
  void Prepared(const schedule::Prepare& prepare) { forming_[prepare.layout.id] = prepare.requests; }
  // The team was refused here.
  void Refused(TeamId team) { forming_.erase(team); }
  // Its first epoch is committed: its ranks join, and their clients are notified. Returns a rank whose client has gone
  // meanwhile, after which the team cannot live.
  std::optional<Rank> Committed(Team* team);
  // The planner has answered a join of a client.
  void FailJoin(uint64_t request, const schedule::FailureReport& why);
  // The planner has forgotten these joins.
  void SendAgain(const std::set<uint64_t>& requests);
  // Takes the joins that a team which is aborted was to answer.
  std::set<uint64_t> TakeJoinsOf(TeamId team);
  // Joins of teams derived from `parent` by its ranks, now that it is broken.
  void FailJoinsOf(TeamId parent, const schedule::FailureReport& why);
  // A team may break before its commit has come: by a neighbor that had it earlier, or by the planner. Fails what such
  // teams were to answer, and returns them.
  std::vector<TeamId> FailBroken();

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
  // Tells the planner, so that the other members need not wait until the formation's time is over.
  void Refuse(const Join& join, schedule::FailureReport why);
  void GiveUp(Join join);  // for want of a planner
  // Joins that a prepared team answers: they are decided with that team, which Register names.
  std::set<uint64_t> PreparedJoins() const;
  bool LacksPlanner() const {
    return parts_->planner->IsMissing(parts_->clock->Now(), parts_->options->planner_patience);
  }
  static schedule::FailureReport ParentBroken(const Join& join, const schedule::FailureReport& why);

  const FormationParts* const parts_;
  const TeamTable* const teams_;
  std::map<uint64_t, Join> joins_;                                    // by request number
  std::map<TeamId, std::vector<std::pair<uint64_t, Rank>>> forming_;  // joins that a team answers
  std::vector<Join> given_up_;                                        // a planner that returns tells other nodes
  uint64_t next_join_ = 1;
  uint32_t next_handle_ = 1;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_FORMATIONS_H_
