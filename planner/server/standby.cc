// SPDX-License-Identifier: Apache-2.0
#include "planner/server/standby.h"

#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/copse/v1/daemon_service.pb.h"
#include "rpc/message_bytes.h"
#include "rpc/status.h"

namespace copse::planner {
namespace {

grpc::ByteBuffer Bytes(const google::protobuf::MessageLite& message) {
  const grpc::Slice bytes = rpc::Encoded(message);
  return grpc::ByteBuffer(&bytes, 1);
}

// An Answer ends a call at once, with a message or without.
class Answer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(const grpc::Status& status) { Finish(status); }
  explicit Answer(const google::protobuf::MessageLite& message) : message_(Bytes(message)) {
    StartWriteAndFinish(&message_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

}  // namespace

// A Watcher is a WatchLeader call. The standby's mutex guards its members.
class Standby::Watcher final : public grpc::ServerGenericBidiReactor, public EndlessCall {
 public:
  explicit Watcher(Standby* standby) : standby_(standby) {}

  void OnWriteDone(bool ok) override {
    MutexLock lock(&standby_->mutex_);
    writing = false;
    if (ok) standby_->Tell(this);
  }
  void OnCancel() override {
    if (standby_->calls_.Remove(this)) End(grpc::Status::CANCELLED);
  }
  void Refuse(const absl::Status& why) override { End(rpc::ToGrpc(why)); }
  void OnDone() override {
    {
      MutexLock lock(&standby_->mutex_);
      standby_->watchers_.erase(this);
    }
    delete this;
  }

  bool told = false;
  bool writing = false;
  bool ended = false;
  uint64_t number = 0;  // of the leader that was told
  grpc::ByteBuffer message;

 private:
  void End(const grpc::Status& status) {
    {
      MutexLock lock(&standby_->mutex_);
      ended = true;
    }
    Finish(status);
  }

  Standby* const standby_;
};

void Standby::Tell(Watcher* watcher) {
  if (watcher->ended || watcher->writing || (watcher->told && watcher->number == number_)) return;
  watcher->told = watcher->writing = true;
  watcher->number = number_;
  v1::Leader leader;
  leader.set_address(status_.leader());
  leader.set_number(number_);
  watcher->message = Bytes(leader);
  watcher->StartWrite(&watcher->message);
}

absl::StatusOr<std::unique_ptr<Standby>> Standby::Start(const std::string& listen,
                                                        const rpc::CredentialsFactory& credentials,
                                                        const rpc::Authorizer* authorizer,
                                                        v1::GetPlannerStatusReply status) {
  std::unique_ptr<Standby> standby(new Standby(authorizer, std::move(status)));
  grpc::ServerBuilder builder;
  ASSIGN_OR_RETURN(standby->listener_, rpc::NetworkListener::Open("listen", listen, credentials, {}, &builder));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.RegisterCallbackGenericService(standby.get());
  standby->server_ = builder.BuildAndStart();
  RETURN_IF_ERROR(standby->listener_->Serve(standby->server_.get()));
  MutexLock lock(&standby->mutex_);
  standby->status_.set_address(standby->address());
  return standby;
}

Standby::~Standby() {
  listener_.reset();
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

void Standby::SetLeader(const std::string& address, uint64_t number) {
  MutexLock lock(&mutex_);
  status_.set_leader(address);
  number_ = number;
  for (Watcher* watcher : watchers_) Tell(watcher);
}

grpc::ServerGenericBidiReactor* Standby::CreateReactor(grpc::GenericCallbackServerContext* context) {
  // A caller is told who leads only if it may call the method there.
  absl::StatusOr<rpc::Principal> caller = authorizer_->Authorize(*context, context->method());
  if (!caller.ok()) return new Answer(rpc::ToGrpc(caller.status()));
  MutexLock lock(&mutex_);
  if (context->method() == "/copse.v1.DaemonService/WatchLeader") {
    auto* const watcher = new Watcher(this);
    watchers_.insert(watcher);
    calls_.Add(watcher, *std::move(caller));
    Tell(watcher);
    return watcher;
  }
  if (context->method() == "/copse.v1.AdminService/GetPlannerStatus") return new Answer(status_);
  const std::string& leader = status_.leader();
  if (!leader.empty()) context->AddTrailingMetadata(rpc::kLeaderMetadataKey, leader);
  return new Answer(grpc::Status(grpc::StatusCode::UNAVAILABLE, absl::StrCat("this planner stands by (leader=",
                                                                             leader.empty() ? "none" : leader, ")")));
}

}  // namespace copse::planner
