// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/node_port.h"

#include <algorithm>

#include "base/check.h"
#include "base/status_macros.h"

namespace copse::sim {
namespace {

// Limits one engine's memory, which is never reached: the simulation's memory ends before.
constexpr uint64_t kEngineBytesMax = uint64_t{1} << 40;

}  // namespace

schedule::LoweredCall& Lowered() {
  thread_local schedule::LoweredCall lowered;
  return lowered;
}

absl::Status NodePort::Open(uint32_t window, uint32_t sequences_max, emu::Transport* transport, emu::PortSink* sink,
                            emu::ControlSink* control) {
  const schedule::Plan& plan = *call_->plan;
  window_ = window;
  local_ranks_ = static_cast<uint32_t>(call_->shape->RanksOf(NodeIndex(node_)).size());
  for (const NodeIndex neighbor : schedule::NeighborsOf(plan, NodeIndex(node_))) {
    neighbors_.push_back(neighbor.value());
  }
  emu::EngineOptions engine_options;
  engine_options.incarnation = IncarnationOf(node_);
  engine_options.memory_limit_bytes = kEngineBytesMax;
  engine_ = std::make_unique<emu::Engine>(transport, control, engine_options);
  emu::PortOptions options;
  counters_per_slot_ = schedule::CountersPerSlot(plan, local_ranks_);
  options.slots = window;
  options.sequences = sequences_max * window;
  options.edges = static_cast<uint32_t>(neighbors_.size());
  options.regions = window * (local_ranks_ * 2 + (call_->blocks != nullptr ? 1 : 0));
  options.eq_entries = window * (local_ranks_ + 1);
  options.counters_per_slot = counters_per_slot_;
  options.cell_bytes = schedule::CellBytes(plan);
  ASSIGN_OR_RETURN(port_, engine_->OpenPort(options, sink));
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

size_t NodePort::PlaceOf(uint32_t neighbor) const {
  const auto it = std::lower_bound(neighbors_.begin(), neighbors_.end(), neighbor);
  CHECK(it != neighbors_.end() && *it == neighbor);
  return static_cast<size_t>(it - neighbors_.begin());
}

absl::Status NodePort::SetRemoteLabel(uint32_t neighbor, emu::Label label) {
  return engine_->SetRemoteLabel(port_, edges_[PlaceOf(neighbor)], label);
}

void NodePort::Settle() {
  while (engine_->Progress(uint64_t{1} << 30)) {
  }
}

schedule::PortMap NodePort::MapOf(uint64_t number) const {
  const auto slot = static_cast<uint32_t>(number % window_);
  schedule::PortMap map;
  map.counter_base = slot * counters_per_slot_;
  map.scratch = engine_->ScratchRegion(port_, slot);
  map.rank_send_base = slot * 2 * local_ranks_;
  map.rank_receive_base = map.rank_send_base + local_ranks_;
  map.notes = window_ * 2 * local_ranks_ + slot;
  map.neighbors = neighbors_;
  map.edges = edges_;
  map.cells = absl::MakeConstSpan(cells_).subspan(slot * neighbors_.size(), neighbors_.size());
  map.sequence = static_cast<uint16_t>(number);
  map.hash = HashArguments(call_->arguments);
  return map;
}

absl::Status NodePort::BindRank(const schedule::PortMap& map, uint32_t local, RankMemory* memory) {
  const absl::Span<uint8_t> send = memory->send(), receive = memory->receive();
  RETURN_IF_ERROR(engine_->BindRegion(port_, map.rank_send_base + local, send.data(), send.size(), /*writable=*/false));
  return engine_->BindRegion(port_, map.rank_receive_base + local, receive.empty() ? nullptr : receive.data(),
                             receive.size(), /*writable=*/true);
}

absl::Status NodePort::BindNotes(const schedule::PortMap& map, uint8_t* notes, uint64_t bytes) {
  return engine_->BindRegion(port_, map.notes, notes, bytes, /*writable=*/true);
}

absl::Status NodePort::Expect(uint64_t number, const schedule::LoweredCall& lowered, uint16_t hash) {
  RETURN_IF_ERROR(engine_->ExpectArrivals(port_, CallSeq(number), lowered.awaited));
  return engine_->ExpectHash(port_, CallSeq(number), hash);
}

absl::Status NodePort::Post(const schedule::LoweredCall& lowered) {
  for (const schedule::LoweredSequence& s : lowered.sequences) {
    RETURN_IF_ERROR(
        engine_->Post(port_, s.trigger, absl::MakeConstSpan(lowered.descriptors).subspan(s.first, s.count)));
  }
  return absl::OkStatus();
}

}  // namespace copse::sim
