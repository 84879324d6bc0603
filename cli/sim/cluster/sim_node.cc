// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/sim_node.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "cli/sim/cluster/block_data.h"
#include "offload_emu/packet.h"
#include "planner/pricing/cost_model.h"
#include "schedule/reference.h"

namespace copse::sim {
namespace {

// This many bytes behind a result must stay unchanged.
constexpr size_t kGuardBytes = 16;
constexpr uint8_t kGuard = 0xa5;

// The value of an event is the local rank whose result is complete, or kNodeDone. For a collective of blocks it also
// has the number of the chunk, in the bits of kChunkMask; the local rank is then shifted by kLocalShift.
constexpr uint64_t kNodeDone = uint64_t{1} << 32;
constexpr int kLocalShift = 40;
constexpr uint64_t kChunkMask = kNodeDone - 1;
// Limits one engine's memory, which is never reached: the simulation's memory ends before.
constexpr uint64_t kEngineBytesMax = uint64_t{1} << 40;

// Returns the incarnation of node v's daemon.
Incarnation IncarnationOf(uint32_t node) { return Incarnation(uint64_t{node} + 1); }

// Returns the buffer in which lowered descriptors are passed to an engine. All nodes of a thread share it.
schedule::LoweredCall& Lowered() {
  thread_local schedule::LoweredCall lowered;
  return lowered;
}

}  // namespace

SimNode::SimNode(const SimCall* call, uint32_t node, Wire* wire, const Cores* cores)
    : call_(call), node_(node), wire_(wire), cores_(cores) {}

SimNode::~SimNode() = default;

uint64_t SimNode::message_bytes() const {
  return call_->arguments.collective == Collective::kBarrier ? 0 : call_->arguments.bytes();
}

absl::Status SimNode::Open(uint32_t sequences_max) {
  const schedule::Plan& plan = *call_->plan;
  const auto local_ranks = static_cast<uint32_t>(call_->shape->RanksOf(NodeIndex(node_)).size());
  uint32_t window = 1;
  if (call_->blocks != nullptr) {
    window = planner::kTeamWindow;
    chunks_.resize(window);
    told_chunks_.assign(local_ranks, 0);
  } else {
    for (uint32_t rotation = 0; rotation < schedule::RotationsOf(plan); ++rotation) {
      const schedule::NodeView view =
          schedule::ViewOf(*call_->shape, plan, NodeIndex(node_), call_->arguments, rotation);
      ASSIGN_OR_RETURN(sequences_.emplace_back(), schedule::Expand(plan, *call_->index, view, call_->arguments));
    }
  }
  for (const NodeIndex neighbor : schedule::NeighborsOf(plan, NodeIndex(node_))) {
    neighbors_.push_back(neighbor.value());
  }
  ranks_.resize(local_ranks);
  emu::EngineOptions engine_options;
  engine_options.incarnation = IncarnationOf(node_);
  engine_options.memory_limit_bytes = kEngineBytesMax;
  emu::Transport* const transport = this;
  emu::ControlSink* const control = this;
  engine_ = std::make_unique<emu::Engine>(transport, control, engine_options);
  emu::PortOptions options;
  counters_per_slot_ = schedule::CountersPerSlot(plan, local_ranks);
  options.slots = window;
  options.sequences = sequences_max * window;
  options.edges = static_cast<uint32_t>(neighbors_.size());
  options.regions = window * (local_ranks * 2 + (call_->blocks != nullptr ? 1 : 0));
  options.eq_entries = window * (local_ranks + 1);
  options.counters_per_slot = counters_per_slot_;
  options.cell_bytes = schedule::CellBytes(plan);
  ASSIGN_OR_RETURN(port_, engine_->OpenPort(options, this));
  for (const uint32_t neighbor : neighbors_) {
    ASSIGN_OR_RETURN(const emu::Engine::NewEdge edge, engine_->AddEdge(port_, IncarnationOf(neighbor)));
    edges_.push_back(edge.edge);
    labels_.push_back(edge.label);
  }
  for (uint32_t slot = 0; slot < window; ++slot) {
    for (const uint32_t edge : edges_) cells_.push_back(engine_->CellRegion(port_, edge, slot));
  }
  return absl::OkStatus();
}

size_t SimNode::PlaceOf(uint32_t neighbor) const {
  const auto it = std::lower_bound(neighbors_.begin(), neighbors_.end(), neighbor);
  CHECK(it != neighbors_.end() && *it == neighbor);
  return static_cast<size_t>(it - neighbors_.begin());
}

emu::Label SimNode::LabelFor(uint32_t neighbor) const { return labels_[PlaceOf(neighbor)]; }

absl::Status SimNode::SetRemoteLabel(uint32_t neighbor, emu::Label label) {
  return engine_->SetRemoteLabel(port_, edges_[PlaceOf(neighbor)], label);
}

void SimNode::Settle() {
  while (engine_->Progress(uint64_t{1} << 30)) {
  }
}

int64_t SimNode::Turn(int64_t now_ns) {
  CHECK(HasWork());
  const topology::CostParameters& costs = call_->costs->parameters();
  const bool charged = call_->charging == Charging::kCostModel;
  cursor_ns_ = now_ns + (charged ? cores_->WakeNs(node_, now_ns) : 0);
  Item item = std::move(items_[next_item_++]);
  if (!HasWork()) {
    items_.clear();
    next_item_ = 0;
  }
  if (item.from_rank) {
    if (charged) cursor_ns_ += costs.arm_ns;
    ++arrived_;
    if (call_->blocks != nullptr) {
      if (arrived_ == ranks_.size()) MakeRanks();
    } else {
      if (arrived_ == 1) failure_.Update(StartCall());
      failure_.Update(ArmRank(item.local));
      if (arrived_ == ranks_.size()) sequences_ = {};
    }
  } else {
    cursor_ns_ += call_->costs->node(node_).receive_overhead_ns;
    if (charged) cursor_ns_ += planner::PerByteNs(item.frame.charged_bytes, costs.receive_ps_per_byte);
    inbox_ = std::move(item.frame);
    has_frame_ = true;
  }
  Settle();
  if (call_->blocks != nullptr && arrived_ == ranks_.size()) {
    for (absl::StatusOr<bool> moved = Advance(); failure_.ok(); moved = Advance()) {
      failure_.Update(moved.status());
      if (!moved.ok() || !*moved) break;
      Settle();
    }
  }
  ChargeWork();
  return cursor_ns_;
}

void SimNode::TakeDone(std::vector<uint32_t>* done) {
  done->clear();
  done->swap(done_);
}

absl::Status SimNode::StartCall() {
  const schedule::Plan& plan = *call_->plan;
  if (call_->charging == Charging::kCostModel) {
    cursor_ns_ += call_->costs->parameters().arm_ns * static_cast<int64_t>(sequences_[0].primitives.size()) *
                  static_cast<int64_t>(schedule::SegmentCount(plan, message_bytes()));
  }
  const schedule::PortMap map = Map();
  schedule::LowerNode(plan, schedule::PointersTo(sequences_), call_->arguments, map, &Lowered());
  RETURN_IF_ERROR(engine_->ExpectArrivals(port_, CallSeq(0), Lowered().awaited));
  RETURN_IF_ERROR(engine_->ExpectHash(port_, CallSeq(0), map.hash));
  return Post();
}

absl::Status SimNode::ArmRank(uint32_t local) {
  const CallArguments& arguments = call_->arguments;
  const Rank rank = call_->shape->RanksOf(NodeIndex(node_))[local];
  const bool is_root = HasRoot(arguments.collective) && rank.value() == arguments.root;
  RankMemory& memory = ranks_[local];
  const bool sends =
      arguments.collective != Collective::kBarrier && (arguments.collective != Collective::kBcast || is_root);
  const bool receives = arguments.collective == Collective::kAllreduce ||
                        (arguments.collective == Collective::kBcast && !is_root) ||
                        (arguments.collective == Collective::kReduce && is_root);
  if (sends) memory.send = schedule::Contribution(arguments, rank.value(), call_->seed);
  if (receives) memory.receive.assign(message_bytes() + kGuardBytes, kGuard);
  schedule::PortMap map = Map();
  map.rank_event = local;
  RETURN_IF_ERROR(engine_->BindRegion(port_, map.rank_send_base + local, sends ? memory.send.data() : nullptr,
                                      memory.send.size(), /*writable=*/false));
  RETURN_IF_ERROR(engine_->BindRegion(port_, map.rank_receive_base + local, receives ? memory.receive.data() : nullptr,
                                      receives ? message_bytes() : 0, /*writable=*/true));
  schedule::LowerRank(*call_->plan, schedule::PointersTo(sequences_), arguments, map, local, &Lowered());
  RETURN_IF_ERROR(Post());
  for (const emu::CounterIndex counter : Lowered().arrivals) RETURN_IF_ERROR(engine_->Count(port_, counter, 1, 0));
  return absl::OkStatus();
}

absl::Status SimNode::Post() {
  const schedule::LoweredCall& lowered = Lowered();
  for (const schedule::LoweredSequence& s : lowered.sequences) {
    RETURN_IF_ERROR(
        engine_->Post(port_, s.trigger, absl::MakeConstSpan(lowered.descriptors).subspan(s.first, s.count)));
  }
  return absl::OkStatus();
}

schedule::PortMap SimNode::Map() const {
  schedule::PortMap map;
  map.scratch = engine_->ScratchRegion(port_, 0);
  map.rank_receive_base = static_cast<uint32_t>(ranks_.size());
  map.neighbors = neighbors_;
  map.edges = edges_;
  map.cells = cells_;
  map.hash = HashArguments(call_->arguments);
  map.node_event = kNodeDone;
  return map;
}

// Makes the contributions of this node's ranks, and the memory for their results and the metadata.
void SimNode::MakeRanks() {
  const schedule::BlockProgram& program = *call_->blocks;
  const absl::Span<const Rank> ranks = call_->shape->RanksOf(NodeIndex(node_));
  for (uint32_t l = 0; l < ranks_.size(); ++l) {
    ranks_[l].send = BlockContribution(program, ranks[l].value(), call_->seed);
    ranks_[l].receive.assign(program.ReceiveBytes(ranks[l].value()) + kGuardBytes, kGuard);
  }
  if (call_->shared_notes == nullptr) notes_ = program.NotesOf(NodeIndex(node_));
}

absl::StatusOr<bool> SimNode::Advance() {
  bool moved = false;
  for (const uint64_t chunk : std::exchange(over_, {})) {
    RETURN_IF_ERROR(FinishChunk(chunk));
    moved = true;
  }
  while (chunks_started_ < call_->blocks->chunk_count() &&
         chunks_started_ < engine_->Finished(port_).value() + slots()) {
    RETURN_IF_ERROR(StartChunk(chunks_started_++));
    moved = true;
  }
  return moved;
}

absl::Status SimNode::StartChunk(uint64_t number) {
  const schedule::BlockProgram& program = *call_->blocks;
  const schedule::Plan& plan = *call_->plan;
  ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> sequences, program.SequencesOf(number, NodeIndex(node_)));
  ActiveChunk& chunk = chunks_[number % slots()];
  chunk = {.active = true};
  uint64_t primitives = 0, runs = 0;
  for (const schedule::NodeSequence& sequence : sequences) {
    primitives += sequence.primitives.size();
    for (const schedule::Primitive& p : sequence.primitives) runs += p.runs.size();
  }
  if (call_->charging == Charging::kCostModel) {
    cursor_ns_ += call_->costs->parameters().arm_ns * static_cast<int64_t>(primitives) +
                  planner::kCopyRunNs * static_cast<int64_t>(runs);
  }
  schedule::PortMap map = MapOf(number);
  uint8_t* const notes = call_->shared_notes != nullptr ? call_->shared_notes : notes_.data();
  if (program.NotesBytes() > 0) {
    RETURN_IF_ERROR(engine_->BindRegion(port_, map.notes, notes, program.NotesBytes(), /*writable=*/true));
  }
  for (uint32_t l = 0; l < ranks_.size(); ++l) {
    RankMemory& memory = ranks_[l];
    const uint64_t receives = memory.receive.size() - kGuardBytes;
    RETURN_IF_ERROR(engine_->BindRegion(port_, map.rank_send_base + l, memory.send.data(), memory.send.size(),
                                        /*writable=*/false));
    RETURN_IF_ERROR(engine_->BindRegion(port_, map.rank_receive_base + l,
                                        receives > 0 ? memory.receive.data() : nullptr, receives, /*writable=*/true));
  }
  schedule::LowerBlocks(plan, schedule::PointersTo(sequences), call_->arguments, map, &Lowered());
  schedule::KeepRuns(&Lowered(), &chunk.runs);
  chunk.list_bytes = chunk.runs.size() * sizeof(emu::CopyRun);
  list_bytes_ += chunk.list_bytes;
  list_bytes_max_ = std::max(list_bytes_max_, list_bytes_);
  RETURN_IF_ERROR(engine_->ExpectArrivals(port_, CallSeq(number), Lowered().awaited));
  RETURN_IF_ERROR(engine_->ExpectHash(port_, CallSeq(number), map.hash));
  RETURN_IF_ERROR(Post());
  for (uint32_t l = 0; l < ranks_.size(); ++l) {
    map.rank_event = (uint64_t{l} << kLocalShift) | number;
    schedule::LowerBlocksRank(plan, schedule::PointersTo(sequences), call_->arguments, map, l, &Lowered());
    RETURN_IF_ERROR(Post());
  }
  return absl::OkStatus();
}

