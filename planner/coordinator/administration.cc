// SPDX-License-Identifier: Apache-2.0
//
// Serves the requests of administrators.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "planner/coordinator/coordinator.h"

namespace copse::coordinator {
namespace {

// A daemon has this time to report its own time-out of a measurement before the planner gives up.
constexpr absl::Duration kMeasureGrace = absl::Seconds(1);
// So many daemons are asked for their status in one go; other work runs in the pause before the next ones.
constexpr size_t kAskedAtOnce = 2048;
constexpr absl::Duration kAskNext = absl::Milliseconds(1);

}  // namespace

// --- Nodes ---

const char* Coordinator::StateOf(const Node& node) const {
  if (node.session == 0) return node.is_lost() ? "lost" : "away";
  return node.stopping || draining_.count(node.announcement.name) != 0 ? "draining" : "ready";
}

NodeInfo Coordinator::InfoOf(const Node& node) const {
  NodeInfo info;
  info.announcement = node.announcement;
  info.connected = node.session != 0;
  info.state = StateOf(node);
  const auto drains = draining_.find(node.announcement.name);
  if (drains != draining_.end()) info.why = drains->second;
  info.last_seen_s = info.connected ? 0 : absl::ToDoubleSeconds(clock_->Now() - node.away_since);
  for (const TeamId id : node.teams) {
    const Team& team = teams_.at(id);
    const std::optional<uint32_t> member = MemberIndex(team, node.announcement);
    if (team.record.layout.parent != TeamId{0} || !member.has_value() || team.members[*member].left) continue;
    for (const NodeIndex index : team.record.layout.shape.node_of_rank) info.ranks += index == NodeIndex{*member};
  }
  return info;
}

std::vector<NodeInfo> Coordinator::Nodes() const {
  std::vector<NodeInfo> out;
  for (const auto& [name, node] : nodes_) out.push_back(InfoOf(node));
  return out;
}

std::optional<NodeInfo> Coordinator::NodeAfter(const std::string& name) const {
  const auto it = nodes_.upper_bound(name);
  if (it == nodes_.end()) return std::nullopt;
  return InfoOf(it->second);
}

std::map<std::string, uint64_t> Coordinator::NodesByState() const {
  std::map<std::string, uint64_t> counts = {{"ready", 0}, {"draining", 0}, {"away", 0}, {"lost", 0}};
  for (const auto& [name, node] : nodes_) ++counts[StateOf(node)];
  return counts;
}

absl::StatusOr<NodeInfo> Coordinator::FindNode(const std::string& name) const {
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) return absl::NotFoundError(absl::StrCat("node ", name, ": not known"));
  return InfoOf(it->second);
}

void Coordinator::SetDraining(const std::string& name, const std::optional<std::string>& why,
                              std::function<void(const absl::Status&)> done) {
  const auto it = nodes_.find(name);
  // Draining can also be ended for a node that has not come back since the planner's restart.
  const bool is_known = it != nodes_.end() || (!why && (draining_.count(name) != 0 || drain_changes_.count(name) != 0));
  if (!is_known) return done(absl::NotFoundError(absl::StrCat("node ", name, ": not known")));
  const auto before = draining_.find(name);
  ++drain_changes_
        .try_emplace(name,
                     DrainChanges{.stored = before == draining_.end() ? std::nullopt : std::optional(before->second)})
        .first->second.waiting;
  ApplyDraining(name, why);
  outbox_.Record(PutDraining{name, why.has_value(), why.value_or("")}, [this, name, why, done = std::move(done)](
                                                                           const absl::Status& stored) {
    const auto changes = drain_changes_.find(name);
    if (stored.ok()) {
      changes->second.stored = why;
      events_.Note(clock_->Now(), absl::StrCat("node ", name), why ? "draining" : "undrained",
                   absl::StrCat("by an administrator", why && !why->empty() ? ": " : "", why.value_or("")));
    }
    // A later change decides, unless it fails, too.
    if (--changes->second.waiting == 0) {
      ApplyDraining(name, changes->second.stored);
      drain_changes_.erase(changes);
    }
    done(stored);
  });
  const bool is_set = (draining_.count(name) != 0) == why.has_value();
  if (is_set && it != nodes_.end() && it->second.session != 0) {
    outbox_.Send(it->second.session, schedule::Drain{why.has_value()});
  }
}

