// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/testing/echo_planner.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "protocol/control.h"

namespace copse::daemon {

class EchoPlanner::Impl final : public v1::DaemonService::Service {
 public:
  ~Impl() override {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  bool Start(int port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    return server_ != nullptr;
  }
  int port() const { return port_; }

  void Refuse(const std::string& why) {
    MutexLock lock(&mutex_);
    refusal_ = why;
  }
  std::string Get(const std::string Impl::*field) {
    MutexLock lock(&mutex_);
    return this->*field;
  }

  std::string token_, node_, admin_address_, stops_;  // guarded by mutex_

 private:
  grpc::Status Attach(grpc::ServerContext* /*context*/,
                      grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* stream) override {
    {
      MutexLock lock(&mutex_);
      if (!refusal_.empty()) return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, refusal_);
    }
    v1::FromDaemon message;
    while (stream->Read(&message)) {
      v1::ToDaemon answer;
      if (message.has_register_()) {
        answer.mutable_registered()->set_accepted(true);
        answer.mutable_registered()->add_features(static_cast<uint32_t>(schedule::Feature::kStopping));
        MutexLock lock(&mutex_);
        token_ = message.register_().node().join_token();
        node_ = message.register_().node().name();
        admin_address_ = message.register_().node().admin_address();
      } else if (message.has_epoch_query()) {
        answer.mutable_end_team()->set_team(message.epoch_query().team());
      } else {
        MutexLock lock(&mutex_);
        if (message.has_stopping()) stops_ += message.stopping().done() ? "ends " : "drains ";
        continue;
      }
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  Mutex mutex_;
  std::string refusal_ ABSL_GUARDED_BY(mutex_);
};

EchoPlanner::EchoPlanner() : impl_(std::make_unique<Impl>()) {}
EchoPlanner::~EchoPlanner() = default;
bool EchoPlanner::Start(int port) { return impl_->Start(port); }
int EchoPlanner::port() const { return impl_->port(); }
void EchoPlanner::Refuse(const std::string& why) { impl_->Refuse(why); }
std::string EchoPlanner::token() const { return impl_->Get(&Impl::token_); }
std::string EchoPlanner::stops() const { return impl_->Get(&Impl::stops_); }
std::string EchoPlanner::node() const { return impl_->Get(&Impl::node_); }
std::string EchoPlanner::admin_address() const { return impl_->Get(&Impl::admin_address_); }

}  // namespace copse::daemon
