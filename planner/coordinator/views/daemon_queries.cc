// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/views/daemon_queries.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace copse::coordinator {
namespace {

// A daemon has this time to report its own time-out of a measurement before the planner gives up.
constexpr absl::Duration kMeasureGrace = absl::Seconds(1);
// So many daemons are asked for their status in one go; other work runs in the pause before the next ones.
constexpr size_t kAskedAtOnce = 2048;
constexpr absl::Duration kAskNext = absl::Milliseconds(1);

}  // namespace

absl::Status DaemonQueries::CheckConnected(const std::string& name) const {
  const Node* node = state_->nodes.Find(name);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("node ", name, ": not known"));
  if (!node->is_connected()) return absl::UnavailableError(absl::StrCat("node ", name, ": not connected"));
  return absl::OkStatus();
}

void DaemonQueries::QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
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

void DaemonQueries::QueryStatusOfEach(const std::vector<std::string>& nodes, absl::Duration timeout,
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
    for (const auto& [name, node] : state_->nodes.all()) {
      if (node.session != 0) query.unasked.push_back(name);
    }
  }
  std::reverse(query.unasked.begin(), query.unasked.end());
  query.timer = state_->timers.Set(state_->Now() + timeout, [this, id] { FinishQuery(id); });
  queries_.emplace(id, std::move(query));
  AskNext(id);
}

void DaemonQueries::AskNext(uint64_t id) {
  const auto it = queries_.find(id);
  if (it == queries_.end()) return;
  Query& query = it->second;
  for (size_t asked = 0; asked < kAskedAtOnce && !query.unasked.empty(); query.unasked.pop_back()) {
    std::string& name = query.unasked.back();
    const Node* node = state_->nodes.Find(name);
    if (node == nullptr || !node->is_connected()) {
      query.silent.push_back(std::move(name));
      continue;
    }
    ++asked;
    state_->outbox.Send(node->session, schedule::StatusQuery{id, query.latencies, query.calls_of});
    query.waiting.insert(query.waiting.end(), std::move(name));  // names come in ascending order
  }
  if (!query.unasked.empty()) {
    state_->timers.Set(state_->Now() + kAskNext, [this, id] { AskNext(id); });
  } else if (query.waiting.empty()) {
    FinishQuery(id);
  }
}

void DaemonQueries::OnStatusReply(const Node& node, const schedule::StatusReply& message) {
  const auto it = queries_.find(message.query);
  if (it == queries_.end() || it->second.waiting.erase(node.announcement.name) == 0) return;
  schedule::DaemonStatus status = message.status;
  status.node = node.announcement.name;
  status.incarnation = node.announcement.incarnation;
  it->second.on_status(status);
  if (it->second.is_complete()) FinishQuery(message.query);
}

void DaemonQueries::FinishQuery(uint64_t id) {
  auto entry = queries_.extract(id);
  if (entry.empty()) return;
  Query& query = entry.mapped();
  state_->timers.Cancel(query.timer);
  std::vector<std::string>& silent = query.silent;
  silent.insert(silent.end(), query.waiting.begin(), query.waiting.end());
  silent.insert(silent.end(), query.unasked.begin(), query.unasked.end());
  std::sort(silent.begin(), silent.end());
  query.done(std::move(silent));
}

void DaemonQueries::QueryTrace(const std::string& name, schedule::TraceQuery query, absl::Duration timeout,
                               std::function<void(const absl::StatusOr<TraceAnswer>&)> done) {
  if (const absl::Status status = CheckConnected(name); !status.ok()) return done(status);
  const schedule::NodeAnnouncement& node = state_->nodes.At(name).announcement;
  if (query.owner.has_value() && !node.features.contains(schedule::Feature::kOwnTrace)) {
    return done(absl::FailedPreconditionError(absl::StrCat(
        "node ", name, ": its daemon cannot leave the records of other users out of its trace (version=", node.version,
        ", wanted=role operator)")));
  }
  query.query = next_query_++;
  PendingTrace pending{.node = name, .asked = state_->Now(), .timer = {}, .done = std::move(done)};
  pending.timer = state_->timers.Set(pending.asked + timeout, [this, id = query.query, name] {
    FinishTrace(id, absl::DeadlineExceededError(absl::StrCat("node ", name, ": does not answer in time")));
  });
  traces_.emplace(query.query, std::move(pending));
  state_->outbox.Send(state_->nodes.At(name).session, query);
}