void Coordinator::ApplyDraining(const std::string& name, const std::optional<std::string>& why) {
  if (why.has_value()) {
    draining_[name] = *why;
  } else {
    draining_.erase(name);
  }
}

// --- Teams ---

const char* Coordinator::StateOf(const Team& team) {
  return team.record.broken ? "broken" : team.record.epoch == EpochId{0} ? "forming" : "ready";
}

TeamInfo Coordinator::InfoOf(const Team& team) const {
  TeamInfo info;
  info.layout = team.record.layout;
  info.size = team.record.layout.shape.size();
  info.epoch = team.record.epoch;
  info.state = StateOf(team);
  info.why = team.record.why.text;
  return info;
}

TeamInfo Coordinator::InfoOf(const Forming& forming) {
  TeamInfo info;
  info.layout.identity = forming.identity;
  info.layout.parent = forming.parent;
  info.size = forming.size;
  info.missing = forming.missing;
  info.state = "forming";
  return info;
}

std::vector<TeamInfo> Coordinator::Teams() const {
  std::vector<TeamInfo> out;
  for (const Forming& forming : joins_.List()) out.push_back(InfoOf(forming));
  for (const auto& [id, team] : teams_) out.push_back(InfoOf(team));
  return out;
}

std::optional<TeamInfo> Coordinator::TeamAfter(const schedule::TeamLayout* last) const {
  TeamId id{0};
  if (last == nullptr || last->id == TeamId{0}) {
    if (const auto forming =
            joins_.After(last == nullptr ? nullptr : &last->identity, last == nullptr ? TeamId{0} : last->parent)) {
      return InfoOf(*forming);
    }
  } else {
    id = last->id;
  }
  const auto it = teams_.upper_bound(id);
  if (it == teams_.end()) return std::nullopt;
  return InfoOf(it->second);
}

std::map<std::string, uint64_t> Coordinator::TeamsByState() const {
  std::map<std::string, uint64_t> counts = {{"forming", joins_.size()}, {"ready", 0}, {"broken", 0}};
  for (const auto& [id, team] : teams_) ++counts[StateOf(team)];
  return counts;
}

absl::StatusOr<TeamInfo> Coordinator::FindTeam(TeamId id) const {
  const auto it = teams_.find(id);
  if (it == teams_.end()) return absl::NotFoundError(absl::StrCat("team ", id.value(), ": not known"));
  return InfoOf(it->second);
}

absl::Status Coordinator::BreakTeam(TeamId id, const std::string& why) {
  Team* team = TeamOf(id);
  if (team == nullptr) return absl::NotFoundError(absl::StrCat("team ", id.value(), ": not known"));
  if (team->record.broken)
    return absl::FailedPreconditionError(
        absl::StrCat("team ", id.value(), ": broken already: ", team->record.why.text));
  Break(*team, {schedule::Failure::kCanceled, absl::StrCat("broken by an administrator", why.empty() ? "" : ": ", why),
                FailureCause::kTeamBroken});
  return absl::OkStatus();
}

// --- Status ---

void Coordinator::QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
                              std::function<void(const StatusAnswer&)> done, bool latencies, TeamId calls_of) {
  const auto answer = std::make_shared<StatusAnswer>();
  QueryStatusOfEach(
      nodes, timeout, [answer](const schedule::DaemonStatus& status) { answer->nodes.push_back(status); },
      [answer, done = std::move(done)](std::vector<std::string> silent) {
        answer->silent = std::move(silent);
        std::sort(answer->nodes.begin(), answer->nodes.end(),
                  [](const auto& a, const auto& b) { return a.node < b.node; });
        done(*answer);
      },
      latencies, calls_of);
}

