// SPDX-License-Identifier: Apache-2.0
#include "cli/web/cluster_json.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/client/latencies.h"
#include "cli/client/message_json.h"
#include "cli/web/stats_json.h"

namespace copse::web {
namespace {

using ctl::Json;
using ctl::PlannerAdmin;

constexpr uint32_t kEventsMax = 200;
constexpr uint32_t kAuditMax = 100;
constexpr size_t kQuietMax = 5;
constexpr char kWholeCall[] = "call";

Json LatencyRows(const v1::GetStatsReply& stats) {
  Json rows = Json::array();
  for (const auto& [key, histogram] : ctl::Latencies(stats)) {
    const bool is_total = key.node == ctl::kAllNodes || stats.stats_size() == 1;
    if (is_total && key.part == kWholeCall) rows.push_back(ctl::LatencyJson(key, histogram));
  }
  return rows;
}

// Returns the connected nodes that were not heard for the longest time.
Json QuietNodes(const v1::ListNodesReply& nodes) {
  std::vector<const v1::NodeRow*> rows;
  for (const v1::NodeRow& node : nodes.nodes()) {
    if (node.connected()) rows.push_back(&node);
  }
  const auto end = rows.begin() + static_cast<ptrdiff_t>(std::min(rows.size(), kQuietMax));
  std::partial_sort(rows.begin(), end, rows.end(), [](const v1::NodeRow* a, const v1::NodeRow* b) {
    return std::tuple(-a->last_seen_s(), a->name()) < std::tuple(-b->last_seen_s(), b->name());
  });
  Json quiet = Json::array();
  for (auto row = rows.begin(); row != end; ++row) {
    quiet.push_back({{"name", (*row)->name()}, {"last_seen_s", (*row)->last_seen_s()}});
  }
  return quiet;
}

}  // namespace

absl::StatusOr<NodeLists> AskNodes(ctl::AdminClient* client) {
  client->Renew();
  ASSIGN_OR_RETURN(v1::ListNodesReply nodes,
                   client->CallForRows(PlannerAdmin::StreamNodes, PlannerAdmin::ListNodes, {}));
  Json quiet = QuietNodes(nodes);
  for (v1::NodeRow& node : *nodes.mutable_nodes()) {
    node.clear_last_seen_s();
    node.clear_certificate_ends_s();
  }
  return NodeLists{.nodes = ctl::ToJson(nodes.nodes()), .quiet = std::move(quiet)};
}

absl::StatusOr<Json> AskTeams(ctl::AdminClient* client) {
  client->Renew();
  v1::ListTeamsRequest request;
  request.set_without_calls(true);
  ASSIGN_OR_RETURN(v1::ListTeamsReply teams,
                   client->CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  for (v1::TeamRow& team : *teams.mutable_teams()) team.clear_members();
  return ctl::ToJson(teams.teams());
}

absl::StatusOr<Json> AskEvents(ctl::AdminClient* client) {
  client->Renew();
  v1::ListEventsRequest request;
  request.set_last(kEventsMax);
  ASSIGN_OR_RETURN(const v1::ListEventsReply events, client->Call(PlannerAdmin::ListEvents, request));
  return ctl::ToJson(events.rows());
}

absl::StatusOr<Json> AskTopology(ctl::AdminClient* client) {
  client->Renew();
  ASSIGN_OR_RETURN(const v1::ShowTopologyReply topology, client->Call(PlannerAdmin::ShowTopology, {}));
  return ctl::ToJson(topology);
}

absl::StatusOr<Json> AskAudit(ctl::AdminClient* client) {
  client->Renew();
  v1::ListAuditRequest request;
  request.set_last(kAuditMax);
  const absl::StatusOr<v1::ListAuditReply> audit = client->Call(PlannerAdmin::ListAudit, request);
  if (absl::IsPermissionDenied(audit.status())) return Json(nullptr);
  RETURN_IF_ERROR(audit.status());
  return ctl::ToJson(audit->rows());
}

absl::StatusOr<Json> AskCalls(ctl::AdminClient* client) {
  client->Renew();
  v1::ListCollectivesRequest request;
  request.set_timeout_s(absl::ToDoubleSeconds(client->TimeForOthers()));
  ASSIGN_OR_RETURN(const v1::ListCollectivesReply calls,
                   client->CallForRows(PlannerAdmin::StreamCollectives, PlannerAdmin::ListCollectives, request));
  return ctl::ToJson(calls.collectives());
}

absl::StatusOr<DaemonStats> AskStats(ctl::AdminClient* client) {
  client->Renew();
  v1::GetStatsRequest request;
  request.set_latencies(true);
  request.set_accounts(true);
  request.set_timeout_s(absl::ToDoubleSeconds(client->TimeForOthers()));
  ASSIGN_OR_RETURN(const v1::GetStatsReply stats,
                   client->CallForRows(PlannerAdmin::StreamStats, PlannerAdmin::GetStats, request));
  return DaemonStats{.latency = LatencyRows(stats), .stats = StatsJson(stats, absl::Now())};
}

absl::StatusOr<Json> AskTeam(ctl::AdminClient* client, uint64_t id) {
  client->Renew();
  v1::ShowTeamRequest request;
  request.set_id(id);
  request.set_without_calls(true);
  ASSIGN_OR_RETURN(const v1::ShowTeamReply team, client->Call(PlannerAdmin::ShowTeam, request));
  return ctl::ToJson(team.team());
}

absl::StatusOr<Json> AskPlans(ctl::AdminClient* client, uint64_t team) {
  client->Renew();
  v1::ListPlansRequest request;
  request.set_team(team);
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans,
                   client->CallForRows(PlannerAdmin::StreamPlans, PlannerAdmin::ListPlans, request));
  return ctl::ToJson(plans.plans());
}

}  // namespace copse::web
