// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/status_lists.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/status_macros.h"
#include "planner/admin/admin_rows.h"
#include "planner/admin/row_selector.h"
#include "planner/admin/row_stream.h"
#include "rpc/latency_row.h"
#include "rpc/status_report.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

using coordinator::ReportInfo;

constexpr int kStatsField = v1::GetStatsReply::kStatsFieldNumber;

// Moves the next silent node's name to the reply, and returns its bytes; 0: there is none.
template <typename Reply>
size_t AddSilent(std::deque<std::string>* silent, Reply* reply) {
  if (silent->empty()) return 0;
  reply->add_silent(rpc::ToUtf8(silent->front()));
  silent->pop_front();
  return reply->silent(reply->silent_size() - 1).size();
}

// Returns the calls that the node reported as its daemon would answer now.
schedule::DaemonStatus StatusOf(const ReportInfo& info) {
  schedule::DaemonStatus status{.node = *info.node, .calls = info.report->calls, .progress = info.report->progress};
  for (schedule::CallStatus& call : status.calls) call.age_s += absl::ToDoubleSeconds(info.age);
  return status;
}

}  // namespace

absl::Duration StatusTimeout(double seconds) {
  if (!(seconds > 0)) return kStatusTimeout;
  return std::min(absl::Seconds(seconds), kStatusTimeoutMax);
}

// --- Sources ---

std::set<std::string> StatusLists::NodesOf(const Selects& selects, size_t max) const {
  std::set<std::string> nodes;
  TeamId last(0);
  while (const auto info = coordinator_->view().IdentifiedTeamAfter(last)) {
    last = info->layout.id;
    if (!selects(*info)) continue;
    for (const schedule::TeamNode& node : info->layout.nodes) nodes.insert(node.name);
    if (nodes.size() > max) break;
  }
  return nodes;
}

StatusLists::StatusSources StatusLists::SourcesOf(std::vector<std::string> nodes) const {
  if (nodes.empty()) {
    for (const ReportInfo& info : coordinator_->view().Reports()) nodes.push_back(*info.node);
  }
  StatusSources sources{.asked = std::move(nodes)};
  if (sources.asked.size() <= kAskedNodesMax) return sources;
  const auto reported = std::stable_partition(sources.asked.begin(), sources.asked.end(), [this](const auto& node) {
    const std::optional<ReportInfo> info = coordinator_->view().FindReport(node);
    return !info.has_value() || info->report == nullptr;
  });
  sources.reported.assign(std::make_move_iterator(reported), std::make_move_iterator(sources.asked.end()));
  sources.asked.erase(reported, sources.asked.end());
  return sources;
}

StatusLists::StatusSources StatusLists::WithLongCalls(const SelectsLayout& selects, StatusSources sources) const {
  std::set<TeamId> seen;
  std::set<std::string> members;
  for (const ReportInfo& info : coordinator_->view().Reports()) {
    if (info.report == nullptr) continue;
    for (const schedule::CallStatus& call : info.report->calls) {
      const auto team = coordinator_->view().FindTeam(call.team);
      if (!team.ok()) members.insert(*info.node);  // daemons can have teams that the planner does not know
      if (!team.ok() || !seen.insert(call.team).second || !selects(team->layout)) continue;
      for (const schedule::TeamNode& node : team->layout.nodes) members.insert(node.name);
    }
  }
  std::erase_if(sources.reported, [&members](const std::string& node) { return members.count(node) == 0; });
  if (sources.asked.size() + sources.reported.size() > kAskedNodesMax) return sources;
  sources.asked.insert(sources.asked.end(), sources.reported.begin(), sources.reported.end());
  sources.reported.clear();
  return sources;
}

void StatusLists::Ask(const std::vector<std::string>& nodes, absl::Duration timeout, bool latencies,
                      std::function<void(const schedule::DaemonStatus&)> on_status,
                      std::function<void(std::vector<std::string>)> done) {
  if (nodes.empty()) return done({});  // to DaemonQueries that would mean all
  coordinator_->queries().QueryStatusOfEach(nodes, timeout, std::move(on_status), std::move(done), latencies);
}

