// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/daemon_service.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "rpc/control_conversion.h"
#include "rpc/message_bytes.h"
#include "rpc/status.h"
#include "rpc/team_content.h"
#include "rpc/text.h"
#include "schedule/plan.h"

namespace copse::planner {

using coordinator::PrepareMember;

namespace {

// A stream is read on while at most so many of its messages, and of their bytes, wait for the planner's thread.
constexpr uint32_t kWaitingMessagesMax = 8;
constexpr uint64_t kWaitingBytesMax = 1 << 20;
// CheckPeers checks this many streams at once.
constexpr size_t kCheckedAtOnce = 64;
// Limits a first message that is not a Register. It is refused in any case, but not decoded if it is longer.
constexpr uint64_t kUnregisteredBytesMax = 256 << 10;

// Returns the number of the first field of an encoded message, or 0 if there is none.
int FirstField(const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer shared(bytes);  // the reader takes a mutable one
  grpc::ProtoBufferReader reader(&shared);
  google::protobuf::io::CodedInputStream in(&reader);
  return static_cast<int>(in.ReadTag() >> 3);
}

}  // namespace

// A Stream is one daemon's stream. Its reactions run on gRPC's threads. `self_` keeps it until OnDone, and the service
// until it is closed. What is sent passes through the service's sender in order, which encodes it and begins writes:
// these make system calls.
class DaemonService::Stream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                    public std::enable_shared_from_this<Stream> {
 public:
  // `brief`: Register names contents (AttachBriefly).
  // `caller` is the daemon that has opened it.
  Stream(DaemonService* service, grpc::CallbackServerContext* context, bool brief, rpc::Principal caller)
      : queue_(service->queue_), service_(service), context_(context), brief_(brief), caller_(std::move(caller)) {}

  void Start(std::string from) {
    self_ = shared_from_this();
    queue_->Post([this, keep = self_, from = std::move(from)] {
      if (!service_->closed_.ok()) return Close(rpc::ToGrpc(service_->closed_));
      session_ = service_->next_++;
      service_->streams_.emplace(session_, keep);
      service_->events_->OnConnected(session_, from);
    });
    StartRead(&incoming_);
  }

  // Called on the sender.
  void Write(grpc::ByteBuffer message) {
    const size_t bytes = message.Length();
    {
      MutexLock lock(&mutex_);
      if (closing_) return;
      if (outgoing_.empty() || queued_bytes_ + bytes <= service_->options_.queued_bytes_max) {
        service_->sent_.fetch_add(1, std::memory_order_relaxed);
        service_->sent_bytes_.fetch_add(bytes, std::memory_order_relaxed);
        queued_bytes_ += bytes;
        outgoing_.push_back({std::move(message), bytes});
        if (is_writing_) return;
        is_writing_ = true;
        return StartWrite(&outgoing_.front().message);
      }
    }
    GiveUp(bytes);
  }

  void Write(const v1::ToDaemon& message) {
    const grpc::Slice bytes = rpc::Encoded(message);
    Write(grpc::ByteBuffer(&bytes, 1));
  }

  uint64_t queued_bytes() const {
    MutexLock lock(&mutex_);
    return queued_bytes_;
  }

  // Ends the stream after the messages that were written before have been sent.
  void Close(const grpc::Status& status) {
    MutexLock lock(&mutex_);
    if (closing_) return;
    closing_ = true;
    status_ = status;
    if (outgoing_.empty()) FinishNow();
  }

