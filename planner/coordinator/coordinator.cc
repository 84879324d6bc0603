// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/coordinator.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// A deadline that is missed by more than kStall shows that the process was stopped. Messages that arrived in time are
// then given kForgiven to be read, once.
constexpr absl::Duration kStall = absl::Milliseconds(500);
constexpr absl::Duration kForgiven = absl::Seconds(1);

}  // namespace

Coordinator::Coordinator(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink,
                         CoordinatorOptions options)
    : state_(clock, store, plan_maker, sink, std::move(options)),
      store_(store),
      epochs_(&state_, this),
      ends_(&state_, &epochs_, this),
      derived_(&state_, &epochs_, &ends_),
      formation_(&state_, &epochs_, &derived_),
      switches_(&state_, &epochs_, &derived_),
      queries_(&state_),
      better_plans_(&state_, &switches_, &queries_),
      reunion_(&state_, &epochs_, &ends_, &derived_, &better_plans_),
      sub_teams_(&state_, &ends_, &derived_, &reunion_),
      silence_(&state_, &ends_),
      lost_ends_(&state_, &reunion_),
      sweeper_(&state_, &ends_, &reunion_),
      adoption_(&state_, &ends_, &formation_, [this](SessionId session) { OnDisconnected(session); }),
      registration_(&state_, &ends_, &reunion_, &adoption_, &formation_,
                    [this](SessionId session) { OnDisconnected(session); }),
      view_(&state_, &formation_.joins()) {
  state_.sweep.SetFunction([this] { sweeper_.Run(); });
}

absl::Status Coordinator::Start() {
  ASSIGN_OR_RETURN(Snapshot snapshot, store_->Load());
  Load(std::move(snapshot));
  return absl::OkStatus();
}

void Coordinator::Load(Snapshot snapshot) {
  state_.started = state_.Now();
  state_.drains.Load(std::move(snapshot.draining));
  quarantined_ = snapshot.quarantined;
  topologies_ = std::move(snapshot.topologies);
  state_.ids.emplace(&state_.outbox, snapshot.term, snapshot.since, state_.options.lost_terms);
  state_.cluster.emplace(&state_.outbox, std::move(snapshot.cluster), snapshot.cluster_is_new,
                         state_.options.fresh_cluster);
  for (const TeamId id : snapshot.aborted) state_.ended.Insert(id);
  for (auto& [id, record] : snapshot.teams) {
    Team& team = state_.teams.Add(id);
    team.record = std::move(record);
    team.members.Assign(team.record.layout);
    derived_.Note(team.record.layout);
    // An earlier version has recorded these plans. Only an adopted team had no labels; its plans may have been recorded
    // before they were verified.
    if (team.record.outgoing.empty() && !team.record.plans.empty()) {
      state_.teams.VerifyLater(id);
    } else {
      state_.teams.IndexPlans(team);
    }
    better_plans_.Resume(id);
  }
  // The newest team determines which daemon has a name. An older daemon of that name may be alive as well, and stays a
  // member of its teams.
  for (auto it = state_.teams.all().rbegin(); it != state_.teams.all().rend(); ++it) {
    Team& team = it->second;
    for (uint32_t i = 0; i < team.node_count(); ++i) {
      Node& node = reunion_.NodeOfMember(team, i);
      if (node.announcement.incarnation == team.record.layout.nodes[i].incarnation) {
        node.teams.insert(it->first);
      } else {
        team.nameless_since = state_.started;
      }
    }
  }
}

void Coordinator::SetLive(const CoordinatorOptions& options) {
  state_.options.team_formation_timeout = options.team_formation_timeout;
  state_.options.prepare_timeout = options.prepare_timeout;
  state_.options.register_timeout = options.register_timeout;
  state_.options.join_tokens = options.join_tokens;
}

// --- Time ---

void Coordinator::Tick(absl::Time heard) {
  state_.backlog.RunOne();
  const absl::Time due = std::min(state_.timers.Next(), formation_.NextDeadline());
  if (heard - due > kStall && due > forgiven_until_) {
    COPSE_LOG(kWarning, "the planner stood still (for=", FormatShortDuration(heard - due), ")");
    forgiven_until_ = heard + kForgiven;
  }
  if (heard < forgiven_until_) return;
  formation_.Tick(heard);
  state_.timers.Run(heard);
}

absl::Time Coordinator::NextDeadline() const {
  if (!state_.backlog.empty()) return state_.Now();
  const absl::Time next = std::min(state_.timers.Next(), formation_.NextDeadline());
  return std::max(state_.settles() ? std::min(next, state_.settled_at) : next, forgiven_until_);
}

// --- Sessions ---

