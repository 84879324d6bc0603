// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/sim/sim_cluster.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/instruments.h"
#include "integration_tests/sim/sim_client.h"
#include "planner/coordinator/coordinator.h"
#include "planner/planner.h"
#include "planner/topology/topology.h"

namespace copse::scenario {
namespace {

using schedule::FromDaemon;
using schedule::ToDaemon;

constexpr absl::Duration kPlannerHop = absl::Microseconds(100);
constexpr absl::Duration kReconnect = absl::Milliseconds(100);
// Actors beside the network's nodes (0, 1, ...).
constexpr sim::ActorId kPlannerActor = 1u << 20;
constexpr sim::ActorId kClientActors = 1u << 21;
// Nothing that a scenario waits for takes longer, in virtual time.
constexpr absl::Duration kSettle = absl::Seconds(60);

// Plans by the production planner, all nodes on one switch.
class FlatPlanMaker : public coordinator::PlanMaker {
 public:
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override {
    std::vector<std::string> names;
    for (const schedule::TeamNode& node : layout.nodes) names.push_back(node.name);
    ASSIGN_OR_RETURN(const topology::Topology topology, topology::FlatTopology(names));
    planner::PlannerOptions planner_options;
    if (options.collective) {
      planner_options.forced[schedule::PlanCollective(*options.collective)] = options.algorithm;
    } else if (!options.algorithm.empty()) {
      for (const auto c : schedule::CollectivesOf(schedule::Family::kCommon)) {
        planner_options.forced[c] = options.algorithm;
      }
    }
    return planner::Planner(&topology, {}, planner_options).MakePlans(layout.shape, names, layout.identity.family);
  }
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout&, const schedule::Plan&) override {
    return absl::UnimplementedError("not in the simulator");
  }
};

// Keeps what the production coordinator keeps; can pull the plug right after a decision is recorded.
class CrashingStore : public coordinator::MemoryStore {
 public:
  absl::Status SaveTeam(const coordinator::TeamRecord& record) override {
    RETURN_IF_ERROR(MemoryStore::SaveTeam(record));
    if (armed_ && record.epoch.value() > 1 && !record.broken) crashed_ = true;
    return absl::OkStatus();
  }
  void Arm() { armed_ = true; }
  bool crashed() const { return crashed_; }
  void Reset() { armed_ = crashed_ = false; }

 private:
  bool armed_ = false;
  bool crashed_ = false;
};

}  // namespace

class SimCluster::Impl : public coordinator::SessionSink {
 public:
  explicit Impl(sim::LinkProperties link) : link_(link) {}

  // One node: its daemon, its stream to the planner, its clients.
  struct Node : public daemon::PlannerLink, public ClientHost {
    Impl* cluster = nullptr;
    sim::NodeNumber number = 0;
    std::unique_ptr<daemon::Instruments> instruments;  // null unless asked for
    std::unique_ptr<daemon::DaemonCore> daemon;
    coordinator::SessionId session = 0;  // 0: no stream
    uint64_t life = 0;                   // which start of the daemon an event belongs to
    bool kicked = false;
    absl::Time timer = absl::InfiniteFuture();
    std::vector<std::function<void()>> held;  // what came in while it was stopped
    std::vector<std::unique_ptr<SimClient>> clients;

    daemon::DaemonCore* core() override { return daemon.get(); }
    void Kick() override { cluster->KickNode(this); }
    void Send(const FromDaemon& message) override { cluster->ToPlanner(this, message); }
  };

  absl::Status Start(const ClusterOptions& options) {
    options_ = options;
    network_ = std::make_unique<sim::VirtualNetwork>(&simulator_,
                                                     sim::VirtualNetworkOptions{.seed = options.seed, .link = link_});
    StartCoordinator();
    for (uint32_t n = 0; n < options.nodes; ++n) {
      auto node = std::make_unique<Node>();
      node->cluster = this;
      Node* raw = node.get();
      node->number = network_->AddNode(NameOf(n), NextIncarnation(), [this, raw] { KickNode(raw); });
      nodes_.push_back(std::move(node));
    }
    for (auto& node : nodes_) StartDaemon(node.get());
    for (uint32_t n = 0; n < options.nodes; ++n) RETURN_IF_ERROR(AwaitNodeState(n, "ready", kSettle));
    return absl::OkStatus();
  }

