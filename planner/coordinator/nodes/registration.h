// SPDX-License-Identifier: Apache-2.0
//
// Handles a daemon's registration: decides whether it is accepted, and what becomes of the daemon's teams.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_REGISTRATION_H_
#define COPSE_PLANNER_COORDINATOR_NODES_REGISTRATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/nodes/cluster_adoption.h"
#include "planner/coordinator/nodes/reunion.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/ends.h"
#include "planner/coordinator/teams/formation.h"
#include "protocol/control.h"

namespace copse::coordinator {

class Registration {
 public:
  // All outlive this object. `end_session` is called for a session that is closed here.
  Registration(State* state, Ends* ends, Reunion* reunion, ClusterAdoption* adoption, Formation* formation,
               std::function<void(SessionId)> end_session)
      : state_(state),
        ends_(ends),
        reunion_(reunion),
        adoption_(adoption),
        formation_(formation),
        end_session_(std::move(end_session)) {}

  void OnRegister(SessionId session, const schedule::Register& message);
  // Returns false if OnRegister refuses the daemon whatever teams it has.
  bool Admits(SessionId session, const schedule::NodeAnnouncement& node) const {
    return !RefusalOf(session, node).has_value();
  }

 private:
  std::optional<schedule::FailureReport> RefusalOf(SessionId session, const schedule::NodeAnnouncement& node) const;
  // Returns why the node cannot have the name, which another daemon has or had, or nullopt.
  std::optional<schedule::FailureReport> NameRefusal(SessionId session, const schedule::NodeAnnouncement& node) const;
  // Returns a connected node that runs a team with this disconnected one, or null.
  const Node* HearerOf(const Node& node) const;
  // Ends what the name's former daemon had. Returns whether it is this daemon, and registered with this coordinator.
  bool TakeName(const schedule::NodeAnnouncement& node);
  Node& Enter(SessionId session, const schedule::NodeAnnouncement& announcement);
  // Takes over the daemon's teams, and returns the ids of those that it has listed. Those that it must forget are sent
  // in Registered.
  std::set<TeamId> Answer(Node& node, const schedule::Register& message, bool is_foreign);
  void HearTerm(uint64_t term, bool by_us);

  State* const state_;
  Ends* const ends_;
  Reunion* const reunion_;
  ClusterAdoption* const adoption_;
  Formation* const formation_;
  const std::function<void(SessionId)> end_session_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_REGISTRATION_H_
