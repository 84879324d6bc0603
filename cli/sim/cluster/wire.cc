// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/wire.h"

#include <utility>

#include "absl/time/time.h"

namespace copse::sim {

Wire::Wire(Simulator* simulator, const planner::TeamCosts* costs, std::function<void(WireFrame)> arrived)
    : simulator_(simulator), costs_(costs), arrived_(std::move(arrived)), links_(costs->direction_count()) {}

void Wire::Send(WireFrame frame, int64_t time_ns) {
  const topology::Path path = costs_->PathBetween(frame.from, frame.to);
  const int64_t tail_ns = planner::StreamNs(frame.charged_bytes, path.bandwidth_bytes_per_s);
  if (tail_ns == 0) return SendHead(std::move(frame), time_ns);
  const uint32_t slot = NewSlot(std::move(frame));
  slots_[slot].tail_ns = tail_ns;
  costs_->AppendHops(slots_[slot].frame.from, slots_[slot].frame.to, &slots_[slot].hops);
  Pass(slot, 0, time_ns);  // called at once, since no other node sends in this direction of the sender's link
}

void Wire::SendHead(WireFrame frame, int64_t time_ns) {
  const int64_t latency_ns = costs_->PathBetween(frame.from, frame.to).latency_ns;
  ArriveAt(NewSlot(std::move(frame)), time_ns + latency_ns);
}

uint32_t Wire::NewSlot(WireFrame frame) {
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot].frame = std::move(frame);
  slots_[slot].hops.clear();
  return slot;
}

void Wire::Pass(uint32_t slot, uint32_t place, int64_t time_ns) {
  const InFlight& self = slots_[slot];
  const Hop& hop = self.hops[place];
  const int64_t stream_ns = planner::StreamNs(self.frame.charged_bytes, hop.bandwidth_bytes_per_s);
  const int64_t head_ns = links_.Pass(hop, stream_ns, time_ns);
  if (place + 1 == self.hops.size()) return ArriveAt(slot, head_ns + self.tail_ns);
  simulator_->At(absl::FromUnixNanos(head_ns), kNetworkActor,
                 [this, slot, place] { Pass(slot, place + 1, simulator_->NowNs()); });
}

void Wire::ArriveAt(uint32_t slot, int64_t time_ns) {
  simulator_->At(absl::FromUnixNanos(time_ns), slots_[slot].frame.to, [this, slot] {
    WireFrame frame = std::move(slots_[slot].frame);
    free_slots_.push_back(slot);
    arrived_(std::move(frame));
  });
}

}  // namespace copse::sim