  uint32_t Launch(const std::vector<Program>& programs) {
    const auto first = static_cast<uint32_t>(processes_.size());
    for (const Program& program : programs) {
      Node* node = nodes_[program.node].get();
      auto client = std::make_unique<SimClient>(&simulator_, kClientActors + static_cast<uint32_t>(processes_.size()),
                                                node, program.script);
      processes_.push_back(client.get());
      node->clients.push_back(std::move(client));
      processes_.back()->Start();
    }
    return first;
  }

  absl::Status Await(const std::function<bool()>& done, absl::Duration timeout, const std::string& what) {
    const bool ok = simulator_.RunUntil(
        [&] {
          CheckCrash();
          return done();
        },
        simulator_.Now() + timeout);
    if (ok) return absl::OkStatus();
    return absl::DeadlineExceededError(
        absl::StrCat(what, ": not within ", absl::FormatDuration(timeout), " (seed=", options_.seed, ")"));
  }

  void KillDaemon(uint32_t n) {
    Node* node = nodes_[n].get();
    if (node->daemon == nullptr) return;
    network_->Crash(node->number);
    node->daemon.reset();
    node->instruments.reset();
    node->held.clear();
    ++node->life;
    EndSession(node);
    for (auto& client : node->clients) {
      if (!client->ended()) client->DaemonDied();
    }
  }

  absl::Status RestartDaemon(uint32_t n) {
    KillDaemon(n);
    Node* node = nodes_[n].get();
    network_->Restart(node->number, NextIncarnation());
    StartDaemon(node);
    return AwaitNodeState(n, "ready", kSettle);
  }

  void StopDaemon(uint32_t n) { network_->Pause(nodes_[n]->number); }
  void ContinueDaemon(uint32_t n) {
    Node* node = nodes_[n].get();
    network_->Resume(node->number);
    for (auto& event : std::exchange(node->held, {})) event();
    KickNode(node);
  }

  void KillPlanner() {
    coordinator_.reset();
    ++planner_life_;
    for (auto& node : nodes_) {
      if (node->session == 0) continue;
      node->session = 0;
      if (node->daemon != nullptr)
        AtNode(node.get(), kPlannerHop, [node = node.get()] { node->daemon->OnPlannerDown(); });
    }
  }

  absl::Status RestartPlanner() {
    KillPlanner();
    StartCoordinator();
    for (auto& node : nodes_) ConnectLater(node.get());
    return Await(
        [this] {
          for (const auto& node : nodes_) {
            if (node->daemon != nullptr && network_->running(node->number) && !node->daemon->registered()) return false;
          }
          return true;
        },
        kSettle, "daemons register with the restarted planner");
  }

  void ArmCrash() { store_.Arm(); }

  absl::Status Replan(const std::string& team_name, const coordinator::PlanOptions& options) {
    if (coordinator_ == nullptr) return absl::UnavailableError("the planner is down");
    ASSIGN_OR_RETURN(const TeamId id, FindTeam(team_name));
    auto done = std::make_shared<std::optional<absl::Status>>();
    coordinator_->ReplanTeam(id, options, [done](const absl::Status& status) { *done = status; });
    PlannerTick();
    RETURN_IF_ERROR(Await([&] { return done->has_value() || coordinator_ == nullptr; }, kSettle, "replan"));
    return done->has_value() ? **done : absl::UnavailableError("the planner died");
  }

