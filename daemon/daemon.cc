// SPDX-License-Identifier: Apache-2.0

#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/cpu_time.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/process/lost_memory.h"
#include "base/process/signals.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/loop/spin_policy.h"
#include "offload_emu/trace_ring.h"
#include "rpc/status_report.h"

namespace copse::daemon {
namespace {

// Limits the time for sending the last messages (broken teams).
constexpr absl::Duration kFarewell = absl::Milliseconds(300);

// Returns text that identifies this boot of this kernel and this process's network namespace: if two daemons with one
// name have both in common, the newer has taken over the older one's ports. It is empty if they are unknown.
std::string Machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  struct stat network {};
  if (!std::getline(file, boot) || stat("/proc/self/ns/net", &network) != 0) return "";
  return absl::StrCat(boot, "/", network.st_ino);
}

// Returns a value that differs at every start, also for daemons that start at the same moment or after the clock was
// set back.
Incarnation NewIncarnation() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) random = static_cast<uint64_t>(getpid());
  const uint64_t value =
      Mix64(static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) ^ Mix64(random);
  return Incarnation(value == 0 ? 1 : value);
}

uint32_t KernelRandom() {
  uint32_t random = 0;
  CHECK(getrandom(&random, sizeof(random), 0) == sizeof(random));
  return random;
}

sigset_t OurSignals() { return SignalSet({SIGTERM, SIGINT, SIGHUP}); }

// Returns a name of the monotonic clock. Daemons with equal names read the same clock: that of one boot of one kernel,
// in one time namespace.
std::string ClockName() {
  static const std::string* const name = [] {
    char boot[64] = {};
    const UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    const ssize_t bytes = file.valid() ? read(file.get(), boot, sizeof(boot) - 1) : -1;
    char space[64] = {};
    const ssize_t space_bytes = readlink("/proc/self/ns/time", space, sizeof(space) - 1);
    if (bytes < 36) return new std::string(absl::StrCat("unknown-", NewIncarnation().value()));
    return new std::string(
        absl::StrCat(absl::string_view(boot, 36), " ",
                     absl::string_view(space, static_cast<size_t>(std::max<ssize_t>(0, space_bytes)))));
  }();
  return *name;
}

// Returns the admin service's address for other nodes: with the node's name in place of a wildcard address.
std::string ReachableAddress(const std::string& listening, const std::string& node) {
  for (const absl::string_view any : {"0.0.0.0:", "[::]:"}) {
    if (absl::StartsWith(listening, any)) return absl::StrCat(node, ":", listening.substr(any.size()));
  }
  return listening;
}

// Returns the path of the administrators' socket, beside that of clients; empty: that is no path.
std::string AdminSocket(const std::vector<std::string>& sockets) {
  const auto path =
      std::find_if(sockets.begin(), sockets.end(), [](const std::string& name) { return name[0] != '@'; });
  return path == sockets.end() ? "" : *path + ".admin";
}

// Returns the transport's name for the log.
std::string NameOf(const TransportChoice& transport) {
  if (transport.uses_tcp) return "tcp";
  return absl::StrCat("ucx:", transport.ucx_tls.empty() ? getenv("UCX_TLS") : transport.ucx_tls.c_str());
}

}  // namespace

void BlockSignals() { copse::BlockSignals(OurSignals()); }

// --- Start ---

Daemon::Daemon(DaemonStart start)
    : start_(std::move(start)), settings_(start_.settings), incarnation_(NewIncarnation()) {}

Daemon::~Daemon() {
  // The order of destruction follows the dependencies.
  crash_record_->SetTrace(nullptr);
  planner_stream_.reset();
  admin_server_.reset();
  clients_.reset();
  core_.reset();
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(DaemonStart start) {
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(start)));
  RETURN_IF_ERROR(daemon->Open());
  return daemon;
}