void Coordinator::OnConnected(SessionId session, const std::string& from) {
  Session& entry = state_.nodes.AddSession(session);
  entry.from = from;
  entry.register_timer = state_.timers.Set(state_.Now() + state_.options.register_timeout, [this, session] {
    ProtocolError(session, absl::StrCat("no Register within ", FormatShortDuration(state_.options.register_timeout)));
  });
}

void Coordinator::ProtocolError(SessionId session, const std::string& what) {
  const Node* node = state_.nodes.NodeOf(session);
  COPSE_LOG(kWarning, "session ", session, node == nullptr ? "" : absl::StrCat(" of node ", node->announcement.name),
            " is closed: ", what);
  state_.outbox.Close(session, what);
  OnDisconnected(session);
}

void Coordinator::OnDisconnected(SessionId session) {
  Session* entry = state_.nodes.FindSession(session);
  if (entry == nullptr) return;
  state_.timers.Cancel(entry->register_timer);
  state_.outbox.Drop(session);
  if (!entry->node.empty()) StreamEnded(session);
  state_.nodes.EraseSession(session);
}

void Coordinator::OnMessage(SessionId session, const schedule::FromDaemon& message) {
  if (state_.nodes.FindSession(session) == nullptr) return;  // already closed
  Node* node = state_.nodes.NodeOf(session);
  if (const auto* registration = std::get_if<schedule::Register>(&message)) {
    if (node != nullptr) return ProtocolError(session, "Register came twice");
    return registration_.OnRegister(session, *registration);
  }
  if (node == nullptr) return ProtocolError(session, "the first message must be Register");
  OnMessageOf(*node, message);
}

void Coordinator::OnMessageOf(Node& node, const schedule::FromDaemon& message) {
  const SessionId session = node.session;
  std::visit(
      [&](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, schedule::JoinTeam>) formation_.OnJoin(session, m);
        if constexpr (std::is_same_v<T, schedule::CancelJoin>) formation_.OnCancelJoin(session, m);
        if constexpr (std::is_same_v<T, schedule::PrepareReply>) epochs_.OnPrepareReply(node, m);
        if constexpr (std::is_same_v<T, schedule::CommitReply>) {
          reunion_.OnCommitReply(node, m);
          epochs_.OnCommitReply(node, m);
        }
        if constexpr (std::is_same_v<T, schedule::LeaveTeam>) {
          reunion_.OnLeaveTeam(node, m);
          ends_.OnLeaveTeam(node, m);
        }
        if constexpr (std::is_same_v<T, schedule::TeamBroken>) ends_.OnTeamBroken(node, m);
        if constexpr (std::is_same_v<T, schedule::EpochQuery>) epochs_.OnEpochQuery(node, m);
        if constexpr (std::is_same_v<T, schedule::StatusReply>) queries_.OnStatusReply(node, m);
        if constexpr (std::is_same_v<T, schedule::TraceReply>) queries_.OnTraceReply(node, m);
        if constexpr (std::is_same_v<T, schedule::MeasureReply>) queries_.OnMeasureReply(node, m);
        if constexpr (std::is_same_v<T, schedule::NeighborSilent>) silence_.OnNeighborSilent(node, m);
        if constexpr (std::is_same_v<T, schedule::Stopping>) OnStopping(session, m);
        if constexpr (std::is_same_v<T, schedule::TeamIdsRequest>) sub_teams_.SendTeamIds(session);
        if constexpr (std::is_same_v<T, schedule::TeamFormed>) sub_teams_.OnTeamFormed(node, m);
        if constexpr (std::is_same_v<T, schedule::DataAddress>) OnDataAddress(node, m);
        if constexpr (std::is_same_v<T, schedule::TeamPlans>) reunion_.OnTeamPlans(node, m);
        if constexpr (std::is_same_v<T, schedule::TeamsHeld>) {
          if (m.report.has_value()) {
            node.report = m.report;
            node.reported_at = state_.Now();
          }
          lost_ends_.OnTeamsHeld(node, m);
        }
      },
      message);
}

void Coordinator::OnDataAddress(Node& node, const schedule::DataAddress& message) {
  if (!node.lacks_address()) return;
  const std::string& name = node.announcement.name;
  FailureReport why = message.why;
  if (why.failure == Failure::kNone && message.worker_address.empty()) {
    why = {Failure::kInternal, "its daemon told an empty address", FailureCause::kFault};
  }
  node.asked_for_address = 0;
  node.announcement.worker_address = message.worker_address;
  if (why.failure != Failure::kNone) {
    node.announcement.worker_address.clear();
    why.text = absl::StrCat("node ", name, " has no address for data: ", why.text);
    why.node = name;
  }
  epochs_.OnAddress(node, why);
  queries_.OnAddress(node, why);
}