  // Returns whether a content needs only its name, since it was sent; if not, it is to be sent now. Called on the
  // sender.
  bool HasContent(const v1::TeamContent& content) {
    if (contents_.Use(content.sha256()) != nullptr) return true;
    contents_.Add(content.sha256(), "", content.zstd().size());
    return false;
  }
  bool takes_content() const { return takes_content_; }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    const uint64_t bytes = incoming_.Length();
    service_->received_.fetch_add(1, std::memory_order_relaxed);
    service_->received_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (is_first_ && bytes > kUnregisteredBytesMax && FirstField(incoming_) != v1::FromDaemon::kRegisterFieldNumber) {
      return EndInvalid(absl::InvalidArgumentError(absl::StrCat("too long for a message before Register (bytes=", bytes,
                                                                ", limit=", kUnregisteredBytesMax, ")")));
    }
    v1::FromDaemon incoming;
    if (!rpc::Decode(incoming_, &incoming)) {
      return EndInvalid(absl::InvalidArgumentError(absl::StrCat("no FromDaemon (bytes=", bytes, ")")));
    }
    is_first_ = false;
    if (incoming.has_register_()) {
      if (const absl::Status own = CheckName(incoming.register_().node().name()); !own.ok()) {
        service_->authorizer_->LogRefusal(caller_.peer, own);
        return End(rpc::ToGrpc(own));
      }
      if (caller_.id.has_value()) {
        queue_->Post([this, keep = self_] { service_->NoteCertificate(caller_.id->name, caller_.ends); });
      }
    }
    // An unknown message is a newer daemon's, which does not depend on it, since it knows this planner's version.
    if (incoming.message_case() == v1::FromDaemon::MESSAGE_NOT_SET) {
      return Handle(bytes, [this] { service_->NoteUnknown(session_); });
    }
    if (brief_ && (incoming.has_register_() || incoming.has_content())) {
      return Handle(bytes, [this, incoming = std::move(incoming)] {
        if (!service_->streams_.contains(session_)) return;
        if (incoming.has_content()) return service_->brief_.OnContent(session_, incoming.content());
        service_->brief_.Take(session_, incoming.register_());
      });
    }
    absl::StatusOr<schedule::FromDaemon> message = rpc::FromProto(incoming);
    if (!message.ok()) return EndInvalid(message.status());
    Handle(bytes, [this, bytes, message = *std::move(message)] {
      if (!service_->streams_.contains(session_)) return;
      if (service_->brief_.IsWaiting(session_)) return service_->brief_.Keep(session_, message, bytes);
      OnMessage(message);
    });
  }

  // Passes a message on; on the planner's thread.
  void OnMessage(const schedule::FromDaemon& message) {
    if (const auto* registers = std::get_if<schedule::Register>(&message)) {
      takes_content_ = registers->node.features.contains(schedule::Feature::kContent);
    }
    service_->events_->OnMessage(session_, message);
  }

  // Ends the stream unless its certificate is still believed.
  void CheckPeer() {
    if (caller_.certificate.certificate.empty()) return;
    const absl::Status status = service_->authorizer_->identity()->StillBelieves(caller_.certificate);
    if (status.ok()) return;
    service_->authorizer_->LogRefusal(caller_.peer, status);
    End(rpc::ToGrpc(status));
  }

  void EndInvalid(const absl::Status& why) {
    service_->authorizer_->LogRefusal(caller_.peer, why);
    End(rpc::ToGrpc(why));
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    queued_bytes_ -= outgoing_.front().bytes;
    outgoing_.pop_front();
    if (!ok) {  // the read fails too, and ends the stream
      outgoing_.clear();
      queued_bytes_ = 0;
    }
    is_writing_ = !outgoing_.empty();
    if (is_writing_) {
      StartWrite(&outgoing_.front().message);
    } else if (closing_) {
      FinishNow();
    }
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    std::shared_ptr<Stream> self = std::move(self_);
    queue_->Post([self = std::move(self)] {});  // the planner's thread drops the last reference
  }

