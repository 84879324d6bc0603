// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "planner/pricing/chunk_windows.h"
#include "planner/pricing/cost_actors.h"
#include "planner/pricing/cost_call.h"
#include "planner/pricing/cost_network.h"
#include "planner/pricing/cost_program.h"
#include "planner/pricing/cost_trace.h"
#include "schedule/expand.h"

namespace copse::planner {
namespace {

using schedule::Step;

// A Simulation runs one call: the daemons' work, which sends messages between them.
class Simulation final : public CostWork {
 public:
  Simulation(const schedule::ShapeIndex& shape, const TeamCosts& costs, const PriceOptions& options, CostCall* call)
      : shape_(shape),
        costs_(costs),
        parameters_(costs.parameters()),
        timeline_(options.timeline),
        call_(*call),
        trace_(&shape, options.critical_path),
        actors_(&shape, &costs, &options.post_ns, &trace_, this),
        network_(&costs, &trace_, &actors_),
        results_left_(shape.size(), call->segment_count()) {}

  absl::StatusOr<Prediction> Run();

  void RunDaemon(uint32_t node, const CostItem& item) override;
  void OnNetwork(int64_t time_ns, const CostEvent& event) override;

 private:
  void Work(uint32_t node, Doing doing, uint32_t peer, int64_t duration_ns) {
    actors_.Work(node, doing, peer, duration_ns);
  }

  // --- Inputs of a daemon ---
  void TakeRank(uint32_t node, uint32_t local);
  void TakePacket(uint32_t node, const CostItem& item);
  void TakeCredit(uint32_t node, uint32_t peer);
  void Count(uint32_t node, uint32_t segment, uint32_t wait);

  // --- A daemon's work ---
  void StartCall(uint32_t node);
  void StartChunks(uint32_t node);
  void Advance(uint32_t node, uint32_t segment);
  void Deliver(uint32_t node, uint32_t local, uint32_t segment, bool data);

  // Sends what the daemon has collected in a call of blocks: data, credit, and notifications of ranks. It is called
  // when nothing is ready any more.
  void Flush(uint32_t node);

