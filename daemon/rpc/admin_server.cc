// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/admin_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/version.h"
#include "collectives/call_arguments.h"
#include "proto/copse/v1/admin.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"
#include "rpc/audit.h"
#include "rpc/authorizer.h"
#include "rpc/bounded_requests.h"
#include "rpc/credentials.h"
#include "rpc/latency_row.h"
#include "rpc/local_sockets.h"
#include "rpc/network_listener.h"
#include "rpc/status.h"

namespace copse::daemon {
namespace {

// When the server stops, a call may still take this long.
constexpr std::chrono::milliseconds kStopPatience(500);
// The loop is asked at most so often.
constexpr absl::Duration kStatusEvery = absl::Milliseconds(10);
constexpr size_t kJobBytesMax = 256;
// All requests are short.
constexpr int kRequestBytesMax = 64 * 1024;

using ChangeJob = std::function<absl::StatusOr<uint32_t>(const JobChange&)>;

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

void FillStatus(const NodeStatus& status, bool latencies, v1::StatusAnswer* answer) {
  answer->set_node(status.daemon.node);
  answer->set_incarnation(status.daemon.incarnation.value());
  answer->set_state(status.daemon.state);
  answer->set_clients(status.daemon.clients);
  answer->set_ranks(status.daemon.ranks);
  answer->set_teams(status.daemon.teams);
  for (const schedule::CallStatus& call : status.daemon.calls) FillCollective(call, answer->add_collectives());
  for (const auto& [name, count] : status.daemon.counters) (*answer->mutable_counters())[name] = count;
  if (latencies) {
    for (const schedule::LatencyStatus& latency : status.daemon.latencies) {
      rpc::FillLatency(latency, answer->add_latencies());
    }
  }
  answer->set_planner(status.planner);
  answer->set_planner_connected(status.planner_connected);
  answer->set_planner_refusal(status.planner_refusal);
}

}  // namespace

class AdminServer::Impl final : public v1::NodeAdminService::CallbackService {
 public:
  Impl(Mailbox* mailbox, std::function<NodeStatus(bool latencies)> status, ChangeJob change_job,
       const AdminServerOptions& options)
      : mailbox_(mailbox),
        status_(std::move(status)),
        change_job_(std::move(change_job)),
        authorizer_(options.identity, {.admin = options.socket}),
        audit_(options.log_file),
        thread_([this] { Answer(); }) {}
  ~Impl() override { Stop(); }

  absl::Status Listen(const AdminServerOptions& options) {
    const rpc::CredentialsFactory credentials({.insecure = options.insecure, .identity = options.identity});
    grpc::ServerBuilder builder;
    ASSIGN_OR_RETURN(listener_, rpc::NetworkListener::Open("admin_listen", options.listen, credentials, {}, &builder));
    builder.RegisterService(this);
    rpc::BoundRequests(kRequestBytesMax, &builder);
    server_ = builder.BuildAndStart();
    RETURN_IF_ERROR(listener_->Serve(server_.get()));
    if (options.socket.empty()) return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<rpc::LocalListener>> local = rpc::LocalListener::Open({.admin = options.socket});
    if (!local.ok()) {
      COPSE_LOG(kWarning, "jobs cannot be begun and ended here: ", local.status().message());
      return absl::OkStatus();
    }
    local_ = *std::move(local);
    local_->Serve(server_.get(), nullptr);
    return absl::OkStatus();
  }

  const std::string& address() const { return listener_->address(); }

  void Stop() {
    if (!thread_.joinable()) return;
    {
      MutexLock lock(&mutex_);
      stopped_ = true;
      changed_.NotifyAll();
    }
    while (Answers()) mailbox_->Drain();  // the thread may wait for a letter
    thread_.join();
    while (HasChanges()) mailbox_->Drain();
    local_.reset();
    listener_.reset();
    if (server_ == nullptr) return;
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

  grpc::ServerUnaryReactor* BeginJob(grpc::CallbackServerContext* context, const v1::ChangeJobRequest* request,
                                     v1::ChangeJobReply* reply) override {
    return Change("BeginJob", context, *request,
                  {request->job(), request->uid(), /*begins=*/true, request->exclusive()}, reply);
  }

  grpc::ServerUnaryReactor* EndJob(grpc::CallbackServerContext* context, const v1::ChangeJobRequest* request,
                                   v1::ChangeJobReply* reply) override {
    return Change("EndJob", context, *request, {request->job(), request->uid(), /*begins=*/false}, reply);
  }

 private:
  grpc::ServerUnaryReactor* Change(const char* method, grpc::CallbackServerContext* context,
                                   const v1::ChangeJobRequest& request, JobChange change, v1::ChangeJobReply* reply) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const absl::StatusOr<rpc::Principal> caller =
        MayChange(*context, absl::StrCat("/copse.v1.NodeAdminService/", method), change);
    const absl::Status status = caller.ok() ? CountChange() : caller.status();
    if (!status.ok()) {
      reactor->Finish(rpc::ToGrpc(status));
      return reactor;
    }
    rpc::AuditRecord record{.time = absl::Now(),
                            .who = caller->who,
                            .from = caller->peer,
                            .method = method,
                            .request = rpc::DescribeRequest(request)};
    mailbox_->Post([this, reactor, reply, change = std::move(change), record = std::move(record)]() mutable {
      const absl::StatusOr<uint32_t> ended = change_job_(change);
      if (ended.ok()) reply->set_clients(*ended);
      record.result = ended.status();
      record.duration = absl::Now() - record.time;
      audit_.Write(record);
      reactor->Finish(rpc::ToGrpc(ended.status()));
      MutexLock lock(&mutex_);
      --changes_;
    });
    return reactor;
  }