void Coordinator::QueryStatusOfEach(const std::vector<std::string>& nodes, absl::Duration timeout,
                                    std::function<void(const schedule::DaemonStatus&)> on_status,
                                    std::function<void(std::vector<std::string>)> done, bool latencies,
                                    TeamId calls_of) {
  const uint64_t id = next_query_++;
  Query query;
  query.on_status = std::move(on_status);
  query.done = std::move(done);
  query.latencies = latencies;
  query.calls_of = calls_of;
  const std::set<std::string> names(nodes.begin(), nodes.end());
  query.unasked.assign(names.begin(), names.end());
  if (nodes.empty()) {
    for (const auto& [name, node] : nodes_) {
      if (node.session != 0) query.unasked.push_back(name);
    }
  }
  std::reverse(query.unasked.begin(), query.unasked.end());
  query.timer = timers_.Set(clock_->Now() + timeout, [this, id] { FinishQuery(id); });
  queries_.emplace(id, std::move(query));
  AskNext(id);
}

void Coordinator::AskNext(uint64_t id) {
  const auto it = queries_.find(id);
  if (it == queries_.end()) return;
  Query& query = it->second;
  for (size_t asked = 0; asked < kAskedAtOnce && !query.unasked.empty(); query.unasked.pop_back()) {
    std::string& name = query.unasked.back();
    const auto node = nodes_.find(name);
    if (node == nodes_.end() || node->second.session == 0) {
      query.silent.push_back(std::move(name));
      continue;
    }
    ++asked;
    outbox_.Send(node->second.session, schedule::StatusQuery{id, query.latencies, query.calls_of});
    query.waiting.insert(query.waiting.end(), std::move(name));  // names come in ascending order
  }
  if (!query.unasked.empty()) {
    timers_.Set(clock_->Now() + kAskNext, [this, id] { AskNext(id); });
  } else if (query.waiting.empty()) {
    FinishQuery(id);
  }
}

// --- Traces ---

void Coordinator::QueryTrace(const std::string& name, schedule::TraceQuery query, absl::Duration timeout,
                             std::function<void(const absl::StatusOr<TraceAnswer>&)> done) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) return done(absl::NotFoundError(absl::StrCat("node ", name, ": not known")));
  const Node& node = it->second;
  if (node.session == 0) return done(absl::UnavailableError(absl::StrCat("node ", name, ": not connected")));
  query.query = next_query_++;
  PendingTrace pending{.node = name, .asked = clock_->Now(), .timer = {}, .done = std::move(done)};
  pending.timer = timers_.Set(pending.asked + timeout, [this, id = query.query, name] {
    FinishTrace(id, absl::DeadlineExceededError(absl::StrCat("node ", name, ": does not answer in time")));
  });
  traces_.emplace(query.query, std::move(pending));
  outbox_.Send(node.session, query);
}

void Coordinator::OnTraceReply(Node& node, const schedule::TraceReply& message) {
  const auto it = traces_.find(message.query);
  if (it == traces_.end() || it->second.node != node.announcement.name) return;
  FinishTrace(message.query, TraceAnswer{message, it->second.asked, clock_->Now()});
}

void Coordinator::FinishTrace(uint64_t id, const absl::StatusOr<TraceAnswer>& answer) {
  auto entry = traces_.extract(id);
  if (entry.empty()) return;
  timers_.Cancel(entry.mapped().timer);
  entry.mapped().done(answer);
}

// --- Measurements ---

void Coordinator::Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
                          std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done) {
  if (from == to) return done(absl::InvalidArgumentError(absl::StrCat("node ", from, ": cannot measure to itself")));
  for (const std::string& name : {from, to}) {
    const auto it = nodes_.find(name);
    if (it == nodes_.end()) return done(absl::NotFoundError(absl::StrCat("node ", name, ": not known")));
    if (it->second.session == 0) return done(absl::UnavailableError(absl::StrCat("node ", name, ": not connected")));
  }
  const Node& active = nodes_.at(from);
  const Node& passive = nodes_.at(to);
  schedule::MeasureQuery query;
  query.query = next_query_++;
  query.pings = limits.pings;
  query.ping_ns_max = absl::ToInt64Nanoseconds(limits.ping_max);
  query.bulk_bytes_max = limits.bulk_bytes_max;
  query.bulk_ns_max = absl::ToInt64Nanoseconds(limits.bulk_max);
  query.timeout_ns = absl::ToInt64Nanoseconds(limits.timeout);
  PendingMeasure pending{.from = from, .to = to, .timer = {}, .done = std::move(done)};
  pending.timer = timers_.Set(clock_->Now() + limits.timeout + kMeasureGrace, [this, id = query.query, from] {
    FinishMeasure(id, absl::DeadlineExceededError(absl::StrCat("node ", from, ": does not answer in time")));
  });
  measures_.emplace(query.query, std::move(pending));
  const auto peer = [](const Node& node) {
    const schedule::NodeAnnouncement& a = node.announcement;
    return schedule::TeamNode{a.name, a.incarnation, a.worker_address};
  };
  query.peer = peer(active);
  outbox_.Send(passive.session, query);
  query.peer = peer(passive);
  query.active = true;
  outbox_.Send(active.session, query);
}

