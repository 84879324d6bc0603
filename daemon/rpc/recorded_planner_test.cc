// SPDX-License-Identifier: Apache-2.0
//
// Replays what a planner of an earlier version sent: this daemon understands it, and says the same as the daemons of
// their time.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/epoll.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "daemon/core/daemon_core.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/worker.h"
#include "daemon/rpc/planner_stream.h"
#include "gtest/gtest.h"
#include "offload_emu/testing/fake_transport.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/testing/recorded_stream.h"

namespace copse::daemon {
namespace {

// Returns the message without what versions may word or choose otherwise, and without what depends on the machine.
std::string MeaningOf(v1::FromDaemon message) {
  if (message.has_register_()) {
    v1::FromDaemon named;
    named.mutable_register_()->mutable_node()->set_name(message.register_().node().name());
    named.mutable_register_()->mutable_node()->set_incarnation(message.register_().node().incarnation());
    return named.ShortDebugString();
  }
  if (message.has_prepare_reply()) {
    for (v1::EdgeLabel& edge : *message.mutable_prepare_reply()->mutable_incoming()) edge.clear_label();
    message.mutable_prepare_reply()->clear_started();  // the calls of the session are not repeated
  } else if (message.has_cancel_join()) {
    message.mutable_cancel_join()->mutable_why()->clear_text();
  } else if (message.has_team_broken()) {
    message.mutable_team_broken()->mutable_why()->clear_text();
  }
  return message.ShortDebugString();
}

// A planner of 0.2.0, which sends what it is told to send.
class PlayedPlanner final : public v1::DaemonService::Service {
 public:
  PlayedPlanner() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~PlayedPlanner() override {
    {
      const MutexLock lock(&mutex_);
      ends_ = true;
      changed_.NotifyAll();
    }
    server_->Shutdown();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void Send(const v1::ToDaemon& message) {
    const MutexLock lock(&mutex_);
    outgoing_.push_back(message);
    changed_.NotifyAll();
  }
  // Returns whether a message of this meaning has come, and forgets it.
  bool Take(const std::string& meaning) {
    const MutexLock lock(&mutex_);
    const auto found = std::find(received_.begin(), received_.end(), meaning);
    if (found == received_.end()) return false;
    received_.erase(found);
    return true;
  }
  std::vector<std::string> received() {
    const MutexLock lock(&mutex_);
    return received_;
  }

 private:
  grpc::Status Attach(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* stream) override {
    std::thread reader([&] {
      for (v1::FromDaemon message; stream->Read(&message);) {
        const MutexLock lock(&mutex_);
        received_.push_back(MeaningOf(message));
      }
      const MutexLock lock(&mutex_);
      ends_ = true;
      changed_.NotifyAll();
    });
    while (true) {
      v1::ToDaemon message;
      {
        const MutexLock lock(&mutex_);
        while (outgoing_.empty() && !ends_) changed_.Wait(&mutex_);
        if (ends_) break;
        message = std::move(outgoing_.front());
        outgoing_.pop_front();
      }
      stream->Write(message);
    }
    context->TryCancel();
    reader.join();
    return grpc::Status::OK;
  }

  int port_ = 0;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::ToDaemon> outgoing_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> received_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Server> server_;
};

// A process of the node, which is one rank.
struct Process : public ClientSink {
  void OnEvent(const ClientEvent&) override {}
  void OnTeamReady(uint64_t, uint32_t handle, const schedule::TeamLayout& layout) override {
    handles[layout.id.value()] = handle;
  }
  void OnTeamFailed(uint64_t, const schedule::FailureReport& why) override { failed = why.failure; }
  void OnTeamDestroyed(uint64_t, const schedule::FailureReport&) override {}
  void OnClosing(const std::string&) override {}

  ClientId id = 0;
  uint64_t requests = 0;
  std::map<uint64_t, uint32_t> handles;  // by team
  schedule::Failure failed = schedule::Failure::kNone;
};

class RecordedPlannerTest : public testing::TestWithParam<std::string>, public PlannerEvents, public PlannerLink {
 protected:
  void SetUp() override {
    ASSERT_TRUE(poller_->Watch(mailbox_->event_fd(), EPOLLIN | EPOLLET, nullptr).ok());
    for (rpc::RecordedMessage& message : rpc::ReadRecording("rpc/testing/recordings/v0.2.0.txt")) {
      if (message.node == GetParam()) recorded_.push_back(std::move(message));
    }
  }

  void OnPlannerUp() override { core_->OnPlannerUp(); }
  void OnPlannerDown() override { core_->OnPlannerDown(); }
  void OnPlannerMessage(const schedule::ToDaemon& message) override {
    ++handled_;
    core_->OnPlannerMessage(message);
  }
  void OnPrepare(const CheckedPrepare& prepare) override {
    ++handled_;
    core_->OnPrepare(prepare);
  }
  void Send(const schedule::FromDaemon& message) override {
    if (stream_ != nullptr) stream_->Send(message);
  }

  // Starts the daemon that has sent this.
  void Start(const v1::NodeAnnouncement& node) {
    const Incarnation incarnation(node.incarnation());
    core_ = std::make_unique<DaemonCore>(
        &clock_, &transport_, this,
        CoreOptions{.node = {.name = node.name(), .incarnation = incarnation}, .node_timeout = absl::Hours(1)});
    auto stream =
        PlannerStream::Create(&clock_, mailbox_.get(), &worker_, this,
                              {.addresses = {planner_.address()}, .pause = {absl::Milliseconds(1)}}, incarnation);
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }

