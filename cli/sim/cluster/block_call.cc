// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/block_call.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/status_macros.h"
#include "cli/sim/cluster/block_data.h"
#include "planner/pricing/cost_model.h"
#include "schedule/block_program.h"

namespace copse::sim {
namespace {

// The value of an event has the chunk's number in the bits of kChunkMask, and kNodeDone or, shifted by kLocalShift, the
// local rank whose result of the chunk is complete.
constexpr uint64_t kNodeDone = uint64_t{1} << 32;
constexpr int kLocalShift = 40;
constexpr uint64_t kChunkMask = kNodeDone - 1;

}  // namespace

BlockCall::BlockCall(const SimCall* call, uint32_t node, NodePort* port, NodeClock* clock)
    : call_(call),
      node_(node),
      port_(port),
      clock_(clock),
      ranks_(call->shape->RanksOf(NodeIndex(node)).size()),
      chunks_(planner::kTeamWindow),
      told_chunks_(ranks_.size(), 0) {}

absl::Status BlockCall::AddRank(uint32_t) {
  clock_->TakeRank();
  if (++arrived_ == ranks_.size()) MakeRanks();
  return absl::OkStatus();
}

void BlockCall::MakeRanks() {
  const schedule::BlockProgram& program = *call_->blocks;
  const absl::Span<const Rank> ranks = call_->shape->RanksOf(NodeIndex(node_));
  for (uint32_t l = 0; l < ranks_.size(); ++l) {
    ranks_[l].SetSend(BlockContribution(program, ranks[l].value(), call_->seed));
    ranks_[l].Receive(program.ReceiveBytes(ranks[l].value()));
  }
  if (call_->shared_notes == nullptr) notes_ = program.NotesOf(NodeIndex(node_));
}

absl::StatusOr<bool> BlockCall::Advance() {
  if (arrived_ < ranks_.size()) return false;
  bool moved = false;
  for (const uint64_t chunk : std::exchange(over_, {})) {
    RETURN_IF_ERROR(FinishChunk(chunk));
    moved = true;
  }
  while (chunks_started_ < call_->blocks->chunk_count() && chunks_started_ < port_->finished() + window()) {
    RETURN_IF_ERROR(StartChunk(chunks_started_++));
    moved = true;
  }
  return moved;
}

schedule::PortMap BlockCall::MapOf(uint64_t chunk) const {
  schedule::PortMap map = port_->MapOf(chunk);
  map.node_event = kNodeDone | chunk;
  return map;
}

absl::Status BlockCall::Bind(const schedule::PortMap& map) {
  uint8_t* const notes = call_->shared_notes != nullptr ? call_->shared_notes : notes_.data();
  const uint64_t notes_bytes = call_->blocks->NotesBytes();
  if (notes_bytes > 0) RETURN_IF_ERROR(port_->BindNotes(map, notes, notes_bytes));
  for (uint32_t l = 0; l < ranks_.size(); ++l) RETURN_IF_ERROR(port_->BindRank(map, l, &ranks_[l]));
  return absl::OkStatus();
}

void BlockCall::KeepRuns(ActiveChunk* chunk) {
  schedule::KeepRuns(&Lowered(), &chunk->runs);
  uint64_t runs = 0;
  for (const ActiveChunk& active : chunks_) runs += active.runs.size();
  list_bytes_max_ = std::max(list_bytes_max_, runs * sizeof(emu::CopyRun));
}

absl::Status BlockCall::StartChunk(uint64_t number) {
  const schedule::Plan& plan = *call_->plan;
  ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> sequences,
                   call_->blocks->SequencesOf(number, NodeIndex(node_)));
  uint64_t primitives = 0, runs = 0;
  for (const schedule::NodeSequence& sequence : sequences) {
    primitives += sequence.primitives.size();
    for (const schedule::Primitive& p : sequence.primitives) runs += p.runs.size();
  }
  clock_->PostPrimitives(primitives, runs);
  schedule::PortMap map = MapOf(number);
  RETURN_IF_ERROR(Bind(map));
  schedule::LowerBlocks(plan, schedule::PointersTo(sequences), call_->arguments, map, &Lowered());
  KeepRuns(&ChunkAt(number));
  RETURN_IF_ERROR(port_->Expect(number, Lowered(), map.hash));
  RETURN_IF_ERROR(port_->Post(Lowered()));
  for (uint32_t l = 0; l < ranks_.size(); ++l) {
    map.rank_event = (uint64_t{l} << kLocalShift) | number;
    schedule::LowerBlocksRank(plan, schedule::PointersTo(sequences), call_->arguments, map, l, &Lowered());
    RETURN_IF_ERROR(port_->Post(Lowered()));
  }
  return absl::OkStatus();
}

absl::Status BlockCall::FinishChunk(uint64_t number) {
  RETURN_IF_ERROR(port_->Finish(number));
  ChunkAt(number) = {};
  ++chunks_finished_;
  return absl::OkStatus();
}

void BlockCall::TakeEvent(uint64_t value, std::vector<uint32_t>* done) {
  const uint64_t number = value & kChunkMask;
  ActiveChunk& chunk = ChunkAt(number);
  if ((value & kNodeDone) != 0) {
    chunk.node_done = true;
  } else {
    const auto local = static_cast<uint32_t>(value >> kLocalShift);
    ++chunk.told;
    if (++told_chunks_[local] == call_->blocks->chunk_count()) done->push_back(local);
  }
  if (chunk.node_done && chunk.told == ranks_.size()) over_.push_back(number);
}

bool BlockCall::ended() const { return chunks_finished_ == call_->blocks->chunk_count(); }

absl::Status BlockCall::CheckData(absl::Span<const uint8_t>) const {
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    if (!ranks_[local].receives()) continue;
    const uint32_t rank = call_->shape->RanksOf(NodeIndex(node_))[local].value();
    ASSIGN_OR_RETURN(const absl::Span<const uint8_t> got, ranks_[local].Result(rank));
    RETURN_IF_ERROR(CheckBlocks(*call_->blocks, rank, call_->seed, got));
  }
  return absl::OkStatus();
}

}  // namespace copse::sim
