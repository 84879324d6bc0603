// SPDX-License-Identifier: Apache-2.0
#include "planner/server/planner_process.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/log.h"
#include "base/process/signals.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "base/version.h"
#include "planner/admin/audit_log.h"
#include "rpc/control_conversion.h"

namespace copse::planner {
namespace {

// Pending calls have this grace period when the planner stops.
constexpr std::chrono::milliseconds kStopPatience(500);
// A delay of the queue of at least kBehindMax is logged, at most every kComplainEvery.
constexpr absl::Duration kBehindMax = absl::Seconds(10);
// A leader that reaches no daemon for this part of its lease hands over. Sooner than the lease would end: that is how
// long the daemons are without a planner.
constexpr double kReachOfLease = 0.75;
constexpr absl::Duration kComplainEvery = absl::Minutes(1);
// Half of the machine's cores make plans, at most this many.
constexpr uint32_t kPlanThreadsMax = 4;
// One more thread makes better plans for teams that have formed with quick ones. It has the lowest priority.
constexpr int kBetterNice = 19;
// Ends the signal thread; only this process sends it.
constexpr int kEndSignalThread = SIGUSR2;

bool NeedsRestart(const std::string& key) {
  return key == "listen" || key == "state" || key == "store" || key == "advertise" || key == "lease" ||
         key == "insecure" || absl::StartsWith(key, "etcd_") || key == "tls_cert" || key == "tls_key" ||
         key == "tls_ca" || key == "tls_crl_dir" || key == "run_dir" || key == "private_data" || key == "core_memory" ||
         key == "window" || key == "team_size_max" || key == "node_timeout";
}

sigset_t Signals() { return SignalSet({SIGTERM, SIGINT, SIGHUP, kEndSignalThread}); }

// A CrashingStore ends the process at the worst moment, for tests: after a team's switch was recorded and before any
// daemon was notified. An environment variable enables it, so that no configuration file can.
class CrashingStore : public coordinator::Store {
 public:
  explicit CrashingStore(std::unique_ptr<coordinator::Store> store) : store_(std::move(store)) {}
  absl::StatusOr<coordinator::Snapshot> Load() override { return store_->Load(); }
  void Commit(std::vector<coordinator::StoreChange> changes, std::function<void(const absl::Status&)> done) override {
    bool switches = false;
    for (const coordinator::StoreChange& change : changes) {
      const auto* put = std::get_if<coordinator::PutTeam>(&change);
      if (put == nullptr) continue;
      const EpochId epoch = put->record->epoch;
      const EpochId known = epochs_.emplace(put->record->layout.id, epoch).first->second;
      switches |= epoch.value() > 1 && epoch > known;
    }
    store_->Commit(std::move(changes), [switches, done = std::move(done)](const absl::Status& status) {
      if (switches && status.ok()) _exit(137);
      done(status);
    });
  }