// --- Calls ---

RowWork<v1::ListCollectivesReply> StatusLists::CollectiveRows(const v1::ListCollectivesRequest& request) {
  const auto selector = Shared(RowSelector::Create(request.selector(), {.owner = true}));
  return [this, wanted = TeamId(request.team()), timeout = StatusTimeout(request.timeout_s()),
          selector](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    if (wanted != TeamId(0)) RETURN_IF_ERROR(coordinator_->view().FindTeam(wanted).status());
    const SelectsLayout selects = [wanted, selector](const schedule::TeamLayout& layout) {
      return (wanted == TeamId(0) || IsOf(layout, wanted)) && (*selector)->HasTeam(layout);
    };
    const auto list = [this, selects, begin](std::shared_ptr<coordinator::CallMerge> merge,
                                             const std::vector<std::string>& silent) {
      begin([this, selects, merge,
             silent = std::deque(silent.begin(), silent.end())](v1::ListCollectivesReply* reply) mutable -> size_t {
        const std::optional<coordinator::CollectiveInfo> call = coordinator_->view().NextCall(merge.get());
        if (!call.has_value()) return AddSilent(&silent, reply);
        const auto team = coordinator_->view().FindTeam(call->team);
        if (!selects(team.ok() ? team->layout : schedule::TeamLayout{.id = call->team})) return 1;
        v1::CollectiveRow* const row = reply->add_collectives();
        FillCollective(*call, team.ok() ? &team->layout : nullptr, row);
        return row->ByteSizeLong();
      });
    };
    std::set<std::string> nodes;  // none: all, since daemons can have teams that the planner does not know
    if ((*selector)->selects_teams() || wanted != TeamId(0)) {
      nodes = NodesOf([&selects](const coordinator::TeamInfo& info) { return selects(info.layout); });
    }
    if (nodes.empty() && (*selector)->selects_teams()) {
      list(std::make_shared<coordinator::CallMerge>(), {});
      return absl::OkStatus();
    }
    StatusSources sources = SourcesOf({nodes.begin(), nodes.end()});
    if (!sources.reported.empty()) sources = WithLongCalls(selects, std::move(sources));
    MergeCalls(sources, timeout, list);
    return absl::OkStatus();
  };
}

void StatusLists::MergeCalls(
    const StatusSources& sources, absl::Duration timeout,
    std::function<void(std::shared_ptr<coordinator::CallMerge>, std::vector<std::string>)> done) {
  const auto merge = std::make_shared<coordinator::CallMerge>();
  for (const std::string& node : sources.reported) {
    const std::optional<ReportInfo> info = coordinator_->view().FindReport(node);
    // A report may be from before the team was formed: it is no answer that would excuse ranks that it does not have.
    if (info.has_value() && info->report != nullptr) merge->Add("", StatusOf(*info));
  }
  Ask(
      sources.asked, timeout, /*latencies=*/false,
      [merge](const schedule::DaemonStatus& status) { merge->Add(status.node, status); },
      [merge, done = std::move(done)](std::vector<std::string> silent) { done(merge, std::move(silent)); });
}

void StatusLists::CountCalls(const std::vector<std::string>& nodes,
                             std::function<void(std::optional<CallCounts>)> done) {
  if (nodes.size() > kAskedNodesMax) return done(std::nullopt);
  MergeCalls({.asked = nodes}, kStatusTimeout,
             [this, done = std::move(done)](std::shared_ptr<coordinator::CallMerge> merge,
                                            const std::vector<std::string>& /*silent*/) {
               CallCounts calls = merge->Counts();
               for (const auto& [id, count] : merge->Counts()) {
                 const auto team = coordinator_->view().FindTeam(id);
                 if (team.ok() && schedule::IsDerivedTeam(team->layout.identity)) calls[team->layout.parent] += count;
               }
               done(std::move(calls));
             });
}

