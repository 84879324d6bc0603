// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/coordinator.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"

namespace copse::coordinator {

namespace {

// A deadline that is missed by more than kStall shows that the process was stopped. Messages that arrived in time are
// then given kForgiven to be read, once.
constexpr absl::Duration kStall = absl::Milliseconds(500);
constexpr absl::Duration kForgiven = absl::Seconds(1);

}  // namespace

Coordinator::Coordinator(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink,
                         CoordinatorOptions options)
    : clock_(clock),
      store_(store),
      plan_maker_(plan_maker),
      options_(std::move(options)),
      outbox_(clock, &timers_, store, sink),
      joins_(options_.team_size_max, options_.formations_max) {}

absl::Status Coordinator::Start() {
  ASSIGN_OR_RETURN(Snapshot snapshot, store_->Load());
  started_ = clock_->Now();
  draining_ = std::move(snapshot.draining);
  quarantined_ = snapshot.quarantined;
  ids_.emplace(&outbox_, snapshot.term, snapshot.since);
  cluster_.emplace(&outbox_, std::move(snapshot.cluster), snapshot.cluster_is_new, options_.fresh_cluster);
  for (const TeamId id : snapshot.aborted) ended_.Insert(id);
  for (auto& [id, record] : snapshot.teams) {
    Team& team = teams_[id];
    team.record = std::move(record);
    team.members.Assign(team.record.layout.nodes);
    NoteDerivedTeam(team.record.layout);
    // Only an adopted team has no labels; its plans may have been recorded before they were verified.
    if (team.record.outgoing.empty()) {
      VerifyLater(id);
    } else {
      IndexPlans(id, team);
    }
  }
  // The newest team determines which daemon has a name. An older daemon of that name may be alive as well, and stays a
  // member of its teams.
  for (auto it = teams_.rbegin(); it != teams_.rend(); ++it) {
    for (uint32_t i = 0; i < it->second.node_count(); ++i) {
      Node& node = NodeOfMember(it->second, i);
      if (node.announcement.incarnation == it->second.record.layout.nodes[i].incarnation) {
        node.teams.insert(it->first);
      } else {
        it->second.nameless_since = started_;
      }
    }
  }
  return absl::OkStatus();
}

void Coordinator::SetLive(const CoordinatorOptions& options) {
  options_.team_formation_timeout = options.team_formation_timeout;
  options_.prepare_timeout = options.prepare_timeout;
  options_.register_timeout = options.register_timeout;
  options_.join_tokens = options.join_tokens;
}

void Coordinator::Tick(absl::Time heard) {
  const absl::Time due = std::min(timers_.Next(), joins_.NextDeadline());
  if (heard - due > kStall && due > forgiven_until_) {
    COPSE_LOG(kWarning, "the planner stood still (for=", FormatShortDuration(heard - due), ")");
    forgiven_until_ = heard + kForgiven;
  }
  if (heard < forgiven_until_) return;
  if (!settles()) {
    for (Gathered& complete : joins_.Release()) Act(std::move(complete));
  }
  for (Gathered& late : joins_.TakeLate(heard)) Act(std::move(late));
  timers_.Run(heard);
}

absl::Time Coordinator::NextDeadline() const {
  const absl::Time next = std::min(timers_.Next(), joins_.NextDeadline());
  return std::max(settles() ? std::min(next, settled_at_) : next, forgiven_until_);
}

void Coordinator::OnConnected(SessionId session, const std::string& from) {
  Session& entry = sessions_[session];
  entry.from = from;
  entry.register_timer = timers_.Set(clock_->Now() + options_.register_timeout, [this, session] {
    ProtocolError(session, absl::StrCat("no Register within ", FormatShortDuration(options_.register_timeout)));
  });
}

void Coordinator::ProtocolError(SessionId session, const std::string& what) {
  const Node* node = NodeOf(session);
  COPSE_LOG(kWarning, "session ", session, node == nullptr ? "" : absl::StrCat(" of node ", node->announcement.name),
            " is closed: ", what);
  outbox_.Close(session, what);
  OnDisconnected(session);
}

void Coordinator::OnDisconnected(SessionId session) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  timers_.Cancel(it->second.register_timer);
  outbox_.Drop(session);
  if (!it->second.node.empty()) StreamEnded(session);
  sessions_.erase(session);
}

Coordinator::Node* Coordinator::NodeOf(SessionId session) {
  const auto it = sessions_.find(session);
  return it == sessions_.end() || it->second.node.empty() ? nullptr : &nodes_.at(it->second.node);
}

const Coordinator::Node* Coordinator::LiveNode(const schedule::TeamNode& member) const {
  const auto it = nodes_.find(member.name);
  if (it == nodes_.end() || it->second.session == 0) return nullptr;
  return it->second.announcement.incarnation == member.incarnation ? &it->second : nullptr;
}

void Coordinator::SendTo(const schedule::TeamNode& member, const schedule::ToDaemon& message) {
  if (const Node* node = LiveNode(member); node != nullptr) outbox_.Send(node->session, message);
}

void Coordinator::OnMessage(SessionId session, const schedule::FromDaemon& message) {
  if (sessions_.count(session) == 0) return;  // already closed
  if (const auto* registration = std::get_if<schedule::Register>(&message)) {
    if (NodeOf(session) != nullptr) return ProtocolError(session, "Register came twice");
    return OnRegister(session, *registration);
  }
  Node* node = NodeOf(session);
  if (node == nullptr) return ProtocolError(session, "the first message must be Register");
  std::visit(
      [&](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, schedule::JoinTeam>) OnJoin(session, m);
        if constexpr (std::is_same_v<T, schedule::CancelJoin>) OnCancelJoin(session, m);
        if constexpr (std::is_same_v<T, schedule::PrepareReply>) OnPrepareReply(*node, m);
        if constexpr (std::is_same_v<T, schedule::CommitReply>) OnCommitReply(*node, m);
        if constexpr (std::is_same_v<T, schedule::LeaveTeam>) OnLeaveTeam(*node, m);
        if constexpr (std::is_same_v<T, schedule::TeamBroken>) OnTeamBroken(*node, m);
        if constexpr (std::is_same_v<T, schedule::EpochQuery>) OnEpochQuery(*node, m);
        if constexpr (std::is_same_v<T, schedule::StatusReply>) OnStatusReply(*node, m);
        if constexpr (std::is_same_v<T, schedule::TraceReply>) OnTraceReply(*node, m);
        if constexpr (std::is_same_v<T, schedule::MeasureReply>) OnMeasureReply(*node, m);
        if constexpr (std::is_same_v<T, schedule::NeighborSilent>) OnNeighborSilent(*node, m);
        if constexpr (std::is_same_v<T, schedule::Stopping>) OnStopping(session, m);
        if constexpr (std::is_same_v<T, schedule::TeamIdsRequest>) SendTeamIds(session);
        if constexpr (std::is_same_v<T, schedule::TeamFormed>) OnTeamFormed(*node, m);
      },
      message);
}

}  // namespace copse::coordinator