 private:
  std::unique_ptr<coordinator::Store> store_;
  std::map<TeamId, EpochId> epochs_;
};

std::string NewUuid() {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string uuid;
  std::getline(file, uuid);
  return uuid;
}

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

PlannerProcess::PlannerProcess(PlannerStart start)
    : start_(std::move(start)),
      plan_maker_(start_.settings.live.model),
      plan_workers_(&queue_, std::clamp(std::thread::hardware_concurrency() / 2, 1u, kPlanThreadsMax)),
      better_workers_(&queue_, 1, kBetterNice) {}

absl::StatusOr<std::unique_ptr<PlannerProcess>> PlannerProcess::Start(PlannerStart start) {
  auto process = std::unique_ptr<PlannerProcess>(new PlannerProcess(std::move(start)));
  RETURN_IF_ERROR(process->Open());
  return process;
}

absl::Status PlannerProcess::OpenStore() {
  ASSIGN_OR_RETURN(store_, planner::OpenStore(start_.settings, etcd_.get(), fence_,
                                              [this](std::function<void()> task) { queue_.Post(std::move(task)); }));
  const char* crash = getenv("COPSE_CRASH_POINT");
  if (crash != nullptr && strcmp(crash, "after_decision") == 0)
    store_.store = std::make_unique<CrashingStore>(std::move(store_.store));
  return absl::OkStatus();
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
    queue_.RunUntil(std::min({service_manager_.NextDeadline(), next_peer_check_, insecure_warning_.NextDeadline()}));
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
  if (start_.settings.tls.given()) {
    ASSIGN_OR_RETURN(identity_, rpc::Identity::Open(start_.settings.tls, {"planner"}));
    next_peer_check_ = now + rpc::Identity::kRefresh;
  } else if (start_.settings.insecure) {
    insecure_warning_.Begin(now,
                            absl::StrCat("nothing is encrypted, and whoever can connect is an administrator (listen=",
                                         start_.settings.listen, ")"));
  }
  authorizer_ = std::make_unique<rpc::Authorizer>(identity_, rpc::LocalSocketsIn(start_.settings.run_dir));
  return absl::OkStatus();
}

rpc::CredentialsFactory PlannerProcess::Credentials() const {
  return rpc::CredentialsFactory({.insecure = start_.settings.insecure, .identity = identity_});
}

void PlannerProcess::Watch(absl::Time now) {
  insecure_warning_.Tick(now);
  if (now >= next_peer_check_) {
    next_peer_check_ = now + rpc::Identity::kRefresh;
    CheckPeers();
  }
}

void PlannerProcess::CheckPeers() {
  if (daemon_service_ != nullptr) return daemon_service_->CheckPeers();
  if (standby_ == nullptr || identity_ == nullptr) return;
  const uint64_t generation = identity_->generation();
  if (std::exchange(checked_generation_, generation) != generation) standby_->CheckPeers();
}

absl::Status PlannerProcess::Lead() {
  RETURN_IF_ERROR(OpenStore());
  plan_maker_.SetWorkers(&plan_workers_, &better_workers_);
  daemon_service_ = std::make_unique<DaemonService>(&queue_, this, authorizer_.get(),
                                                    DaemonServiceOptions{.number = static_cast<uint64_t>(fence_)});
  if (leadership_ != nullptr) {
    pings_ = std::make_unique<DaemonPings>(daemon_service_.get(), start_.settings.lease * kReachOfLease);
  }
  coordinator::PlanMaker* const plan_maker = start_.plan_maker != nullptr ? start_.plan_maker : &plan_maker_;
  coordinator::CoordinatorOptions options = start_.settings.live.coordinator;
  options.fresh_cluster = NewUuid();
  coordinator_ = std::make_unique<coordinator::Coordinator>(&clock_, store_.store.get(), plan_maker,
                                                            daemon_service_.get(), std::move(options));
  RETURN_IF_ERROR(coordinator_->Start());
  topologies_ = std::make_unique<TopologyHistory>(&plan_maker_, coordinator_.get(), &queue_);
  topologies_->Start(start_.config.Text("topology"), start_.settings.live.model.topology);
  const std::string& store = start_.settings.store_text;
  instruments_ = std::make_unique<PlannerInstruments>(PlannerParts{.clock = &clock_,
                                                                   .queue = &queue_,
                                                                   .turns = &turns_,
                                                                   .streams = daemon_service_.get(),
                                                                   .coordinator = coordinator_.get(),
                                                                   .plan_maker = &plan_maker_,
                                                                   .plan_workers = &plan_workers_,
                                                                   .identity = identity_.get()},
                                                      store);
  saver_ = std::make_unique<StateSaver>(&queue_, store_.reader);
  admin_service_ =
      MakeAdminService(&queue_, coordinator_.get(), &plan_maker_, topologies_.get(), instruments_.get(), saver_.get(),
                       authorizer_.get(), {start_.settings.live.log_file, start_.settings.private_data});
  RETURN_IF_ERROR(Listen());
  instruments_->SetAddress(listener_->address());
  RETURN_IF_ERROR(WritePortFile(start_.port_file, listener_->address()));
  COPSE_LOG(kInfo, "the planner is ready (version=", kVersion, ", listen=", listener_->address(),
            ", teams=", coordinator_->view().Teams().size(), ", store=", store,
            ", cluster=", coordinator_->cluster().uuid(), ")");
  service_manager_.Ready(absl::StrCat("listening on ", listener_->address()));
  return absl::OkStatus();
}

absl::Status PlannerProcess::Listen() {
  const std::string& listen = start_.settings.listen;
  const absl::Duration node_timeout = start_.settings.node_timeout;
  grpc::ServerBuilder builder;
  rpc::NetworkListenerOptions listening = {.silence = node_timeout / 2};
  listening.handshake = std::min(listening.handshake, node_timeout);
  ASSIGN_OR_RETURN(listener_, rpc::NetworkListener::Open("listen", listen, Credentials(), listening, &builder));
  // A daemon that is stopped, or whose host vanished, keeps its connection: keepalive pings it, and its stream ends if
  // it does not answer.
  const auto ask_ms = static_cast<int>(absl::ToInt64Milliseconds(node_timeout / 2));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ask_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ask_ms);
  // Connections without a call are not pinged: an administrator's program may ignore its connection between two calls.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // Daemons ping the planner while a stream is silent.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.SetMaxReceiveMessageSize(rpc::kMessageBytesMax);
  builder.SetMaxSendMessageSize(rpc::kMessageBytesMax);
  builder.RegisterService(daemon_service_.get());
  builder.RegisterService(admin_service_->service());
  server_ = builder.BuildAndStart();
  RETURN_IF_ERROR(listener_->Serve(server_.get()));
  ListenLocally();
  return absl::OkStatus();
}

void PlannerProcess::ListenLocally() {
  if (start_.settings.run_dir.empty()) return;
  absl::StatusOr<std::unique_ptr<rpc::LocalListener>> opened =
      rpc::LocalListener::Open(rpc::LocalSocketsIn(start_.settings.run_dir));
  if (!opened.ok()) {
    COPSE_LOG(kWarning, "run_dir: this machine's users have no sockets: ", opened.status().message());
    return;
  }
  sockets_ = *std::move(opened);
  sockets_->Serve(server_.get());
}

PlannerProcess::~PlannerProcess() {
  if (signals_.joinable()) {
    pthread_kill(signals_.native_handle(), kEndSignalThread);
    signals_.join();
  }
  // Another planner may lead at once; what this one has not recorded by now, it never will.
  if (leadership_ != nullptr) leadership_->Resign();
  sockets_.reset();
  listener_.reset();
  if (server_ == nullptr) return;
  // Every pending call gets a reply, as do calls that arrive while the server shuts down.
  daemon_service_->CloseAll(absl::UnavailableError("the planner stops"));
  admin_service_->Stop();
  // Only this thread accesses `down`, since RunUntil runs the task; no memory order is needed.
  std::atomic<bool> down = false;
  std::thread shutdown([this, &down] {
    server_->Shutdown(std::chrono::system_clock::now() + kStopPatience);
    server_->Wait();
    queue_.Post([&down] { down = true; });
  });
  while (!down) queue_.RunUntil(absl::InfiniteFuture());
  shutdown.join();
}

void PlannerProcess::OnMessage(coordinator::SessionId session, const schedule::FromDaemon& message) {
  if (pings_ != nullptr) pings_->Heard();
  coordinator_->OnMessage(session, message);
  const auto* registers = std::get_if<schedule::Register>(&message);
  if (registers == nullptr) return;
  // If the daemon was refused, the node of that name has another incarnation or is not connected.
  const std::optional<std::string> state =
      coordinator_->view().StateIfConnected(registers->node.name, registers->node.incarnation);
  if (!state.has_value()) return;
  if (pings_ != nullptr && registers->node.features.contains(schedule::Feature::kPing)) pings_->Add(session);
  if (registers->node.cores > 0) plan_maker_.SetCores(registers->node.name, registers->node.cores);
  plan_maker_.SetDraining(registers->node.name, state == "draining");
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
  AuditRecord record{
      .time = absl::Now(), .who = absl::StrCat("uid ", uid), .from = absl::StrCat("pid ", pid), .method = "SIGHUP"};
  const absl::StatusOr<std::vector<std::string>> changed = Reload();
  record.result = changed.status();
  if (changed.ok()) record.request = absl::StrJoin(*changed, ", ");
  record.duration = absl::Now() - record.time;
  if (admin_service_ != nullptr) {
    admin_service_->Record(std::move(record));
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
  if (coordinator_ == nullptr) {  // it stands by
    start_.settings.live = std::move(settings->live);
  } else {
    coordinator_->SetLive(settings->live.coordinator);
    topologies_->ApplyRules(std::move(settings->live.model.rules));
    topologies_->ApplyFile(config.Text("topology"), settings->live.model.topology);
  }
  if (identity_ != nullptr) {
    identity_->Reread();
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
  const absl::Time heard = std::min(now, queue_.Oldest());
  coordinator_->Tick(heard);
  service_manager_.Tick(now);
  if (now - heard >= kBehindMax && now >= next_complaint_) {
    next_complaint_ = now + kComplainEvery;
    COPSE_LOG(kWarning, "the planner is behind its work (oldest=", FormatShortDuration(now - heard),
              ", tasks=", queue_.size(), ")");
  }
  Watch(now);
  daemon_service_->Tick(heard);
  absl::Time deadline = std::min({coordinator_->NextDeadline(), daemon_service_->NextDeadline(),
                                  service_manager_.NextDeadline(), next_peer_check_, insecure_warning_.NextDeadline()});
  if (pings_ != nullptr) {
    pings_->Tick(heard);
    deadline = std::min(deadline, pings_->NextDeadline());
  }
  queue_.RunUntil(deadline);
  turns_.End();
  const coordinator::Outbox& outbox = coordinator_->outbox();
  if (outbox.is_deposed()) lost_ = NotLeading(outbox.error());
  if (pings_ != nullptr && pings_->is_cut_off()) {
    lost_ = NotLeading(absl::DeadlineExceededError(
        absl::StrCat("no daemon answers, and another planner may reach them (daemons=", pings_->daemons(),
                     ", limit=", FormatShortDuration(start_.settings.lease * kReachOfLease), ")")));
  }
}

}  // namespace copse::planner
