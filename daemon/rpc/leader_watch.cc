// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/leader_watch.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/log.h"
#include "base/mutex.h"
#include "daemon/rpc/planner_channel.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/authorizer.h"
#include "rpc/identity.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kPauseBeforeNext = absl::Milliseconds(100);
constexpr int kSilentMax = 6;  // 6.4 s

}  // namespace

// A LeaderStream is one call, from its start to its end; see PlannerStream::Stream for the threads.
class LeaderWatch::LeaderStream final : public grpc::ClientReadReactor<v1::Leader> {
 public:
  LeaderStream(LeaderWatch* owner, Mailbox* mailbox)
      : owner_(std::make_shared<LeaderWatch*>(owner)), mailbox_(mailbox) {}
  ~LeaderStream() override {
    *owner_ = nullptr;
    context_.TryCancel();
    MutexLock lock(&mutex_);
    while (!done_) done_changed_.Wait(&mutex_);
  }

  void Start(const std::shared_ptr<grpc::Channel>& channel) {
    stub_ = v1::DaemonService::NewStub(channel);
    stub_->async()->WatchLeader(&context_, &request_, this);
    StartRead(&incoming_);
    StartCall();
  }

  // Returns what the planner has shown; empty before it has answered, and without TLS.
  rpc::PeerCertificate planner() {
    MutexLock lock(&mutex_);
    return planner_;
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) return;
    MutexLock lock(&mutex_);
    planner_ = rpc::ShownBy(context_.auth_context().get());
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    mailbox_->Post([owner = owner_, leader = incoming_] {
      if (*owner != nullptr) (*owner)->OnMessage(leader.address(), leader.number());
    });
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status&) override {
    mailbox_->Post([owner = owner_] {
      if (*owner != nullptr) (*owner)->OnEnd();
    });
    MutexLock lock(&mutex_);
    done_ = true;
    done_changed_.NotifyAll();
  }

 private:
  const std::shared_ptr<LeaderWatch*> owner_;  // its target belongs to the loop's thread
  Mailbox* const mailbox_;
  grpc::ClientContext context_;
  v1::WatchLeaderRequest request_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  v1::Leader incoming_;
  Mutex mutex_;
  CondVar done_changed_;
  rpc::PeerCertificate planner_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

LeaderWatch::LeaderWatch(const Clock* clock, Mailbox* mailbox, PlannerAccess access, OnLeader on_leader)
    : clock_(clock), mailbox_(mailbox), access_(std::move(access)), on_leader_(std::move(on_leader)) {}

LeaderWatch::~LeaderWatch() = default;

void LeaderWatch::Tick(absl::Time now, const std::function<std::string()>& address) {
  if (now < next_try_) return;
  next_try_ = absl::InfiniteFuture();
  asked_ = address();
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      NewPlannerChannel(asked_, access_, /*is_one_of_many=*/true);
  if (!channel.ok()) return OnEnd();
  stream_ = std::make_unique<LeaderStream>(this, mailbox_);
  stream_->Start(*channel);
}

void LeaderWatch::CheckPlanner() {
  if (stream_ == nullptr) return;
  const rpc::PeerCertificate planner = stream_->planner();
  if (planner.certificate.empty()) return;
  const absl::Status believed = access_.identity->StillBelieves(planner, /*as_client=*/false);
  if (believed.ok()) return;
  COPSE_LOG(kWarning, "planner ", asked_, ": ", believed.message());
  OnEnd();
}

void LeaderWatch::Restart() {
  stream_.reset();
  asked_.clear();
  answered_ = false;
  silent_ = 0;
  next_try_ = clock_->Now();
}

void LeaderWatch::OnMessage(const std::string& leader, uint64_t number) {
  answered_ = true;
  // A planner that is cut off may name an old leader.
  if (number <= number_) return;
  number_ = number;
  on_leader_(leader.empty() ? asked_ : leader);
}

void LeaderWatch::OnEnd() {
  stream_.reset();
  asked_.clear();
  // A planner that begins to lead ends its streams. One that does not answer is followed by another one soon, and none
  // is asked often when none answers.
  silent_ = std::exchange(answered_, false) ? 0 : std::min(silent_ + 1, kSilentMax);
  next_try_ = clock_->Now() + kPauseBeforeNext * (1 << silent_);
}

}  // namespace copse::daemon
