// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/sim/sim_cluster.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "integration_tests/sim/planner_parts.h"
#include "integration_tests/sim/sim_client.h"
#include "planner/coordinator/coordinator.h"
#include "sim/simulator.h"

namespace copse::scenario {
namespace {

using schedule::FromDaemon;
using schedule::ToDaemon;

constexpr absl::Duration kPlannerHop = absl::Microseconds(100);
constexpr absl::Duration kReconnect = absl::Milliseconds(100);
// The pause after a refusal, and the limit without messages from the planner: daemon/rpc/planner_stream.cc.
constexpr absl::Duration kRefusedPause = absl::Seconds(5);
constexpr absl::Duration kDaemonPatience = absl::Seconds(30);
// Actors beside the network's nodes (0, 1, ...).
constexpr sim::ActorId kPlannerActor = 1u << 20;
constexpr sim::ActorId kClientActors = 1u << 21;
// Bound, in virtual time, of every event that a scenario waits for.
constexpr absl::Duration kSettle = absl::Seconds(60);

class VirtualCluster final : public SimCluster, public coordinator::SessionSink {
 public:
  explicit VirtualCluster(sim::LinkProperties link) : link_(link) {}

  // One node: its daemon, its stream to the planner, its clients.
  struct Node : public daemon::PlannerLink, public ClientHost {
    VirtualCluster* cluster = nullptr;
    sim::NodeNumber number = 0;
    std::unique_ptr<daemon::Instruments> instruments;  // null unless requested
    std::unique_ptr<daemon::DaemonCore> daemon;
    coordinator::SessionId session = 0;  // 0: no stream
    // The number of cuts of the management link or stops of the daemon, by which timers recognize their own; the
    // stream that the planner has given up meanwhile, and those that ended here without its knowledge.
    bool link_cut = false;
    uint64_t cuts = 0;
    coordinator::SessionId given_up = 0;
    std::vector<coordinator::SessionId> unreported;
    std::vector<std::function<void()>> on_link;  // both directions
    bool namesake = false;
    uint64_t life = 0;  // number of the daemon's start that an event belongs to
    bool kicked = false;
    absl::Time timer = absl::InfiniteFuture();
    std::vector<std::function<void()>> held;  // events that came while it was stopped
    std::vector<std::unique_ptr<SimClient>> clients;

    daemon::DaemonCore* core() override { return daemon.get(); }
    void Kick() override { cluster->KickNode(this); }
    void Send(const FromDaemon& message) override { cluster->ToPlanner(this, message); }
  };

  absl::Status Start(const ClusterOptions& options) override {
    options_ = options;
    network_ = std::make_unique<sim::VirtualNetwork>(&simulator_,
                                                     sim::VirtualNetworkOptions{.seed = options.seed, .link = link_});
    StartCoordinator();
    for (uint32_t n = 0; n < options.nodes; ++n) AddNode(NameOf(n));
    for (auto& node : nodes_) StartDaemon(node.get());
    for (uint32_t n = 0; n < options.nodes; ++n) RETURN_IF_ERROR(AwaitNodeState(n, "ready", kSettle));
    return absl::OkStatus();
  }

  uint32_t Launch(const std::vector<Program>& programs) override {
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

  absl::Status AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) override {
    return Await([&] { return processes_[process]->outcomes().size() >= count; }, timeout,
                 absl::StrCat(count, " outcomes of process ", process));
  }
  absl::Status AwaitEnd(uint32_t process, absl::Duration timeout) override {
    return Await([&] { return processes_[process]->ended(); }, timeout, absl::StrCat("end of process ", process));
  }
  std::vector<Outcome> Outcomes(uint32_t process) const override { return processes_[process]->outcomes(); }

  void KillProcess(uint32_t process) override { processes_[process]->Kill(); }
  void StopProcess(uint32_t process) override { processes_[process]->Stop(); }
  void ContinueProcess(uint32_t process) override { processes_[process]->Continue(); }