absl::Status SimNode::FinishChunk(uint64_t number) {
  ActiveChunk& chunk = chunks_[number % slots()];
  list_bytes_ -= chunk.list_bytes;
  RETURN_IF_ERROR(engine_->FinishCall(port_, CallSeq(number)));
  chunk = {};
  ++chunks_finished_;
  return absl::OkStatus();
}

schedule::PortMap SimNode::MapOf(uint64_t chunk) const {
  const auto slot = static_cast<uint32_t>(chunk % slots());
  const auto local_ranks = static_cast<uint32_t>(ranks_.size());
  schedule::PortMap map = Map();
  map.counter_base = slot * counters_per_slot_;
  map.scratch = engine_->ScratchRegion(port_, slot);
  map.rank_send_base = slot * 2 * local_ranks;
  map.rank_receive_base = map.rank_send_base + local_ranks;
  map.notes = slots() * 2 * local_ranks + slot;
  map.cells = absl::MakeConstSpan(cells_).subspan(slot * neighbors_.size(), neighbors_.size());
  map.sequence = static_cast<uint16_t>(chunk);
  map.node_event = kNodeDone | chunk;
  return map;
}

std::string SimNode::LocalAddress() const { return absl::StrCat(node_); }

absl::Status SimNode::Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
  ChargeWork();
  WireFrame frame{.from = node_, .to = static_cast<uint32_t>(peer.value() - 1)};
  frame.bytes.reserve(head.size() + body.size());
  frame.bytes.insert(frame.bytes.end(), head.begin(), head.end());
  frame.bytes.insert(frame.bytes.end(), body.begin(), body.end());
  frame.charged_bytes = ChargedBytes(frame.bytes);
  cursor_ns_ += call_->costs->node(node_).send_overhead_ns;
  if (call_->charging == Charging::kMgo) {
    cursor_ns_ +=
        planner::StreamNs(frame.charged_bytes, call_->costs->PathBetween(node_, frame.to).bandwidth_bytes_per_s);
    wire_->SendHead(std::move(frame), cursor_ns_);
  } else {
    cursor_ns_ += planner::PerByteNs(frame.charged_bytes, call_->costs->parameters().send_ps_per_byte);
    wire_->Send(std::move(frame), cursor_ns_);
  }
  return absl::OkStatus();
}

