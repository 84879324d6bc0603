// SPDX-License-Identifier: Apache-2.0
#include "planner/server/planner_process.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/log.h"
#include "base/process/signals.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "planner/admin/audit_log.h"

namespace copse::planner {
namespace {

// Ends the signal thread; only this process sends it.
constexpr int kEndSignalThread = SIGUSR2;

bool NeedsRestart(const std::string& key) {
  return key == "listen" || key == "state" || key == "store" || key == "advertise" || key == "lease" ||
         key == "insecure" || absl::StartsWith(key, "etcd_") || key == "tls_cert" || key == "tls_key" ||
         key == "tls_ca" || key == "tls_crl_dir" || key == "run_dir" || key == "private_data" || key == "core_memory" ||
         key == "window" || key == "team_size_max" || key == "node_timeout";
}

sigset_t Signals() { return SignalSet({SIGTERM, SIGINT, SIGHUP, kEndSignalThread}); }

absl::Status NotLeading(const absl::Status& why) {
  return absl::AbortedError(absl::StrCat("this planner does not lead any more: ", why.message()));
}

absl::Status WritePortFile(const std::string& path, const std::string& address) {
  if (path.empty() || ReplaceFile(path, address)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("port-file: cannot be written: ", strerror(errno), " (port-file=", path, ")"));
}

}  // namespace

void BlockSignals() { copse::BlockSignals(Signals()); }

PlannerProcess::PlannerProcess(PlannerStart start) : start_(std::move(start)) {}

absl::StatusOr<std::unique_ptr<PlannerProcess>> PlannerProcess::Start(PlannerStart start) {
  auto process = std::unique_ptr<PlannerProcess>(new PlannerProcess(std::move(start)));
  RETURN_IF_ERROR(process->Open());
  return process;
}

absl::Status PlannerProcess::StandBy() {
  v1::GetPlannerStatusReply status;
  status.set_role("standby");
  status.set_version(kVersion);
  status.set_store(start_.settings.store_text);
  ASSIGN_OR_RETURN(standby_,
                   Standby::Start(start_.settings.listen, Credentials(), authorizer_.get(), std::move(status)));
  start_.settings.listen = standby_->address();  // it has a port now
  leadership_ = std::make_unique<Leadership>(
      etcd_.get(),
      LeadershipOptions{
          .prefix = start_.settings.store.prefix, .address = Advertised(), .lease = start_.settings.lease},
      this);
  RETURN_IF_ERROR(WritePortFile(start_.port_file, standby_->address()));
  COPSE_LOG(kInfo, "the planner stands by (version=", kVersion, ", listen=", standby_->address(),
            ", store=", start_.settings.store_text, ")");
  service_manager_.Ready("standing by");
  while (fence_ == 0 && lost_.ok() && !stopped_) {
    const absl::Time now = clock_.Now();
    service_manager_.Tick(now);
    Watch(now);
    queue_.RunUntil(NextDeadline());
  }
  standby_.reset();
  return absl::OkStatus();
}

// The address is known when the planner listens.
std::string PlannerProcess::Advertised() const {
  return start_.settings.advertise.empty() ? start_.settings.listen : start_.settings.advertise;
}

void PlannerProcess::OnLeader(const std::string& address, int64_t fence) {
  queue_.Post([this, address, fence] {
    COPSE_LOG(kInfo, "planner ", address, " leads");
    if (standby_ != nullptr && address == Advertised()) {
      COPSE_LOG(kWarning, "the planner that leads has this one's address: it is this one's former process, until its ",
                "lease is over, or another planner, and then each needs an address of its own (advertise=", address,
                ")");
    }
    if (standby_ != nullptr) standby_->SetLeader(address, static_cast<uint64_t>(fence));
  });
}

void PlannerProcess::OnWon(int64_t fence) {
  queue_.Post([this, fence] { fence_ = fence; });
}

void PlannerProcess::OnLost(const absl::Status& why) {
  queue_.Post([this, why] { lost_ = NotLeading(why); });
}

absl::Status PlannerProcess::Open() {
  RETURN_IF_ERROR(OpenIdentity());
  signals_ = std::thread([this] { WaitForSignals(); });
  if (start_.settings.store.etcd.empty()) return Lead();
  ASSIGN_OR_RETURN(etcd_, OpenEtcd(start_.settings));
  return absl::OkStatus();
}

absl::Status PlannerProcess::OpenIdentity() {
  const absl::Time now = clock_.Now();
  std::shared_ptr<const rpc::Identity> identity;
  if (start_.settings.tls.given()) {
    ASSIGN_OR_RETURN(identity, rpc::Identity::Open(start_.settings.tls, {"planner"}));
    next_peer_check_ = now + rpc::Identity::kRefresh;
  } else if (start_.settings.insecure) {
    insecure_warning_.Begin(now,
                            absl::StrCat("nothing is encrypted, and whoever can connect is an administrator (listen=",
                                         start_.settings.listen, ")"));
  }
  authorizer_ = std::make_unique<rpc::Authorizer>(std::move(identity), rpc::LocalSocketsIn(start_.settings.run_dir));
  return absl::OkStatus();
}

rpc::CredentialsFactory PlannerProcess::Credentials() const {
  return rpc::CredentialsFactory({.insecure = start_.settings.insecure, .identity = identity()});
}

void PlannerProcess::Watch(absl::Time now) {
  insecure_warning_.Tick(now);
  if (now >= next_peer_check_) {
    next_peer_check_ = now + rpc::Identity::kRefresh;
    CheckPeers();
  }
}

void PlannerProcess::CheckPeers() {
  if (leading_ != nullptr) return leading_->CheckPeers();
  if (standby_ == nullptr || identity() == nullptr) return;
  const uint64_t generation = identity()->generation();
  if (std::exchange(checked_generation_, generation) != generation) standby_->CheckPeers();
}

absl::Time PlannerProcess::NextDeadline() const {
  return std::min({service_manager_.NextDeadline(), next_peer_check_, insecure_warning_.NextDeadline()});
}

absl::Status PlannerProcess::Lead() {
  ASSIGN_OR_RETURN(leading_, LeadingPlanner::Start(start_.settings, start_.config.Text("topology"),
                                                   {.clock = &clock_,
                                                    .queue = &queue_,
                                                    .turns = &turns_,
                                                    .authorizer = authorizer_.get(),
                                                    .credentials = Credentials(),
                                                    .etcd = etcd_.get(),
                                                    .fence = fence_,
                                                    .plan_maker = start_.plan_maker}));
  const std::string& address = leading_->address();
  RETURN_IF_ERROR(WritePortFile(start_.port_file, address));
  COPSE_LOG(kInfo, "the planner is ready (version=", kVersion, ", listen=", address,
            ", teams=", leading_->coordinator().view().Teams().size(), ", store=", start_.settings.store_text,
            ", cluster=", leading_->coordinator().cluster().uuid(), ")");
  service_manager_.Ready(absl::StrCat("listening on ", address));
  return absl::OkStatus();
}

PlannerProcess::~PlannerProcess() {
  if (signals_.joinable()) {
    pthread_kill(signals_.native_handle(), kEndSignalThread);
    signals_.join();
  }
  // Daemons of a planner that does not lead any more look for another one while it waits for etcd.
  if (leadership_ != nullptr && !leadership_->is_valid()) leading_.reset();
  // Another planner may lead at once; what this one has not recorded by now, it never will.
  if (leadership_ != nullptr) leadership_->Resign();
  leading_.reset();
}

void PlannerProcess::WaitForSignals() {
  const sigset_t signals = Signals();
  while (true) {
    siginfo_t info = {};
    const int signal = sigwaitinfo(&signals, &info);
    if (signal < 0) continue;
    if (signal == kEndSignalThread) return;
    queue_.Post([this, signal, uid = info.si_uid, pid = info.si_pid] {
      if (signal == SIGHUP) {
        OnHangUp(uid, pid);
      } else {
        COPSE_LOG(kInfo, "the planner stops (", signal == SIGTERM ? "SIGTERM" : "SIGINT", ")");
        stopped_ = true;
      }
    });
  }
}

void PlannerProcess::OnHangUp(uint32_t uid, int pid) {
  service_manager_.Reloading();
  rpc::AuditRecord record{
      .time = absl::Now(), .who = absl::StrCat("uid ", uid), .from = absl::StrCat("pid ", pid), .method = "SIGHUP"};
  const absl::StatusOr<std::vector<std::string>> changed = Reload();
  record.result = changed.status();
  if (changed.ok()) record.request = absl::StrJoin(*changed, ", ");
  record.duration = absl::Now() - record.time;
  if (leading_ != nullptr) {
    leading_->Record(std::move(record));
  } else {  // it stands by
    AuditLog(start_.settings.live.log_file).Add(std::move(record));
  }
  service_manager_.Reloaded();
}

absl::StatusOr<std::vector<std::string>> PlannerProcess::Reload() {
  config::Config config = start_.config;
  absl::Status status = config.Load(start_.sources);
  absl::StatusOr<Settings> settings = status.ok() ? ReadSettings(config) : status;
  if (!settings.ok()) {
    COPSE_LOG(kError, "reload: nothing was changed: ", settings.status().message());
    return settings.status();
  }
  std::vector<std::string> changed = start_.config.Changed(config);
  for (const std::string& key : changed) {
    COPSE_LOG(kInfo, "reload: ", key, NeedsRestart(key) ? " needs a restart" : " changed");
  }
  SetLogLevel(settings->live.log_level);
  if (const absl::Status opened = OpenLogFile(settings->live.log_file); !opened.ok()) {
    COPSE_LOG(kError, "reload: ", opened.message());
  }
  if (leading_ == nullptr) {
    start_.settings.live = std::move(settings->live);
  } else {
    leading_->Apply(std::move(settings->live), config.Text("topology"));
  }
  if (identity() != nullptr) {
    identity()->Reread();
    CheckPeers();
  }
  start_.config = std::move(config);
  COPSE_LOG(kInfo, "reloaded");
  return changed;
}

absl::Status PlannerProcess::Run() {
  if (etcd_ != nullptr) {
    RETURN_IF_ERROR(StandBy());
    if (fence_ != 0 && !stopped_) RETURN_IF_ERROR(Lead());
  }
  turns_.Begin();
  while (!stopped_ && lost_.ok()) Turn();
  service_manager_.Stopping("stopping");
  return lost_;
}

void PlannerProcess::Turn() {
  const absl::Time now = clock_.Now();
  service_manager_.Tick(now);
  Watch(now);
  leading_->Tick(now);
  const absl::Duration worked = clock_.Now() - now;
  queue_.RunUntil(std::min(NextDeadline(), leading_->NextDeadline()), worked);
  turns_.End();
  if (const absl::Status leads = leading_->CheckLeads(); !leads.ok()) lost_ = NotLeading(leads);
}

}  // namespace copse::planner