absl::Status Daemon::Open() {
  // Before the handler of faults in clients' memory, which passes on all others.
  crash_record_ = CrashRecord::Install(settings_.crash_file, settings_.node, incarnation_);
  CatchMemoryFaults();
  ASSIGN_OR_RETURN(poller_, Poller::Create());
  ASSIGN_OR_RETURN(mailbox_, Mailbox::Create());
  worker_ = std::make_unique<Worker>();
  RETURN_IF_ERROR(poller_->Watch(mailbox_->event_fd(), EPOLLIN | EPOLLET, [this](uint32_t) { mailbox_->CountWake(); }));
  const sigset_t set = OurSignals();
  signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return absl::ErrnoToStatus(errno, "signalfd");
  RETURN_IF_ERROR(poller_->Watch(signals_.get(), EPOLLIN, [this](uint32_t) { OnSignal(); }));
  loop_ = std::make_unique<Loop>(&clock_, poller_.get(), this, LoopOptions{.spin = settings_.live.spin});
  RETURN_IF_ERROR(identity_.Open(settings_, clock_.Now()));
  ASSIGN_OR_RETURN(network_,
                   DataTransport::Open(
                       {.clock = &clock_, .poller = poller_.get(), .worker = worker_.get(), .mailbox = mailbox_.get()},
                       settings_, incarnation_));
  start_.settings.clients_max = ClientsMax(settings_.clients_max);
  RETURN_IF_ERROR(OpenControl());
  ASSIGN_OR_RETURN(
      clients_, ClientService::Open(
                    {.clock = &clock_, .poller = poller_.get(), .core = core_.get(), .instruments = instruments_.get()},
                    settings_, incarnation_));
  COPSE_LOG(kInfo, "node ", settings_.node, " serves clients, and looks for the planner (version=", kVersion,
            ", incarnation=", incarnation_.value(), ", planner=", absl::StrJoin(settings_.planners, ","),
            ", admin=", admin_server_->address(), ", net_devices=", settings_.transport.net_devices,
            ", transport=", NameOf(settings_.transport), ")");
  service_manager_.Ready("waiting for the planner");
  return absl::OkStatus();
}

// Certificate and key of gRPC's connections are watched by gRPC.
void Daemon::RereadIdentity() {
  if (identity_.identity() == nullptr) return;
  worker_->Post([this] {
    identity_.identity()->Reread();  // warns of a certificate that ends soon
    mailbox_->Post([this] { planner_stream_->CheckPlanners(); });
  });
  network_->RereadIdentity();
}

