// SPDX-License-Identifier: Apache-2.0
#include "planner/server/daemon_service.h"

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/mutex.h"
#include "rpc/control_conversion.h"
#include "rpc/message_bytes.h"
#include "rpc/status.h"

namespace copse::planner {

// A Stream is one daemon's stream. Its reactions run on gRPC's threads. `self_` keeps it until OnDone, and the service
// until it is closed.
class DaemonService::Stream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(TaskQueue* queue, DaemonService* service) : queue_(queue), service_(service) {}

  void Start(std::shared_ptr<Stream> self, std::string from) {
    self_ = std::move(self);
    queue_->Post([this, keep = self_, from = std::move(from)] {
      if (!service_->closed_.ok()) return Close(rpc::ToGrpc(service_->closed_));
      session_ = service_->next_++;
      service_->streams_.emplace(session_, keep);
      service_->events_->OnConnected(session_, from);
    });
    StartRead(&incoming_);
  }

  void Write(grpc::ByteBuffer message) {
    MutexLock lock(&mutex_);
    if (closing_) return;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  // Ends the stream after the messages that were written before have been sent.
  void Close(const grpc::Status& status) {
    MutexLock lock(&mutex_);
    if (closing_) return;
    closing_ = true;
    status_ = status;
    if (outgoing_.empty()) Finish(status_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    v1::FromDaemon incoming;
    if (!rpc::Decode(incoming_, &incoming)) {
      return EndInvalid(absl::InvalidArgumentError(absl::StrCat("no FromDaemon (bytes=", incoming_.Length(), ")")));
    }
    // An unknown message is a newer daemon's, which does not depend on it, since it knows this planner's version.
    if (incoming.message_case() == v1::FromDaemon::MESSAGE_NOT_SET) {
      queue_->Post([this, keep = self_] { service_->NoteUnknown(session_); });
      return StartRead(&incoming_);
    }
    absl::StatusOr<schedule::FromDaemon> message = rpc::FromProto(incoming);
    if (!message.ok()) return EndInvalid(message.status());
    queue_->Post([this, keep = self_, message = *std::move(message)] {
      if (service_->streams_.contains(session_)) service_->events_->OnMessage(session_, message);
    });
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    outgoing_.pop_front();
    if (!ok) outgoing_.clear();  // the read fails too, and ends the stream
    if (!outgoing_.empty()) {
      StartWrite(&outgoing_.front());
    } else if (closing_) {
      Finish(status_);
    }
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    std::shared_ptr<Stream> self = std::move(self_);
    queue_->Post([self = std::move(self)] {});  // the planner's thread drops the last reference
  }

 private:
  void EndInvalid(const absl::Status& why) {
    COPSE_LOG(kWarning, "a daemon's message cannot be read: ", why.message());
    End(rpc::ToGrpc(why));
  }

  // Ends the session and the stream after the daemon was lost or has sent an invalid message.
  void End(const grpc::Status& status) {
    queue_->Post([this, keep = self_] {
      if (service_->streams_.erase(session_) > 0) service_->events_->OnDisconnected(session_);
    });
    Close(status);
  }

  TaskQueue* const queue_;
  DaemonService* const service_;
  coordinator::SessionId session_ = 0;  // accessed on the planner's thread only
  grpc::ByteBuffer incoming_;
  std::shared_ptr<Stream> self_;

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> outgoing_ ABSL_GUARDED_BY(mutex_);  // the first one is being written
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

namespace {

// A RefusedStream is refused before it begins.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(rpc::ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DaemonService::Attach(
    grpc::CallbackServerContext* context) {
  const absl::Status allowed = authorizer_->Authorize(rpc::CallerOf(*context), "/copse.v1.DaemonService/Attach");
  if (!allowed.ok()) return new RefusedStream(allowed);
  auto stream = std::make_shared<Stream>(queue_, this);
  stream->Start(stream, std::string(absl::StripPrefix(context->peer(), "ipv4:")));
  return stream.get();
}

void DaemonService::Send(coordinator::SessionId session, const schedule::ToDaemon& message) {
  const auto it = streams_.find(session);
  if (it == streams_.end()) return;
  v1::ToDaemon proto;
  rpc::ToProto(message, &proto);
  const grpc::Slice bytes = rpc::Encoded(proto);
  it->second->Write(grpc::ByteBuffer(&bytes, 1));
}

void DaemonService::SendPrepare(absl::Span<const coordinator::PrepareMember> members, schedule::Prepare prepare) {
  v1::ToDaemon proto;
  rpc::ToProto(std::move(prepare), &proto);
  const grpc::Slice shared = rpc::Encoded(proto.prepare());
  for (const coordinator::PrepareMember& member : members) {
    const auto it = streams_.find(member.session);
    if (it == streams_.end()) continue;
    v1::ToDaemon requests;
    rpc::ToProto(schedule::Prepare{.requests = member.requests}, &requests);
    v1::Prepare own;  // without the rest of a Prepare, which is shared
    own.mutable_requests()->Swap(requests.mutable_prepare()->mutable_requests());
    const grpc::Slice parts[] = {rpc::Encoded(own), shared};
    it->second->Write(rpc::WithField(v1::ToDaemon::kPrepareFieldNumber, parts));
  }
}

void DaemonService::Close(coordinator::SessionId session, const std::string& why) {
  const auto it = streams_.find(session);
  if (it == streams_.end()) return;
  it->second->Close(grpc::Status(grpc::StatusCode::ABORTED, why));
  streams_.erase(it);
}

void DaemonService::NoteUnknown(coordinator::SessionId session) {
  ++unknown_;
  // Logs the first such message, and then each time their number has doubled.
  if ((unknown_ & (unknown_ - 1)) != 0) return;
  COPSE_LOG(kWarning, "session ", session, ": a message of unknown kind is ignored (ignored=", unknown_, ")");
}

void DaemonService::CloseAll(const absl::Status& why) {
  closed_ = why;
  for (const auto& [session, stream] : streams_) stream->Close(rpc::ToGrpc(why));
  streams_.clear();
}

}  // namespace copse::planner