  absl::StatusOr<std::vector<ListedCall>> ListCalls(const std::string& team_name) {
    if (coordinator_ == nullptr) return absl::UnavailableError("the planner is down");
    ASSIGN_OR_RETURN(const TeamId id, FindTeam(team_name));
    auto answer = std::make_shared<std::optional<coordinator::StatusAnswer>>();
    coordinator_->QueryStatus({}, absl::Seconds(1), [answer](const coordinator::StatusAnswer& a) { *answer = a; });
    PlannerTick();
    RETURN_IF_ERROR(Await([&] { return answer->has_value(); }, kSettle, "status of the nodes"));
    std::vector<ListedCall> listed;
    for (const coordinator::CollectiveInfo& call : coordinator_->MergeCalls(**answer)) {
      if (call.team != id) continue;
      ListedCall entry{.sequence = call.sequence.value(),
                       .collective = std::string(CollectiveName(call.arguments.collective))};
      for (const Rank rank : call.joined) entry.joined.push_back(rank.value());
      for (const Rank rank : call.missing) entry.missing.push_back(rank.value());
      listed.push_back(std::move(entry));
    }
    return listed;
  }

  absl::Status AwaitNodeState(uint32_t n, const std::string& state, absl::Duration timeout) {
    return Await(
        [&] {
          if (coordinator_ == nullptr) return false;
          const absl::StatusOr<coordinator::NodeInfo> info = coordinator_->Node(NameOf(n));
          if (!info.ok() || info->state != state) return false;
          // A restarted daemon is ready when it, and not its predecessor, is.
          return state == "lost" || state == "away" ||
                 info->announcement.incarnation == network_->incarnation(nodes_[n]->number);
        },
        timeout, absl::StrCat("node ", NameOf(n), " is ", state));
  }

  const daemon::Instruments* instruments(uint32_t n) const { return nodes_[n]->instruments.get(); }

  void Pass(absl::Duration duration) {
    (void)Await([] { return false; }, duration, "time passes").ok();
  }

  SimClient* process(uint32_t p) const { return processes_[p]; }
  sim::Simulator& simulator() { return simulator_; }
  const sim::Simulator& simulator() const { return simulator_; }
  sim::VirtualNetwork& network() { return *network_; }
  sim::NodeNumber number(uint32_t n) const { return nodes_[n]->number; }

  // --- coordinator::SessionSink ---
  void Send(coordinator::SessionId session, const ToDaemon& message) override {
    if (store_.crashed()) return;  // it died before it could say so
    for (auto& node : nodes_) {
      if (node->session != session) continue;
      AtNode(node.get(), kPlannerHop, [node = node.get(), session, message] {
        if (node->session == session) node->daemon->OnPlannerMessage(message);
      });
    }
  }
  void Close(coordinator::SessionId session, const std::string&) override {
    for (auto& node : nodes_) {
      if (node->session == session) {
        node->session = 0;
        if (node->daemon != nullptr)
          AtNode(node.get(), kPlannerHop, [node = node.get()] { node->daemon->OnPlannerDown(); });
      }
    }
  }

 private:
  static std::string NameOf(uint32_t n) { return absl::StrCat("n", n); }
  Incarnation NextIncarnation() { return Incarnation(1000 + incarnations_++); }

  void StartCoordinator() {
    store_.Reset();
    coordinator_ = std::make_unique<coordinator::Coordinator>(
        simulator_.clock(), &store_, &plan_maker_, this,
        coordinator::CoordinatorOptions{.team_formation_timeout = options_.team_formation_timeout});
    CHECK(coordinator_->Start().ok());
    PlannerTick();
  }

  // The coordinator's timers.
  void PlannerTick() {
    if (coordinator_ == nullptr) return;
    const absl::Time due = coordinator_->NextDeadline();
    if (due == absl::InfiniteFuture() || due == planner_timer_) return;
    planner_timer_ = due;
    simulator_.At(due, kPlannerActor, [this, due, life = planner_life_] {
      if (life != planner_life_ || coordinator_ == nullptr || planner_timer_ != due) return;
      planner_timer_ = absl::InfiniteFuture();
      coordinator_->Tick(due);
      PlannerTick();
    });
  }