  void KillDaemon(uint32_t n) override {
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

  absl::Status RestartDaemon(uint32_t n) override {
    KillDaemon(n);
    Node* node = nodes_[n].get();
    network_->Restart(node->number, NextIncarnation());
    StartDaemon(node);
    return AwaitNodeState(n, "ready", kSettle);
  }

  void StopDaemon(uint32_t n) override {
    Node* node = nodes_[n].get();
    network_->Pause(node->number);
    PlannerLosesPatience(node);
  }
  void ContinueDaemon(uint32_t n) override {
    Node* node = nodes_[n].get();
    network_->Resume(node->number);
    ++node->cuts;
    if (!node->link_cut) EndIfGivenUp(node);
    for (auto& event : std::exchange(node->held, {})) event();
    KickNode(node);
  }

  void KillPlanner() override {
    coordinator_.reset();
    ++planner_life_;
    planner_timer_ = absl::InfiniteFuture();
    planner_stopped_ = false;
    at_planner_.clear();
    for (auto& node : nodes_) {
      if (node->session == 0) continue;
      if (node->link_cut) {
        node->given_up = node->session;
      } else {
        LoseStream(node.get());
      }
    }
  }

  // Its connections stay open, but get no answers.
  void StopPlanner() override {
    if (coordinator_ == nullptr || std::exchange(planner_stopped_, true)) return;
    simulator_.Schedule(kDaemonPatience, kPlannerActor, [this, life = planner_life_, stop = ++planner_stops_] {
      if (life != planner_life_ || !planner_stopped_ || stop != planner_stops_) return;
      for (auto& node : nodes_) {
        if (node->session == 0 || node->link_cut) continue;
        at_planner_.push_back([this, session = node->session] { coordinator_->OnDisconnected(session); });
        LoseStream(node.get());
      }
    });
  }

  // Due timers run before the messages that came meanwhile are read: its threads wake up in any order.
  void ContinuePlanner() override {
    if (!std::exchange(planner_stopped_, false)) return;
    coordinator_->Tick(simulator_.Now());
    for (auto& event : std::exchange(at_planner_, {})) event();
    for (auto& node : nodes_) ConnectLater(node.get());
    PlannerTick();
  }

  absl::Status ReplacePlanner() override {
    KillPlanner();
    store_ = FailingStore();
    return RestartPlanner();
  }

  absl::Status RestartPlanner() override {
    KillPlanner();
    StartCoordinator();
    for (auto& node : nodes_) ConnectLater(node.get());
    return Await(
        [this] {
          for (const auto& node : nodes_) {
            if (node->daemon == nullptr || !network_->running(node->number) || node->link_cut || node->namesake)
              continue;
            if (!node->daemon->registered()) return false;
          }
          return true;
        },
        kSettle, "daemons register with the restarted planner");
  }

  absl::Status KillPlannerAtNextDecision() override {
    store_.Arm();
    return absl::OkStatus();
  }
  absl::Status RefuseSaves(bool on) override {
    store_.Refuse(on);
    return absl::OkStatus();
  }

  // --- Management links ---

  absl::Status SetManagementLink(uint32_t n, bool up) override {
    Node* node = nodes_[n].get();
    if (node->link_cut != up) return absl::OkStatus();
    node->link_cut = !up;
    if (!up) {
      PlannerLosesPatience(node);
      simulator_.Schedule(kDaemonPatience, node->number, [this, node, cut = node->cuts] {
        if (cut != node->cuts || node->session == 0) return;
        node->unreported.push_back(node->session);
        LoseStream(node);
      });
      return absl::OkStatus();
    }
    ++node->cuts;
    for (const coordinator::SessionId session : std::exchange(node->unreported, {})) ReportEnd(session);
    std::vector<std::function<void()>> carried = std::exchange(node->on_link, {});
    EndIfGivenUp(node);
    for (auto& event : carried) event();
    if (node->session == 0) ConnectLater(node);
    return absl::OkStatus();
  }

  absl::Status ResetManagementLink(uint32_t n) override {
    Node* node = nodes_[n].get();
    if (node->session == 0 || node->link_cut) return absl::OkStatus();
    ReportEnd(node->session);
    LoseStream(node);
    ConnectLater(node);
    return absl::OkStatus();
  }

  absl::Status StartNamesake(uint32_t n) override {
    AddNode(NameOf(n));
    nodes_.back()->namesake = true;
    StartDaemon(nodes_.back().get());
    return absl::OkStatus();
  }
  absl::Status StopNamesake(uint32_t n) override {
    for (uint32_t other = options_.nodes; other < nodes_.size(); ++other) {
      if (network_->name(nodes_[other]->number) == NameOf(n)) KillDaemon(other);
    }
    return absl::OkStatus();
  }

  absl::Status DrainNode(uint32_t n, bool on) override {
    if (coordinator_ == nullptr || planner_stopped_) return absl::UnavailableError("the planner is down");
    absl::Status status = absl::UnavailableError("the planner has not stored it");
    coordinator_->SetDraining(NameOf(n), on ? std::optional<std::string>("") : std::nullopt,
                              [&](const absl::Status& stored) { status = stored; });
    PlannerTick();
    return status;
  }

  // --- Data links ---

  absl::Status SetDataLink(uint32_t n, bool up) override {
    for (uint32_t other = 0; other < options_.nodes; ++other) {
      if (other == n) continue;
      if (up) {
        network_->Heal(nodes_[n]->number, nodes_[other]->number);
      } else {
        network_->Cut(nodes_[n]->number, nodes_[other]->number);
      }
    }
    return absl::OkStatus();
  }

  absl::Status DisturbData(bool on) override {
    sim::LinkProperties link = link_;
    if (on) {
      link.jitter_max = absl::Microseconds(200);
      link.duplicate_probability = 0.05;
      link.reorder_probability = 0.2;
      link.reorder_delay_max = absl::Milliseconds(1);
    }
    for (uint32_t a = 0; a < options_.nodes; ++a) {
      for (uint32_t b = 0; b < a; ++b) network_->SetLink(nodes_[a]->number, nodes_[b]->number, link);
    }
    return absl::OkStatus();
  }

  absl::Status AwaitTeamPhase(const std::string& team_name, TeamPhase phase, absl::Duration timeout) override {
    return Await([&] { return PhaseOf(team_name) >= phase; }, timeout, absl::StrCat("team ", team_name));
  }

  absl::StatusOr<std::map<std::string, uint64_t>> Gauges(uint32_t n) override {
    const Node& node = *nodes_[n];
    if (node.daemon == nullptr) return absl::UnavailableError(absl::StrCat("node ", NameOf(n), " has no daemon"));
    const schedule::DaemonStatus status = node.daemon->Status();
    std::map<std::string, uint64_t> gauges = {{"clients", status.clients}, {"teams", status.teams}};
    for (const char* name : kIdleCounters) gauges[name] = status.counters.at(name);
    if (coordinator_ != nullptr) gauges["planner.teams"] = coordinator_->view().Teams().size();
    return gauges;
  }

  absl::Status ReplanCollective(const std::string& team_name, std::optional<Collective> collective,
                                const std::string& algorithm) override {
    if (coordinator_ == nullptr || planner_stopped_) return absl::UnavailableError("the planner is down");
    ASSIGN_OR_RETURN(const TeamId id, FindTeam(team_name));
    auto done = std::make_shared<std::optional<absl::Status>>();
    coordinator_->ReplanTeam(id, {algorithm, collective}, [done](const absl::Status& status) { *done = status; });
    PlannerTick();
    RETURN_IF_ERROR(Await([&] { return done->has_value() || coordinator_ == nullptr; }, kSettle, "replan"));
    return done->has_value() ? **done : absl::UnavailableError("the planner died");
  }
  absl::StatusOr<std::vector<ListedCall>> ListCalls(const std::string& team_name) override {
    if (coordinator_ == nullptr) return absl::UnavailableError("the planner is down");
    ASSIGN_OR_RETURN(const TeamId id, FindTeam(team_name));
    auto answer = std::make_shared<std::optional<coordinator::StatusAnswer>>();
    coordinator_->queries().QueryStatus({}, absl::Seconds(1),
                                        [answer](const coordinator::StatusAnswer& a) { *answer = a; });
    PlannerTick();
    RETURN_IF_ERROR(Await([&] { return answer->has_value(); }, kSettle, "status of the nodes"));
    std::vector<ListedCall> listed;
    for (const coordinator::CollectiveInfo& call : coordinator_->view().MergeCalls(**answer)) {
      if (call.team != id) continue;
      ListedCall entry{.sequence = call.sequence.value(),
                       .collective = std::string(CollectiveName(call.arguments.collective))};
      for (const Rank rank : call.joined) entry.joined.push_back(rank.value());
      for (const Rank rank : call.missing) entry.missing.push_back(rank.value());
      listed.push_back(std::move(entry));
    }
    return listed;
  }

  absl::Status AwaitNodeState(uint32_t n, const std::string& state, absl::Duration timeout) override {
    return Await(
        [&] {
          if (coordinator_ == nullptr) return false;
          const absl::StatusOr<coordinator::NodeInfo> info = coordinator_->view().FindNode(NameOf(n));
          if (!info.ok() || info->state != state) return false;
          // A restarted daemon is ready when its own incarnation is, not its predecessor's.
          return state == "lost" || state == "away" ||
                 info->announcement->incarnation == network_->incarnation(nodes_[n]->number);
        },
        timeout, absl::StrCat("node ", NameOf(n), " is ", state));
  }

  void Pass(absl::Duration duration) override {
    Await([] { return false; }, duration, "time passes").IgnoreError();
  }
  absl::Time Now() const override { return simulator_.Now(); }

  const daemon::Instruments* instruments(uint32_t n) const override { return nodes_[n]->instruments.get(); }
  schedule::DaemonStatus status(uint32_t n) const override { return nodes_[n]->daemon->Status(); }
  uint64_t trace_hash() const override { return simulator_.trace_hash(); }

  // --- coordinator::SessionSink ---
  void Send(coordinator::SessionId session, const ToDaemon& message) override {
    if (store_.crashed()) return;  // it died before it could send it
    ToDaemonOf(session, [message](Node* node) { node->daemon->OnPlannerMessage(message); });
  }
  void Close(coordinator::SessionId session, const std::string&) override {
    ToDaemonOf(session, [this](Node* node) {
      node->session = 0;
      node->daemon->OnPlannerDown();
      ConnectLater(node, kRefusedPause);
    });
  }

 private:
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

  TeamPhase PhaseOf(const std::string& name) const {
    if (coordinator_ == nullptr) return TeamPhase::kAbsent;
    for (const coordinator::TeamInfo& team : coordinator_->view().Teams()) {
      if (team.layout.identity.name != name || schedule::IsDerivedTeam(team.layout.identity)) continue;
      if (team.state != "forming") return TeamPhase::kDecided;
      return team.layout.nodes.empty() ? TeamPhase::kGathering : TeamPhase::kPreparing;
    }
    return TeamPhase::kAbsent;
  }

  static std::string NameOf(uint32_t n) { return absl::StrCat("n", n); }
  Incarnation NextIncarnation() { return Incarnation(1000 + incarnations_++); }

  void AddNode(const std::string& name) {
    auto node = std::make_unique<Node>();
    node->cluster = this;
    Node* raw = node.get();
    node->number = network_->AddNode(name, NextIncarnation(), [this, raw] { KickNode(raw); });
    nodes_.push_back(std::move(node));
  }

  void StartCoordinator() {
    store_.Reset();
    coordinator_ = std::make_unique<coordinator::Coordinator>(
        simulator_.clock(), &store_, &plan_maker_, this,
        coordinator::CoordinatorOptions{.team_formation_timeout = options_.team_formation_timeout});
    CHECK(coordinator_->Start().ok());
    PlannerTick();
  }

  // Runs the coordinator's timers.
  void PlannerTick() {
    if (coordinator_ == nullptr) return;
    const absl::Time due = coordinator_->NextDeadline();
    if (due == absl::InfiniteFuture() || due == planner_timer_) return;
    planner_timer_ = due;
    simulator_.At(due, kPlannerActor, [this, due, life = planner_life_] {
      if (life != planner_life_ || coordinator_ == nullptr || planner_timer_ != due) return;
      planner_timer_ = absl::InfiniteFuture();
      if (planner_stopped_) return;
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
    options.node.version = "sim";
    options.node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
    options.formation_timeout = options_.team_formation_timeout;
    options.node.features = {schedule::Feature::kDerivedTeams, schedule::Feature::kLateAddress,
                             schedule::Feature::kTeamPlans};
    if (options_.sub_teams) options.node.features.insert(schedule::Feature::kSubTeams);
    options.node.machine = absl::StrCat("machine", node->number);
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

  // Reconnects later; a stream that neither side has given up stays.
  void ConnectLater(Node* node, absl::Duration delay = kReconnect) {
    simulator_.Schedule(delay, node->number, [this, node, life = node->life, planner = planner_life_] {
      if (life != node->life || planner != planner_life_ || coordinator_ == nullptr || node->daemon == nullptr) return;
      if (node->session != 0 || node->link_cut || planner_stopped_) return;
      node->session = ++sessions_;
      coordinator_->OnConnected(node->session);
      AtNode(node, absl::ZeroDuration(), [node] { node->daemon->OnPlannerUp(); });
      PlannerTick();
    });
  }

  // Ends the session at the daemon's end.
  void EndSession(Node* node) {
    const coordinator::SessionId session = std::exchange(node->session, 0);
    if (session == 0) return;
    if (node->link_cut) {
      node->unreported.push_back(session);
    } else {
      ReportEnd(session);
    }
  }

  void ReportEnd(coordinator::SessionId session) {
    AtPlanner(kPlannerHop, [this, session] { coordinator_->OnDisconnected(session); });
  }

  // Ends the stream as the daemon sees it.
  void LoseStream(Node* node) {
    node->session = 0;
    if (node->daemon != nullptr) AtNode(node, kPlannerHop, [node] { node->daemon->OnPlannerDown(); });
  }

  // The planner probes a silent stream, like planner_process.cc, and ends it if there is no answer.
  void PlannerLosesPatience(Node* node) {
    const uint64_t cut = ++node->cuts;
    simulator_.Schedule(options_.node_timeout, kPlannerActor, [this, node, cut, session = node->session] {
      if (cut != node->cuts || session == 0 || node->session != session || node->given_up == session) return;
      node->given_up = session;
      AtPlanner(absl::ZeroDuration(), [this, session] { coordinator_->OnDisconnected(session); });
    });
  }

  // The link is up again: a stream that the planner has ended meanwhile is reset.
  void EndIfGivenUp(Node* node) {
    if (std::exchange(node->given_up, 0) != node->session || node->session == 0) return;
    LoseStream(node);
    ConnectLater(node);
  }

  // Carries an event over the node's management link, either way: a cut holds it back, like TCP.
  void Carry(Node* node, std::function<void()> event) {
    if (node->link_cut) {
      node->on_link.push_back(std::move(event));
    } else {
      event();
    }
  }

  // Runs an event of the planner: dropped if it dies before, kept while it is stopped.
  void AtPlanner(absl::Duration delay, std::function<void()> event) {
    simulator_.Schedule(delay, kPlannerActor, [this, planner = planner_life_, event = std::move(event)] {
      if (planner != planner_life_ || coordinator_ == nullptr) return;
      if (planner_stopped_) {
        at_planner_.push_back(event);
      } else {
        event();
        PlannerTick();
      }
    });
  }

  // Runs an event of a daemon: dropped if it dies before, kept while it is stopped.
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

  // Runs an event at the daemon of the session, unless that has ended there before.
  void ToDaemonOf(coordinator::SessionId session, const std::function<void(Node*)>& event) {
    for (auto& node : nodes_) {
      if (node->session != session) continue;
      Carry(node.get(), [this, node = node.get(), session, event] {
        AtNode(node, kPlannerHop, [node, session, event] {
          if (node->session == session) event(node);
        });
      });
    }
  }
  void ToPlanner(Node* node, const FromDaemon& message) {
    const coordinator::SessionId session = node->session;
    if (session == 0) return;
    Carry(node, [this, session, message] {
      AtPlanner(kPlannerHop, [this, session, message] { coordinator_->OnMessage(session, message); });
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
      node->daemon->CheckInvariants();
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
    for (const coordinator::TeamInfo& team : coordinator_->view().Teams()) {
      if (team.layout.identity.name == name) return team.layout.id;
    }
    return absl::NotFoundError(absl::StrCat("no team ", name));
  }

  const sim::LinkProperties link_;
  ClusterOptions options_;
  sim::Simulator simulator_;
  std::unique_ptr<sim::VirtualNetwork> network_;
  FailingStore store_;
  FlatPlanMaker plan_maker_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  uint64_t planner_life_ = 0;
  bool planner_stopped_ = false;
  uint64_t planner_stops_ = 0;
  std::vector<std::function<void()>> at_planner_;  // events that came while it was stopped
  absl::Time planner_timer_ = absl::InfiniteFuture();
  uint64_t incarnations_ = 0;
  coordinator::SessionId sessions_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<SimClient*> processes_;
};

}  // namespace

std::unique_ptr<SimCluster> MakeSimCluster(sim::LinkProperties link) { return std::make_unique<VirtualCluster>(link); }

}  // namespace copse::scenario
