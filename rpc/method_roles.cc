// SPDX-License-Identifier: Apache-2.0
#include "rpc/method_roles.h"

#include <algorithm>

namespace copse::rpc {
namespace {

constexpr auto kViewer = Role::kViewer;
constexpr auto kOwner = Role::kOwner;
constexpr auto kOperator = Role::kOperator;
constexpr auto kAdministrator = Role::kAdministrator;

constexpr MethodRow kRows[] = {
    {"/copse.v1.AdminService/Ping", kViewer},
    {"/copse.v1.AdminService/Version", kViewer},
    {"/copse.v1.AdminService/ListNodes", kViewer},
    {"/copse.v1.AdminService/StreamNodes", kViewer},
    {"/copse.v1.AdminService/ShowNode", kViewer},
    {.method = "/copse.v1.AdminService/DrainNode", .people = kOperator, .changes = true},
    {.method = "/copse.v1.AdminService/RemoveNode", .people = kAdministrator, .changes = true},
    {"/copse.v1.AdminService/ListTeams", kViewer},
    {"/copse.v1.AdminService/StreamTeams", kViewer},
    {"/copse.v1.AdminService/ShowTeam", kViewer},
    {.method = "/copse.v1.AdminService/ReplanTeam", .people = kOperator, .changes = true},
    {.method = "/copse.v1.AdminService/BreakTeam", .people = kOwner, .changes = true},
    {"/copse.v1.AdminService/ListPlans", kViewer},
    {"/copse.v1.AdminService/StreamPlans", kViewer},
    {"/copse.v1.AdminService/ShowPlan", kViewer},
    {"/copse.v1.AdminService/ExplainPlan", kViewer},
    {"/copse.v1.AdminService/ShowTopology", kViewer},
    {.method = "/copse.v1.AdminService/ImportTopology", .people = kAdministrator, .changes = true},
    {"/copse.v1.AdminService/DiffTopology", kViewer},
    {"/copse.v1.AdminService/ExportTopology", kViewer},
    {"/copse.v1.AdminService/ListTopologies", kViewer},
    {.method = "/copse.v1.AdminService/ProbeTopology", .people = kOperator, .changes = true},
    {.method = "/copse.v1.AdminService/StopProbe", .people = kOperator, .changes = true},
    {"/copse.v1.AdminService/ListCollectives", kViewer},
    {"/copse.v1.AdminService/StreamCollectives", kViewer},
    {"/copse.v1.AdminService/GetStats", kViewer},
    {"/copse.v1.AdminService/StreamStats", kViewer},
    // Other planners and daemons look for the leader.
    {.method = "/copse.v1.AdminService/GetPlannerStatus", .people = kViewer, .node = true, .planner = true},
    {"/copse.v1.AdminService/GetPlannerStats", kViewer},
    // The saved state has the names of all users' teams.
    {.method = "/copse.v1.AdminService/SaveState", .people = kAdministrator, .changes = true},
    {.method = "/copse.v1.AdminService/AdoptState", .people = kAdministrator, .changes = true},
    {"/copse.v1.AdminService/ListEvents", kViewer},
    {"/copse.v1.AdminService/ListAudit", kOperator},
    // A node's trace has the calls of all users; owners get those of their own teams.
    {"/copse.v1.AdminService/GetTrace", kOwner},

    {.method = "/copse.v1.DaemonService/Attach", .people = std::nullopt, .node = true},
    {.method = "/copse.v1.DaemonService/AttachBriefly", .people = std::nullopt, .node = true},
    {.method = "/copse.v1.DaemonService/WatchLeader", .people = std::nullopt, .node = true, .planner = true},

    {.method = "/copse.v1.NodeAdminService/Ping", .people = kViewer, .planner = true},
    {.method = "/copse.v1.NodeAdminService/Version", .people = kViewer, .planner = true},
    {.method = "/copse.v1.NodeAdminService/Status", .people = kViewer, .planner = true},
    {.method = "/copse.v1.NodeAdminService/BeginJob", .people = kOperator, .changes = true},
    {.method = "/copse.v1.NodeAdminService/EndJob", .people = kOperator, .changes = true},
};

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kOwner:
      return "owner";
    case Role::kOperator:
      return "operator";
    case Role::kAdministrator:
      return "administrator";
    case Role::kNode:
      return "node";
    case Role::kPlanner:
      return "planner";
  }
  return "unknown";
}

std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role : kRoles) {
    // The kernel says who owns a team, not a certificate.
    if (role != Role::kOwner && RoleName(role) == name) return role;
  }
  return std::nullopt;
}

absl::Span<const MethodRow> MethodRows() { return kRows; }

const MethodRow* FindMethod(std::string_view method) {
  const auto* const row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const MethodRow& each) { return each.method == method; });
  return row == std::end(kRows) ? nullptr : row;
}

bool MayCall(const MethodRow& row, Role role) {
  if (role == Role::kNode) return row.node;
  if (role == Role::kPlanner) return row.planner;
  return row.people.has_value() && role >= *row.people;
}

}  // namespace copse::rpc