  void CheckCrash() {
    if (coordinator_ != nullptr && store_.crashed()) KillPlanner();
  }

  void StartDaemon(Node* node) {
    ++node->life;
    node->timer = absl::InfiniteFuture();
    node->kicked = false;
    daemon::CoreOptions options;
    options.node.name = network_->name(node->number);
    options.node.incarnation = network_->incarnation(node->number);
    options.node.worker_address = network_->transport(node->number)->LocalAddress();
    options.node.version = "sim";
    options.node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
    options.node.features = {schedule::Feature::kCompanions};
    options.node.machine = options.node.name;
    options.node.memory_limit_bytes = options_.memory_limit_bytes;
    options.memory_limit_bytes = options_.memory_limit_bytes;
    options.heartbeat = options_.heartbeat;
    options.node_timeout = options_.node_timeout;
    if (options_.instruments) node->instruments = std::make_unique<daemon::Instruments>(simulator_.clock(), 1 << 14);
    options.instruments = node->instruments.get();
    node->daemon =
        std::make_unique<daemon::DaemonCore>(simulator_.clock(), network_->transport(node->number), node, options);
    ConnectLater(node);
  }

  void ConnectLater(Node* node) {
    simulator_.Schedule(kReconnect, node->number, [this, node, life = node->life, planner = planner_life_] {
      if (life != node->life || planner != planner_life_ || coordinator_ == nullptr || node->daemon == nullptr) return;
      if (node->session != 0) return;
      node->session = ++sessions_;
      coordinator_->OnConnected(node->session);
      AtNode(node, absl::ZeroDuration(), [node] { node->daemon->OnPlannerUp(); });
      PlannerTick();
    });
  }

  void EndSession(Node* node) {
    const coordinator::SessionId session = std::exchange(node->session, 0);
    if (session == 0) return;
    simulator_.Schedule(kPlannerHop, kPlannerActor, [this, session, planner = planner_life_] {
      if (planner != planner_life_ || coordinator_ == nullptr) return;
      coordinator_->OnDisconnected(session);
      PlannerTick();
    });
  }

  // An event of a daemon: dropped if it dies before, kept while it is stopped.
  void AtNode(Node* node, absl::Duration delay, std::function<void()> event) {
    simulator_.Schedule(delay, node->number, [this, node, life = node->life, event = std::move(event)] {
      if (life != node->life || node->daemon == nullptr) return;
      if (!network_->running(node->number)) {
        node->held.push_back([node, life, event] {
          if (life == node->life && node->daemon != nullptr) event();
        });
        return;
      }
      event();
      KickNode(node);
    });
  }

  void ToPlanner(Node* node, const FromDaemon& message) {
    const coordinator::SessionId session = node->session;
    if (session == 0) return;
    simulator_.Schedule(kPlannerHop, kPlannerActor, [this, session, message, planner = planner_life_] {
      if (planner != planner_life_ || coordinator_ == nullptr) return;
      coordinator_->OnMessage(session, message);
      PlannerTick();
    });
  }

  void KickNode(Node* node) {
    if (std::exchange(node->kicked, true)) return;
    simulator_.Schedule(absl::ZeroDuration(), node->number, [this, node, life = node->life] {
      if (life != node->life || node->daemon == nullptr) return;
      node->kicked = false;
      if (!network_->running(node->number)) return;
      while (node->daemon->Progress()) {
      }
      const absl::Time due = node->daemon->NextDeadline();
      if (due == absl::InfiniteFuture() || due == node->timer) return;
      node->timer = due;
      simulator_.At(due, node->number, [this, node, life, due] {
        if (life != node->life || node->timer != due) return;
        node->timer = absl::InfiniteFuture();
        KickNode(node);
      });
    });
  }

