// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/admin_lists.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "planner/admin/admin_rows.h"
#include "planner/admin/row_selector.h"
#include "rpc/latency_row.h"
#include "rpc/text.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

// `plan list` has critical paths for plans of up to this many nodes, and no more than so many paths, and prices no more
// calls of the sizes that ran; `plan show` always has and does.
constexpr uint32_t kListedPathNodesMax = 16;
constexpr int kListedPathsMax = 64;
constexpr int kListedPricesMax = 64;

// Returns whether the layout is that of the team, or of a derived team of it.
bool IsOf(const schedule::TeamLayout& layout, TeamId team) { return layout.id == team || ShownTeam(layout) == team; }

// Moves the next silent node's name to the reply, and returns its bytes; 0: there is none.
template <typename Reply>
size_t AddSilent(std::deque<std::string>* silent, Reply* reply) {
  if (silent->empty()) return 0;
  reply->add_silent(rpc::ToUtf8(silent->front()));
  silent->pop_front();
  return reply->silent(reply->silent_size() - 1).size();
}

// Returns what tells the team's place in the order of all teams.
schedule::TeamLayout Place(const schedule::TeamLayout& layout) {
  return {.id = layout.id, .identity = layout.identity, .parent = layout.parent};
}

// A selector is shared, since it may be long.
using SharedSelector = std::shared_ptr<const absl::StatusOr<RowSelector>>;

SharedSelector Shared(absl::StatusOr<RowSelector> selector) {
  return std::make_shared<const absl::StatusOr<RowSelector>>(std::move(selector));
}

}  // namespace

absl::Duration StatusTimeout(double seconds) {
  if (!(seconds > 0)) return kStatusTimeout;
  return std::min(absl::Seconds(seconds), kStatusTimeoutMax);
}

bool AdminLists::Hides(const rpc::Principal& who, const schedule::TeamLayout& layout) const {
  return has_private_data_ && !who.MayChange(layout.identity.uid);
}

void AdminLists::FillTeamFor(const rpc::Principal& who, const coordinator::TeamInfo& info,
                             std::optional<uint32_t> calls, v1::TeamRow* row) const {
  FillTeam(info, calls, row);
  if (!Hides(who, info.layout)) return;
  row->clear_name();
  row->clear_job();
  row->clear_why();
}

void AdminLists::FillNodeFor(const rpc::Principal& who, const coordinator::NodeInfo& info, v1::NodeRow* row) const {
  FillNode(info, row);
  const absl::Time ends = instruments_->CertificateEnds(info.announcement.name);
  if (ends != absl::InfiniteFuture()) row->set_certificate_ends_s(absl::ToDoubleSeconds(ends - absl::Now()));
  if (has_private_data_ && who.role < rpc::Role::kOperator) row->clear_incarnation();
}

RowWork<v1::ListNodesReply> AdminLists::NodeRows(const v1::ListNodesRequest& request, const rpc::Principal& who) {
  const auto selector =
      Shared(RowSelector::Create(request.selector(), {.states = {"ready", "draining", "away", "lost"}}));
  return [this, selector, who](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    begin([this, selector, who, last = std::string()](v1::ListNodesReply* reply) mutable -> size_t {
      const std::optional<coordinator::NodeInfo> info = coordinator_->view().NodeAfter(last);
      if (!info.has_value()) return 0;
      last = info->announcement.name;
      if (!(*selector)->HasNode(last) || !(*selector)->HasState(info->state)) return 1;
      v1::NodeRow* const row = reply->add_nodes();
      FillNodeFor(who, *info, row);
      return row->ByteSizeLong();
    });
    return absl::OkStatus();
  };
}

RowWork<v1::ListTeamsReply> AdminLists::EndedTeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who) {
  const auto selector = Shared(RowSelector::Create(request.selector(), {.owner = true, .states = {"ended", "broken"}}));
  const bool by_job = !request.selector().job().empty();
  return [this, selector, who, by_job](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    begin([this, selector, who, by_job, last = uint64_t{0}](v1::ListTeamsReply* reply) mutable -> size_t {
      const auto info = coordinator_->view().EndedTeamAfter(&last);
      if (!info.has_value()) return 0;
      if (!(*selector)->HasState(info->state) || !(*selector)->HasTeam(info->layout)) return 1;
      if (by_job && Hides(who, info->layout)) return 1;
      v1::TeamRow* const row = reply->add_teams();
      FillTeamFor(who, *info, std::nullopt, row);
      return row->ByteSizeLong();
    });
    return absl::OkStatus();
  };
}

