// SPDX-License-Identifier: Apache-2.0
#include "planner/server/leading_planner.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "rpc/bounded_requests.h"
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
// What users of view.sock ask is short, but for topologies that they compare.
constexpr int kViewRequestBytesMax = 1 << 20;
constexpr int kViewCallsAtOnceMax = 4;  // of a connection
// Half of the machine's cores make plans, at most this many.
constexpr uint32_t kPlanThreadsMax = 4;
// Terms skipped after the loss of a store differ by less than this: ids stay readable, and hardly any number comes
// twice.
constexpr uint64_t kLostTermsSpread = 1 << 20;
// One more thread makes better plans for teams that have formed with quick ones. It has the lowest priority.
constexpr int kBetterNice = 19;

// Returns how much of node_timeout a daemon has to answer a ping: a third, but half if that is less than it may take
// where others compute.
absl::Duration AnswerTime(absl::Duration node_timeout) {
  return std::max(node_timeout / 3, std::min<absl::Duration>(node_timeout / 2, absl::Seconds(2)));
}

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

}  // namespace

absl::StatusOr<std::unique_ptr<LeadingPlanner>> LeadingPlanner::Start(const Settings& settings,
                                                                      const std::string& topology_path,
                                                                      LeadingParts parts) {
  auto planner = std::unique_ptr<LeadingPlanner>(new LeadingPlanner(settings, std::move(parts)));
  RETURN_IF_ERROR(planner->Open(settings, topology_path));
  return planner;
}

LeadingPlanner::LeadingPlanner(const Settings& settings, LeadingParts parts)
    : parts_(std::move(parts)),
      reach_(settings.lease * kReachOfLease),
      plan_maker_(settings.live.model),
      plan_workers_(parts_.queue, std::clamp(std::thread::hardware_concurrency() / 2, 1u, kPlanThreadsMax)),
      better_workers_(parts_.queue, 1, kBetterNice) {}

absl::Status LeadingPlanner::Open(const Settings& settings, const std::string& topology_path) {
  RETURN_IF_ERROR(OpenStore(settings));
  plan_maker_.SetWorkers(&plan_workers_, &better_workers_);
  daemon_service_ = std::make_unique<DaemonService>(
      parts_.queue, this, parts_.authorizer, DaemonServiceOptions{.number = static_cast<uint64_t>(parts_.fence)});
  if (parts_.etcd != nullptr) pings_ = std::make_unique<DaemonPings>(daemon_service_.get(), reach_);
  coordinator::PlanMaker* const plan_maker = parts_.plan_maker != nullptr ? parts_.plan_maker : &plan_maker_;
  coordinator::CoordinatorOptions options = settings.live.coordinator;
  options.fresh_cluster = NewUuid();
  options.lost_terms += std::hash<std::string>()(options.fresh_cluster) % kLostTermsSpread;
  coordinator_ = std::make_unique<coordinator::Coordinator>(parts_.clock, store_.store.get(), plan_maker,
                                                            daemon_service_.get(), std::move(options));
  RETURN_IF_ERROR(coordinator_->Start());
  topologies_ = std::make_unique<TopologyHistory>(&plan_maker_, coordinator_.get(), parts_.queue);
  topologies_->Start(topology_path, settings.live.model.topology);
  instruments_ = std::make_unique<PlannerInstruments>(PlannerParts{.clock = parts_.clock,
                                                                   .queue = parts_.queue,
                                                                   .turns = parts_.turns,
                                                                   .streams = daemon_service_.get(),
                                                                   .coordinator = coordinator_.get(),
                                                                   .plan_maker = &plan_maker_,
                                                                   .plan_workers = &plan_workers_,
                                                                   .identity = parts_.authorizer->identity().get()},
                                                      settings.store_text);
  saver_ = std::make_unique<StateSaver>(parts_.queue, store_.reader);
  admin_service_ =
      MakeAdminService(parts_.queue, coordinator_.get(), &plan_maker_, topologies_.get(), instruments_.get(),
                       saver_.get(), parts_.authorizer, {settings.live.log_file, settings.private_data});
  RETURN_IF_ERROR(Listen(settings));
  instruments_->SetAddress(listener_->address());
  return absl::OkStatus();
}

absl::Status LeadingPlanner::OpenStore(const Settings& settings) {
  // A commit may be answered after this object's end.
  const auto post = [queue = parts_.queue](std::function<void()> task) { queue->Post(std::move(task)); };
  ASSIGN_OR_RETURN(store_, planner::OpenStore(settings, parts_.etcd, parts_.fence, post));
  const char* crash = getenv("COPSE_CRASH_POINT");
  if (crash != nullptr && strcmp(crash, "after_decision") == 0)
    store_.store = std::make_unique<CrashingStore>(std::move(store_.store));
  return absl::OkStatus();
}