void Coordinator::OnMeasureReply(Node& node, const schedule::MeasureReply& message) {
  const auto it = measures_.find(message.query);
  if (it == measures_.end() || it->second.from != node.announcement.name) return;
  if (message.why.failure == schedule::Failure::kNone) return FinishMeasure(message.query, message);
  const std::string text = absl::StrCat("node ", it->second.from, " to node ", it->second.to, ": ", message.why.text);
  FinishMeasure(message.query, message.why.failure == schedule::Failure::kTimedOut ? absl::DeadlineExceededError(text)
                                                                                   : absl::UnavailableError(text));
}

void Coordinator::FinishMeasure(uint64_t id, const absl::StatusOr<schedule::MeasureReply>& answer) {
  auto entry = measures_.extract(id);
  if (entry.empty()) return;
  timers_.Cancel(entry.mapped().timer);
  entry.mapped().done(answer);
}

void Coordinator::OnStatusReply(Node& node, const schedule::StatusReply& message) {
  const auto it = queries_.find(message.query);
  if (it == queries_.end() || it->second.waiting.erase(node.announcement.name) == 0) return;
  schedule::DaemonStatus status = message.status;
  status.node = node.announcement.name;
  status.incarnation = node.announcement.incarnation;
  it->second.on_status(status);
  if (it->second.waiting.empty() && it->second.unasked.empty()) FinishQuery(message.query);
}

void Coordinator::NodeSilent(const std::string& node) {
  std::vector<uint64_t> finished;
  for (auto& [id, query] : queries_) {
    if (query.waiting.erase(node) == 0) continue;
    query.silent.push_back(node);
    if (query.waiting.empty() && query.unasked.empty()) finished.push_back(id);
  }
  for (const uint64_t id : finished) FinishQuery(id);
  std::vector<uint64_t> unanswered;
  for (const auto& [id, trace] : traces_) {
    if (trace.node == node) unanswered.push_back(id);
  }
  for (const uint64_t id : unanswered) {
    FinishTrace(id, absl::UnavailableError(absl::StrCat("node ", node, ": lost while it was asked")));
  }
  std::vector<uint64_t> unmeasured;
  for (const auto& [id, measure] : measures_) {
    if (measure.from == node || measure.to == node) unmeasured.push_back(id);
  }
  for (const uint64_t id : unmeasured) {
    FinishMeasure(id, absl::UnavailableError(absl::StrCat("node ", node, ": lost while it measured")));
  }
}

void Coordinator::FinishQuery(uint64_t id) {
  auto entry = queries_.extract(id);
  if (entry.empty()) return;
  Query& query = entry.mapped();
  timers_.Cancel(query.timer);
  std::vector<std::string>& silent = query.silent;
  silent.insert(silent.end(), query.waiting.begin(), query.waiting.end());
  silent.insert(silent.end(), query.unasked.begin(), query.unasked.end());
  std::sort(silent.begin(), silent.end());
  query.done(std::move(silent));
}

std::vector<CollectiveInfo> Coordinator::MergeCalls(const StatusAnswer& answer) const {
  CallMerge merge;
  for (const schedule::DaemonStatus& status : answer.nodes) merge.Add(status.node, status);
  std::vector<CollectiveInfo> out;
  while (std::optional<CollectiveInfo> call = NextCall(&merge)) out.push_back(*std::move(call));
  return out;
}

std::optional<CollectiveInfo> Coordinator::NextCall(CallMerge* merge) const {
  const std::optional<TeamId> id = merge->NextTeam();
  if (!id.has_value()) return std::nullopt;
  const auto team = teams_.find(*id);
  return merge->Next(team == teams_.end() ? nullptr : &team->second.record.layout);
}

}  // namespace copse::coordinator