RowWork<v1::ListTeamsReply> AdminLists::TeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who) {
  if (request.ended()) return EndedTeamRows(request, who);
  const auto selector =
      Shared(RowSelector::Create(request.selector(), {.owner = true, .states = {"forming", "ready", "broken"}}));
  // Whether a hidden team has this job must not be told, either.
  const bool by_job = !request.selector().job().empty();
  return [this, all = request.all(), without_calls = request.without_calls(), selector, who,
          by_job](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    const Selects selects = [this, all, selector, who, by_job](const coordinator::TeamInfo& info) {
      return (all || !schedule::IsDerivedTeam(info.layout.identity)) && (*selector)->HasState(info.state) &&
             (*selector)->HasTeam(info.layout) && !(by_job && Hides(who, info.layout));
    };
    const auto list = [this, selects, who, begin](std::optional<CallCounts> calls) {
      begin([this, selects, who, calls = std::move(calls),
             last = std::optional<schedule::TeamLayout>()](v1::ListTeamsReply* reply) mutable -> size_t {
        const auto info = coordinator_->view().TeamAfter(last.has_value() ? &*last : nullptr);
        if (!info.has_value()) return 0;
        last = Place(info->layout);
        if (!selects(*info)) return 1;
        v1::TeamRow* const row = reply->add_teams();
        FillTeamFor(who, *info, CallsOf(calls, info->layout.id), row);
        return row->ByteSizeLong();
      });
    };
    const std::set<std::string> nodes =
        without_calls ? std::set<std::string>() : NodesOf(selects, /*max=*/kAskedNodesMax);
    if (nodes.empty()) {
      list(std::nullopt);
    } else {
      CountCalls({nodes.begin(), nodes.end()}, list);
    }
    return absl::OkStatus();
  };
}

