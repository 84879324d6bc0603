// SPDX-License-Identifier: Apache-2.0
#include "cli/web/cluster_json.h"

#include "base/status_macros.h"
#include "cli/client/latencies.h"
#include "cli/client/message_json.h"

namespace copse::web {
namespace {

using ctl::Json;
using ctl::PlannerAdmin;

constexpr uint32_t kEventsMax = 200;
constexpr uint32_t kAuditMax = 100;
constexpr char kWholeCall[] = "call";

Json LatencyRows(const v1::GetStatsReply& stats) {
  Json rows = Json::array();
  for (const auto& [key, histogram] : ctl::Latencies(stats)) {
    const bool is_total = key.node == ctl::kAllNodes || stats.stats_size() == 1;
    if (is_total && key.part == kWholeCall) rows.push_back(ctl::LatencyJson(key, histogram));
  }
  return rows;
}

absl::StatusOr<Json> AskLatency(ctl::AdminClient* client) {
  v1::GetStatsRequest request;
  request.set_latencies(true);
  request.set_timeout_s(absl::ToDoubleSeconds(client->TimeForOthers()));
  ASSIGN_OR_RETURN(const v1::GetStatsReply stats,
                   client->CallForRows(&PlannerAdmin::StreamStats, &PlannerAdmin::GetStats, request));
  return LatencyRows(stats);
}

absl::StatusOr<Json> AskCalls(ctl::AdminClient* client) {
  v1::ListCollectivesRequest request;
  request.set_timeout_s(absl::ToDoubleSeconds(client->TimeForOthers()));
  ASSIGN_OR_RETURN(const v1::ListCollectivesReply calls,
                   client->CallForRows(&PlannerAdmin::StreamCollectives, &PlannerAdmin::ListCollectives, request));
  return ctl::ToJson(calls.collectives());
}

absl::StatusOr<Json> AskAudit(ctl::AdminClient* client) {
  v1::ListAuditRequest request;
  request.set_last(kAuditMax);
  const absl::StatusOr<v1::ListAuditReply> audit = client->Call(&PlannerAdmin::ListAudit, request);
  if (absl::IsPermissionDenied(audit.status())) return Json(nullptr);
  RETURN_IF_ERROR(audit.status());
  return ctl::ToJson(audit->rows());
}

}  // namespace

absl::StatusOr<Json> AskLists(ctl::AdminClient* client) {
  client->Renew();
  ASSIGN_OR_RETURN(const v1::ListNodesReply nodes,
                   client->CallForRows(&PlannerAdmin::StreamNodes, &PlannerAdmin::ListNodes, {}));
  ASSIGN_OR_RETURN(v1::ListTeamsReply teams,
                   client->CallForRows(&PlannerAdmin::StreamTeams, &PlannerAdmin::ListTeams, {}));
  for (v1::TeamRow& team : *teams.mutable_teams()) team.clear_members();
  v1::ListEventsRequest request;
  request.set_last(kEventsMax);
  ASSIGN_OR_RETURN(const v1::ListEventsReply events, client->Call(&PlannerAdmin::ListEvents, request));
  return Json{{"nodes", ctl::ToJson(nodes.nodes())},
              {"teams", ctl::ToJson(teams.teams())},
              {"events", ctl::ToJson(events.rows())}};
}

absl::StatusOr<Json> AskDetails(ctl::AdminClient* client) {
  client->Renew();
  ASSIGN_OR_RETURN(const v1::ShowTopologyReply topology, client->Call(&PlannerAdmin::ShowTopology, {}));
  ASSIGN_OR_RETURN(Json audit, AskAudit(client));
  ASSIGN_OR_RETURN(Json calls, AskCalls(client));
  client->Renew();
  ASSIGN_OR_RETURN(Json latency, AskLatency(client));
  return Json{{"topology", ctl::ToJson(topology)}, {"audit", audit}, {"calls", calls}, {"latency", latency}};
}

absl::StatusOr<Json> AskTeam(ctl::AdminClient* client, uint64_t id) {
  client->Renew();
  v1::ShowTeamRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(const v1::ShowTeamReply team, client->Call(&PlannerAdmin::ShowTeam, request));
  v1::ListPlansRequest of_team;
  of_team.set_team(id);
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans,
                   client->CallForRows(&PlannerAdmin::StreamPlans, &PlannerAdmin::ListPlans, of_team));
  return Json{{"team", ctl::ToJson(team.team())}, {"plans", ctl::ToJson(plans.plans())}};
}

}  // namespace copse::web