bool SimNode::Progress(emu::TransportSink* sink) {
  if (!has_frame_) return false;
  has_frame_ = false;
  const WireFrame frame = std::move(inbox_);
  if (!sink->TakeFrame(frame.bytes)) sink->OnFrame(frame.bytes);
  return true;
}

// Returns the bytes for which a frame is charged: those of the records' data, or all if headers are charged, too.
uint64_t SimNode::ChargedBytes(absl::Span<const uint8_t> frame) const {
  if (call_->charge_headers) return frame.size();
  emu::FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof(header));
  uint64_t bytes = 0;
  size_t at = sizeof(header);
  for (uint32_t i = 0; i < header.count; ++i) {
    emu::Record record;
    std::memcpy(&record, frame.data() + at, sizeof(record));
    bytes += record.bytes;
    at += sizeof(record) + emu::PaddedBytes(record.bytes);
  }
  return bytes;
}

void SimNode::ChargeWork() {
  const emu::EngineStats& stats = engine_->stats();
  const uint64_t combined = stats.alu_operand_bytes - stats.alu_bytes;
  if (call_->charging == Charging::kCostModel) {
    const topology::CostParameters& costs = call_->costs->parameters();
    cursor_ns_ += planner::PerByteNs(combined - combined_, costs.alu_ps_per_byte);
    cursor_ns_ += planner::PerByteNs(stats.copy_bytes - copied_, costs.copy_ps_per_byte);
  }
  combined_ = combined;
  copied_ = stats.copy_bytes;
}

