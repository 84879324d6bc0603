// SPDX-License-Identifier: Apache-2.0
//
// Declares each family's verbs, and how their answers are written. A family's file is named for it: node_verbs.cc.

#ifndef COPSE_CLI_CTL_VERBS_VERBS_H_
#define COPSE_CLI_CTL_VERBS_VERBS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/client/style.h"
#include "cli/ctl/verb.h"
#include "cli/ctl/verbs/plan_figures.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// NodeVerbs are `node list`, `node show`, `node drain`, `node undrain`, `node remove` and `daemon`'s.
std::vector<Verb> NodeVerbs();
std::string RenderNodes(const v1::ListNodesReply& reply, const Style& style);
std::string RenderNode(const v1::ShowNodeReply& reply, const Style& style);
std::string RenderDaemonStatus(const v1::StatusAnswer& answer, const Style& style);

// TeamVerbs are `team list`, `show`, `replan`, `break` and `wait`.
std::vector<Verb> TeamVerbs();
std::string RenderTeams(const v1::ListTeamsReply& reply, const Style& style);
// `plans` are those of the team whose calls were measured.
std::string RenderTeam(const v1::TeamRow& team, const PlanRows& plans, const Style& style);

// JobVerbs are `job list` and `job show`, for the teams of users' jobs, and `quota`, for what the jobs hold.
std::vector<Verb> JobVerbs();

// PlanVerbs are `plan list`, `plan show`, `plan explain`, `plan diff` and `plan svg`.
std::vector<Verb> PlanVerbs();
std::string RenderPlans(const v1::ListPlansReply& reply, const Style& style);
std::string RenderPlan(const v1::PlanRow& plan, const Style& style);
// Renders the server's text, or its graph if `dot`. JSON has the plan's keys and those of the server's JSON that the
// plan lacks (such as each rank's predicted time, and alternatives); the server's "critical_path" becomes
// "critical_path_steps", since the plan has a key of that name.
std::string RenderExplanation(const v1::ExplainPlanReply& reply, bool dot, const Style& style);

// TopoVerbs are `topo show`, `import`, `diff`, `export` and `list` for the planner's topology and its versions. The
// planner parses and writes the formats, except hwloc's, which copsectl parses.
std::vector<Verb> TopoVerbs();
std::string RenderTopology(const v1::ShowTopologyReply& reply, const Style& style);
std::string RenderImport(const v1::ImportTopologyReply& reply, bool dry_run, const Style& style);
std::string RenderChanges(const v1::DiffTopologyReply& reply, const Style& style);
std::string RenderVersions(const v1::ListTopologiesReply& reply, const Style& style);

// ProbeVerbs has `topo probe`, by which daemons measure the topology.
std::vector<Verb> ProbeVerbs();
std::string RenderProbe(const v1::ProbeTopologyReply& reply, const Style& style);

// ContextVerbs are `context list` and `context use`, which ask no server.
std::vector<Verb> ContextVerbs();

// CollVerbs has `coll list`, which lists calls in flight and their missing ranks.
std::vector<Verb> CollVerbs();
// `plans` are those by which calls run, if they are known.
std::string RenderCollectives(const google::protobuf::RepeatedPtrField<v1::CollectiveRow>& calls, const PlanRows& plans,
                              const Style& style);

// PlannerVerbs are `planner status`, which shows what the planner is and how busy, `audit`: who changed what,
// `events`, and `page`, which prints where copse-web's page is.
std::vector<Verb> PlannerVerbs();
std::string RenderAudit(const v1::ListAuditReply& reply, const Style& style);
std::string RenderPlannerStatus(const v1::GetPlannerStatusReply& reply, const Style& style);

// DoctorVerbs has `doctor`, which looks for what is wrong with the cluster and with this machine.
std::vector<Verb> DoctorVerbs();

// StateVerbs are `state save` and `state adopt`, for the planner's store.
std::vector<Verb> StateVerbs();

// StatsVerbs are `stats`, `ping` and `version`, which show the state that daemons and the planner report.
std::vector<Verb> StatsVerbs();
// Renders the counters of each node: as a table without those that are 0, or as JSON with all.
std::string RenderStats(const v1::GetStatsReply& reply, const Style& style);
// Renders the changes of counters between two replies that were received `apart` from each other. The table has only
// counters that changed; JSON also has the values of all. Nodes that `before` lacks are left out.
std::string RenderChanges(const v1::GetStatsReply& before, const v1::GetStatsReply& after, absl::Duration apart,
                          const Style& style);
// Renders percentiles of the calls' durations for each node, by collective, size class and part of the call. The table
// adds the total of several nodes; JSON adds the counters. Rows that are not valid histograms are left out.
std::string RenderLatencies(const v1::GetStatsReply& reply, const Style& style);
// Renders percentiles of the planner's histograms. JSON adds the counters.
std::string RenderPlannerHistograms(const v1::GetPlannerStatsReply& reply, const Style& style);
// Renders the reply. `round_trip` is the time from copsectl to the planner and back, which includes the planner's ping
// of the daemon of `node`; `node` is empty if only the planner was pinged.
std::string RenderPing(const v1::PingReply& reply, const std::string& node, absl::Duration round_trip,
                       const Style& style);
std::string RenderVersion(const v1::VersionReply& reply, const Style& style);

// TopVerbs has `top`, which shows the cluster on one screen.
std::vector<Verb> TopVerbs();

// TraceVerbs has `trace`, which writes the daemons' recent activity, or that of the next seconds, for a trace viewer.
std::vector<Verb> TraceVerbs();

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_VERBS_H_
