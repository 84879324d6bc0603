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
#include "rpc/authorizer.h"
#include "rpc/control_conversion.h"
#include "rpc/credentials.h"
#include "rpc/identity.h"
#include "rpc/status.h"
#include "rpc/team_content.h"

namespace copse::daemon {
namespace {

// Returns whether the message depends on no other one.
bool IsQuery(const v1::ToDaemon& message) {
  return message.has_status_query() || message.has_trace_query() || message.has_measure_query() || message.has_ping();
}

}  // namespace

// A Decoder decodes and checks the messages of one stream, and posts them to the mailbox. The worker calls it, which
// may be after the end of the stream: `owner_` is null then.
class PlannerStream::Decoder {
 public:
  Decoder(std::shared_ptr<PlannerStream*> owner, Mailbox* mailbox, Worker* worker, Incarnation self)
      : owner_(std::move(owner)), mailbox_(mailbox), worker_(worker), checker_(self) {}

  void Take(v1::ToDaemon* message, absl::Time arrived) {
    if (message->has_content()) {
      content_arrived_ = std::min(content_arrived_, arrived);
      if (const absl::Status status = TakeContent(message->mutable_content()); !status.ok()) EndBy(status);
    } else if (message->has_prepare()) {
      TakePrepare(message, std::min(std::exchange(content_arrived_, absl::InfiniteFuture()), arrived));
    } else {
      Deliver(*message);
    }
  }

  // A message that needs nothing of the others. Thread-safe.
  void Deliver(const v1::ToDaemon& message) {
    absl::StatusOr<schedule::ToDaemon> decoded = rpc::FromProto(message);
    if (!decoded.ok()) return DeliverUnreadable(decoded.status());
    Post([message = *std::move(decoded)](PlannerStream* owner) { owner->OnMessage(message); });
  }

  // Calls `letter` with the owner, on the loop's thread, unless the stream is gone.
  template <typename Letter>
  void Post(Letter letter) {
    mailbox_->Post([owner = owner_, letter = std::move(letter)] {
      if (*owner != nullptr) letter(*owner);
    });
  }

 private:
  // Keeps a content for the messages that name it.
  absl::Status TakeContent(v1::TeamContent* content) {
    RETURN_IF_ERROR(rpc::CheckContent(*content));
    if (contents_.Use(content->sha256()) == nullptr) {
      const size_t size = content->zstd().size();
      contents_.Add(content->sha256(), std::move(*content->mutable_zstd()), size);
    }
    return absl::OkStatus();
  }

  void TakePrepare(v1::ToDaemon* message, absl::Time arrived) {
    if (!message->prepare().content().empty()) {
      if (const absl::Status joined = rpc::Join(&contents_, message->mutable_prepare()); !joined.ok()) {
        return EndBy(joined);
      }
    }
    absl::StatusOr<schedule::ToDaemon> decoded = rpc::FromProto(*message);
    if (!decoded.ok()) return DeliverUnreadable(decoded.status());
    CheckedPrepare checked = checker_.Check(std::move(std::get<schedule::Prepare>(*decoded)));
    if (checked.layout.ok() && (*checked.layout)->shape().node_count() > VerifiedPlans::kSmallMax) {
      // The loop must not destroy a large team, either.
      checked.layout = worker_->DisposeOf(*std::move(checked.layout));
      if (checked.plans.ok()) checked.plans = worker_->DisposeOf(*std::move(checked.plans));
    }
    Post([checked = std::move(checked), arrived](PlannerStream* owner) { owner->OnPrepare(checked, arrived); });
  }

  void DeliverUnreadable(const absl::Status& why) {
    Post([why](PlannerStream* owner) { owner->OnUnreadable(why); });
  }

  void EndBy(const absl::Status& mistake) {
    DeliverUnreadable(mistake);
    Post([](PlannerStream* owner) { owner->EndStream(); });
  }