std::set<std::string> AdminLists::NodesOf(const Selects& selects, size_t max) const {
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

void AdminLists::FillMeasured(const coordinator::PlanInfo& info, const MeasuredCalls& calls, bool is_priced,
                              v1::PlanRow* row) const {
  const std::optional<MeasuredCall> call = calls.Of(info.layout, info.plan);
  if (!call.has_value()) return;
  if (is_priced && call->plan_bytes.has_value()) {
    const absl::StatusOr<double> us = plan_maker_->Predict(info.layout, info.plan, *call->plan_bytes);
    if (us.ok()) {
      row->set_predicted_us(*us);
      row->set_predicted_bytes(*call->plan_bytes);
    }
  }
  measures_->Fill(calls, *call, row);
}

RowWork<v1::ListPlansReply> AdminLists::PlanRows(const v1::ListPlansRequest& request) {
  const auto selector = Shared(RowSelector::Create(request.selector(), {.owner = true}));
  return [this, team = TeamId(request.team()), measured = request.measured(), without_edges = request.without_edges(),
          selector](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    if (team != TeamId(0)) RETURN_IF_ERROR(coordinator_->view().FindTeam(team).status());
    const auto selects = [team, selector](const schedule::TeamLayout& layout) {
      return (team == TeamId(0) || IsOf(layout, team)) && (*selector)->HasTeam(layout);
    };
    const auto list = [=, this](const std::shared_ptr<const MeasuredCalls>& calls) {
      begin([=, this, last = PlanId(0), paths = 0, prices = 0](v1::ListPlansReply* reply) mutable -> size_t {
        const auto info = coordinator_->view().PlanAfter(last, selects);
        if (!info.has_value()) return 0;
        last = info->plan.id;
        // A critical path costs a prediction: a list includes it only where that is fast.
        absl::StatusOr<std::vector<std::string>> path = std::vector<std::string>();
        if (!without_edges && info->plan.node_count <= kListedPathNodesMax && ++paths <= kListedPathsMax) {
          path = plan_maker_->CriticalPath(info->layout, info->plan);
        }
        v1::PlanRow* const row = reply->add_plans();
        FillPlan(*info, path.ok() ? *path : std::vector<std::string>(), row);
        if (!without_edges) FillEdges(*info, row);
        const bool is_priced = PlanMeasures::IsPricedAtOnce(*info) && prices < kListedPricesMax;
        FillMeasured(*info, *calls, is_priced, row);
        if (is_priced && row->has_measured()) ++prices;
        return row->ByteSizeLong();
      });
    };
    std::set<std::string> nodes;
    if (measured) nodes = SomeNodesOf(selects);
    measures_->Ask(nodes, list);
    return absl::OkStatus();
  };
}

std::set<std::string> AdminLists::SomeNodesOf(const std::function<bool(const schedule::TeamLayout&)>& selects) const {
  std::set<std::string> nodes;
  TeamId last(0);
  while (const auto info = coordinator_->view().IdentifiedTeamAfter(last)) {
    last = info->layout.id;
    if (selects(info->layout)) PlanMeasures::AddNodes(info->layout, &nodes);
    if (nodes.size() + PlanMeasures::kAskedOfTeamMax > kMeasuredNodesMax) break;
  }
  return nodes;
}

RowWork<v1::ListCollectivesReply> AdminLists::CollectiveRows(const v1::ListCollectivesRequest& request) {
  const auto selector = Shared(RowSelector::Create(request.selector(), {.owner = true}));
  return [this, wanted = TeamId(request.team()), timeout = StatusTimeout(request.timeout_s()),
          selector](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    const auto selects = [wanted, selector](const schedule::TeamLayout& layout) {
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
    } else {
      MergeCalls({nodes.begin(), nodes.end()}, timeout, list);
    }
    return absl::OkStatus();
  };
}

void AdminLists::FillAccountFor(const rpc::Principal& who, const schedule::AccountStatus& account,
                                v1::AccountRow* row) const {
  row->set_uid(account.uid);
  row->set_weight(account.weight);
  for (const schedule::AccountStatus::Holding& holding : account.holdings) {
    v1::HoldingRow* const held = row->add_holdings();
    held->set_resource(rpc::ToUtf8(holding.resource));
    held->set_used(holding.used);
    held->set_limit(holding.limit);
  }
  if (has_private_data_ && !who.MayChange(account.uid)) return;
  row->set_job(rpc::ToUtf8(account.job));
  for (const std::string& claimed : account.claimed) row->add_claimed(rpc::ToUtf8(claimed));
}

RowWork<v1::GetStatsReply> AdminLists::StatsRows(const v1::GetStatsRequest& request, const rpc::Principal& who) {
  const auto selector = Shared(RowSelector::Create(request.selector(), {}));
  return [this, node = request.node(), timeout = StatusTimeout(request.timeout_s()), latencies = request.latencies(),
          accounts = request.accounts(), selector, who](const auto& begin) -> absl::Status {
    RETURN_IF_ERROR(selector->status());
    std::vector<std::string> nodes((*selector)->nodes().begin(), (*selector)->nodes().end());
    if (!node.empty()) {
      RETURN_IF_ERROR(coordinator_->view().FindNode(node).status());
      nodes = {node};
    }
    // Rows are made as daemons answer, and sent by the nodes' names.
    const auto rows = std::make_shared<std::map<std::string, v1::NodeStats>>();
    coordinator_->queries().QueryStatusOfEach(
        nodes, timeout,
        [this, rows, accounts, who](const schedule::DaemonStatus& status) {
          v1::NodeStats& row = (*rows)[status.node];
          row.set_node(rpc::ToUtf8(status.node));
          row.mutable_counters()->insert(status.counters.begin(), status.counters.end());
          for (const schedule::LatencyStatus& latency : status.latencies)
            rpc::FillLatency(latency, row.add_latencies());
          if (!accounts) return;
          for (const schedule::AccountStatus& account : status.accounts) {
            FillAccountFor(who, account, row.add_accounts());
          }
        },
        [rows, begin](const std::vector<std::string>& silent) {
          begin([rows, silent = std::deque(silent.begin(), silent.end())](v1::GetStatsReply* reply) mutable -> size_t {
            if (rows->empty()) return AddSilent(&silent, reply);
            v1::NodeStats* const row = reply->add_stats();
            row->Swap(&rows->begin()->second);
            rows->erase(rows->begin());
            return row->ByteSizeLong();
          });
        },
        latencies);
    return absl::OkStatus();
  };
}

void AdminLists::MergeCalls(
    const std::vector<std::string>& nodes, absl::Duration timeout,
    std::function<void(std::shared_ptr<coordinator::CallMerge>, std::vector<std::string>)> done) {
  const auto merge = std::make_shared<coordinator::CallMerge>();
  coordinator_->queries().QueryStatusOfEach(
      nodes, timeout, [merge](const schedule::DaemonStatus& status) { merge->Add(status.node, status); },
      [merge, done = std::move(done)](std::vector<std::string> silent) { done(merge, std::move(silent)); });
}

void AdminLists::CountCalls(const std::vector<std::string>& nodes,
                            std::function<void(std::optional<CallCounts>)> done) {
  if (nodes.size() > kAskedNodesMax) return done(std::nullopt);
  MergeCalls(nodes, kStatusTimeout,
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

std::optional<uint32_t> AdminLists::CallsOf(const std::optional<CallCounts>& counts, TeamId team) {
  if (!counts.has_value()) return std::nullopt;
  const auto count = counts->find(team);
  return count == counts->end() ? 0 : count->second;
}

}  // namespace copse::planner
