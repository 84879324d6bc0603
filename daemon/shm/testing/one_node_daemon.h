// SPDX-License-Identifier: Apache-2.0
//
// A daemon for tests of its shared-memory side: the real core and attach server, no network, and a
// planner that forms any team of this one node.
#ifndef COPSE_DAEMON_SHM_TESTING_ONE_NODE_DAEMON_H_
#define COPSE_DAEMON_SHM_TESTING_ONE_NODE_DAEMON_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "daemon/core/daemon_core.h"
#include "daemon/loop/poller.h"
#include "daemon/shm/attach_server.h"
#include "daemon/shm/daemon_pages.h"
#include "offload_emu/transport.h"
#include "protocol/control.h"

namespace copse::daemon {

// Forms a team as soon as all of its ranks have asked, and its derived teams when they are requested. Answers wait for
// Deliver, since Send must not call back.
class OneNodePlanner final : public PlannerLink {
 public:
  explicit OneNodePlanner(schedule::NodeAnnouncement node) : node_(std::move(node)) {}
  void Send(const schedule::FromDaemon& message) override;
  // True if there was anything.
  bool Deliver(DaemonCore* core);
  const std::vector<schedule::CancelJoin>& canceled() const { return canceled_; }

 private:
  void On(const schedule::Register&);
  void On(const schedule::JoinTeam& join);
  void On(const schedule::PrepareReply& reply);
  void On(const schedule::CancelJoin& cancel) { canceled_.push_back(cancel); }
  template <typename Other>
  void On(const Other&) {}

  const schedule::NodeAnnouncement node_;
  uint64_t next_team_ = 1;
  std::map<schedule::TeamIdentity, std::vector<schedule::JoinTeam>> joins_;
  std::deque<schedule::ToDaemon> answers_;
  std::vector<schedule::CancelJoin> canceled_;
};

class NoNetwork final : public emu::Transport {
 public:
  std::string LocalAddress() const override { return "none"; }
  absl::Status Connect(const emu::PeerAddress&) override { return absl::OkStatus(); }
  void Disconnect(Incarnation) override {}
  absl::Status Send(Incarnation, absl::Span<const uint8_t>, absl::Span<const uint8_t>) override {
    return absl::UnavailableError("no network");
  }
  bool Progress(emu::TransportSink*) override { return false; }
};

// The kernel's clock, until a test skips time.
class SkippingClock final : public Clock {
 public:
  absl::Time Now() const override { return clock_.Now() + skipped_; }
  void Skip(absl::Duration time) { skipped_ += time; }

 private:
  MonotonicClock clock_;
  absl::Duration skipped_;
};

// Runs on the test's own thread, a Turn at a time.
class OneNodeDaemon {
 public:
  explicit OneNodeDaemon(AttachOptions options = {}, CoreOptions core_options = {});
  ~OneNodeDaemon();

  // One turn of the loop, which sleeps at most a millisecond if there is nothing to do.
  void Turn();
  // False after 10 s.
  bool TurnUntil(const std::function<bool()>& done);

  SkippingClock& clock() { return clock_; }
  const std::string& socket() const { return socket_; }
  DaemonCore& core() { return *core_; }
  const OneNodePlanner& planner() const { return *planner_; }
  AttachServer& server() { return *server_; }
  const AttachServer& server() const { return *server_; }
  DaemonPages& pages() { return *pages_; }
  Poller& poller() { return *poller_; }
  std::function<void()> turn() {
    return [this] { Turn(); };
  }

 private:
  SkippingClock clock_;
  NoNetwork network_;
  schedule::NodeAnnouncement node_;
  std::string socket_;
  std::unique_ptr<OneNodePlanner> planner_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<DaemonPages> pages_;
  std::unique_ptr<DaemonCore> core_;
  std::unique_ptr<AttachServer> server_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_TESTING_ONE_NODE_DAEMON_H_
