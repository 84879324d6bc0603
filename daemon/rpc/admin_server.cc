// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/admin_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/version.h"
#include "collectives/call_arguments.h"
#include "proto/copse/v1/admin.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"
#include "rpc/authorizer.h"
#include "rpc/credentials.h"
#include "rpc/handshake_timeout.h"
#include "rpc/latency_row.h"
#include "rpc/status.h"

namespace copse::daemon {
namespace {

// When the server stops, a call may still take this long.
constexpr std::chrono::milliseconds kStopPatience(500);

void FillCollective(const schedule::CallStatus& call, v1::CollectiveRow* row) {
  row->set_team(call.team.value());
  row->set_sequence(call.sequence.value());
  row->set_collective(std::string(CollectiveName(call.arguments.collective)));
  row->set_arguments(DescribeArguments(call.arguments));
  row->set_age_s(call.age_s);
  if (call.waits_for != Family::kCommon) {
    row->set_waits_for(std::string(FamilyName(call.waits_for)));
  }
  for (const Rank rank : call.joined) row->add_joined(rank.value());
  for (const Rank rank : call.missing) row->add_missing(rank.value());
}

void FillStatus(const NodeStatus& status, v1::StatusAnswer* answer) {
  answer->set_node(status.daemon.node);
  answer->set_incarnation(status.daemon.incarnation.value());
  answer->set_state(status.daemon.state);
  answer->set_clients(status.daemon.clients);
  answer->set_ranks(status.daemon.ranks);
  answer->set_teams(status.daemon.teams);
  for (const schedule::CallStatus& call : status.daemon.calls) FillCollective(call, answer->add_collectives());
  for (const auto& [name, count] : status.daemon.counters) (*answer->mutable_counters())[name] = count;
  for (const schedule::LatencyStatus& latency : status.daemon.latencies) {
    rpc::FillLatency(latency, answer->add_latencies());
  }
  answer->set_planner(status.planner);
  answer->set_planner_connected(status.planner_connected);
  answer->set_planner_refusal(status.planner_refusal);
}

}  // namespace

class AdminServer::Impl final : public v1::NodeAdminService::CallbackService {
 public:
  Impl(Mailbox* mailbox, std::function<NodeStatus(bool latencies)> status,
       std::shared_ptr<const rpc::Identity> identity)
      : mailbox_(mailbox), status_(std::move(status)), authorizer_(std::move(identity)) {}

  absl::Status Listen(const AdminServerOptions& options) {
    RETURN_IF_ERROR(rpc::CheckAddress(options.listen));
    ASSIGN_OR_RETURN(
        const auto credentials,
        rpc::CredentialsFactory({.insecure = options.insecure, .identity = options.identity}).Server(options.listen));
    RETURN_IF_ERROR(rpc::CheckListen("admin_listen", options.listen));
    grpc::ServerBuilder builder;
    rpc::BoundHandshakes(&builder);
    int port = 0;
    builder.AddListeningPort(options.listen, credentials, &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // so that a second daemon cannot share the port
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      return absl::UnavailableError(
          absl::StrCat("admin_listen: cannot listen there (admin_listen=", options.listen, ")"));
    }
    address_ = absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", port);
    return absl::OkStatus();
  }

  const std::string& address() const { return address_; }

  void Stop() {
    if (server_ == nullptr) return;
    {
      MutexLock lock(&mutex_);
      stopped_ = true;
    }
    while (HasAskers()) mailbox_->Drain();  // each Drain answers one
    server_->Shutdown(std::chrono::system_clock::now() + kStopPatience);
    server_->Wait();
    server_.reset();
  }

  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const v1::PingRequest* request,
                                 v1::PingReply* reply) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    absl::Status status = authorizer_.Authorize(*context, "/copse.v1.NodeAdminService/Ping").status();
    if (status.ok() && request->proto_version() != 0) {
      status = CheckVersion("proto", kProtoVersion, request->proto_version());
    }
    reply->set_ok(true);
    reply->set_version(kVersion);
    reactor->Finish(rpc::ToGrpc(status));
    return reactor;
  }

  grpc::ServerUnaryReactor* Version(grpc::CallbackServerContext* context, const v1::VersionRequest*,
                                    v1::VersionReply* reply) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reply->set_ok(true);
    reply->set_version(kVersion);
    reply->set_program("copsed");
    reply->set_ring(kRingLayoutVersion);
    reply->set_packet(kPacketVersion);
    reply->set_proto(kProtoVersion);
    reply->set_plan(kPlanFormatVersion);
    reactor->Finish(rpc::ToGrpc(authorizer_.Authorize(*context, "/copse.v1.NodeAdminService/Version").status()));
    return reactor;
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const v1::StatusRequest* request,
                                   v1::StatusAnswer* answer) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const absl::Status allowed = authorizer_.Authorize(*context, "/copse.v1.NodeAdminService/Status").status();
    const absl::Status queued = allowed.ok() ? Ask({reactor, request->latencies(), answer}) : allowed;
    if (!queued.ok()) reactor->Finish(rpc::ToGrpc(queued));
    return reactor;
  }

 private:
  // An Asker is a call that waits for its answer. Its pointers are valid until Finish.
  struct Asker {
    grpc::ServerUnaryReactor* reactor;
    bool latencies;
    v1::StatusAnswer* answer;
  };

  absl::Status Ask(const Asker& asker) {
    MutexLock lock(&mutex_);
    if (stopped_) return absl::UnavailableError("the daemon stops");
    if (askers_.size() >= kStatusesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("status: too many ask at once (waiting=", askers_.size(), ", limit=", kStatusesMax, ")"));
    }
    askers_.push_back(asker);
    if (askers_.size() == 1) mailbox_->Post([this] { AnswerOne(); });
    return absl::OkStatus();
  }

  bool HasAskers() {
    MutexLock lock(&mutex_);
    return !askers_.empty();
  }

  // Answers the first caller, on the loop's thread. Posts a letter for the next caller, so that it runs in the loop's
  // next iteration.
  void AnswerOne() {
    Asker asker;
    {
      MutexLock lock(&mutex_);
      asker = askers_.front();
    }
    FillStatus(status_(asker.latencies), asker.answer);
    {
      MutexLock lock(&mutex_);
      askers_.pop_front();
      if (!askers_.empty()) mailbox_->Post([this] { AnswerOne(); });
    }
    asker.reactor->Finish(grpc::Status::OK);
  }

  Mailbox* const mailbox_;
  const std::function<NodeStatus(bool latencies)> status_;
  const rpc::Authorizer authorizer_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Asker> askers_ ABSL_GUARDED_BY(mutex_);  // a letter was posted for the first one
};

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServer::~AdminServer() { Stop(); }

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(const AdminServerOptions& options, Mailbox* mailbox,
                                                                std::function<NodeStatus(bool latencies)> status) {
  auto impl = std::make_unique<Impl>(mailbox, std::move(status), options.identity);
  RETURN_IF_ERROR(impl->Listen(options));
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(impl)));
}

const std::string& AdminServer::address() const { return impl_->address(); }
void AdminServer::Stop() { impl_->Stop(); }

}  // namespace copse::daemon