  const std::shared_ptr<PlannerStream*> owner_;  // its target belongs to the loop's thread
  Mailbox* const mailbox_;
  Worker* const worker_;
  PrepareChecker checker_;
  rpc::ContentWindow contents_;
  absl::Time content_arrived_ = absl::InfiniteFuture();  // the first one since the last Prepare
};

// A Stream is one stream, from its start to its end. Reactions run on gRPC's threads; what they receive goes to the
// worker, in order, and from there as letters to the owner.
//
// Only the loop's thread destroys it; the destructor waits until gRPC is done with it. Destroying the last channel ends
// the threads on which gRPC runs reactions, so it must not happen on one of them.
class PlannerStream::Stream final : public grpc::ClientBidiReactor<v1::FromDaemon, v1::ToDaemon> {
 public:
  // `brief`: Register names contents (AttachBriefly).
  Stream(PlannerStream* owner, bool brief)
      : owner_(std::make_shared<PlannerStream*>(owner)),
        clock_(owner->clock_),
        worker_(owner->worker_),
        brief_(brief),
        decoder_(std::make_shared<Decoder>(owner_, owner->mailbox_, owner->worker_, owner->self_)),
        door_(std::make_shared<Door>()) {
    MutexLock lock(&door_->mutex);
    door_->stream = this;
  }
  ~Stream() override {
    *owner_ = nullptr;
    {
      MutexLock lock(&door_->mutex);
      door_->stream = nullptr;
    }
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
    const auto* const registers = std::get_if<schedule::Register>(&message);
    if (registers != nullptr && !registers->teams.empty()) return SendTeams(message);
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    MutexLock lock(&mutex_);
    Write(std::move(proto));
  }

  void Cancel() { context_.TryCancel(); }

  // Returns what the planner has shown; empty before it has answered, and without TLS.
  rpc::PeerCertificate planner() {
    MutexLock lock(&mutex_);
    return planner_;
  }

  bool Flushed() {
    MutexLock lock(&mutex_);
    return ended_ || (outgoing_.empty() && !encoding_);
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) return;
    MutexLock lock(&mutex_);
    planner_ = rpc::ShownBy(context_.auth_context().get());
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End();
    if (incoming_.has_content_query()) {
      Answer(incoming_.content_query());
    } else if (IsQuery(incoming_)) {
      decoder_->Deliver(incoming_);
    } else {
      if (incoming_.has_registered()) {
        ForgetReported();
        if (incoming_.registered().accepted()) {
          decoder_->Post(
              [number = incoming_.registered().leader_number()](PlannerStream* owner) { owner->watch_.Heard(number); });
        }
      }
      const auto message = std::make_shared<v1::ToDaemon>();
      message->Swap(&incoming_);
      worker_->Post([decoder = decoder_, message, arrived = clock_->Now()] { decoder->Take(message.get(), arrived); });
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
    // The end comes after all messages.
    worker_->Post([decoder = decoder_, status = rpc::FromGrpc(status), leader] {
      decoder->Post([status, leader](PlannerStream* owner) { owner->OnEnd(status, leader); });
    });
    MutexLock lock(&mutex_);
    done_ = true;
    done_changed_.NotifyAll();
  }

 private:
  // A Door leads the worker to the stream while that exists. Its lock is taken before the stream's.
  struct Door {
    Mutex mutex;
    Stream* stream ABSL_GUARDED_BY(mutex) = nullptr;
  };

  // The worker encodes the message; others that are sent meanwhile follow it.
  void SendTeams(const schedule::FromDaemon& message) {
    {
      MutexLock lock(&mutex_);
      encoding_ = true;
    }
    worker_->Post([door = door_, message, brief = brief_] {
      v1::FromDaemon proto;
      rpc::ToProto(message, &proto);
      std::map<std::string, v1::TeamContent> reported;
      for (v1::RunningTeam& team : *proto.mutable_register_()->mutable_teams()) {
        if (!brief) break;
        v1::TeamContent content = rpc::TakeContent(&team);
        reported.insert_or_assign(content.sha256(), std::move(content));
      }
      MutexLock lock(&door->mutex);
      if (door->stream != nullptr) door->stream->WriteTeams(std::move(proto), std::move(reported));
    });
  }

  void WriteTeams(v1::FromDaemon message, std::map<std::string, v1::TeamContent> reported) {
    MutexLock lock(&mutex_);
    encoding_ = false;
    reported_ = std::move(reported);
    Write(std::move(message));
    for (v1::FromDaemon& later : std::exchange(held_, {})) Write(std::move(later));
  }

  void Write(v1::FromDaemon message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_) return;
    if (encoding_) return held_.push_back(std::move(message));
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

  // It is called when no more messages will be received: no more are written either, so gRPC may finish the call.
  void End() {
    {
      MutexLock lock(&mutex_);
      ended_ = true;
      held_.clear();
    }
    RemoveHold();
  }

  const std::shared_ptr<PlannerStream*> owner_;  // its target belongs to the loop's thread
  const Clock* const clock_;
  Worker* const worker_;
  const bool brief_;
  const std::shared_ptr<Decoder> decoder_;
  const std::shared_ptr<Door> door_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  v1::ToDaemon incoming_;

