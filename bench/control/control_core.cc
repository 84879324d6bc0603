// SPDX-License-Identifier: Apache-2.0
//
// A coordinator with the sessions of many daemons in one process, without a network, for callgrind to count its
// instructions.
//
//     valgrind --tool=callgrind --collect-atstart=no control_core PHASE NODES
//
// PHASE is one of:
//     register   all daemons register
//     world      one team of one rank on every node forms
//     late       the same, of daemons that tell their addresses only when they are asked
//     ranks      one team of 8 ranks on every node forms
//     teams      teams of 8 nodes form, one after the other, until every node is in one
//     restart    all daemons register at a planner that was restarted, and run one team of all nodes
//     quick      one team of one rank on every node forms with the planner's quick plans; this phase is to be timed
//
// Collects the coordinator alone: neither the daemons here, nor the making of plans, nor the conversion of messages.
// Prints one line: "messages=N to_daemons_bytes=N joins_bytes=N allocations=N time_ms=N cpu_ms=N plans_cpu_ms=N
// turn_ms=N memory_mb=N", of the phase alone. Messages are counted in both directions, and bytes as protobuf encodes
// them, joins_bytes those of the daemons' joins; the times include what the daemons do here, turn_ms is the
// coordinator's longest turn, in processor time, and memory_mb is the most that the process has had.
#include <sys/resource.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/cpu_time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/testing/fake_clock.h"
#include "base/version.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/planner.h"
#include "planner/topology/topology.h"
#include "proto/copse/v1/control.pb.h"
#include "rpc/control_conversion.h"
#include "schedule/plan.h"

namespace {
bool counting = false;
uint64_t allocations = 0;
absl::Duration counted, begun_counting;  // processor time
}  // namespace

// Not inlined, since the compiler would take the pair of malloc and free for a mismatch.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations += counting ? 1 : 0;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace copse::bench {
namespace {

using coordinator::Coordinator;
using coordinator::SessionId;

constexpr uint32_t kTeamNodes = 8;
constexpr uint32_t kRanksPerNode = 8;
constexpr uint32_t kNodesMax = 1u << 20;

// Counts, or does not count, while it lives.
class Counting {
 public:
  explicit Counting(bool on) : changed_(on != counting) { Toggle(); }
  ~Counting() { Toggle(); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  void Toggle() {
    if (!changed_) return;
    if (!counting) begun_counting = ThreadCpuTime();
    counting = !counting;
    CALLGRIND_TOGGLE_COLLECT;
    if (!counting) counted += ThreadCpuTime() - begun_counting;
  }
  const bool changed_;
};

std::vector<std::vector<uint32_t>> BinomialTree(uint32_t nodes) {
  std::vector<std::vector<uint32_t>> neighbors(nodes);
  for (uint32_t v = 1; v < nodes; ++v) {
    neighbors[v].push_back(v & (v - 1));
    neighbors[v & (v - 1)].push_back(v);
  }
  return neighbors;
}

// Makes as many plans as the planner does for a team of more than 256 nodes, all by one tree.
class BinomialPlans final : public coordinator::PlanMaker {
 public:
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions&) override {
    const Counting pause(false);
    std::vector<schedule::Plan> plans;
    for (const Collective collective :
         {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce, Collective::kGather,
          Collective::kScatter, Collective::kAllgather, Collective::kGatherv, Collective::kScan,
          Collective::kReduceScatter}) {
      schedule::Plan plan;
      plan.collective = collective;
      plan.bytes_max = 1024;
      plan.algorithm = "binomial";
      plan.node_count = layout.shape.node_count;
      plan.neighbors = BinomialTree(plan.node_count);
      plans.push_back(std::move(plan));
    }
    return plans;
  }
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout&, const schedule::Plan&,
                                                       Bytes) override {
    return coordinator::PlanExplanation{};
  }
};

// Makes quick plans for nodes on one switch.
class QuickPlans final : public coordinator::PlanMaker {
 public:
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions&) override {
    const absl::Duration begun = ThreadCpuTime();
    std::vector<std::string> names;
    for (const schedule::TeamNode& node : layout.nodes) names.push_back(node.name);
    ASSIGN_OR_RETURN(const topology::Topology topology, topology::FlatTopology(names));
    auto plans = planner::Planner(&topology, topology.costs()).MakeQuickPlans(layout.shape, names);
    cpu += ThreadCpuTime() - begun;
    return plans;
  }
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout&, const schedule::Plan&,
                                                       Bytes) override {
    return coordinator::PlanExplanation{};
  }

  absl::Duration cpu;
};

