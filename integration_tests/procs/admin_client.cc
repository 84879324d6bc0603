// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/procs/admin_client.h"

#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/status.h"

namespace copse::procs {
namespace {

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  // Whoever calls again wants to know whether the planner is back now.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  // Several clusters in one process share no connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

}  // namespace

class AdminClient::Impl {
 public:
  explicit Impl(const std::string& address)
      : stub_(v1::AdminService::NewStub(
            grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), Arguments()))) {}

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                            Reply*),
                             const Request& request, absl::Duration timeout) const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    Reply reply;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &reply);
    if (!status.ok()) return rpc::FromGrpc(status);
    return reply;
  }

 private:
  const std::unique_ptr<v1::AdminService::Stub> stub_;
};

using Stub = v1::AdminService::Stub;

AdminClient::AdminClient(const std::string& address) : impl_(std::make_unique<Impl>(address)) {}
AdminClient::~AdminClient() = default;

absl::StatusOr<v1::ListNodesReply> AdminClient::ListNodes(absl::Duration timeout) const {
  return impl_->Call(&Stub::ListNodes, v1::ListNodesRequest(), timeout);
}

absl::StatusOr<v1::ListTeamsReply> AdminClient::ListTeams(absl::Duration timeout) const {
  return impl_->Call(&Stub::ListTeams, v1::ListTeamsRequest(), timeout);
}

absl::StatusOr<v1::ListPlansReply> AdminClient::ListPlans(absl::Duration timeout) const {
  return impl_->Call(&Stub::ListPlans, v1::ListPlansRequest(), timeout);
}

absl::StatusOr<v1::ListCollectivesReply> AdminClient::ListCollectives(uint64_t team, absl::Duration timeout) const {
  v1::ListCollectivesRequest request;
  request.set_team(team);
  request.set_timeout_s(absl::ToDoubleSeconds(timeout / 2));
  return impl_->Call(&Stub::ListCollectives, request, timeout);
}

absl::StatusOr<v1::ReplanTeamReply> AdminClient::ReplanTeam(uint64_t team, const std::string& algorithm,
                                                            absl::Duration timeout) const {
  v1::ReplanTeamRequest request;
  request.set_team(team);
  request.set_algorithm(algorithm);
  return impl_->Call(&Stub::ReplanTeam, request, timeout);
}

}  // namespace copse::procs