absl::Status LeadingPlanner::Listen(const Settings& settings) {
  const absl::Duration node_timeout = settings.node_timeout;
  grpc::ServerBuilder builder;
  rpc::NetworkListenerOptions listening = {.silence = node_timeout / 2};
  listening.handshake = std::min(listening.handshake, node_timeout);
  ASSIGN_OR_RETURN(listener_,
                   rpc::NetworkListener::Open("listen", settings.listen, parts_.credentials, listening, &builder));
  // A daemon that is stopped, or whose host vanished, keeps its connection: gRPC pings it when nothing has come from it
  // for a while, and its stream ends if it does not answer, after node_timeout at most. Pings are most of what a large
  // idle cluster costs: they are as rare as leaves time for the answer.
  const absl::Duration answer = AnswerTime(node_timeout);
  const auto set_ms = [&builder](const char* argument, absl::Duration time) {
    builder.AddChannelArgument(argument, static_cast<int>(absl::ToInt64Milliseconds(time)));
  };
  set_ms(GRPC_ARG_KEEPALIVE_TIME_MS, node_timeout - answer);
  set_ms(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, answer);
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
  ListenLocally(settings.run_dir);
  return absl::OkStatus();
}

void LeadingPlanner::ListenLocally(const std::string& run_dir) {
  if (run_dir.empty()) return;
  absl::StatusOr<std::unique_ptr<rpc::LocalListener>> opened = rpc::LocalListener::Open(rpc::LocalSocketsIn(run_dir));
  if (!opened.ok()) {
    COPSE_LOG(kWarning, "run_dir: this machine's users have no sockets: ", opened.status().message());
    return;
  }
  sockets_ = *std::move(opened);
  view_server_ = StartViewServer();
  sockets_->Serve(server_.get(), view_server_.get());
}

// Any user may connect to view.sock: what that costs ends no stream of a daemon, and no call of an administrator.
std::unique_ptr<grpc::Server> LeadingPlanner::StartViewServer() {
  grpc::ServerBuilder builder;
  rpc::BoundRequests(kViewRequestBytesMax, &builder);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kViewCallsAtOnceMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(rpc::NetworkListenerOptions().idle)));
  builder.SetMaxSendMessageSize(rpc::kMessageBytesMax);
  builder.RegisterService(admin_service_->service());
  return builder.BuildAndStart();
}

LeadingPlanner::~LeadingPlanner() {
  sockets_.reset();
  listener_.reset();
  if (server_ == nullptr) return;
  // Every pending call gets a reply, as do calls that arrive while the server shuts down.
  daemon_service_->CloseAll(absl::UnavailableError("the planner stops"));
  admin_service_->Stop();
  // Only this thread accesses `down`, since RunUntil runs the task; no memory order is needed.
  std::atomic<bool> down = false;
  std::thread shutdown([this, &down] {
    const auto patience = std::chrono::system_clock::now() + kStopPatience;
    for (grpc::Server* const server : {server_.get(), view_server_.get()}) {
      if (server == nullptr) continue;
      server->Shutdown(patience);
      server->Wait();
    }
    parts_.queue->Post([&down] { down = true; });
  });
  while (!down) parts_.queue->RunUntil(absl::InfiniteFuture());
  shutdown.join();
}

void LeadingPlanner::OnMessage(coordinator::SessionId session, const schedule::FromDaemon& message) {
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

void LeadingPlanner::Apply(LiveSettings live, const std::string& topology_path) {
  coordinator_->SetLive(live.coordinator);
  topologies_->ApplyRules(std::move(live.model.rules));
  topologies_->ApplyFile(topology_path, live.model.topology);
}

void LeadingPlanner::Tick(absl::Time now) {
  const absl::Time heard = std::min(now, parts_.queue->Oldest());
  coordinator_->Tick(heard);
  if (now - heard >= kBehindMax && now >= next_complaint_) {
    next_complaint_ = now + kComplainEvery;
    COPSE_LOG(kWarning, "the planner is behind its work (oldest=", FormatShortDuration(now - heard),
              ", tasks=", parts_.queue->size(), ")");
  }
  daemon_service_->Tick(heard);
  if (pings_ != nullptr) pings_->Tick(heard);
}

absl::Time LeadingPlanner::NextDeadline() const {
  const absl::Time deadline = std::min(coordinator_->NextDeadline(), daemon_service_->NextDeadline());
  return pings_ == nullptr ? deadline : std::min(deadline, pings_->NextDeadline());
}

absl::Status LeadingPlanner::CheckLeads() const {
  if (pings_ != nullptr && pings_->is_cut_off()) {
    return absl::DeadlineExceededError(absl::StrCat("no daemon answers, and another planner may reach them (daemons=",
                                                    pings_->daemons(), ", limit=", FormatShortDuration(reach_), ")"));
  }
  const coordinator::CommitQueue& commits = coordinator_->outbox().commits();
  return commits.is_deposed() ? commits.outcomes().error() : absl::OkStatus();
}

}  // namespace copse::planner