// Plays the daemons of all nodes: node i is session i + 1, and accepts what it is sent.
class Daemons final : public coordinator::SessionSink {
 public:
  Daemons(uint32_t nodes, coordinator::PlanMaker* plans) : nodes_(nodes), plans_(plans) { Restart(); }

  // Ends the planner's process; the store stays.
  void Restart() {
    coordinator_ = std::make_unique<Coordinator>(&clock_, &store_, plans_, this, coordinator::CoordinatorOptions{});
    CHECK(coordinator_->Start().ok());
  }

  void Send(SessionId session, const schedule::ToDaemon& message) override {
    const Counting pause(false);
    ++messages;
    if (const auto* prepare = std::get_if<schedule::Prepare>(&message)) {
      OnPrepare(session, *prepare);
      return;
    }
    v1::ToDaemon proto;
    rpc::ToProto(message, &proto);
    to_daemons_bytes += proto.ByteSizeLong();
    if (const auto* registered = std::get_if<schedule::Registered>(&message)) CHECK(registered->accepted);
    CHECK(!std::holds_alternative<schedule::Abort>(message) && !std::holds_alternative<schedule::BreakTeam>(message));
    if (std::holds_alternative<schedule::AddressQuery>(message)) {
      replies_.emplace_back(session, schedule::DataAddress{Address()});
    }
    if (const auto* commit = std::get_if<schedule::Commit>(&message)) {
      ++committed_;
      replies_.emplace_back(session, schedule::CommitReply{commit->team, commit->epoch});
    }
  }
  void Close(SessionId session, const std::string& why) override {
    std::fprintf(stderr, "session %llu: %s\n", static_cast<unsigned long long>(session), why.c_str());
    std::abort();
  }

  // With `late`, the daemons have no addresses yet.
  void RegisterAll(bool late = false) {
    schedule::FromDaemon message = schedule::Register();
    auto& registration = std::get<schedule::Register>(message);
    if (running_.layout->nodes.size() == nodes_) registration.teams = {running_};
    for (uint32_t node = 0; node < nodes_; ++node) {
      registration.node.name = NameOf(node);
      registration.node.incarnation = Incarnation(node + 1);
      registration.node.worker_address = late ? "" : Address();
      registration.node.version = kVersion;
      registration.node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
      registration.node.features = {schedule::Feature::kDerivedTeams};
      if (late) registration.node.features.insert(schedule::Feature::kLateAddress);
      registration.node.machine = absl::StrCat("machine of ", NameOf(node));
      {
        const Counting count(collects);
        coordinator_->OnConnected(node + 1);
      }
      Receive(node + 1, message);
    }
  }

  // Forms a team of `ranks` ranks on each of the nodes [first, first + count).
  void FormTeam(uint32_t first, uint32_t count, uint32_t ranks = 1) {
    committed_ = 0;
    for (uint32_t node = 0; node < count; ++node) Receive(first + node + 1, Joins(first, node * ranks, ranks, count));
    while (!replies_.empty() || coordinator_->NextDeadline() <= clock_.Now()) {
      for (const auto& [session, reply] : std::exchange(replies_, {})) Receive(session, reply);
      Turn([this] { coordinator_->Tick(clock_.Now()); });
    }
    CHECK_EQ(committed_, count);
  }

  bool collects = false;
  uint64_t messages = 0;
  uint64_t to_daemons_bytes = 0;
  uint64_t joins_bytes = 0;
  absl::Duration longest;  // processor time of a turn of the coordinator

 private:
  static std::string Address() { return std::string(100, 'a'); }
  static std::string NameOf(uint32_t node) { return absl::StrFormat("node%06d", node); }

  // Returns the joins of the `ranks` ranks of a node from `rank` on.
  schedule::FromDaemon Joins(uint32_t team, uint32_t rank, uint32_t ranks, uint32_t nodes) {
    const Counting pause(false);
    schedule::JoinTeam join;
    join.request = ++request_;
    join.identity = {1000, "job", team, "world"};
    join.rank = Rank(rank);
    join.size = nodes * ranks;
    for (uint32_t i = 1; i < ranks; ++i) join.more.emplace_back(++request_, Rank(rank + i));
    v1::FromDaemon proto;
    rpc::ToProto(schedule::FromDaemon(join), &proto);
    joins_bytes += proto.ByteSizeLong();
    return join;
  }

  void Receive(SessionId session, const schedule::FromDaemon& message) {
    ++messages;
    Turn([&] { coordinator_->OnMessage(session, message); });
  }

  template <typename Function>
  void Turn(Function function) {
    const absl::Duration before = counted;
    {
      const Counting count(collects);
      function();
    }
    longest = std::max(longest, counted - before);
  }

