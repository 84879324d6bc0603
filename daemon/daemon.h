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
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/crash_record.h"
#include "daemon/data_identity.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/worker.h"
#include "daemon/rpc/admin_server.h"
#include "daemon/rpc/planner_stream.h"
#include "daemon/settings.h"
#include "daemon/shm/attach_server.h"
#include "daemon/shm/daemon_pages.h"
#include "offload_emu/tcp/tcp_transport.h"
#include "offload_emu/transport.h"
#include "rpc/identity.h"
#include "rpc/insecure_warning.h"

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
  // Returns an error of the certificate files, if they are configured, that would keep a daemon from starting. It names
  // the key and the file.
  static absl::Status CheckIdentity(const Settings& settings);
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
  absl::Status OpenIdentity();
  absl::Status OpenNetwork();
  absl::Status WatchNetwork();
  absl::StatusOr<std::unique_ptr<emu::PolledTransport>> OpenTcp();
  void RereadIdentity();
  absl::Status OpenClients();
  absl::Status OpenControl();
  // Returns how many sessions it has ended.
  absl::StatusOr<uint32_t> ChangeJob(const JobChange& change);
  schedule::NodeAnnouncement Announcement() const;
  NodeStatus Status(bool latencies) const;
  void AddCounters(schedule::DaemonStatus* status) const;
  schedule::StatusReport Report() const;
  // Wakes counts the wake-ups of the loop by their source.
  struct Wakes {
    uint64_t mailbox = 0, network = 0;
  };

  void OnSignal();
  void Reload();
  void ApplyLive(const LiveSettings& live);
  void StartDrain(const std::string& why);
  void Stop();
  void OnRegistered();

  DaemonStart start_;
  const Settings& settings_;
  const Incarnation incarnation_;
  const MonotonicClock clock_;
  ServiceManager service_manager_;
  std::shared_ptr<const rpc::Identity> identity_;  // null: no TLS for gRPC
  absl::Time next_identity_look_ = absl::InfiniteFuture();
  rpc::InsecureWarning insecure_warning_;
  UniqueFd signals_;
  std::unique_ptr<Poller> poller_;
  uint64_t mtu_bytes_ = 0;  // of the network devices for data
  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<Worker> worker_;               // posts to the mailbox, and destroys objects of the core
  std::unique_ptr<DataIdentity> data_identity_;  // null: not over tcp
  std::unique_ptr<emu::PolledTransport> transport_;
  int watched_ = -1;                  // the network's descriptor that the poller watches; -1: none
  emu::TcpTransport* tcp_ = nullptr;  // transport_, or null
  std::unique_ptr<DaemonPages> pages_;
  std::unique_ptr<Instruments> instruments_;
  CrashRecord* crash_record_ = nullptr;
  absl::Time next_crash_counters_ = absl::InfinitePast();
  // The servers and the stream are destroyed before the core that they call, and the core before the objects that it
  // borrows.
  std::unique_ptr<DaemonCore> core_;
  std::unique_ptr<AttachServer> attach_server_;
  std::unique_ptr<AdminServer> admin_server_;
  std::unique_ptr<PlannerStream> planner_stream_;
  std::unique_ptr<Loop> loop_;

  Wakes wakes_;
  bool was_registered_ = false;
  std::optional<absl::Time> drain_until_;
  std::string stop_reason_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_DAEMON_H_
