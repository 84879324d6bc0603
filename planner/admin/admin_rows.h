// SPDX-License-Identifier: Apache-2.0
//
// Converts the planner's state to rows of the admin service's messages.
#ifndef COPSE_PLANNER_ADMIN_ADMIN_ROWS_H_
#define COPSE_PLANNER_ADMIN_ADMIN_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "planner/admin/topology_history.h"
#include "planner/admin/topology_probe.h"
#include "planner/coordinator/coordinator.h"
#include "planner/topology/topology.h"
#include "planner/topology/topology_changes.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::planner {

// Returns the date as RFC 3339 has it, in UTC and to a millisecond.
std::string TimeText(absl::Time time);

void FillNode(const coordinator::NodeInfo& info, v1::NodeRow* row);
// Fills all fields except the node's name and incarnation.
void FillTrace(const coordinator::TraceAnswer& answer, v1::GetTraceReply* reply);
void FillTeam(const coordinator::TeamInfo& info, std::optional<uint32_t> calls_in_flight, v1::TeamRow* row);
// Returns the team shown to administrators: for a derived team its parent.
TeamId ShownTeam(const schedule::TeamLayout& layout);
// Returns whether the layout is that of the team, or of a derived team of it.
bool IsOf(const schedule::TeamLayout& layout, TeamId team);
// Fills all fields but edges and measurements.
void FillPlan(const coordinator::PlanInfo& info, const std::vector<std::string>& critical_path, v1::PlanRow* row);
// Does the same for a plan that has another's id.
void FillPlan(const coordinator::ListedPlan& listed, const schedule::Plan& plan,
              const std::vector<std::string>& critical_path, v1::PlanRow* row);
// Fills a plan of which only the id is known.
void FillUnknownPlan(const coordinator::ListedPlan& listed, v1::PlanRow* row);
void FillEdges(const coordinator::PlanInfo& info, v1::PlanRow* row);
// `layout` is the team's, or null if the team is unknown; then no nodes are named.
void FillCollective(const coordinator::CollectiveInfo& info, const schedule::TeamLayout* layout,
                    v1::CollectiveRow* row);
// `before` is the known tree that was probed, or nullopt if the tree was found.
void FillProbe(const ProbeReport& report, const std::optional<topology::Topology>& before,
               v1::ProbeTopologyReply* reply);
void FillTopology(const topology::Topology& topology, const std::vector<coordinator::NodeInfo>& registered,
                  v1::ShowTopologyReply* reply);
void FillChanges(const std::vector<topology::TopologyChange>& changes,
                 google::protobuf::RepeatedPtrField<v1::TopologyChange>* rows);
void FillVersion(const coordinator::TopologyVersion& version, bool in_force, v1::TopologyVersionRow* row);
// Fills all fields except changes and notes.
void FillOutcome(const TopologyOutcome& outcome, v1::ImportTopologyReply* reply);
// Adds notes on nodes that have registered but are not in the topology, and on nodes of the topology that have not.
void AddRegistrationNotes(const topology::Topology& topology, const std::vector<coordinator::NodeInfo>& registered,
                          v1::ImportTopologyReply* reply);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_ADMIN_ROWS_H_