  void Tell(const v1::ToDaemon& message) {
    ++told_;
    planner_.Send(message);
  }
  bool TurnUntil(const std::function<bool()>& done) {
    const absl::Time until = clock_.Now() + absl::Seconds(30);
    while (!done()) {
      if (clock_.Now() > until) return false;
      stream_->Tick(clock_.Now());
      core_->Progress();
      if (!mailbox_->Drain()) poller_->Wait(absl::Milliseconds(1));
    }
    return true;
  }
  void Await(const std::string& meaning) {
    if (TurnUntil([&] { return planner_.Take(meaning); })) return;
    for (const std::string& other : planner_.received()) ADD_FAILURE() << "sent: " << other;
    FAIL() << "not sent: " << meaning;
  }

  Process& ProcessOf(const v1::JoinTeam& join) {
    std::unique_ptr<Process>& process = processes_[join.rank()];
    if (process == nullptr) {
      process = std::make_unique<Process>();
      process->id = *core_->Attach({.uid = join.identity().uid(), .job = join.identity().job()}, process.get());
    }
    return *process;
  }

  void Join(const v1::JoinTeam& join) {
    Process& process = ProcessOf(join);
    if (join.parent() == 0) {
      joiners_[join.request()] = {process.id, ++process.requests};
      return core_->CreateTeam(process.id, {.request = process.requests,
                                            .nonce = join.identity().nonce(),
                                            .name = join.identity().name(),
                                            .rank = Rank(join.rank()),
                                            .size = join.size()});
    }
    CallPost post{.team = process.handles.at(join.parent())};  // the first gather asks for the derived team
    post.arguments = {.collective = Collective::kGather, .type = ElementType::kInt32, .count = 4, .root = 0};
    post.send = post.receive = memory_;
    post.send_bytes = 16;
    post.receive_bytes = sizeof(memory_);
    core_->Post(process.id, std::move(post));
  }

  // The neighbors' messages are missing here: the planner's word comes instead, unless the reason is on this node.
  void Break(const v1::TeamBroken& broken, size_t place) {
    for (size_t i = place; i < recorded_.size(); ++i) {
      const auto* const message = std::get_if<v1::ToDaemon>(&recorded_[i].message);
      if (message == nullptr || !message->has_break_team()) continue;
      Tell(*message);
      recorded_.erase(recorded_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    const auto dead = processes_.extract(broken.why().rank());
    ASSERT_FALSE(dead.empty());
    core_->Detach(dead.mapped()->id, /*died=*/true, "process 1 was killed");
  }

  void Leave(uint64_t team) {
    for (const auto& [rank, process] : processes_) {
      const auto handle = process->handles.extract(team);
      if (!handle.empty()) core_->DestroyTeam(process->id, ++process->requests, handle.mapped());
    }
  }

  // Does what made the daemon send the message, unless it answers the planner.
  void Act(const v1::FromDaemon& message, size_t place) {
    if (message.has_register_()) Start(message.register_().node());
    if (message.has_join_team()) Join(message.join_team());
    if (message.has_cancel_join()) {
      const auto& [client, request] = joiners_.at(message.cancel_join().request());
      core_->CancelCreateTeam(client, request, "not formed in time");
    }
    if (message.has_team_broken()) Break(message.team_broken(), place);
    if (message.has_leave_team()) Leave(message.leave_team().team());
    if (message.has_stopping()) core_->SayStopping(message.stopping().done());
  }

  MonotonicClock clock_;
  emu::FakeTransport transport_;
  std::unique_ptr<Poller> poller_ = *Poller::Create();
  std::unique_ptr<Mailbox> mailbox_ = *Mailbox::Create();
  Worker worker_;
  PlayedPlanner planner_;
  std::vector<rpc::RecordedMessage> recorded_;
  std::map<uint32_t, std::unique_ptr<Process>> processes_;     // by rank
  std::map<uint64_t, std::pair<ClientId, uint64_t>> joiners_;  // by the daemon's request
  size_t told_ = 0, handled_ = 0;                              // messages of the planner
  uint8_t memory_[64] = {};
  std::unique_ptr<DaemonCore> core_;
  std::unique_ptr<PlannerStream> stream_;
};

TEST_P(RecordedPlannerTest, ADaemonAnswersThePlannerOf020AsItsOwnDaemons) {
  uint64_t first_team = 0;
  std::set<std::string> committed;
  for (size_t i = 0; i < recorded_.size() && !HasFatalFailure(); ++i) {
    if (const auto* const told = std::get_if<v1::ToDaemon>(&recorded_[i].message)) {
      if (told->has_prepare() && first_team == 0) first_team = told->prepare().layout().id();
      Tell(*told);
      continue;
    }
    const v1::FromDaemon message = std::get<v1::FromDaemon>(recorded_[i].message);
    // Calls have no network here, so the first team has one in flight, and stays.
    if (message.has_leave_team() && message.leave_team().team() == first_team) continue;
    // What a daemon counts is its own, and it may repeat a CommitReply. One of 0.2.0 sends a CommitReply without an
    // epoch when a neighbor breaks a team.
    if (message.has_status_reply() || message.has_trace_reply()) continue;
    if (message.has_commit_reply() && message.commit_reply().epoch() == 0) continue;
    const std::string meaning = MeaningOf(message);
    if (message.has_commit_reply() && !committed.insert(meaning).second) continue;
    // What the daemon was told comes before what its processes do.
    ASSERT_TRUE(core_ == nullptr || TurnUntil([&] { return handled_ == told_; }));
    Act(message, i);
    if (!HasFatalFailure()) Await(meaning);
  }
  EXPECT_NE(first_team, 0u);
  if (core_ != nullptr) core_->CheckInvariants();
  stream_.reset();
}

INSTANTIATE_TEST_SUITE_P(Nodes, RecordedPlannerTest, testing::Values("n0", "n1"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace copse::daemon