absl::Status Daemon::OpenControl() {
  ASSIGN_OR_RETURN(admin_server_, AdminServer::Start(
                                      {.listen = settings_.admin_listen,
                                       .socket = AdminSocket(settings_.sockets),
                                       .log_file = settings_.live.log_file,
                                       .insecure = settings_.insecure,
                                       .identity = identity_.identity()},
                                      mailbox_.get(), [this](bool latencies) { return Status(latencies); },
                                      [this](const JobChange& change) { return ChangeJob(change); }));
  CoreOptions options;
  options.node = Announcement();
  options.heartbeat = settings_.live.heartbeat;
  options.node_timeout = settings_.live.node_timeout;
  options.clients_max = settings_.clients_max;
  options.memory_limit_bytes = settings_.memory_limit_bytes;
  options.quotas = settings_.live.quotas;
  options.random = &KernelRandom;
  options.formation_timeout = settings_.team_formation_timeout;
  instruments_ = std::make_unique<Instruments>(&clock_, settings_.trace_records);
  crash_record_->SetTrace(instruments_->trace());
  options.instruments = instruments_.get();
  core_ = std::make_unique<DaemonCore>(&clock_, network_->transport(), this, options);
  PlannerStreamOptions stream;
  stream.addresses = settings_.planners;
  stream.access = {settings_.insecure, identity_.identity()};
  ASSIGN_OR_RETURN(planner_stream_,
                   PlannerStream::Create(&clock_, mailbox_.get(), worker_.get(), this, stream, incarnation_));
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Daemon::ChangeJob(const JobChange& change) {
  Accounts& accounts = core_->accounts();
  if (change.begins) {
    RETURN_IF_ERROR(accounts.BeginJob(change.uid, change.job, change.exclusive));
    return 0;
  }
  accounts.EndJob(change.uid, change.job);
  const uint32_t ended = clients_->server().EndJob(change.uid, change.job);
  COPSE_LOG(kInfo, "job ", change.job, " has ended (uid=", change.uid, ", clients=", ended, ")");
  return ended;
}

schedule::NodeAnnouncement Daemon::Announcement() const {
  schedule::NodeAnnouncement node;
  node.name = settings_.node;
  node.incarnation = incarnation_;
  node.worker_address = network_->transport()->LocalAddress();
  node.version = kVersion;
  node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
  node.cores = UsableCores();
  node.memory_limit_bytes = settings_.memory_limit_bytes;
  node.admin_address = ReachableAddress(admin_server_->address(), settings_.node);
  node.join_token = settings_.live.join_token;
  node.features = {schedule::Feature::kDerivedTeams, schedule::Feature::kContent, schedule::Feature::kPlanCalls,
                   schedule::Feature::kCluster,      schedule::Feature::kPing,    schedule::Feature::kLateAddress,
                   schedule::Feature::kTeamPlans,    schedule::Feature::kOwnTrace};
  if (settings_.daemons_form_sub_teams) node.features.insert(schedule::Feature::kSubTeams);
  node.machine = Machine();
  return node;
}

// --- The loop ---

void Daemon::Run() {
  loop_->Run();
  Stop();
}

bool Daemon::ReadPosts() {
  clients_->CountTurn();
  const bool letters = mailbox_->Drain();
  const bool posts = clients_->server().ReadPosts();
  const absl::Time now = clock_.Now();
  planner_stream_->Tick(now);
  service_manager_.Tick(now);
  if (identity_.Tick(now)) RereadIdentity();
  // It wakes nobody: counters do not change meanwhile.
  if (crash_record_->WantsCounters(now)) crash_record_->SetCounters(Status(/*latencies=*/false).daemon.counters);
  if (drain_until_.has_value() && (now >= *drain_until_ || clients_->server().client_count() == 0)) loop_->Stop();
  return letters || posts;
}

bool Daemon::Progress() {
  const bool any = core_->Progress();
  clients_->server().WakeClients();
  return any;
}

void Daemon::SetSleeping(bool sleeping) {
  clients_->SetSleeping(sleeping);
  emu::TraceRing* const trace = instruments_->trace();
  if (trace == nullptr) return;
  trace->Stamp();
  trace->Record({.kind = sleeping ? emu::TraceKind::kLoopSleep : emu::TraceKind::kLoopWake});
}

bool Daemon::ArmNetwork() { return network_->Arm(); }

absl::Time Daemon::NextDeadline() {
  return std::min({core_->NextDeadline(), clients_->server().NextDeadline(), planner_stream_->NextDeadline(),
                   service_manager_.NextDeadline(), drain_until_.value_or(absl::InfiniteFuture()),
                   identity_.NextDeadline()});
}

// --- The planner ---

void Daemon::OnPlannerUp() {
  if (planner_stream_->is_earlier()) {
    if (const absl::Status opened = core_->OpenNetwork(); !opened.ok()) {
      COPSE_LOG(kError, "network for data: ", opened.message());
    }
  }
  core_->OnPlannerUp();
}

void Daemon::OnPlannerDown() {
  core_->OnPlannerDown();
  if (std::exchange(was_registered_, false)) service_manager_.Status("the planner is lost; teams go on");
}

void Daemon::OnPlannerMessage(const schedule::ToDaemon& message) {
  core_->OnPlannerMessage(message);
  if (core_->registered() && !std::exchange(was_registered_, true)) OnRegistered();
}

void Daemon::OnPrepare(const CheckedPrepare& prepare) { core_->OnPrepare(prepare); }

void Daemon::OnRegistered() {
  COPSE_LOG(kInfo, "node ", settings_.node,
            ": registered with the planner (state=ready, planner=", planner_stream_->planner(), ")");
  service_manager_.Status(absl::StrCat("registered with ", planner_stream_->planner()));
  if (start_.port_file.empty()) return;
  if (!ReplaceFile(start_.port_file, absl::StrCat(admin_server_->address(), "\n"))) {
    COPSE_LOG(kError, "port-file: cannot be written: ", strerror(errno), " (port-file=", start_.port_file, ")");
  }
}

void Daemon::Send(const schedule::FromDaemon& message) {
  if (planner_stream_ == nullptr) return;
  if (const auto* const reply = std::get_if<schedule::StatusReply>(&message)) {
    schedule::StatusReply counted = *reply;
    AddCounters(&counted.status);
    return planner_stream_->Send(counted);
  }
  if (const auto* const held = std::get_if<schedule::TeamsHeld>(&message)) {
    return planner_stream_->Send(schedule::TeamsHeld{.teams = held->teams, .report = Report()});
  }
  if (const auto* const registers = std::get_if<schedule::Register>(&message)) {
    schedule::Register reported = *registers;
    reported.report = Report();
    return planner_stream_->Send(reported);
  }
  if (const auto* const reply = std::get_if<schedule::TraceReply>(&message)) {
    schedule::TraceReply named = *reply;
    named.clock = ClockName();
    named.wall_ns = absl::GetCurrentTimeNanos();
    return planner_stream_->Send(named);
  }
  planner_stream_->Send(message);
}

schedule::StatusReport Daemon::Report() const {
  schedule::DaemonStatus status = core_->Status(/*latencies=*/true);
  AddCounters(&status);
  return rpc::ReportOf(std::move(status));
}

NodeStatus Daemon::Status(bool latencies) const {
  NodeStatus status;
  status.daemon = core_->Status(latencies);
  AddCounters(&status.daemon);
  status.planner = planner_stream_->planner();
  status.planner_connected = planner_stream_->connected();
  status.planner_refusal = core_->refusal().text.empty() ? planner_stream_->trouble() : core_->refusal().text;
  return status;
}

// Adds the counters of the loop and the process, and those of the clients' asynchronous completion.
void Daemon::AddCounters(schedule::DaemonStatus* status) const {
  const LoopStats& loop = loop_->stats();
  status->counters["loop.turns"] = loop.turns;
  status->counters["loop.turn_max_us"] = static_cast<uint64_t>(absl::ToInt64Microseconds(loop_->turns().longest()));
  status->counters["loop.turns_long"] = loop_->turns().long_turns();
  status->counters["daemon.prepare_max_us"] =
      static_cast<uint64_t>(absl::ToInt64Microseconds(planner_stream_->prepare_max()));
  status->counters["loop.spins"] = loop.spins;
  status->counters["loop.spins_found"] = loop.spins_found;
  status->counters["loop.spins_vain"] = loop.spins - loop.spins_found;
  status->counters["loop.sleeps"] = loop.sleeps;
  status->counters["loop.sleeps_timed_out"] = loop.sleeps_timed_out;
  status->counters["loop.naps"] = loop.naps;
  status->counters["loop.wakes.mailbox"] = mailbox_->wakes();
  clients_->AppendCounters(&status->counters);
  network_->AppendCounters(&status->counters);
  if (identity_.identity() != nullptr) identity_.identity()->AppendCounters(&status->counters);
  status->counters["process.clock_at_ms"] = static_cast<uint64_t>(absl::ToUnixMillis(absl::Now()));
  status->counters["process.cpu_us"] = static_cast<uint64_t>(absl::ToInt64Microseconds(ProcessCpuTime()));
}

// --- Signals ---

void Daemon::OnSignal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGHUP) {
      Reload(absl::StrCat("uid=", info.ssi_uid, ", pid=", info.ssi_pid));
    } else {
      StartDrain(info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
    }
  }
}