void SimNode::OnEvent(emu::PortId, uint64_t value, bool failed) {
  if (failed)
    failure_.Update(
        absl::InternalError(absl::StrCat("node ", node_, ": a part of the call failed (event=", value, ")")));
  if (call_->blocks != nullptr) {
    const uint64_t number = value & kChunkMask;
    ActiveChunk& chunk = chunks_[number % slots()];
    if ((value & kNodeDone) != 0) {
      chunk.node_done = true;
    } else {
      const auto local = static_cast<uint32_t>(value >> kLocalShift);
      ++chunk.told;
      if (++told_chunks_[local] == call_->blocks->chunk_count()) done_.push_back(local);
    }
    if (chunk.node_done && chunk.told == ranks_.size()) over_.push_back(number);
    return;
  }
  if (value == kNodeDone) {
    node_done_ = true;
    return;
  }
  ++told_;
  done_.push_back(static_cast<uint32_t>(value));
}

void SimNode::OnMismatch(emu::PortId, uint32_t edge, uint16_t, uint16_t hash) {
  failure_.Update(absl::InternalError(
      absl::StrCat("node ", node_, ": a packet of another call (edge=", edge, ", hash=", hash, ")")));
}

void SimNode::OnWrongArrival(emu::PortId, uint16_t, const emu::Arrival& arrived, const emu::Arrival* awaited) {
  failure_.Update(absl::InternalError(absl::StrCat(
      "node ", node_, ": a packet that the plan does not have (edge=", arrived.edge, ", counter=", arrived.counter,
      ", bytes=", arrived.bytes, ", awaited=", awaited == nullptr ? 0 : awaited->bytes, ")")));
}

absl::Status SimNode::CheckData(absl::Span<const uint8_t> expected) const {
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    const absl::Span<const uint8_t> written = ranks_[local].receive;
    if (written.empty()) continue;  // this rank receives nothing
    const uint32_t rank = call_->shape->RanksOf(NodeIndex(node_))[local].value();
    const absl::Span<const uint8_t> got = written.first(written.size() - kGuardBytes);
    if (!std::all_of(got.end(), written.end(), [](uint8_t byte) { return byte == kGuard; })) {
      return absl::InternalError(absl::StrCat("rank ", rank, ": data behind the result (bytes=", got.size(), ")"));
    }
    if (call_->blocks != nullptr) {
      RETURN_IF_ERROR(CheckBlocks(*call_->blocks, rank, call_->seed, got));
      continue;
    }
    CHECK_EQ(got.size(), expected.size());
    const auto differs = std::mismatch(expected.begin(), expected.end(), got.begin());
    if (differs.first != expected.end()) {
      return absl::InternalError(absl::StrCat("rank ", rank, ": wrong data (byte=", differs.first - expected.begin(),
                                              ", value=", *differs.second, ", expected=", *differs.first, ")"));
    }
  }
  return absl::OkStatus();
}
}  // namespace copse::sim
