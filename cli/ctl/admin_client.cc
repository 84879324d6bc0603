// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/admin_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/status.h"

namespace copse::ctl {
namespace {

// Limit of one answer; a plan of a million nodes takes some 50 MB.
constexpr int kAnswerBytesMax = 256 << 20;

// Returns gRPC's reason without its own prefix: "failed to connect to all addresses; last error: UNKNOWN: Failed to
// connect to remote host: Connection refused".
std::string WhyUnreachable(const std::string& message) {
  const size_t at = message.rfind("Failed to connect to remote host: ");
  if (at != std::string::npos) return message.substr(message.find(": ", at) + 2);
  return message.empty() ? "no connection" : message;
}

}  // namespace

class AdminClient::Impl {
 public:
  Impl(const AdminClientOptions& options, std::string token,
       const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : options_(options), token_(std::move(token)), deadline_(absl::Now() + options.timeout) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // The cluster's own network.
    arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
    const auto channel = grpc::CreateCustomChannel(options.endpoint, credentials, arguments);
    planner_ = v1::AdminService::NewStub(channel);
    daemon_ = v1::NodeAdminService::NewStub(channel);
  }

  template <typename Stub, typename Request, typename Reply>
  absl::StatusOr<Reply> Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                             const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline_));
    if (!token_.empty()) context.AddMetadata(rpc::kTokenMetadataKey, token_);
    Reply reply;
    const grpc::Status status = (stub.*method)(&context, request, &reply);
    if (status.ok()) return reply;
    return Explain(rpc::FromGrpc(status));
  }

  void Extend(absl::Duration more) { deadline_ += more; }
  v1::AdminService::Stub& planner() { return *planner_; }
  v1::NodeAdminService::Stub& daemon() { return *daemon_; }
  const AdminClientOptions& options() const { return options_; }

 private:
  absl::Status Explain(const absl::Status& status) const {
    const std::string message(status.message());
    if (absl::IsUnavailable(status)) {
      return absl::UnavailableError(
          absl::StrCat("cannot reach the server: ", WhyUnreachable(message), " (endpoint=", options_.endpoint, ")"));
    }
    if (absl::IsDeadlineExceeded(status) && absl::Now() >= deadline_) {
      return absl::DeadlineExceededError(absl::StrCat("no answer in time (endpoint=", options_.endpoint,
                                                      ", limit=", FormatShortDuration(options_.timeout), ")"));
    }
    if (absl::IsUnimplemented(status)) {
      return absl::UnimplementedError(absl::StrCat(
          "the server does not offer this: is it an older one, or a daemon? (endpoint=", options_.endpoint, ")"));
    }
    return status;
  }

  const AdminClientOptions options_;
  const std::string token_;
  absl::Time deadline_;
  std::unique_ptr<v1::AdminService::Stub> planner_;
  std::unique_ptr<v1::NodeAdminService::Stub> daemon_;
};

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(const AdminClientOptions& options) {
  RETURN_IF_ERROR(rpc::CheckAddress(options.endpoint));
  ASSIGN_OR_RETURN(const std::vector<std::string> tokens, rpc::ReadTokenFile(options.token_file));
  ASSIGN_OR_RETURN(
      const std::shared_ptr<grpc::ChannelCredentials> credentials,
      rpc::CredentialsFactory({.insecure = options.insecure, .insecure_by = "--insecure"}).Channel(options.endpoint));
  auto impl = std::make_unique<Impl>(options, tokens.empty() ? "" : tokens.front(), credentials);
  return std::unique_ptr<AdminClient>(new AdminClient(std::move(impl)));
}

AdminClient::AdminClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminClient::~AdminClient() = default;

absl::StatusOr<v1::PingReply> AdminClient::Ping(const v1::PingRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::Ping, request);
}
absl::StatusOr<v1::VersionReply> AdminClient::Version(const v1::VersionRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::Version, request);
}
absl::StatusOr<v1::ListNodesReply> AdminClient::ListNodes(const v1::ListNodesRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ListNodes, request);
}
absl::StatusOr<v1::ShowNodeReply> AdminClient::ShowNode(const v1::ShowNodeRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ShowNode, request);
}
absl::StatusOr<v1::RemoveNodeReply> AdminClient::RemoveNode(const v1::RemoveNodeRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::RemoveNode, request);
}
absl::StatusOr<v1::DrainNodeReply> AdminClient::DrainNode(const v1::DrainNodeRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::DrainNode, request);
}
absl::StatusOr<v1::ListTeamsReply> AdminClient::ListTeams(const v1::ListTeamsRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ListTeams, request);
}
absl::StatusOr<v1::ShowTeamReply> AdminClient::ShowTeam(const v1::ShowTeamRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ShowTeam, request);
}
absl::StatusOr<v1::ReplanTeamReply> AdminClient::ReplanTeam(const v1::ReplanTeamRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ReplanTeam, request);
}
absl::StatusOr<v1::BreakTeamReply> AdminClient::BreakTeam(const v1::BreakTeamRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::BreakTeam, request);
}
absl::StatusOr<v1::ListPlansReply> AdminClient::ListPlans(const v1::ListPlansRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ListPlans, request);
}
absl::StatusOr<v1::ShowPlanReply> AdminClient::ShowPlan(const v1::ShowPlanRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ShowPlan, request);
}
absl::StatusOr<v1::ExplainPlanReply> AdminClient::ExplainPlan(const v1::ExplainPlanRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ExplainPlan, request);
}
absl::StatusOr<v1::ShowTopologyReply> AdminClient::ShowTopology(const v1::ShowTopologyRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ShowTopology, request);
}
absl::StatusOr<v1::ImportTopologyReply> AdminClient::ImportTopology(const v1::ImportTopologyRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ImportTopology, request);
}
absl::StatusOr<v1::DiffTopologyReply> AdminClient::DiffTopology(const v1::DiffTopologyRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::DiffTopology, request);
}
absl::StatusOr<v1::ExportTopologyReply> AdminClient::ExportTopology(const v1::ExportTopologyRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ExportTopology, request);
}
absl::StatusOr<v1::ListTopologiesReply> AdminClient::ListTopologies(const v1::ListTopologiesRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ListTopologies, request);
}
absl::StatusOr<v1::ProbeTopologyReply> AdminClient::ProbeTopology(const v1::ProbeTopologyRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ProbeTopology, request);
}
absl::StatusOr<v1::StopProbeReply> AdminClient::StopProbe(const v1::StopProbeRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::StopProbe, request);
}
absl::StatusOr<v1::ListCollectivesReply> AdminClient::ListCollectives(const v1::ListCollectivesRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::ListCollectives, request);
}
absl::StatusOr<v1::GetStatsReply> AdminClient::GetStats(const v1::GetStatsRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::GetStats, request);
}
absl::StatusOr<v1::GetTraceReply> AdminClient::GetTrace(const v1::GetTraceRequest& request) {
  return impl_->Call(impl_->planner(), &v1::AdminService::Stub::GetTrace, request);
}
void AdminClient::Extend(absl::Duration more) { impl_->Extend(more); }
absl::StatusOr<v1::StatusAnswer> AdminClient::Status(const v1::StatusRequest& request) {
  return impl_->Call(impl_->daemon(), &v1::NodeAdminService::Stub::Status, request);
}

absl::Duration AdminClient::TimeForOthers() const { return std::min(absl::Seconds(2), impl_->options().timeout * 0.7); }

}  // namespace copse::ctl