  // All daemons of a team receive equal Prepares, except for their joins, so one is converted and taken for all.
  void OnPrepare(SessionId session, const schedule::Prepare& prepare) {
    if (running_.layout->id != prepare.layout.id) {
      running_ = {.layout = prepare.layout, .epoch = prepare.epoch, .plans = prepare.plans, .why = {}};
      first_session_ = session;
      tree_ = schedule::DecodePlan(prepare.plans.front())->neighbors;  // that of all plans
      v1::ToDaemon proto;
      rpc::ToProto(schedule::ToDaemon(prepare), &proto);
      prepare_bytes_ = proto.ByteSizeLong();
    }
    to_daemons_bytes += prepare_bytes_;
    schedule::PrepareReply reply{.team = prepare.layout.id, .epoch = prepare.epoch, .accepted = true, .why = {}};
    const uint32_t self = static_cast<uint32_t>(session - first_session_);
    for (const uint32_t neighbor : tree_[self]) {
      reply.incoming.push_back({NodeIndex(neighbor), uint32_t{1} + neighbor + self * uint32_t{64}});
    }
    replies_.emplace_back(session, std::move(reply));
  }

  const uint32_t nodes_;
  FakeClock clock_;
  coordinator::MemoryStore store_;
  coordinator::PlanMaker* const plans_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::pair<SessionId, schedule::FromDaemon>> replies_;
  schedule::RunningTeam running_;  // the team that was prepared last
  SessionId first_session_ = 0;    // of that team's node 0
  std::vector<std::vector<uint32_t>> tree_;
  uint64_t prepare_bytes_ = 0;
  uint64_t request_ = 0;
  uint32_t committed_ = 0;
};

int Run(const std::string& phase, uint32_t nodes) {
  BinomialPlans binomial;
  QuickPlans quick;
  Daemons daemons(nodes, phase == "quick" ? static_cast<coordinator::PlanMaker*>(&quick) : &binomial);
  daemons.collects = phase == "register";
  const auto reset = [&] {
    daemons.collects = true;
    daemons.messages = daemons.to_daemons_bytes = daemons.joins_bytes = allocations = 0;
    daemons.longest = absl::ZeroDuration();
  };
  if (phase != "register") {
    daemons.RegisterAll(phase == "late");
    if (phase == "restart") {
      daemons.FormTeam(0, nodes);
      daemons.Restart();
    }
    reset();
  }
  const absl::Time begun = absl::Now();
  const absl::Duration cpu_before = ProcessCpuTime();
  if (phase == "register" || phase == "restart") {
    daemons.RegisterAll();
  } else if (phase == "world" || phase == "late" || phase == "quick") {
    daemons.FormTeam(0, nodes);
  } else if (phase == "ranks") {
    daemons.FormTeam(0, nodes, kRanksPerNode);
  } else {
    for (uint32_t first = 0; first + kTeamNodes <= nodes; first += kTeamNodes) daemons.FormTeam(first, kTeamNodes);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "messages=%llu to_daemons_bytes=%llu joins_bytes=%llu allocations=%llu time_ms=%.1f cpu_ms=%.1f "
      "plans_cpu_ms=%.1f turn_ms=%.1f memory_mb=%.1f\n",
      static_cast<unsigned long long>(daemons.messages), static_cast<unsigned long long>(daemons.to_daemons_bytes),
      static_cast<unsigned long long>(daemons.joins_bytes), static_cast<unsigned long long>(allocations),
      absl::ToDoubleMilliseconds(absl::Now() - begun), absl::ToDoubleMilliseconds(ProcessCpuTime() - cpu_before),
      absl::ToDoubleMilliseconds(quick.cpu), absl::ToDoubleMilliseconds(daemons.longest),
      static_cast<double>(usage.ru_maxrss) / 1e3);
  return 0;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  uint32_t nodes = 0;
  const std::set<std::string> phases = {"register", "world", "late", "ranks", "teams", "restart", "quick"};
  if (argc != 3 || !phases.contains(argv[1]) || !absl::SimpleAtoi(argv[2], &nodes) ||
      nodes < copse::bench::kTeamNodes || nodes > copse::bench::kNodesMax) {
    std::fprintf(stderr, "usage: control_core register|world|late|ranks|teams|restart|quick NODES (limit %u to %u)\n",
                 copse::bench::kTeamNodes, copse::bench::kNodesMax);
    return 2;
  }
  copse::SetLogLevel(copse::LogLevel::kError);
  return copse::bench::Run(argv[1], nodes);
}
