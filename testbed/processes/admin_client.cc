// SPDX-License-Identifier: Apache-2.0
#include "testbed/processes/admin_client.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/status.h"
#include "testbed/netns/connect.h"

namespace copse::procs {
namespace {

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  // A new call checks whether the planner is back now.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  // Several clusters in one process share no connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);  // any: 10,000 daemons' counters are some 20 MB
  return arguments;
}

}  // namespace

class AdminClient::Impl {
 public:
  Impl(std::string address, std::string network_namespace)
      : address_(std::move(address)), namespace_(std::move(network_namespace)) {}

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                            Reply*),
                             const Request& request, absl::Duration timeout) {
    const absl::Time deadline = absl::Now() + timeout;
    ASSIGN_OR_RETURN(const std::shared_ptr<v1::AdminService::Stub> stub, Connected(timeout));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    Reply reply;
    const grpc::Status status = (stub.get()->*method)(&context, request, &reply);
    if (status.ok()) return reply;
    if (!namespace_.empty() && status.error_code() == grpc::StatusCode::UNAVAILABLE) Forget(stub);
    return rpc::FromGrpc(status);
  }

 private:
  absl::StatusOr<std::shared_ptr<v1::AdminService::Stub>> Connected(absl::Duration timeout) {
    const MutexLock lock(&mutex_);
    if (stub_ != nullptr) return stub_;
    if (namespace_.empty()) {
      stub_ = v1::AdminService::NewStub(
          grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), Arguments()));
      return stub_;
    }
    // gRPC's threads are not in that namespace: gRPC gets a connection, which it cannot make again.
    ASSIGN_OR_RETURN(UniqueFd connection, netns::ConnectFrom(namespace_, address_, timeout));
    stub_ =
        v1::AdminService::NewStub(grpc::CreateCustomInsecureChannelFromFd(address_, connection.release(), Arguments()));
    return stub_;
  }

  // Drops the stub, so that the next call connects again, unless another thread has.
  void Forget(const std::shared_ptr<v1::AdminService::Stub>& stub) {
    const MutexLock lock(&mutex_);
    if (stub_ == stub) stub_.reset();
  }

  const std::string address_, namespace_;
  Mutex mutex_;
  std::shared_ptr<v1::AdminService::Stub> stub_ ABSL_GUARDED_BY(mutex_);  // calls keep theirs until they end
};

using Stub = v1::AdminService::Stub;

AdminClient::AdminClient(const std::string& address, const std::string& network_namespace)
    : impl_(std::make_unique<Impl>(address, network_namespace)) {}
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

absl::StatusOr<v1::ShowPlanReply> AdminClient::ShowPlan(uint64_t id, absl::Duration timeout) const {
  v1::ShowPlanRequest request;
  request.set_id(id);
  return impl_->Call(&Stub::ShowPlan, request, timeout);
}

absl::StatusOr<v1::ExplainPlanReply> AdminClient::ExplainPlan(uint64_t id, absl::Duration timeout) const {
  v1::ExplainPlanRequest request;
  request.set_id(id);
  return impl_->Call(&Stub::ExplainPlan, request, timeout);
}

absl::StatusOr<v1::ListCollectivesReply> AdminClient::ListCollectives(uint64_t team, absl::Duration timeout) const {
  v1::ListCollectivesRequest request;
  request.set_team(team);
  request.set_timeout_s(absl::ToDoubleSeconds(timeout / 2));
  return impl_->Call(&Stub::ListCollectives, request, timeout);
}

absl::StatusOr<v1::ReplanTeamReply> AdminClient::ReplanTeam(uint64_t team, const std::string& algorithm,
                                                            absl::Duration timeout,
                                                            const std::string& collective) const {
  v1::ReplanTeamRequest request;
  request.set_team(team);
  request.set_algorithm(algorithm);
  request.set_collective(collective);
  return impl_->Call(&Stub::ReplanTeam, request, timeout);
}

absl::StatusOr<v1::ImportTopologyReply> AdminClient::ImportTopology(const std::string& text,
                                                                    absl::Duration timeout) const {
  v1::ImportTopologyRequest request;
  request.mutable_source()->set_file("test.yaml");
  request.mutable_source()->set_format("yaml");
  request.mutable_source()->set_text(text);
  return impl_->Call(&Stub::ImportTopology, request, timeout);
}

absl::StatusOr<v1::GetStatsReply> AdminClient::GetStats(const std::string& node, absl::Duration timeout) const {
  v1::GetStatsRequest request;
  request.set_node(node);
  request.set_timeout_s(absl::ToDoubleSeconds(timeout / 2));
  return impl_->Call(&Stub::GetStats, request, timeout);
}

absl::StatusOr<v1::GetPlannerStatsReply> AdminClient::GetPlannerStats(absl::Duration timeout) const {
  return impl_->Call(&Stub::GetPlannerStats, v1::GetPlannerStatsRequest(), timeout);
}

absl::Status AdminClient::DrainNode(const std::string& node, bool off, absl::Duration timeout) const {
  v1::DrainNodeRequest request;
  request.set_node(node);
  request.set_off(off);
  return impl_->Call(&Stub::DrainNode, request, timeout).status();
}

absl::StatusOr<v1::ProbeTopologyReply> AdminClient::ProbeTopology(const v1::ProbeTopologyRequest& request,
                                                                  absl::Duration timeout) const {
  return impl_->Call(&Stub::ProbeTopology, request, timeout);
}

}  // namespace copse::procs