// --- Ends of streams and daemons ---

// The node's teams continue: the end of its stream to the planner says nothing about its streams to its neighbors.
void Coordinator::StreamEnded(SessionId session) {
  Node& node = *state_.nodes.NodeOf(session);
  const std::string name = node.announcement.name;
  COPSE_LOG_ABOUT(kInfo, schedule::AboutNode(name), "node ", name,
                  " (incarnation=", node.announcement.incarnation.value(), ") has no stream any more");
  state_.Note(node, "away", absl::StrCat("teams=", node.teams.size()));
  state_.nodes.SessionOf(session).node.clear();
  node.session = 0;
  node.report.reset();
  node.stopping = false;
  node.away_since = state_.Now();
  state_.sweep.Later();
  formation_.Drop(session);
  derived_.Drop(session);
  const std::set<TeamId> teams = node.teams;
  for (const TeamId id : teams) {
    Team* team = state_.teams.Find(id);
    if (team == nullptr || !team->change.has_value()) continue;
    epochs_.AbortChange(*team,
                        {Failure::kMemberLost, absl::StrCat("node ", name, " lost its connection to the planner"),
                         FailureCause::kNoPlanner, name},
                        /*again=*/true);
  }
  queries_.NodeSilent(name);
}

void Coordinator::OnStopping(SessionId session, const schedule::Stopping& message) {
  Node& node = *state_.nodes.NodeOf(session);
  const std::string name = node.announcement.name;
  if (!message.done) {
    COPSE_LOG_ABOUT(kInfo, schedule::AboutNode(name), "node ", name, " takes no new teams: its daemon stops");
    node.stopping = true;
    return state_.Note(node, "draining", "its daemon stops");
  }
  const FailureReport why{Failure::kMemberLost, absl::StrCat("node ", name, " stopped"), FailureCause::kDaemonGone,
                          name};
  StreamEnded(session);
  ends_.NodeGone(node, why);
  state_.nodes.Erase(name);
}

void Coordinator::OnFirstEpochAborted(const schedule::TeamLayout& layout, const FailureReport& why, bool again,
                                      std::vector<Join> unprepared) {
  ends_.Forget(layout.id);
  if (schedule::IsDerivedTeam(layout.identity)) derived_.OnAborted(layout, why, again, std::move(unprepared));
}

// --- Administration ---

void Coordinator::SetDraining(const std::string& name, const std::optional<std::string>& why,
                              std::function<void(const absl::Status&)> done) {
  const Node* node = state_.nodes.Find(name);
  // Draining can also be ended for a node that has not come back since the planner's restart.
  if (node == nullptr && (why || !state_.drains.Knows(name))) {
    return done(absl::NotFoundError(absl::StrCat("node ", name, ": not known")));
  }
  state_.drains.Set(name, why, [this, name, why, done = std::move(done)](const absl::Status& stored) {
    if (stored.ok()) {
      state_.events.Note(state_.Now(), absl::StrCat("node ", name), why ? "draining" : "undrained",
                         absl::StrCat("by an administrator", why && !why->empty() ? ": " : "", why.value_or("")));
    }
    done(stored);
  });
  const bool is_set = state_.drains.Has(name) == why.has_value();
  if (is_set && node != nullptr && node->is_connected()) {
    state_.outbox.Send(node->session, schedule::Drain{why.has_value()});
  }
}

absl::Status Coordinator::RemoveNode(const std::string& name) {
  Node* node = state_.nodes.Find(name);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("node ", name, ": not known"));
  if (node->is_connected()) {
    return absl::FailedPreconditionError(
        absl::StrCat("node ", name, ": is connected, from ", node->from, ": stop its daemon first"));
  }
  state_.drains.Forget(name);
  ends_.NodeGone(*node, {Failure::kMemberLost, absl::StrCat("node ", name, " lost: removed by an administrator"),
                         FailureCause::kNodeRemoved, name});
  state_.nodes.Erase(name);
  return absl::OkStatus();
}

absl::Status Coordinator::BreakTeam(TeamId id, const std::string& why) {
  Team* team = state_.teams.Find(id);
  if (team == nullptr) return absl::NotFoundError(absl::StrCat("team ", id.value(), ": not known"));
  if (team->record.broken) {
    return absl::FailedPreconditionError(
        absl::StrCat("team ", id.value(), ": broken already: ", team->record.why.text));
  }
  ends_.Break(*team, {Failure::kCanceled, absl::StrCat("broken by an administrator", why.empty() ? "" : ": ", why),
                      FailureCause::kTeamBroken});
  return absl::OkStatus();
}

}  // namespace copse::coordinator
