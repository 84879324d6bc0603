// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/admin_lists.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "planner/admin/admin_rows.h"
#include "planner/admin/plan_row_encoder.h"
#include "planner/admin/row_selector.h"
#include "planner/admin/row_stream.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

// `plan list` has critical paths for plans of up to this many nodes, and no more than so many paths, and prices no more
// calls of the sizes that ran; `plan show` always has and does.
constexpr uint32_t kListedPathNodesMax = 16;
constexpr int kListedPathsMax = 64;
constexpr int kListedPricesMax = 64;

// Returns what tells the team's place in the order of all teams.
schedule::TeamLayout Place(const schedule::TeamLayout& layout) {
  return {.id = layout.id, .identity = layout.identity, .parent = layout.parent};
}

}  // namespace

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
  const absl::Time ends = instruments_->CertificateEnds(info.announcement->name);
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
      last = info->announcement->name;
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
    const StatusLists::Selects selects = [this, all, selector, who, by_job](const coordinator::TeamInfo& info) {
      return (all || !schedule::IsDerivedTeam(info.layout.identity)) && (*selector)->HasState(info.state) &&
             (*selector)->HasTeam(info.layout) && !(by_job && Hides(who, info.layout));
    };
    const auto list = [this, selects, who, begin](std::optional<StatusLists::CallCounts> calls) {
      begin([this, selects, who, calls = std::move(calls),
             last = std::optional<schedule::TeamLayout>()](v1::ListTeamsReply* reply) mutable -> size_t {
        const auto info = coordinator_->view().TeamAfter(last.has_value() ? &*last : nullptr);
        if (!info.has_value()) return 0;
        last = Place(info->layout);
        if (!selects(*info)) return 1;
        v1::TeamRow* const row = reply->add_teams();
        FillTeamFor(who, *info, StatusLists::CallsOf(calls, info->layout.id), row);
        return row->ByteSizeLong();
      });
    };
    const std::set<std::string> nodes =
        without_calls ? std::set<std::string>() : statuses_->NodesOf(selects, /*max=*/StatusLists::kAskedNodesMax);
    if (nodes.empty()) {
      list(std::nullopt);
    } else {
      statuses_->CountCalls({nodes.begin(), nodes.end()}, list);
    }
    return absl::OkStatus();
  };
}

void AdminLists::FillMeasured(const coordinator::ListedPlan& listed, const schedule::Plan& plan,
                              const MeasuredCalls& calls, bool is_priced, v1::PlanRow* row) const {
  const schedule::TeamLayout& layout = *listed.layout;
  const std::optional<MeasuredCall> call = calls.Of(layout, listed.id, plan);
  if (!call.has_value()) return;
  if (is_priced && call->plan_bytes.has_value()) {
    const absl::StatusOr<double> us = plan_maker_->Predict(layout, plan, *call->plan_bytes);
    if (us.ok()) {
      row->set_predicted_us(*us);
      row->set_predicted_bytes(*call->plan_bytes);
    }
  }
  measures_->Fill(calls, *call, row);
}

// A PlanListing is how far a list of plans is.
struct AdminLists::PlanListing {
  std::function<bool(const schedule::TeamLayout&)> selects;
  std::shared_ptr<const MeasuredCalls> calls;
  bool without_edges = false;
  coordinator::PlanCursor last = {};
  TeamId team{0};            // of the last row
  bool is_measured = false;  // `calls` has some of that team's nodes
  int paths = 0, prices = 0;
  PlanRowEncoder encoder = {};
};

size_t AdminLists::AddPlanRow(PlanListing* listing, v1::ListPlansReply* reply) const {
  const auto listed = coordinator_->view().PlanAfter(&listing->last, listing->selects);
  if (!listed.has_value()) return 0;
  const schedule::TeamLayout& layout = *listed->layout;
  if (listed->encoded == nullptr) {
    v1::PlanRow row;
    FillUnknownPlan(*listed, &row);
    return AddEncodedRow(row.SerializeAsString(), v1::ListPlansReply::kPlansFieldNumber, reply);
  }
  const PlanShape* const shape = listing->encoder.ShapeOf(*listed->encoded);
  if (shape == nullptr) return 1;
  if (std::exchange(listing->team, layout.id) != layout.id) listing->is_measured = listing->calls->Has(layout);
  // A critical path costs a prediction: a list includes it only where that is fast.
  absl::StatusOr<std::vector<std::string>> path = std::vector<std::string>();
  if (!listing->without_edges && shape->plan.node_count <= kListedPathNodesMax && ++listing->paths <= kListedPathsMax) {
    path = plan_maker_->CriticalPath(layout, shape->plan);
  }
  std::string encoded;
  if (!listing->is_measured && (!path.ok() || path->empty())) {
    encoded = PlanRowEncoder::RowOf(*listed, *shape);
  } else {
    v1::PlanRow row;
    FillPlan(*listed, shape->plan, path.ok() ? *path : std::vector<std::string>(), &row);
    const bool is_priced = PlanMeasures::IsPricedAtOnce(layout) && listing->prices < kListedPricesMax;
    FillMeasured(*listed, shape->plan, *listing->calls, is_priced, &row);
    if (is_priced && row.has_measured()) ++listing->prices;
    encoded = row.SerializeAsString();
  }
  if (!listing->without_edges) listing->encoder.AppendEdges(layout, *shape, &encoded);
  return AddEncodedRow(std::move(encoded), v1::ListPlansReply::kPlansFieldNumber, reply);
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
      const auto listing = std::make_shared<PlanListing>(PlanListing{selects, calls, without_edges});
      begin([this, listing](v1::ListPlansReply* reply) { return AddPlanRow(listing.get(), reply); });
    };
    std::set<std::string> nodes;
    std::vector<TeamId> teams;  // the one that is asked for, with its derived teams
    if (measured) nodes = SomeNodesOf(selects, team == TeamId(0) ? nullptr : &teams);
    measures_->Ask(nodes, std::move(teams), list);
    return absl::OkStatus();
  };
}

std::set<std::string> AdminLists::SomeNodesOf(const std::function<bool(const schedule::TeamLayout&)>& selects,
                                              std::vector<TeamId>* teams) const {
  std::set<std::string> nodes;
  TeamId last(0);
  while (const auto info = coordinator_->view().IdentifiedTeamAfter(last)) {
    last = info->layout.id;
    if (!selects(info->layout)) continue;
    PlanMeasures::AddNodes(info->layout, &nodes);
    if (teams != nullptr) teams->push_back(last);
    if (nodes.size() + PlanMeasures::kAskedOfTeamMax > kMeasuredNodesMax) break;
  }
  return nodes;
}

}  // namespace copse::planner
