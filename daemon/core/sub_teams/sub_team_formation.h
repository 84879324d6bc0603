// SPDX-License-Identifier: Apache-2.0
//
// The state of one sub-team at one daemon while it is being formed.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_FORMATION_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_FORMATION_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/sub_teams/label_exchange.h"
#include "daemon/core/sub_teams/rank_gathering.h"
#include "protocol/control.h"

namespace copse::daemon {

using SubTeamKey = std::pair<TeamId, schedule::TeamIdentity>;  // the parent, and the sub-team

// A SubTeamOutcome is why a sub-team is not formed by daemons.
struct SubTeamOutcome {
  // The planner forms the team.
  static SubTeamOutcome ByPlanner(std::string why) {
    return {.why = {schedule::Failure::kNoResource, std::move(why)}, .again = true};
  }

  schedule::FailureReport why;
  bool again = false;  // the planner forms the team
};

// Returns the root's decision that the sub-team is not formed; `id`: it was prepared with this one.
inline SubTeamDecisionMessage DecisionAgainst(const SubTeamKey& key, const SubTeamOutcome& outcome,
                                              TeamId id = TeamId(0)) {
  return {.team = key.first,
          .identity = key.second,
          .id = id,
          .why = outcome.why,
          .again = outcome.again,
          .next = TeamId(0)};
}

// A SubTeamFormation gathers joins, then the team is prepared, then it is over.
struct SubTeamFormation {
  enum class State : uint8_t { kGathering, kPreparing, kOver };

  State state = State::kGathering;
  absl::Time since;                   // beginning of the state
  uint32_t size = 0;                  // of the sub-team, by the joins of this node
  std::map<Rank, uint64_t> own;       // joins of this node
  std::set<Rank> unsent;              // those that have not been sent up the tree
  std::set<NodeIndex> below;          // nodes of the parent whose joins have come, or have been passed on, from there
  std::set<Rank> passed;              // ranks that have joined here or below
  RankGathering gathering;            // at the root
  std::map<NodeIndex, TeamId> ahead;  // at the root: nodes that have prepared an id that was promised, and which
  std::map<NodeIndex, std::string> addresses;  // at the root: of nodes that have joined

  // --- While it is prepared ---
  bool is_ahead = false;  // this node has prepared a duplicate with a promised id, and gathers joins of the nodes below
  bool is_duplicate = false;
  bool is_positional = false;  // the members make the plans themselves
  TeamId id{0};
  std::set<NodeIndex> unanswered;  // of `below`
  LabelExchange exchange;          // with the neighbors in the new team
  uint64_t plans = 0;              // hash of the members' plans; 0: not known, or the parent's
  bool has_answered = false;

  SubTeamOutcome outcome;  // when it is over
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_FORMATION_H_