  // Any user of this machine may reach the port, where nothing says who it is without certificates.
  absl::StatusOr<rpc::Principal> MayChange(const grpc::CallbackServerContext& context, const std::string& method,
                                           const JobChange& change) const {
    ASSIGN_OR_RETURN(rpc::Principal principal, authorizer_.Authorize(context, method));
    if (!principal.is_known) {
      return absl::PermissionDeniedError("jobs are begun and ended with a certificate, or on the daemon's own socket");
    }
    if (change_job_ == nullptr) return absl::UnimplementedError("this daemon has no jobs");
    if (change.job.empty() || change.job.size() > kJobBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("job: no name of a job (bytes=", change.job.size(), ", limit=", kJobBytesMax, ")"));
    }
    return principal;
  }

  absl::Status CountChange() {
    MutexLock lock(&mutex_);
    if (stopped_) return absl::UnavailableError("the daemon stops");
    if (changes_ >= kStatusesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("too many jobs begin and end at once (waiting=", changes_, ", limit=", kStatusesMax, ")"));
    }
    ++changes_;
    return absl::OkStatus();
  }

  bool HasChanges() {
    MutexLock lock(&mutex_);
    return changes_ > 0;
  }

  // An Asker is a call that waits for its answer. Its pointers are valid until Finish.
  struct Asker {
    grpc::ServerUnaryReactor* reactor;
    bool latencies;
    v1::StatusAnswer* answer;
  };

  absl::Status Ask(const Asker& asker) {
    MutexLock lock(&mutex_);
    if (stopped_) return absl::UnavailableError("the daemon stops");
    if (waiting_ >= kStatusesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("status: too many ask at once (waiting=", waiting_, ", limit=", kStatusesMax, ")"));
    }
    ++waiting_;
    askers_.push_back(asker);
    changed_.NotifyAll();
    return absl::OkStatus();
  }

  // Returns whether the thread goes on.
  bool Answers() {
    MutexLock lock(&mutex_);
    return answers_;
  }

  // Answers callers, all that wait at once, until the server stops and nobody waits.
  void Answer() {
    while (true) {
      std::vector<Asker> askers;
      {
        MutexLock lock(&mutex_);
        while (askers_.empty() && !stopped_) changed_.Wait(&mutex_);
        while (!stopped_ && absl::Now() < next_) changed_.WaitFor(&mutex_, next_ - absl::Now());
        askers = std::exchange(askers_, {});
        answers_ = !askers.empty();
        if (!answers_) return;
      }
      const NodeStatus status =
          AskLoop(std::any_of(askers.begin(), askers.end(), [](const Asker& asker) { return asker.latencies; }));
      for (const Asker& asker : askers) {
        FillStatus(status, asker.latencies, asker.answer);
        asker.reactor->Finish(grpc::Status::OK);
      }
      MutexLock lock(&mutex_);
      waiting_ -= askers.size();
      next_ = absl::Now() + kStatusEvery;
    }
  }

  NodeStatus AskLoop(bool latencies) {
    std::optional<NodeStatus> status;
    mailbox_->Post([this, latencies, &status] {
      NodeStatus found = status_(latencies);
      MutexLock lock(&mutex_);
      status = std::move(found);
      changed_.NotifyAll();
    });
    MutexLock lock(&mutex_);
    while (!status.has_value()) changed_.Wait(&mutex_);
    return *std::move(status);
  }

  Mailbox* const mailbox_;
  const std::function<NodeStatus(bool latencies)> status_;
  const ChangeJob change_job_;
  const rpc::Authorizer authorizer_;
  const rpc::AuditWriter audit_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<rpc::NetworkListener> listener_;
  std::unique_ptr<rpc::LocalListener> local_;  // null: there is no socket
  Mutex mutex_;
  size_t changes_ ABSL_GUARDED_BY(mutex_) = 0;  // of jobs, that wait for the loop
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar changed_;
  std::vector<Asker> askers_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // askers_, and those that are being answered
  bool answers_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::thread thread_;
};

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServer::~AdminServer() { Stop(); }

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(const AdminServerOptions& options, Mailbox* mailbox,
                                                                std::function<NodeStatus(bool latencies)> status,
                                                                ChangeJob change_job) {
  auto impl = std::make_unique<Impl>(mailbox, std::move(status), std::move(change_job), options);
  RETURN_IF_ERROR(impl->Listen(options));
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(impl)));
}

const std::string& AdminServer::address() const { return impl_->address(); }
void AdminServer::Stop() { impl_->Stop(); }

}  // namespace copse::daemon