  absl::StatusOr<TeamId> FindTeam(const std::string& name) const {
    for (const coordinator::TeamInfo& team : coordinator_->Teams()) {
      if (team.layout.identity.name == name) return team.layout.id;
    }
    return absl::NotFoundError(absl::StrCat("no team ", name));
  }

  const sim::LinkProperties link_;
  ClusterOptions options_;
  sim::Simulator simulator_;
  std::unique_ptr<sim::VirtualNetwork> network_;
  CrashingStore store_;
  FlatPlanMaker plan_maker_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  uint64_t planner_life_ = 0;
  absl::Time planner_timer_ = absl::InfiniteFuture();
  uint64_t incarnations_ = 0;
  coordinator::SessionId sessions_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<SimClient*> processes_;
};

SimCluster::SimCluster(sim::LinkProperties link) : impl_(std::make_unique<Impl>(link)) {}
SimCluster::~SimCluster() = default;

absl::Status SimCluster::Start(const ClusterOptions& options) { return impl_->Start(options); }
uint32_t SimCluster::Launch(const std::vector<Program>& programs) { return impl_->Launch(programs); }

absl::Status SimCluster::AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) {
  SimClient* client = impl_->process(process);
  return impl_->Await([&] { return client->outcomes().size() >= count; }, timeout,
                      absl::StrCat(count, " outcomes of process ", process));
}

absl::Status SimCluster::AwaitEnd(uint32_t process, absl::Duration timeout) {
  SimClient* client = impl_->process(process);
  return impl_->Await([&] { return client->ended(); }, timeout, absl::StrCat("end of process ", process));
}

std::vector<Outcome> SimCluster::Outcomes(uint32_t process) const { return impl_->process(process)->outcomes(); }
void SimCluster::KillProcess(uint32_t process) { impl_->process(process)->Kill(); }
void SimCluster::StopProcess(uint32_t process) { impl_->process(process)->Stop(); }
void SimCluster::ContinueProcess(uint32_t process) { impl_->process(process)->Continue(); }
void SimCluster::KillDaemon(uint32_t node) { impl_->KillDaemon(node); }
absl::Status SimCluster::RestartDaemon(uint32_t node) { return impl_->RestartDaemon(node); }
void SimCluster::StopDaemon(uint32_t node) { impl_->StopDaemon(node); }
void SimCluster::ContinueDaemon(uint32_t node) { impl_->ContinueDaemon(node); }
void SimCluster::KillPlanner() { impl_->KillPlanner(); }
absl::Status SimCluster::RestartPlanner() { return impl_->RestartPlanner(); }
absl::Status SimCluster::KillPlannerAtNextDecision() {
  impl_->ArmCrash();
  return absl::OkStatus();
}
absl::Status SimCluster::Replan(const std::string& team_name, const std::string& algorithm) {
  return impl_->Replan(team_name, {.algorithm = algorithm});
}
absl::Status SimCluster::ReplanCollective(const std::string& team_name, schedule::Collective collective,
                                          const std::string& algorithm) {
  return impl_->Replan(team_name, {.algorithm = algorithm, .collective = collective});
}
absl::StatusOr<std::vector<ListedCall>> SimCluster::ListCalls(const std::string& team_name) {
  return impl_->ListCalls(team_name);
}
absl::Status SimCluster::AwaitNodeState(uint32_t node, const std::string& state, absl::Duration timeout) {
  return impl_->AwaitNodeState(node, state, timeout);
}
void SimCluster::Pass(absl::Duration duration) { impl_->Pass(duration); }
absl::Time SimCluster::Now() const { return impl_->simulator().Now(); }
void SimCluster::CutLink(uint32_t a, uint32_t b) { impl_->network().Cut(impl_->number(a), impl_->number(b)); }
void SimCluster::HealLinks() { impl_->network().HealAll(); }
const daemon::Instruments* SimCluster::instruments(uint32_t node) const { return impl_->instruments(node); }
uint64_t SimCluster::trace_hash() const { return impl_->simulator().trace_hash(); }

}  // namespace copse::scenario
