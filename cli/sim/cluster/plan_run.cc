// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/plan_run.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "schedule/blocks.h"
#include "schedule/reference.h"
#include "schedule/verify.h"

namespace copse::sim {
namespace {

using SteadyClock = std::chrono::steady_clock;

// If all nodes together would need more memory for received counts, they share it.
constexpr uint64_t kOwnNotesBytesMax = uint64_t{512} << 20;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// A PlanRun runs one call. Actors 0..nodes-1 are the daemons' threads, nodes..nodes+ranks-1 are the ranks.
class PlanRun final : private Worker {
 public:
  PlanRun(const schedule::Plan& plan, const schedule::TeamShape& shape, const planner::TeamCosts& costs,
          const CallArguments& arguments, const PlanRunOptions& options)
      : shape_(shape),
        plan_(plan),
        index_(plan),
        call_{.plan = &plan,
              .shape = &shape_,
              .index = &index_,
              .costs = &costs,
              .arguments = arguments,
              .charging = options.charging,
              .charge_headers = options.charge_headers,
              .seed = options.seed,
              .blocks = nullptr,
              .shared_notes = nullptr},
        counts_(options.counts),
        progress_(options.progress),
        cores_(costs.wake_costs(), this),
        wire_(&simulator_, &costs,
              [this](WireFrame frame) {
                const uint32_t to = frame.to;
                nodes_[to]->AddFrame(std::move(frame));
                cores_.MakeRunnable(to, simulator_.NowNs());
              }),
        posted_(shape.size(), false),
        completion_ns_(shape.size(), -1) {}

  absl::StatusOr<PlanRunResult> Run();

 private:
  uint32_t node_count() const { return shape_.node_count(); }
  bool charged() const { return call_.charging == Charging::kCostModel; }

  absl::Status Open();
  absl::Status Connect();
  absl::Status Check() const;

  int64_t Turn(uint32_t actor, int64_t now_ns) override;
  bool HasWork(uint32_t actor) const override { return actor < node_count() && nodes_[actor]->HasWork(); }
  int64_t NodeTurn(uint32_t node, int64_t now_ns);
  int64_t RankTurn(uint32_t rank, int64_t now_ns);

  absl::Status PrepareBlocks();