 private:
  // A certificate is good for its own node's name alone.
  absl::Status CheckName(const std::string& name) const {
    if (!caller_.id.has_value() || caller_.id->name == name) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        "node ", rpc::ToUtf8(name, 64), ": the certificate is another node's (certificate=", caller_.id->ToUri(),
        ", wanted=spiffe://", caller_.id->domain, "/node/", rpc::ToUtf8(name, 64), ")"));
  }

  // Ends the session and the stream after the daemon was lost or has sent an invalid message.
  void End(const grpc::Status& status) {
    queue_->Post([this, keep = self_] {
      if (service_->streams_.erase(session_) == 0) return;
      service_->brief_.OnClosed(session_);
      service_->events_->OnDisconnected(session_);
    });
    Close(status);
  }

  // Passes a message of `bytes` on to the planner's thread, and reads the next one once few enough wait for it.
  void Handle(uint64_t bytes, std::function<void()> task) {
    const MutexLock lock(&mutex_);  // until the task is posted: no later message may be read before
    ++waiting_messages_;
    waiting_bytes_ += bytes;
    is_reading_ = MayRead();
    queue_->Post([this, keep = self_, bytes, task = std::move(task)] {
      task();
      Handled(bytes);
    });
    if (is_reading_ && !is_finished_) StartRead(&incoming_);
  }
  void Handled(uint64_t bytes) {
    const MutexLock lock(&mutex_);
    --waiting_messages_;
    waiting_bytes_ -= bytes;
    if (is_reading_ || !MayRead()) return;
    is_reading_ = true;
    service_->sender_.Post([this, keep = shared_from_this()] {
      const MutexLock reading(&mutex_);
      if (!is_finished_) StartRead(&incoming_);
    });
  }
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_messages_ < kWaitingMessagesMax && waiting_bytes_ < kWaitingBytesMax;
  }

  // Ends the stream of a daemon that does not take what it is sent; the rest of it is dropped. `bytes` are those of the
  // message that has no room. Called on the sender.
  void GiveUp(size_t bytes) {
    const std::string why = absl::StrCat("the daemon does not take its messages (queued_bytes=", queued_bytes(),
                                         ", next=", bytes, ", limit=", service_->options_.queued_bytes_max, ")");
    COPSE_LOG(kWarning, "session ", session_, " is closed: ", why);
    {
      const MutexLock lock(&mutex_);
      for (; outgoing_.size() > 1; outgoing_.pop_back()) queued_bytes_ -= outgoing_.back().bytes;
    }
    End(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, why));
    // The write in progress would never end. If it has ended all the same, gRPC may have dropped the context.
    const MutexLock lock(&mutex_);
    if (!is_finished_) context_->TryCancel();
  }

  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_finished_ = true;
    Finish(status_);
  }

  struct Outgoing {
    grpc::ByteBuffer message;
    size_t bytes = 0;
  };

  TaskQueue* const queue_;
  DaemonService* const service_;
  grpc::CallbackServerContext* const context_;
  const bool brief_;
  const rpc::Principal caller_;
  bool is_first_ = true;                // nothing was read yet; accessed by OnReadDone only
  coordinator::SessionId session_ = 0;  // accessed on the planner's thread only
  bool takes_content_ = false;          // likewise
  rpc::ContentWindow contents_;         // accessed on the sender only
  grpc::ByteBuffer incoming_;
  std::shared_ptr<Stream> self_;

  mutable Mutex mutex_;
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;    // the first of outgoing_ is being written, or soon will be
  uint64_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of outgoing_
  // Messages that were read, and wait for the planner's thread.
  uint32_t waiting_messages_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;  // nothing may be read or written any more
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

namespace {

// A LeaderStream tells one leader, and then nothing until its caller, or the server, ends it.
class LeaderStream final : public grpc::ServerWriteReactor<v1::Leader>, public EndlessCall {
 public:
  LeaderStream(EndlessCalls* streams, rpc::Principal caller, uint64_t number) : streams_(streams) {
    streams_->Add(this, std::move(caller));
    leader_.set_number(number);
    StartWrite(&leader_);
  }
  void OnCancel() override {
    if (streams_->Remove(this)) Finish(grpc::Status::CANCELLED);
  }
  void Refuse(const absl::Status& why) override { Finish(rpc::ToGrpc(why)); }
  void OnDone() override { delete this; }

 private:
  EndlessCalls* const streams_;
  v1::Leader leader_;
};

// A RefusedStream is refused before it begins.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(rpc::ToGrpc(why)); }
  void OnDone() override { delete this; }
};

class RefusedLeaderStream final : public grpc::ServerWriteReactor<v1::Leader> {
 public:
  explicit RefusedLeaderStream(const absl::Status& why) { Finish(rpc::ToGrpc(why)); }
  void OnDone() override { delete this; }
};

struct NeighborTable {
  std::vector<std::vector<uint32_t>> of_node;
  uint64_t entries = 0;
};

