// SPDX-License-Identifier: Apache-2.0
//
// Defines what the parts of a coordinator share.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_STATE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_STATE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/options.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/backlog.h"
#include "planner/coordinator/state/cluster_identity.h"
#include "planner/coordinator/state/drains.h"
#include "planner/coordinator/state/ended_teams.h"
#include "planner/coordinator/state/event_log.h"
#include "planner/coordinator/state/formation_counts.h"
#include "planner/coordinator/state/id_source.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/outbox.h"
#include "planner/coordinator/state/sweep.h"
#include "planner/coordinator/state/team_history.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/state/timer_queue.h"

namespace copse::coordinator {

// A State is what is known of the cluster, with the means to record it and to tell of it. Thread-compatible.
struct State {
  // The objects behind the pointers must outlive this one.
  State(const Clock* used_clock, Store* store, PlanMaker* used_plan_maker, SessionSink* sink,
        CoordinatorOptions used_options)
      : clock(used_clock),
        plan_maker(used_plan_maker),
        options(std::move(used_options)),
        outbox(clock, &timers, store, sink),
        nodes(&outbox),
        teams(clock, &timers),
        drains(&outbox),
        sweep(clock, &timers, options.forget_records / 4) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  absl::Time Now() const { return clock->Now(); }
  // Notes an event of a node or team.
  void Note(const Node& node, std::string what, std::string detail);
  void Note(TeamId team, std::string what, std::string detail);
  // Records the team as it is, unless it is a sub-team. `done` is Outbox::Record's; it is called at once for a
  // sub-team.
  void Record(const Team& team, Outbox::Done done = nullptr);
  // Records that other daemons report this one as gone. Does nothing if another incarnation has the name.
  void NoteLost(const std::string& node, Incarnation incarnation);
  // Tells the daemons that their joins fail.
  void FailJoins(const std::vector<Join>& joins, const schedule::FailureReport& why);
  // The team keeps its plans: better ones are not looked for any more.
  void SettleForPlans(Team& team);
  // Returns whether formations are held back, since daemons that know a higher term may not have come back yet.
  bool settles() const { return Now() < settled_at; }

  const Clock* const clock;
  PlanMaker* const plan_maker;
  CoordinatorOptions options;
  TimerQueue timers;
  Backlog backlog;
  Outbox outbox;
  NodeTable nodes;
  TeamTable teams;
  Drains drains;
  Sweep sweep;  // of what is away or undecided for long; see Sweeper
  EventLog events;
  EndedTeams ended;  // ended or aborted
  TeamHistory history;
  FormationCounts formations;
  std::optional<IdSource> ids;             // set by Coordinator::Start
  std::optional<ClusterIdentity> cluster;  // likewise
  absl::Time started;
  absl::Time settled_at = absl::InfinitePast();
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_STATE_H_
