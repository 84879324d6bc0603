// SPDX-License-Identifier: Apache-2.0
//
// Client of the administrators' services: the only library of copsectl that depends on gRPC.
#ifndef COPSE_CLI_CTL_ADMIN_CLIENT_H_
#define COPSE_CLI_CTL_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

struct AdminClientOptions {
  std::string endpoint;    // HOST:PORT or unix:PATH: the planner's, for Status also a daemon's
  bool insecure = false;   // plain text beyond loopback
  std::string token_file;  // empty: no token
  absl::Duration timeout = absl::Seconds(5);
};

// An AdminClient makes calls, one at a time, until `timeout` after its creation.
//
// Errors: UNAVAILABLE if no server answers at the endpoint, DEADLINE_EXCEEDED if the time is over; both
// name the endpoint. Others are the server's, one line each.
class AdminClient {
 public:
  // Creates the client without connecting. INVALID_ARGUMENT for a malformed endpoint, or if it needs `insecure`; errors
  // of rpc::ReadTokenFile.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(const AdminClientOptions& options);
  ~AdminClient();

  absl::StatusOr<v1::PingReply> Ping(const v1::PingRequest& request);
  absl::StatusOr<v1::VersionReply> Version(const v1::VersionRequest& request);
  absl::StatusOr<v1::ListNodesReply> ListNodes(const v1::ListNodesRequest& request);
  absl::StatusOr<v1::ShowNodeReply> ShowNode(const v1::ShowNodeRequest& request);
  absl::StatusOr<v1::DrainNodeReply> DrainNode(const v1::DrainNodeRequest& request);
  absl::StatusOr<v1::RemoveNodeReply> RemoveNode(const v1::RemoveNodeRequest& request);
  absl::StatusOr<v1::ListTeamsReply> ListTeams(const v1::ListTeamsRequest& request);
  absl::StatusOr<v1::ShowTeamReply> ShowTeam(const v1::ShowTeamRequest& request);
  absl::StatusOr<v1::ReplanTeamReply> ReplanTeam(const v1::ReplanTeamRequest& request);
  absl::StatusOr<v1::BreakTeamReply> BreakTeam(const v1::BreakTeamRequest& request);
  absl::StatusOr<v1::ListPlansReply> ListPlans(const v1::ListPlansRequest& request);
  absl::StatusOr<v1::ShowPlanReply> ShowPlan(const v1::ShowPlanRequest& request);
  absl::StatusOr<v1::ExplainPlanReply> ExplainPlan(const v1::ExplainPlanRequest& request);
  absl::StatusOr<v1::ShowTopologyReply> ShowTopology(const v1::ShowTopologyRequest& request);
  absl::StatusOr<v1::ImportTopologyReply> ImportTopology(const v1::ImportTopologyRequest& request);
  absl::StatusOr<v1::DiffTopologyReply> DiffTopology(const v1::DiffTopologyRequest& request);
  absl::StatusOr<v1::ExportTopologyReply> ExportTopology(const v1::ExportTopologyRequest& request);
  absl::StatusOr<v1::ListTopologiesReply> ListTopologies(const v1::ListTopologiesRequest& request);
  absl::StatusOr<v1::ProbeTopologyReply> ProbeTopology(const v1::ProbeTopologyRequest& request);
  absl::StatusOr<v1::StopProbeReply> StopProbe(const v1::StopProbeRequest& request);
  absl::StatusOr<v1::ListCollectivesReply> ListCollectives(const v1::ListCollectivesRequest& request);
  absl::StatusOr<v1::GetStatsReply> GetStats(const v1::GetStatsRequest& request);
  absl::StatusOr<v1::GetTraceReply> GetTrace(const v1::GetTraceRequest& request);

  // Queries the daemon itself, if the endpoint is a daemon's.
  absl::StatusOr<v1::StatusAnswer> Status(const v1::StatusRequest& request);

  // Extends the deadline by the time that the verb spends on purpose.
  void Extend(absl::Duration more);

  // Returns how long a server may wait for other nodes, so that its own answer is in time.
  absl::Duration TimeForOthers() const;

 private:
  class Impl;
  explicit AdminClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_ADMIN_CLIENT_H_