void DaemonQueries::OnTraceReply(const Node& node, const schedule::TraceReply& message) {
  const auto it = traces_.find(message.query);
  if (it == traces_.end() || it->second.node != node.announcement.name) return;
  FinishTrace(message.query, TraceAnswer{message, it->second.asked, state_->Now()});
}

void DaemonQueries::FinishTrace(uint64_t id, const absl::StatusOr<TraceAnswer>& answer) {
  auto entry = traces_.extract(id);
  if (entry.empty()) return;
  state_->timers.Cancel(entry.mapped().timer);
  entry.mapped().done(answer);
}

void DaemonQueries::Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
                            std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done) {
  if (from == to) return done(absl::InvalidArgumentError(absl::StrCat("node ", from, ": cannot measure to itself")));
  for (const std::string& name : {from, to}) {
    if (const absl::Status status = CheckConnected(name); !status.ok()) return done(status);
  }
  schedule::MeasureQuery query;
  query.query = next_query_++;
  query.pings = limits.pings;
  query.ping_ns_max = absl::ToInt64Nanoseconds(limits.ping_max);
  query.bulk_bytes_max = limits.bulk_bytes_max;
  query.bulk_ns_max = absl::ToInt64Nanoseconds(limits.bulk_max);
  query.timeout_ns = absl::ToInt64Nanoseconds(limits.timeout);
  PendingMeasure pending{.from = from, .to = to, .query = query, .timer = {}, .done = std::move(done)};
  pending.timer = state_->timers.Set(state_->Now() + limits.timeout + kMeasureGrace, [this, id = query.query, from] {
    FinishMeasure(id, absl::DeadlineExceededError(absl::StrCat("node ", from, ": does not answer in time")));
  });
  SendMeasure(measures_.emplace(query.query, std::move(pending)).first->second);
}

void DaemonQueries::SendMeasure(PendingMeasure& measure) {
  const auto peer = [](const Node& node) {
    const schedule::NodeAnnouncement& a = node.announcement;
    return schedule::TeamNode{a.name, a.incarnation, a.worker_address};
  };
  const Node& active = state_->nodes.At(measure.from);
  const Node& passive = state_->nodes.At(measure.to);
  const schedule::TeamNode both[] = {peer(active), peer(passive)};
  if (!state_->nodes.AskForAddresses(both).empty()) return;
  measure.is_sent = true;
  schedule::MeasureQuery query = measure.query;
  query.peer = peer(active);
  state_->outbox.Send(passive.session, query);
  query.peer = peer(passive);
  query.active = true;
  state_->outbox.Send(active.session, query);
}

void DaemonQueries::OnAddress(const Node& node, const schedule::FailureReport& why) {
  const std::string& name = node.announcement.name;
  std::vector<uint64_t> unmeasured;
  for (auto& [id, measure] : measures_) {
    if (measure.is_sent || (measure.from != name && measure.to != name)) continue;
    if (why.failure == schedule::Failure::kNone) {
      SendMeasure(measure);
    } else {
      unmeasured.push_back(id);
    }
  }
  for (const uint64_t id : unmeasured) FinishMeasure(id, absl::UnavailableError(why.text));
}

void DaemonQueries::OnMeasureReply(const Node& node, const schedule::MeasureReply& message) {
  const auto it = measures_.find(message.query);
  if (it == measures_.end() || it->second.from != node.announcement.name) return;
  if (message.why.failure == schedule::Failure::kNone) return FinishMeasure(message.query, message);
  const std::string text = absl::StrCat("node ", it->second.from, " to node ", it->second.to, ": ", message.why.text);
  FinishMeasure(message.query, message.why.failure == schedule::Failure::kTimedOut ? absl::DeadlineExceededError(text)
                                                                                   : absl::UnavailableError(text));
}

void DaemonQueries::FinishMeasure(uint64_t id, const absl::StatusOr<schedule::MeasureReply>& answer) {
  auto entry = measures_.extract(id);
  if (entry.empty()) return;
  state_->timers.Cancel(entry.mapped().timer);
  entry.mapped().done(answer);
}

void DaemonQueries::NodeSilent(const std::string& node) {
  std::vector<uint64_t> finished;
  for (auto& [id, query] : queries_) {
    if (query.waiting.erase(node) == 0) continue;
    query.silent.push_back(node);
    if (query.is_complete()) finished.push_back(id);
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

}  // namespace copse::coordinator