std::optional<uint32_t> StatusLists::CallsOf(const std::optional<CallCounts>& counts, TeamId team) {
  if (!counts.has_value()) return std::nullopt;
  const auto count = counts->find(team);
  return count == counts->end() ? 0 : count->second;
}

// --- Counters ---

RowWork<v1::GetStatsReply> StatusLists::StatsRows(const v1::GetStatsRequest& request, const rpc::Principal& who) {
  const auto selector = Shared(RowSelector::Create(request.selector(), {}));
  return [this, node = request.node(), timeout = StatusTimeout(request.timeout_s()),
          parts = WantedStats{.latencies = request.latencies(), .accounts = request.accounts(), .who = who},
          selector](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    std::vector<std::string> nodes((*selector)->nodes().begin(), (*selector)->nodes().end());
    if (!node.empty()) {
      RETURN_IF_ERROR(coordinator_->view().FindNode(node).status());
      nodes = {node};
    }
    const auto sources = std::make_shared<const StatusSources>(SourcesOf(std::move(nodes)));
    // Rows are made as daemons answer, and sent by the nodes' names.
    const auto rows = std::make_shared<std::map<std::string, std::string>>();
    Ask(
        sources->asked, timeout, parts.latencies,
        [this, rows, parts](const schedule::DaemonStatus& status) {
          (*rows)[status.node] = RowOf(status, parts).SerializeAsString();
        },
        [this, sources, rows, parts, begin](const std::vector<std::string>& silent) {
          begin([this, sources, rows, parts, reported = sources->reported.begin(),
                 silent = std::deque(silent.begin(), silent.end())](v1::GetStatsReply* reply) mutable -> size_t {
            const bool has_reported = reported != sources->reported.end();
            if (has_reported && (rows->empty() || *reported < rows->begin()->first)) {
              return AddReported(*reported++, parts, reply);
            }
            if (rows->empty()) return AddSilent(&silent, reply);
            return AddEncodedRow(std::move(rows->extract(rows->begin()).mapped()), kStatsField, reply);
          });
        });
    return absl::OkStatus();
  };
}

v1::NodeStats StatusLists::RowOf(const schedule::DaemonStatus& status, const WantedStats& parts) const {
  v1::NodeStats row;
  row.set_node(rpc::ToUtf8(status.node));
  row.mutable_counters()->insert(status.counters.begin(), status.counters.end());
  for (const schedule::LatencyStatus& latency : status.latencies) rpc::FillLatency(latency, row.add_latencies());
  if (!parts.accounts) return row;
  for (const schedule::AccountStatus& account : status.accounts) rpc::FillAccount(account, row.add_accounts());
  if (has_private_data_) HideJobs(parts.who, &row);
  return row;
}

// Encoded messages that follow each other are one with the fields of all; of a field that is there twice, the later one
// counts.
size_t StatusLists::AddReported(const std::string& node, const WantedStats& parts, v1::GetStatsReply* reply) const {
  const std::optional<ReportInfo> info = coordinator_->view().FindReport(node);
  if (!info.has_value() || info->report == nullptr) return 1;
  v1::NodeStats rest;
  if (parts.accounts && has_private_data_) {
    rest.ParseFromString(info->report->accounts);
    HideJobs(parts.who, &rest);
  }
  rest.set_node(rpc::ToUtf8(node));
  rest.set_age_s(absl::ToDoubleSeconds(info->age));
  std::string row = info->report->counters;
  if (parts.latencies) row += info->report->latencies;
  if (parts.accounts && !has_private_data_) row += info->report->accounts;
  rest.AppendToString(&row);
  return AddEncodedRow(std::move(row), kStatsField, reply);
}

void StatusLists::HideJobs(const rpc::Principal& who, v1::NodeStats* row) {
  for (v1::AccountRow& account : *row->mutable_accounts()) {
    if (who.MayChange(account.uid())) continue;
    account.clear_job();
    account.clear_claimed();
  }
}

}  // namespace copse::planner