void Daemon::Reload(const std::string& who) {
  service_manager_.Reloading();
  RereadIdentity();
  config::Config fresh = start_.config;
  absl::Status status = fresh.Load(start_.sources);
  absl::StatusOr<LiveSettings> live = status.ok() ? ReadLiveSettings(fresh) : status;
  if (live.ok()) {
    const std::vector<std::string> changed = fresh.Changed(start_.config);
    for (const std::string& key : changed) {
      if (!IsLive(key)) COPSE_LOG(kWarning, "reload: takes effect at the next start only (key=", key, ")");
    }
    ApplyLive(*live);
    start_.config = std::move(fresh);
    start_.settings.live = *live;
    COPSE_LOG(kInfo, "reload: done (", who, ", changed=", absl::StrJoin(changed, ","), ")");
  } else {
    COPSE_LOG(kError, "reload: nothing changed (", who, "): ", live.status().message());
  }
  service_manager_.Reloaded();
}

void Daemon::ApplyLive(const LiveSettings& live) {
  SetLogLevel(live.log_level);
  if (const absl::Status opened = OpenLogFile(live.log_file); !opened.ok()) COPSE_LOG(kError, opened.message());
  core_->SetTimeouts(live.heartbeat, live.node_timeout);
  core_->SetJoinToken(live.join_token);
  core_->SetQuotas(live.quotas);
  loop_->set_spin(live.spin);
}

void Daemon::StartDrain(const std::string& why) {
  if (drain_until_.has_value()) return loop_->Stop();  // a second signal ends the drain at once
  const std::string reason = absl::StrCat("the daemon on node ", settings_.node, " stops (", why, ")");
  COPSE_LOG(kInfo, reason, " (clients=", clients_->server().client_count(), ")");
  service_manager_.Stopping("draining");
  drain_until_ = clock_.Now() + settings_.live.drain_timeout;
  core_->StartDrain(reason);
  core_->SayStopping(/*done=*/false);
}

// Ends all sessions: teams of clients that are still attached break, and other nodes and the planner get the reason
// within kFarewell.
void Daemon::Stop() {
  clients_->server().Shutdown(std::string(core_->drain_reason()));
  core_->SayStopping(/*done=*/true);
  const absl::Time until = clock_.Now() + kFarewell;
  while (clock_.Now() < until) {
    const bool any = core_->Progress();
    if (!any && planner_stream_->Flushed()) break;
    poller_->Wait(absl::ZeroDuration());
  }
  admin_server_->Stop();
  COPSE_LOG(kInfo, "stopped");
}

}  // namespace copse::daemon
