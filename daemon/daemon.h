// SPDX-License-Identifier: Apache-2.0
//
// Assembles copsed: its core, the servers of clients and admin requests, and the planner's stream, driven by one loop.
#ifndef COPSE_DAEMON_DAEMON_H_
#define COPSE_DAEMON_DAEMON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/config/config.h"
#include "base/ids.h"
#include "base/process/service_manager.h"
#include "base/unique_fd.h"
#include "daemon/client_service.h"
#include "daemon/control_identity.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/crash_record.h"
#include "daemon/data_transport.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/worker.h"
#include "daemon/rpc/admin_server.h"
#include "daemon/rpc/planner_stream.h"
#include "daemon/settings.h"

namespace copse::daemon {

struct DaemonStart {
  Settings settings;
  // It is the configuration at start; SIGHUP loads it again and compares.
  config::Config config;
  config::Sources sources;
  // The admin service's HOST:PORT is written to this file once the daemon is registered. Empty: none.
  std::string port_file;
};

// Blocks the signals that the daemon handles (SIGTERM, SIGINT, SIGHUP), and ignores SIGPIPE. They must be blocked in
// all threads, so call this before any other thread starts.
void BlockSignals();

// A Daemon is the copsed of one node. It is ready as soon as clients can attach, also while the planner is down: this
// node then joins, and new teams are formed, when the planner is back. All calls come from the thread that calls Start.
class Daemon final : public LoopWork, public PlannerEvents, public PlannerLink {
 public:
  // Errors: INVALID_ARGUMENT for invalid settings; other errors may be transient. The text names the
  // key, if one is at fault.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(DaemonStart start);
  ~Daemon() override;

  // Runs until the drain that SIGTERM or SIGINT begins is over; a second such signal ends the drain at once.
  void Run();

  // These implement LoopWork.
  bool ReadPosts() override;
  bool Progress() override;
  void SetSleeping(bool sleeping) override;
  bool ArmNetwork() override;
  absl::Time NextDeadline() override;
  // These implement PlannerEvents.
  void OnPlannerUp() override;
  void OnPlannerDown() override;
  void OnPlannerMessage(const schedule::ToDaemon& message) override;
  void OnPrepare(const CheckedPrepare& prepare) override;
  // Implements PlannerLink: forwards the core's messages to the stream.
  void Send(const schedule::FromDaemon& message) override;

 private:
  explicit Daemon(DaemonStart start);

  absl::Status Open();
  void RereadIdentity();
  absl::Status OpenControl();
  // Returns how many sessions it has ended.
  absl::StatusOr<uint32_t> ChangeJob(const JobChange& change);
  schedule::NodeAnnouncement Announcement() const;
  NodeStatus Status(bool latencies) const;
  void AddCounters(schedule::DaemonStatus* status) const;
  schedule::StatusReport Report() const;

  void OnSignal();
  // `who` has asked for it: "uid=0, pid=1".
  void Reload(const std::string& who);
  void ApplyLive(const LiveSettings& live);
  void StartDrain(const std::string& why);
  void Stop();
  void OnRegistered();

  DaemonStart start_;
  const Settings& settings_;
  const Incarnation incarnation_;
  const MonotonicClock clock_;
  ServiceManager service_manager_;
  ControlIdentity identity_;
  UniqueFd signals_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<Worker> worker_;  // posts to the mailbox, and destroys objects of the core
  std::unique_ptr<DataTransport> network_;
  std::unique_ptr<Instruments> instruments_;
  CrashRecord* crash_record_ = nullptr;
  // The servers and the stream are destroyed before the core that they call, and the core before the objects that it
  // borrows.
  std::unique_ptr<DaemonCore> core_;
  std::unique_ptr<ClientService> clients_;
  std::unique_ptr<AdminServer> admin_server_;
  std::unique_ptr<PlannerStream> planner_stream_;
  std::unique_ptr<Loop> loop_;

  bool was_registered_ = false;
  std::optional<absl::Time> drain_until_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_DAEMON_H_
