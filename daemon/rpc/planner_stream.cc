// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/planner_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "daemon/rpc/planner_channel.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/credentials.h"
#include "rpc/status.h"
#include "rpc/team_content.h"

namespace copse::daemon {
// A Stream is one stream, from its start to its end. Reactions run on gRPC's threads and post letters, which find the
// owner through `owner_`; its target is null when the stream is gone.
//
// Only the loop's thread destroys it; the destructor waits until gRPC is done with it. Destroying the last channel ends
// the threads on which gRPC runs reactions, so it must not happen on one of them.
class PlannerStream::Stream final : public grpc::ClientBidiReactor<v1::FromDaemon, v1::ToDaemon> {
 public:
  // `brief`: Register names contents (AttachBriefly).
  Stream(PlannerStream* owner, Mailbox* mailbox, bool brief)
      : owner_(std::make_shared<PlannerStream*>(owner)), mailbox_(mailbox), brief_(brief) {}
  ~Stream() override {
    *owner_ = nullptr;
    context_.TryCancel();
    MutexLock lock(&mutex_);
    while (!done_) done_changed_.Wait(&mutex_);
  }

  void Start(const std::shared_ptr<grpc::Channel>& channel) {
    stub_ = v1::DaemonService::NewStub(channel);
    if (brief_) {
      stub_->async()->AttachBriefly(&context_, this);
    } else {
      stub_->async()->Attach(&context_, this);
    }
    AddHold();  // writes begin outside of reactions
    StartRead(&incoming_);
    StartCall();
  }

  void Send(const schedule::FromDaemon& message) {
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    MutexLock lock(&mutex_);
    if (brief_ && proto.has_register_()) {
      for (v1::RunningTeam& team : *proto.mutable_register_()->mutable_teams()) {
        v1::TeamContent content = rpc::TakeContent(&team);
        reported_.insert_or_assign(content.sha256(), std::move(content));
      }
    }
    Write(std::move(proto));
  }