  const schedule::ShapeIndex shape_;
  const schedule::Plan& plan_;
  const schedule::TreeIndex index_;
  SimCall call_;
  std::unique_ptr<schedule::BlockProgram> blocks_;
  std::vector<uint8_t> shared_notes_;
  const schedule::BlockCounts& counts_;
  const std::function<void(uint32_t, uint32_t)> progress_;
  Simulator simulator_;
  Cores cores_;
  Wire wire_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<bool> posted_;  // by rank
  std::vector<int64_t> completion_ns_;
  uint32_t done_ = 0;
  std::vector<uint32_t> done_ranks_;
};

absl::Status PlanRun::PrepareBlocks() {
  if (!HasBlocks(plan_.collective)) return absl::OkStatus();
  ASSIGN_OR_RETURN(blocks_, schedule::BlockProgram::Create(&plan_, &shape_, call_.arguments, counts_));
  call_.blocks = blocks_.get();
  if (blocks_->notes_chunk_count() > 0 && blocks_->NotesBytes() * node_count() > kOwnNotesBytesMax) {
    shared_notes_ = blocks_->NotesInTheEnd();
    call_.shared_notes = shared_notes_.data();
  }
  return absl::OkStatus();
}

absl::Status PlanRun::Open() {
  // SequencesPerCall visits all nodes of the plan, so it is called only once for each number of ranks on a node.
  std::map<uint32_t, uint32_t> sequences_max;
  nodes_.reserve(node_count());
  for (uint32_t v = 0; v < node_count(); ++v) {
    const auto local_ranks = static_cast<uint32_t>(shape_.RanksOf(NodeIndex(v)).size());
    const auto [it, is_new] = sequences_max.try_emplace(local_ranks, 0);
    if (is_new) it->second = schedule::SequencesPerCall(*call_.plan, local_ranks, shape_.size());
    nodes_.push_back(std::make_unique<SimNode>(&call_, v, &wire_, &cores_));
    RETURN_IF_ERROR(nodes_.back()->OpenPort(it->second));
  }
  return absl::OkStatus();
}

absl::Status PlanRun::Connect() {
  for (uint32_t v = 0; v < node_count(); ++v) {
    for (const uint32_t w : nodes_[v]->port().neighbors())
      RETURN_IF_ERROR(nodes_[v]->port().SetRemoteLabel(w, nodes_[w]->port().LabelFor(v)));
  }
  for (const std::unique_ptr<SimNode>& node : nodes_) node->port().Settle();
  return absl::OkStatus();
}

int64_t PlanRun::Turn(uint32_t actor, int64_t now_ns) {
  const int64_t end = actor < node_count() ? NodeTurn(actor, now_ns) : RankTurn(actor - node_count(), now_ns);
  CHECK_GE(end, now_ns);
  simulator_.At(absl::FromUnixNanos(end), actor, [this, actor] { cores_.End(actor, simulator_.NowNs()); });
  return end;
}

int64_t PlanRun::NodeTurn(uint32_t node, int64_t now_ns) {
  const int64_t end = nodes_[node]->Turn(now_ns);
  nodes_[node]->TakeDone(&done_ranks_);
  for (const uint32_t local : done_ranks_) {
    const uint32_t rank = node_count() + shape_.RanksOf(NodeIndex(node))[local].value();
    simulator_.At(absl::FromUnixNanos(end), rank, [this, rank] { cores_.MakeRunnable(rank, simulator_.NowNs()); });
  }
  return end;
}

// Runs a rank: the first time it posts the call, the second time it fetches the result. Returns when it is free again.
int64_t PlanRun::RankTurn(uint32_t rank, int64_t now_ns) {
  const int64_t hop_ns = charged() ? call_.costs->parameters().client_hop_ns : 0;
  if (!posted_[rank]) {
    posted_[rank] = true;
    const int64_t end = now_ns + hop_ns;
    const uint32_t node = shape_.NodeOf(Rank(rank)).value();
    simulator_.At(absl::FromUnixNanos(end), node, [this, node, rank] {
      nodes_[node]->AddRank(shape_.LocalIndexOf(Rank(rank)));
      cores_.MakeRunnable(node, simulator_.NowNs());
    });
    return end;
  }
  completion_ns_[rank] = now_ns + hop_ns + (charged() ? cores_.WakeNs(node_count() + rank, now_ns) : 0);
  ++done_;
  constexpr uint32_t kTellEvery = 1024;
  if (progress_ && (done_ % kTellEvery == 0 || done_ == shape_.size())) progress_(done_, shape_.size());
  return completion_ns_[rank];
}

absl::Status PlanRun::Check() const {
  for (const std::unique_ptr<SimNode>& node : nodes_) RETURN_IF_ERROR(node->failure());
  for (uint32_t v = 0; v < node_count(); ++v) {
    if (nodes_[v]->call().ended()) continue;
    return absl::InternalError(absl::StrCat("plan ", call_.plan->id.value(), ": the call does not end at node ", v,
                                            " (done=", done_, ", ranks=", shape_.size(), ")"));
  }
  CHECK_EQ(done_, shape_.size());
  if (blocks_ != nullptr) {
    for (const std::unique_ptr<SimNode>& node : nodes_) RETURN_IF_ERROR(node->call().CheckData({}));
    return absl::OkStatus();
  }
  // All ranks that receive a result receive an equal one.
  const Rank root(HasRoot(call_.arguments.collective) ? call_.arguments.root : 0);
  const std::vector<uint8_t> expected =
      schedule::ExpectedResult(call_.arguments, root.value(), shape_.size(), call_.seed);
  for (const std::unique_ptr<SimNode>& node : nodes_) RETURN_IF_ERROR(node->call().CheckData(expected));
  return absl::OkStatus();
}

absl::StatusOr<PlanRunResult> PlanRun::Run() {
  const SteadyClock::time_point started = SteadyClock::now();
  for (uint32_t h = 0; h < call_.costs->host_count(); ++h) cores_.AddHost(charged() ? call_.costs->CoresOf(h) : 0);
  for (uint32_t v = 0; v < node_count(); ++v) cores_.AddActor(call_.costs->node(v).host);
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    cores_.AddActor(call_.costs->node(shape_.NodeOf(Rank(r)).value()).host);
  }
  RETURN_IF_ERROR(PrepareBlocks());
  RETURN_IF_ERROR(Open());
  RETURN_IF_ERROR(Connect());
  PlanRunResult result;
  result.setup_seconds = SecondsSince(started);
  const SteadyClock::time_point posted = SteadyClock::now();
  for (uint32_t r = 0; r < shape_.size(); ++r) cores_.MakeRunnable(node_count() + r, 0);
  CHECK(simulator_.RunUntilIdle(std::numeric_limits<uint64_t>::max()));
  result.run_seconds = SecondsSince(posted);
  RETURN_IF_ERROR(Check());
  const uint32_t root_node =
      HasRoot(call_.arguments.collective) ? shape_.NodeOf(Rank(call_.arguments.root)).value() : 0;
  for (uint32_t v = 0; v < node_count(); ++v) {
    const SimNode* const node = nodes_[v].get();
    const emu::EngineStats& stats = node->port().stats();
    const DaemonUse use = {.connections = static_cast<uint32_t>(node->port().neighbors().size()),
                           .staging_bytes = stats.memory_used_bytes_max,
                           .reserved_bytes = stats.memory_reserved_bytes,
                           .notes_bytes = blocks_ == nullptr ? 0 : blocks_->NotesBytes(),
                           .list_bytes = node->call().list_bytes_max()};
    if (v == root_node) result.root = use;
    result.most = {.connections = std::max(result.most.connections, use.connections),
                   .staging_bytes = std::max(result.most.staging_bytes, use.staging_bytes),
                   .reserved_bytes = std::max(result.most.reserved_bytes, use.reserved_bytes),
                   .notes_bytes = std::max(result.most.notes_bytes, use.notes_bytes),
                   .list_bytes = std::max(result.most.list_bytes, use.list_bytes)};
    result.packets += stats.packets_received + stats.puts_received;
    result.frames += stats.frames_sent;
    result.bytes += stats.bytes_sent;
    result.descriptors += stats.descriptors_run;
  }
  result.events = simulator_.events_run();
  if (blocks_ != nullptr) result.segments = blocks_->segment_count();
  result.trace_hash = simulator_.trace_hash();
  result.completion_ns = std::move(completion_ns_);
  result.total_ns = *std::max_element(result.completion_ns.begin(), result.completion_ns.end());
  return result;
}

}  // namespace

absl::StatusOr<PlanRunResult> RunPlan(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      const planner::TeamCosts& costs, const CallArguments& arguments,
                                      const PlanRunOptions& options) {
  RETURN_IF_ERROR(schedule::CheckShape(shape));
  if (shape.node_count > kSimulatedNodesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("simulation: too many nodes (nodes=", shape.node_count, ", limit=", kSimulatedNodesMax, ")"));
  }
  if (costs.node_count() != shape.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("simulation: costs of other nodes than the team's (nodes=",
                                                   shape.node_count, ", costs=", costs.node_count(), ")"));
  }
  RETURN_IF_ERROR(schedule::VerifyPlan(plan, shape));
  if (HasRoot(arguments.collective) && arguments.root >= shape.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("simulation: no such root (root=", arguments.root, ", ranks=", shape.size(), ")"));
  }
  return PlanRun(plan, shape, costs, arguments, options).Run();
}

}  // namespace copse::sim