  const schedule::ShapeIndex& shape_;
  const TeamCosts& costs_;
  const CostParameters& parameters_;
  const bool timeline_;
  CostCall& call_;
  CostTrace trace_;
  CostActors actors_;
  CostNetwork network_;
  std::vector<uint32_t> results_left_;  // by rank: segments still awaited
  // In a call of blocks, it collects the output of the node that is running until nothing is ready any more.
  std::vector<CostMessage> outbox_;
  std::vector<uint32_t> credits_;  // nodes to which credit is sent
  std::vector<uint32_t> told_;     // ranks that are notified
  bool chunks_may_start_ = false;
};

absl::StatusOr<Prediction> Simulation::Run() {
  RETURN_IF_ERROR(actors_.Run());
  RETURN_IF_ERROR(call_.CheckFinished());
  Prediction prediction;
  prediction.completion_ns = actors_.completion_ns();
  // Every sequence delivers to every rank of its node.
  for (const int64_t completion_ns : prediction.completion_ns) CHECK_GE(completion_ns, 0);
  const auto slowest = std::max_element(prediction.completion_ns.begin(), prediction.completion_ns.end());
  prediction.total_ns = *slowest;
  const auto rank = static_cast<uint32_t>(slowest - prediction.completion_ns.begin());
  prediction.critical_path = trace_.PathTo(actors_.LastSpanOf(rank));
  if (timeline_) prediction.timeline = trace_.Timeline();
  return prediction;
}

void Simulation::OnNetwork(int64_t time_ns, const CostEvent& event) {
  if (event.kind != CostEvent::Kind::kCredit) return network_.OnEvent(time_ns, event);
  actors_.AddItem(event.who, {time_ns, kNoSpan, event.where, 0, CostItem::Kind::kCredit});
}

void Simulation::RunDaemon(uint32_t node, const CostItem& item) {
  switch (item.kind) {
    case CostItem::Kind::kRank:
      TakeRank(node, item.peer);
      break;
    case CostItem::Kind::kPacket:
      TakePacket(node, item);
      break;
    case CostItem::Kind::kCredit:
      TakeCredit(node, item.peer);
      break;
  }
  if (call_.windows() == nullptr) return;
  Flush(node);
  // Chunks that have ended allow others to begin, which may end immediately.
  while (std::exchange(chunks_may_start_, false)) {
    StartChunks(node);
    Flush(node);
  }
}

void Simulation::TakeRank(uint32_t node, uint32_t local) {
  CostCall::Node& state = call_.node(node);
  Work(node, Doing::kTakeRank, local, parameters_.arm_ns);
  state.here[local] = true;
  ++state.here_count;
  if (call_.windows() != nullptr) {
    if (state.here_count < state.here.size()) return;
    state.started = true;
    return StartChunks(node);
  }
  const uint32_t wait = state.programs[0].wait_of_rank[local];
  if (wait != CostProgram::kNoWait) {
    for (uint32_t s = 0; s < call_.segment_count(); ++s) --state.Pending(s, wait);
  }
  if (!state.started) return StartCall(node);
  for (const CostCall::Deferred& result : state.deferred) {
    if (result.local == local) Deliver(node, local, result.segment, result.data);
  }
  if (wait == CostProgram::kNoWait) return;
  for (uint32_t s = 0; s < call_.segment_count(); ++s) Advance(node, s);
}

void Simulation::TakePacket(uint32_t node, const CostItem& item) {
  const CostNetwork::Packet packet = network_.packet(item.packet);
  Work(node, Doing::kReceive, item.peer,
       costs_.node(node).receive_overhead_ns + PerByteNs(packet.bytes, parameters_.receive_ps_per_byte));
  for (uint32_t m = packet.messages_begin; m < packet.messages_end && !actors_.failed(); ++m) {
    const CostMessage message = network_.message(m);
    const uint32_t wait = call_.node(node).ProgramOf(message.segment).WaitFor(message.phase, item.peer);
    if (wait == CostProgram::kNoWait) {
      return actors_.Fail(absl::FailedPreconditionError(
          absl::StrCat("node ", node, " awaits no such packet (from=", item.peer, ", phase=", message.phase, ")")));
    }
    Count(node, message.segment, wait);
  }
}

void Simulation::TakeCredit(uint32_t node, uint32_t peer) {
  Work(node, Doing::kReceive, peer, costs_.node(node).receive_overhead_ns);
  for (const ChunkWindows::Blocked& blocked : call_.windows()->TakeBlocked(node)) {
    if (blocked.peer == peer) {
      Advance(node, blocked.segment);
    } else {
      call_.windows()->Block(node, blocked);
    }
  }
}

void Simulation::Count(uint32_t node, uint32_t segment, uint32_t wait) {
  uint32_t& pending = call_.node(node).Pending(segment, wait);
  if (pending == 0) {
    return actors_.Fail(
        absl::FailedPreconditionError(absl::StrCat("node ", node, " gets a packet twice (segment=", segment, ")")));
  }
  --pending;
  if (pending == 0 && call_.HasStarted(node, segment)) Advance(node, segment);
}

void Simulation::StartCall(uint32_t node) {
  CostCall::Node& state = call_.node(node);
  state.started = true;
  Work(node, Doing::kArm, 0,
       parameters_.arm_ns * static_cast<int64_t>(state.programs[0].ops.size()) *
           static_cast<int64_t>(call_.segment_count()));
  for (uint32_t s = 0; s < call_.segment_count(); ++s) Advance(node, s);
}

// Starts as many chunks as the window allows. It is called once the daemon has taken the posts of all ranks of the
// node.
void Simulation::StartChunks(uint32_t node) {
  const CostCall::Node& state = call_.node(node);
  while (const auto chunk = call_.windows()->StartChunk(node)) {
    int64_t arm_ns = 0;
    for (uint32_t s = chunk->begin; s < chunk->end; ++s) {
      const CostProgram& program = state.programs[s];
      arm_ns += parameters_.arm_ns * static_cast<int64_t>(program.ops.size()) +
                kCopyRunNs * static_cast<int64_t>(program.copy_runs);
    }
    Work(node, Doing::kArm, 0, arm_ns);
    for (uint32_t s = chunk->begin; s < chunk->end; ++s) Advance(node, s);
  }
}

// Runs a segment's sequence up to the next incomplete Wait.
void Simulation::Advance(uint32_t node, uint32_t segment) {
  CostCall::Node& state = call_.node(node);
  const CostProgram& program = state.ProgramOf(segment);
  if (state.op[segment] == program.ops.size()) return;
  for (uint32_t& at = state.op[segment]; at < program.ops.size(); ++at) {
    const CostProgram::Op& op = program.ops[at];
    const uint64_t bytes = call_.BytesOf(op, segment);
    switch (op.step) {
      case Step::kWait:
        if (state.Pending(segment, state.wait[segment]) > 0) return;
        ++state.wait[segment];
        break;
      case Step::kReduce:
        Work(node, Doing::kReduce, 0, PerByteNs(bytes * (std::max(op.operands, 2u) - 1), parameters_.alu_ps_per_byte));
        break;
      case Step::kCopy:
      case Step::kCopyRuns:
        if (!op.lands) Work(node, Doing::kCopy, 0, PerByteNs(bytes, parameters_.copy_ps_per_byte));
        break;
      case Step::kSendTo:
        if (op.peer >= shape_.node_count() || op.peer == node) {
          return actors_.Fail(
              absl::FailedPreconditionError(absl::StrCat("node ", node, " sends to nobody (to=", op.peer, ")")));
        }
        if (call_.windows() != nullptr) {
          if (!call_.windows()->HasCredit(node, op.peer, segment)) return;
          outbox_.push_back({op.peer, segment, op.phase, bytes});
        } else {
          network_.Send(node, {op.peer, segment, op.phase, bytes});
        }
        break;
      case Step::kDeliver:
      case Step::kRelease:
        if (state.here[op.peer]) {
          const bool has_landed = op.lands && schedule::IsPut(call_.BytesOf(segment));
          Deliver(node, op.peer, segment, op.step == Step::kDeliver && !has_landed);
        } else {
          state.deferred.push_back({op.peer, segment, op.step == Step::kDeliver});
        }
        break;
      case Step::kStart:
      case Step::kRecvFrom:
      case Step::kRecvLocal:
      case Step::kEnd:
        break;
    }
  }
  if (call_.windows() != nullptr && call_.windows()->EndSegment(node, segment, &credits_)) chunks_may_start_ = true;
}

void Simulation::Deliver(uint32_t node, uint32_t local, uint32_t segment, bool data) {
  if (data) Work(node, Doing::kDeliver, local, PerByteNs(call_.BytesOf(segment), parameters_.copy_ps_per_byte));
  const uint32_t rank = shape_.RanksOf(NodeIndex(node))[local].value();
  CHECK_GT(results_left_[rank], 0u);
  if (--results_left_[rank] > 0) return;
  if (call_.windows() != nullptr) {
    told_.push_back(rank);
  } else {
    actors_.NotifyRank(rank);
  }
}

void Simulation::Flush(uint32_t node) {
  network_.SendFrames(node, &outbox_);
  for (const uint32_t peer : std::exchange(credits_, {})) network_.SendCredit(node, peer);
  for (const uint32_t rank : std::exchange(told_, {})) actors_.NotifyRank(rank);
}

}  // namespace

absl::StatusOr<Prediction> Price(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
                                 const CallArguments& arguments, const PriceOptions& options) {
  RETURN_IF_ERROR(schedule::CheckShape(shape));
  size_t rows = plan.kind == schedule::PlanKind::kTree ? plan.neighbors.size() : plan.steps.size();
  if (plan.kind == schedule::PlanKind::kCirculant) rows = plan.neighbors.empty() ? 0 : plan.neighbors[0].size();
  if (plan.node_count != shape.node_count || costs.node_count() != shape.node_count || rows != shape.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(),
                                                   ": does not fit the team (nodes=", plan.node_count, ", rows=", rows,
                                                   ", team=", shape.node_count, ", costs=", costs.node_count(), ")"));
  }
  if (plan.root_node.value() >= plan.node_count || (HasRoot(plan.collective) && arguments.root >= shape.size())) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(),
                                                   ": root out of range (root_node=", plan.root_node.value(),
                                                   ", root=", arguments.root, ", limit=", shape.size(), ")"));
  }
  if (!options.post_ns.empty() && options.post_ns.size() != shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), ": a post for each rank (posts=",
                                                   options.post_ns.size(), ", ranks=", shape.size(), ")"));
  }
  for (const int64_t post_ns : options.post_ns) {
    if (post_ns < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan ", plan.id.value(), ": a post before the call (ns=", post_ns, ", least=0)"));
    }
  }
  const schedule::ShapeIndex index(shape);
  std::unique_ptr<schedule::BlockProgram> blocks;
  if (HasBlocks(plan.collective)) {
    ASSIGN_OR_RETURN(
        blocks, schedule::BlockProgram::Create(&plan, &index, arguments,
                                               options.counts != nullptr ? *options.counts : schedule::BlockCounts()));
  }
  ASSIGN_OR_RETURN(CostCall call, CostCall::Create(plan, index, arguments, blocks.get()));
  const absl::StatusOr<Prediction> prediction = Simulation(index, costs, options, &call).Run();
  if (prediction.ok()) return prediction;
  return absl::Status(prediction.status().code(),
                      absl::StrCat("plan ", plan.id.value(), ": ", prediction.status().message()));
}

}  // namespace copse::planner