  bool Flushed() {
    MutexLock lock(&mutex_);
    return ended_ || outgoing_.empty();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End();
    if (incoming_.has_content_query()) {
      Answer(incoming_.content_query());
    } else if (incoming_.has_content()) {
      if (const absl::Status status = TakeContent(incoming_.content()); !status.ok()) EndBy(status);
    } else {
      if (incoming_.has_registered()) {
        ForgetReported();
        mailbox_->Post([owner = owner_, number = incoming_.registered().leader_number()] {
          if (*owner != nullptr) (*owner)->watch_.Heard(number);
        });
      }
      Deliver(Converted(&incoming_));
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    outgoing_.pop_front();
    if (!ok || ended_) {
      outgoing_.clear();  // the read will end the stream
    } else if (!outgoing_.empty()) {
      StartWrite(&outgoing_.front());
    }
  }

  void OnDone(const grpc::Status& status) override {
    std::string leader;
    const auto& metadata = context_.GetServerTrailingMetadata();
    if (const auto named = metadata.find(rpc::kLeaderMetadataKey); named != metadata.end()) {
      leader.assign(named->second.data(), named->second.size());
    }
    mailbox_->Post([owner = owner_, status = rpc::FromGrpc(status), leader] {
      if (*owner != nullptr) (*owner)->OnEnd(status, leader);
    });
    MutexLock lock(&mutex_);
    done_ = true;
    done_changed_.NotifyAll();
  }

 private:
  void Write(v1::FromDaemon message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_) return;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  void Answer(const v1::ContentQuery& query) {
    MutexLock lock(&mutex_);
    const auto content = reported_.find(query.sha256());
    if (content == reported_.end()) return;  // the planner asks for what Register has named
    v1::FromDaemon message;
    *message.mutable_content() = content->second;
    Write(std::move(message));
  }

  void ForgetReported() {
    MutexLock lock(&mutex_);
    reported_.clear();
  }

  // Keeps a content for the messages that name it.
  absl::Status TakeContent(const v1::TeamContent& content) {
    RETURN_IF_ERROR(rpc::CheckContent(content));
    if (contents_.Use(content.sha256()) == nullptr) {
      contents_.Add(content.sha256(), content.zstd(), content.zstd().size());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<schedule::ToDaemon> Converted(v1::ToDaemon* message) {
    if (message->has_prepare() && !message->prepare().content().empty()) {
      const absl::Status joined = rpc::Join(&contents_, message->mutable_prepare());
      if (!joined.ok()) context_.TryCancel();  // as EndBy
      RETURN_IF_ERROR(joined);
    }
    return rpc::FromProto(*message);
  }

  // Both sides must know of the same contents: after a mistake they begin anew, with another stream.
  void EndBy(const absl::Status& mistake) {
    Deliver(mistake);
    context_.TryCancel();
  }

  void Deliver(absl::StatusOr<schedule::ToDaemon> message) {
    mailbox_->Post([owner = owner_, message = std::move(message)] {
      if (*owner != nullptr) (*owner)->OnMessage(message);
    });
  }

  // It is called when no more messages will be received: no more are written either, so gRPC may finish the call.
  void End() {
    {
      MutexLock lock(&mutex_);
      ended_ = true;
    }
    RemoveHold();
  }

  const std::shared_ptr<PlannerStream*> owner_;  // its target belongs to the loop's thread
  Mailbox* const mailbox_;
  const bool brief_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  v1::ToDaemon incoming_;
  rpc::ContentWindow contents_;

  Mutex mutex_;
  CondVar done_changed_;
  std::deque<v1::FromDaemon> outgoing_ ABSL_GUARDED_BY(mutex_);  // the first one is being written
  // Contents that Register has named, by SHA-256, until the planner answers it.
  std::map<std::string, v1::TeamContent> reported_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<PlannerStream>> PlannerStream::Create(const Clock* clock, Mailbox* mailbox,
                                                                     PlannerEvents* events,
                                                                     PlannerStreamOptions options, uint64_t seed) {
  CHECK(!options.addresses.empty());
  for (const std::string& address : options.addresses) {
    RETURN_IF_ERROR(NewPlannerChannel(address, options.insecure).status());
  }
  return std::unique_ptr<PlannerStream>(new PlannerStream(clock, mailbox, events, std::move(options), seed));
}

PlannerStream::PlannerStream(const Clock* clock, Mailbox* mailbox, PlannerEvents* events, PlannerStreamOptions options,
                             uint64_t seed)
    : clock_(clock),
      mailbox_(mailbox),
      events_(events),
      options_(std::move(options)),
      planners_(options_.addresses, options_.pause, seed),
      watch_(clock, mailbox, options_.insecure, [this](const std::string& leader) { OnLeader(leader); }),
      next_try_(clock->Now()) {}

PlannerStream::~PlannerStream() = default;

void PlannerStream::Tick(absl::Time now) {
  if (planners_.size() > 1) {
    if (watch_.asked() == planners_.current()) watch_.Restart();
    watch_.Tick(now, [this] { return planners_.Other(); });
  }
  if (now < next_try_) return;
  next_try_ = absl::InfiniteFuture();
  refused_ = false;
  accepted_ = absl::InfiniteFuture();
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      NewPlannerChannel(planners_.current(), options_.insecure);
  if (!channel.ok()) return OnEnd(channel.status(), "");  // another planner has named it
  stream_ = std::make_unique<Stream>(this, mailbox_, brief_);
  stream_->Start(*channel);
  events_->OnPlannerUp();
}

absl::Time PlannerStream::NextDeadline() const {
  return planners_.size() > 1 ? std::min(next_try_, watch_.NextDeadline()) : next_try_;
}

void PlannerStream::Send(const schedule::FromDaemon& message) {
  if (stream_ != nullptr) stream_->Send(message);
}

bool PlannerStream::Flushed() const { return stream_ == nullptr || stream_->Flushed(); }

void PlannerStream::OnMessage(const absl::StatusOr<schedule::ToDaemon>& message) {
  if (!message.ok()) {
    COPSE_LOG(kError, "planner ", planners_.current(), ": unreadable message: ", message.status().message());
    return;
  }
  if (!connected_) COPSE_LOG(kInfo, "planner ", planners_.current(), ": connected");
  connected_ = true;
  trouble_.clear();
  const auto* const registered = std::get_if<schedule::Registered>(&*message);
  if (registered != nullptr) {
    if (registered->accepted && registered->term != 0 && registered->term < term_) {
      return Leave(absl::FailedPreconditionError(
          absl::StrCat("it is behind another planner (term=", registered->term, ", heard=", term_, ")")));
    }
    refused_ = !registered->accepted;
    if (!refused_) {
      accepted_ = std::min(accepted_, clock_->Now());
      term_ = std::max(term_, registered->term);
    }
  }
  events_->OnPlannerMessage(*message);
}

void PlannerStream::Leave(const absl::Status& why) {
  stream_.reset();
  OnEnd(why, "");
}

void PlannerStream::OnLeader(const std::string& leader) {
  if (leader == planners_.current()) {
    if (stream_ == nullptr) next_try_ = clock_->Now();
    return;
  }
  COPSE_LOG(kInfo, "planner ", leader, " leads now (former=", planners_.current(), ")");
  const bool had_stream = stream_ != nullptr;
  stream_.reset();
  connected_ = false;
  planners_.Follow(leader);
  next_try_ = clock_->Now();
  if (had_stream) events_->OnPlannerDown();
}

void PlannerStream::OnEnd(const absl::Status& status, const std::string& leader) {
  stream_.reset();
  if (brief_ && !connected_ && absl::IsUnimplemented(status)) {  // a planner of 0.2.0
    brief_ = false;
    next_try_ = clock_->Now();
    return events_->OnPlannerDown();
  }
  brief_ = true;  // the next planner may be a newer one
  const std::string trouble = absl::StrCat("planner ", planners_.current(), ": ",
                                           status.ok() ? absl::string_view("it ended the stream") : status.message());
  const absl::Duration pause =
      planners_.Ended(clock_->Now() - std::min(accepted_, clock_->Now()), IsRefusal(status), leader);
  next_try_ = clock_->Now() + pause;
  // Warns once for each trouble and each warn_every, not once for each try.
  if (connected_ || trouble != trouble_ || clock_->Now() >= next_warning_) {
    next_warning_ = clock_->Now() + options_.warn_every;
    COPSE_LOG(kWarning, trouble, "; trying again (next_ms=", absl::ToInt64Milliseconds(pause), ")");
  }
  connected_ = false;
  trouble_ = trouble;
  events_->OnPlannerDown();
}

bool PlannerStream::IsRefusal(const absl::Status& status) const {
  return refused_ || absl::IsFailedPrecondition(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status) || absl::IsUnimplemented(status) || absl::IsAborted(status);
}

}  // namespace copse::daemon
