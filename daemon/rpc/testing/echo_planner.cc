// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/testing/echo_planner.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "protocol/control.h"
#include "rpc/control_conversion.h"
#include "rpc/credentials.h"
#include "rpc/team_content.h"

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

  void StandBy(const std::string& leader, uint64_t number) {
    MutexLock lock(&mutex_);
    leader_ = leader;
    number_ = number;
    leader_changed_.NotifyAll();
  }
  void Lead(uint64_t term) {
    MutexLock lock(&mutex_);
    leader_.clear();
    term_ = term;
  }

  void BeEarlier() {
    MutexLock lock(&mutex_);
    earlier_ = true;
  }

  void AnswerWith(std::vector<schedule::ToDaemon> script) {
    MutexLock lock(&mutex_);
    script_ = std::move(script);
  }

  std::string contents_;                                               // guarded by mutex_
  std::string token_, node_, admin_address_, worker_address_, stops_;  // guarded by mutex_

 private:
  grpc::Status AttachBriefly(grpc::ServerContext* context,
                             grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* stream) override {
    {
      MutexLock lock(&mutex_);
      if (earlier_) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method");
    }
    return Attach(context, stream);
  }

  // Asks for the contents that Register names. Other messages that come meanwhile are added to `*others`. Returns false
  // at the end of the stream.
  bool AskForContents(const v1::Register& message, grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* stream,
                      std::deque<v1::FromDaemon>* others) {
    for (const v1::RunningTeam& team : message.teams()) {
      v1::ToDaemon query;
      query.mutable_content_query()->set_sha256(team.content());
      v1::FromDaemon answer;
      if (team.content().empty() || !stream->Write(query)) return false;
      for (bool is_answer = false; !is_answer;) {
        if (!stream->Read(&answer)) return false;
        is_answer = answer.has_content();
        if (!is_answer) others->push_back(answer);
      }
      const bool is_it = answer.content().sha256() == team.content() && rpc::CheckContent(answer.content()).ok();
      MutexLock lock(&mutex_);
      absl::StrAppend(&contents_, is_it ? "content " : "something else ");
    }
    return true;
  }

  void SendScript(grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* stream) {
    std::vector<schedule::ToDaemon> script;
    {
      MutexLock lock(&mutex_);
      script = script_;
    }
    for (const schedule::ToDaemon& message : script) {
      v1::ToDaemon proto;
      rpc::ToProto(message, &proto);
      if (proto.has_prepare()) {
        rpc::SplitPrepare split = rpc::Split(std::move(*proto.mutable_prepare()), 0);
        v1::ToDaemon content;
        *content.mutable_content() = std::move(split.content);
        stream->Write(content);
        *proto.mutable_prepare() = std::move(split.head);
      }
      stream->Write(proto);
    }
  }

  grpc::Status WatchLeader(grpc::ServerContext* context, const v1::WatchLeaderRequest* /*request*/,
                           grpc::ServerWriter<v1::Leader>* stream) override {
    for (std::optional<uint64_t> told; !context->IsCancelled();) {
      v1::Leader leader;
      {
        MutexLock lock(&mutex_);
        if (told == number_) leader_changed_.WaitFor(&mutex_, absl::Milliseconds(20));
        if (told == number_) continue;
        told = number_;
        leader.set_address(leader_);
        leader.set_number(number_);
      }
      stream->Write(leader);
    }
    return grpc::Status::OK;
  }

  grpc::Status Attach(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* stream) override {
    {
      MutexLock lock(&mutex_);
      if (!leader_.empty()) {
        context->AddTrailingMetadata(rpc::kLeaderMetadataKey, leader_);
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stands by");
      }
      if (!refusal_.empty()) return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, refusal_);
    }
    v1::FromDaemon message;
    std::deque<v1::FromDaemon> read;
    const auto next = [&] {
      if (read.empty()) return stream->Read(&message);
      message = std::move(read.front());
      read.pop_front();
      return true;
    };
    while (next()) {
      v1::ToDaemon answer;
      if (message.has_register_()) {
        const v1::Register asked = message.register_();
        if (asked.teams_size() > 0 && !AskForContents(asked, stream, &read)) return grpc::Status::OK;
        answer.mutable_registered()->set_accepted(true);
        answer.mutable_registered()->add_features(static_cast<uint32_t>(schedule::Feature::kStopping));
        MutexLock lock(&mutex_);
        answer.mutable_registered()->set_term(term_);
        token_ = message.register_().node().join_token();
        node_ = message.register_().node().name();
        admin_address_ = message.register_().node().admin_address();
        worker_address_ = message.register_().node().worker_address();
      } else if (message.has_epoch_query() && message.epoch_query().team() == kDamagedContentTeam) {
        answer.mutable_content()->set_sha256("not this content's name");
      } else if (message.has_epoch_query() && message.epoch_query().team() == kScriptTeam) {
        SendScript(stream);
        continue;
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
  bool earlier_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar leader_changed_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);  // empty: this planner
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t term_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<schedule::ToDaemon> script_ ABSL_GUARDED_BY(mutex_);
};

EchoPlanner::EchoPlanner() : impl_(std::make_unique<Impl>()) {}
EchoPlanner::~EchoPlanner() = default;
bool EchoPlanner::Start(int port) { return impl_->Start(port); }
int EchoPlanner::port() const { return impl_->port(); }
void EchoPlanner::Refuse(const std::string& why) { impl_->Refuse(why); }
void EchoPlanner::StandBy(const std::string& leader, uint64_t number) { impl_->StandBy(leader, number); }
void EchoPlanner::Lead(uint64_t term) { impl_->Lead(term); }
void EchoPlanner::AnswerWith(std::vector<schedule::ToDaemon> script) { impl_->AnswerWith(std::move(script)); }
void EchoPlanner::BeEarlier() { impl_->BeEarlier(); }
std::string EchoPlanner::contents() const { return impl_->Get(&Impl::contents_); }
std::string EchoPlanner::token() const { return impl_->Get(&Impl::token_); }
std::string EchoPlanner::stops() const { return impl_->Get(&Impl::stops_); }
std::string EchoPlanner::node() const { return impl_->Get(&Impl::node_); }
std::string EchoPlanner::admin_address() const { return impl_->Get(&Impl::admin_address_); }
std::string EchoPlanner::worker_address() const { return impl_->Get(&Impl::worker_address_); }

}  // namespace copse::daemon