// The plans are the planner's own.
NeighborTable NeighborsIn(const schedule::Prepare& prepare) {
  std::vector<schedule::Plan> plans;
  for (const std::string& encoded : prepare.plans) {
    absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
    CHECK(plan.ok());
    plans.push_back(*std::move(plan));
  }
  NeighborTable table{.of_node = schedule::NeighborsByNode(plans, prepare.layout.shape.node_count)};
  for (const auto& neighbors : table.of_node) table.entries += neighbors.size();
  return table;
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DaemonService::Attach(
    grpc::CallbackServerContext* context) {
  return NewStream(context, "/copse.v1.DaemonService/Attach", /*brief=*/false);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DaemonService::AttachBriefly(
    grpc::CallbackServerContext* context) {
  return NewStream(context, "/copse.v1.DaemonService/AttachBriefly", /*brief=*/true);
}

grpc::ServerWriteReactor<v1::Leader>* DaemonService::WatchLeader(grpc::CallbackServerContext* context,
                                                                 const v1::WatchLeaderRequest* /*request*/) {
  absl::StatusOr<rpc::Principal> caller = authorizer_->Authorize(*context, "/copse.v1.DaemonService/WatchLeader");
  if (!caller.ok()) return new RefusedLeaderStream(caller.status());
  return new LeaderStream(&leader_streams_, *std::move(caller), options_.number);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DaemonService::NewStream(
    grpc::CallbackServerContext* context, const char* method, bool brief) {
  absl::StatusOr<rpc::Principal> caller = authorizer_->Authorize(*context, method);
  if (!caller.ok()) return new RefusedStream(caller.status());
  auto stream = std::make_shared<Stream>(this, context, brief, *std::move(caller));
  stream->Start(std::string(absl::StripPrefix(context->peer(), "ipv4:")));
  return stream.get();
}

absl::Time DaemonService::CertificateEnds(const std::string& node) const {
  const auto found = certificate_ends_.find(node);
  return found == certificate_ends_.end() ? absl::InfiniteFuture() : found->second;
}

std::vector<std::string> DaemonService::CertificatesThatEndBefore(absl::Time time) const {
  std::vector<std::string> nodes;
  for (const auto& [node, ends] : certificate_ends_) {
    if (ends < time) nodes.push_back(node);
  }
  return nodes;
}

void DaemonService::NoteCertificate(const std::string& node, absl::Time ends) {
  certificate_ends_[node] = ends;
  rpc::WarnOfEnd(absl::StrCat("node ", node), ends);
}

void DaemonService::CheckPeers() {
  if (authorizer_->identity() == nullptr) return;
  const uint64_t generation = authorizer_->identity()->generation();
  if (std::exchange(checked_generation_, generation) == generation) return;
  leader_streams_.Check(*authorizer_);
  CheckPeersAfter(0);
}

void DaemonService::CheckPeersAfter(coordinator::SessionId last) {
  size_t checked = 0;
  for (auto it = streams_.upper_bound(last); it != streams_.end(); ++it) {
    if (checked++ == kCheckedAtOnce) return queue_->Post([this, last] { CheckPeersAfter(last); });
    last = it->first;
    it->second->CheckPeer();
  }
}

void DaemonService::Send(coordinator::SessionId session, const schedule::ToDaemon& message) {
  const auto it = streams_.find(session);
  if (it == streams_.end()) return;
  sender_.Post([this, stream = it->second, message] {
    v1::ToDaemon proto;
    rpc::ToProto(message, &proto);
    if (proto.has_registered()) proto.mutable_registered()->set_leader_number(options_.number);
    stream->Write(proto);
  });
}

// A Recipient is a member of a Prepare with its stream.
struct DaemonService::Recipient {
  std::shared_ptr<Stream> stream;
  bool takes_content = false;
  PrepareMember member;
};

void DaemonService::SendPrepare(absl::Span<const coordinator::PrepareMember> members, schedule::Prepare prepare) {
  std::vector<Recipient> recipients;
  recipients.reserve(members.size());
  for (const PrepareMember& member : members) {
    const auto it = streams_.find(member.session);
    if (it != streams_.end()) recipients.push_back({it->second, it->second->takes_content(), member});
  }
  // Shared, since a task is copied.
  sender_.Post([recipients = std::make_shared<const std::vector<Recipient>>(std::move(recipients)),
                prepare = std::make_shared<schedule::Prepare>(std::move(prepare))] {
    WritePrepare(*recipients, std::move(*prepare));
  });
}

void DaemonService::WritePrepare(const std::vector<Recipient>& recipients, schedule::Prepare prepare) {
  const NeighborTable neighbors = NeighborsIn(prepare);
  v1::ToDaemon proto;
  rpc::ToProto(std::move(prepare), &proto);
  std::optional<grpc::Slice> whole;  // for daemons of earlier versions
  const bool has_earlier =
      std::any_of(recipients.begin(), recipients.end(), [](const Recipient& to) { return !to.takes_content; });
  if (has_earlier) whole = rpc::Encoded(proto.prepare());
  const rpc::SplitPrepare split = rpc::Split(std::move(*proto.mutable_prepare()), neighbors.entries);
  const grpc::Slice head = rpc::Encoded(split.head);
  const grpc::Slice content = rpc::Encoded(split.content);
  for (const Recipient& to : recipients) {
    v1::Prepare own;  // without the rest of a Prepare, which is shared
    for (const auto& [request, rank] : to.member.requests) {
      v1::RequestOfRank* const out = own.add_requests();
      out->set_request(request);
      out->set_rank(rank.value());
    }
    if (!to.takes_content) {
      const grpc::Slice parts[] = {rpc::Encoded(own), *whole};
      to.stream->Write(rpc::WithField(v1::ToDaemon::kPrepareFieldNumber, parts));
      continue;
    }
    if (!split.addresses.empty()) {
      for (const uint32_t neighbor : neighbors.of_node[to.member.node.value()]) {
        v1::NodeContact* const contact = own.add_contacts();
        contact->set_node(neighbor);
        contact->set_worker_address(split.addresses[neighbor]);
      }
    }
    if (!to.stream->HasContent(split.content)) {
      to.stream->Write(rpc::WithField(v1::ToDaemon::kContentFieldNumber, {&content, 1}));
    }
    const grpc::Slice parts[] = {rpc::Encoded(own), head};
    to.stream->Write(rpc::WithField(v1::ToDaemon::kPrepareFieldNumber, parts));
  }
}

void DaemonService::AskForContent(coordinator::SessionId session, const std::string& sha256) {
  sender_.Post([stream = streams_.at(session), sha256] {
    v1::ToDaemon proto;
    proto.mutable_content_query()->set_sha256(sha256);
    stream->Write(proto);
  });
}

void DaemonService::OnWhole(coordinator::SessionId session, absl::StatusOr<schedule::FromDaemon> registration,
                            std::vector<schedule::FromDaemon> later) {
  const std::shared_ptr<Stream> stream = streams_.at(session);
  if (!registration.ok()) return stream->EndInvalid(registration.status());
  stream->OnMessage(*registration);
  // The registration may have been refused, which ends the stream.
  for (const schedule::FromDaemon& message : later) {
    if (streams_.contains(session)) stream->OnMessage(message);
  }
}

void DaemonService::Close(coordinator::SessionId session, const std::string& why) {
  const auto it = streams_.find(session);
  if (it == streams_.end()) return;
  sender_.Post([stream = it->second, why] { stream->Close(grpc::Status(grpc::StatusCode::ABORTED, why)); });
  streams_.erase(it);
  brief_.OnClosed(session);
}

void DaemonService::NoteUnknown(coordinator::SessionId session) {
  ++unknown_;
  // Logs the first such message, and then each time their number has doubled.
  if ((unknown_ & (unknown_ - 1)) != 0) return;
  COPSE_LOG(kWarning, "session ", session, ": a message of unknown kind is ignored (ignored=", unknown_, ")");
}

StreamCounts DaemonService::Counts() const {
  StreamCounts counts{.sessions = streams_.size(),
                      .received = received_.load(std::memory_order_relaxed),
                      .received_bytes = received_bytes_.load(std::memory_order_relaxed),
                      .sent = sent_.load(std::memory_order_relaxed),
                      .sent_bytes = sent_bytes_.load(std::memory_order_relaxed)};
  for (const auto& [session, stream] : streams_) {
    const uint64_t bytes = stream->queued_bytes();
    counts.queued_bytes += bytes;
    counts.queued_bytes_most = std::max(counts.queued_bytes_most, bytes);
  }
  return counts;
}

void DaemonService::CloseAll(const absl::Status& why) {
  closed_ = why;
  for (const auto& [session, stream] : streams_) {
    sender_.Post([stream = stream, why] { stream->Close(rpc::ToGrpc(why)); });
  }
  streams_.clear();
}

}  // namespace copse::planner