  Mutex mutex_;
  CondVar done_changed_;
  std::deque<v1::FromDaemon> outgoing_ ABSL_GUARDED_BY(mutex_);  // the first one is being written
  std::deque<v1::FromDaemon> held_ ABSL_GUARDED_BY(mutex_);      // to be written after the message that is encoded
  bool encoding_ ABSL_GUARDED_BY(mutex_) = false;                // the worker encodes a message
  // Contents that Register has named, by SHA-256, until the planner answers it.
  std::map<std::string, v1::TeamContent> reported_ ABSL_GUARDED_BY(mutex_);
  rpc::PeerCertificate planner_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<PlannerStream>> PlannerStream::Create(const Clock* clock, Mailbox* mailbox,
                                                                     Worker* worker, PlannerEvents* events,
                                                                     PlannerStreamOptions options, Incarnation self) {
  CHECK(!options.addresses.empty());
  for (const std::string& address : options.addresses) {
    RETURN_IF_ERROR(NewPlannerChannel(address, options.access, false).status());
  }
  return std::unique_ptr<PlannerStream>(new PlannerStream(clock, mailbox, worker, events, std::move(options), self));
}

PlannerStream::PlannerStream(const Clock* clock, Mailbox* mailbox, Worker* worker, PlannerEvents* events,
                             PlannerStreamOptions options, Incarnation self)
    : clock_(clock),
      mailbox_(mailbox),
      worker_(worker),
      events_(events),
      options_(std::move(options)),
      self_(self),
      planners_(options_.addresses, options_.pause, self.value()),
      watch_(clock, mailbox, options_.access, [this](const std::string& leader) { OnLeader(leader); }),
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
      NewPlannerChannel(planners_.current(), options_.access, planners_.size() > 1);
  if (!channel.ok()) return OnEnd(channel.status(), "");  // another planner has named it
  stream_ = std::make_unique<Stream>(this, brief_);
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

void PlannerStream::CheckPlanners() {
  const rpc::Identity* const identity = options_.access.identity.get();
  if (identity == nullptr || checked_ == identity->generation()) return;
  checked_ = identity->generation();
  watch_.CheckPlanner();
  if (stream_ == nullptr) return;
  const rpc::PeerCertificate planner = stream_->planner();
  if (planner.certificate.empty()) return;
  if (const absl::Status believed = identity->StillBelieves(planner, /*as_client=*/false); !believed.ok()) {
    Leave(believed);
  }
}

void PlannerStream::OnUnreadable(const absl::Status& why) {
  COPSE_LOG(kError, "planner ", planners_.current(), ": unreadable message: ", why.message());
}

void PlannerStream::EndStream() { stream_->Cancel(); }

void PlannerStream::OnHeard() {
  if (!connected_) COPSE_LOG(kInfo, "planner ", planners_.current(), ": connected");
  connected_ = true;
  trouble_.clear();
}

void PlannerStream::OnPrepare(const CheckedPrepare& prepare, absl::Time arrived) {
  OnHeard();
  events_->OnPrepare(prepare);
  prepare_max_ = std::max(prepare_max_, clock_->Now() - arrived);
}

void PlannerStream::OnMessage(const schedule::ToDaemon& message) {
  OnHeard();
  const auto* const registered = std::get_if<schedule::Registered>(&message);
  if (registered != nullptr) {
    if (registered->accepted && known_.IsAheadOf(*registered)) {
      return Leave(absl::FailedPreconditionError(
          absl::StrCat("it is behind another planner (term=", registered->term, ", heard=", known_.term(), ")")));
    }
    refused_ = !registered->accepted;
    if (!refused_) {
      accepted_ = std::min(accepted_, clock_->Now());
      known_.Follow(*registered);
    }
  }
  if (const auto* const cluster = std::get_if<schedule::Cluster>(&message)) known_.SetCluster(cluster->uuid);
  events_->OnPlannerMessage(message);
}

void PlannerStream::Leave(const absl::Status& why) {
  stream_.reset();
  OnEnd(why, "");
}

void PlannerStream::OnLeader(const std::string& leader) {
  if (leader == planners_.current()) {
    // A standby may have named it, and it may have refused the connection, some milliseconds ago.
    if (!connected_) planners_.Follow(leader);
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
  std::string why = status.ok() ? "it ended the stream" : std::string(status.message());
  if (absl::IsUnavailable(status)) why = rpc::WhyUnreachable(status, options_.access.identity != nullptr);
  const std::string trouble = absl::StrCat("planner ", planners_.current(), ": ", why);
  const absl::Time now = clock_->Now();
  const absl::Duration pause = planners_.Ended(now - std::min(accepted_, now), IsRefusal(status), leader);
  next_try_ = now + pause;
  // Warns once for each trouble and each warn_every, not once for each try.
  if (connected_ || trouble != trouble_ || now >= next_warning_) {
    next_warning_ = now + options_.warn_every;
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
