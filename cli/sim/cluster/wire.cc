// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/wire.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "cli/sim/cluster/cores.h"
#include "planner/topology/topology.h"

namespace copse::sim {

Wire::Wire(Simulator* simulator, const planner::TeamCosts* costs, std::function<void(WireFrame)> arrived)
    : simulator_(simulator),
      costs_(costs),
      arrived_(std::move(arrived)),
      link_free_(2 * (costs->node_count() + costs->switch_slot_count())) {}

void Wire::Send(WireFrame frame, int64_t time_ns) {
  const topology::Path path = costs_->PathBetween(frame.from, frame.to);
  const int64_t tail_ns = planner::StreamNs(frame.charged_bytes, path.bandwidth_bytes_per_s);
  if (tail_ns == 0) return SendHead(std::move(frame), time_ns);
  const uint32_t slot = NewSlot(std::move(frame));
  slots_[slot].tail_ns = tail_ns;
  FindLinks(slots_[slot].frame.from, slots_[slot].frame.to, &slots_[slot]);
  Hop(slot, 0, time_ns);  // at once: only the sender uses this direction of its own link
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
  slots_[slot].links.clear();
  return slot;
}

void Wire::FindLinks(uint32_t from, uint32_t to, Slot* slot) const {
  const topology::Topology& topology = costs_->topology();
  const auto add_node = [&](uint32_t v, uint32_t down) {
    const topology::Node& node = topology.nodes()[costs_->PlaceOf(v)];
    slot->links.push_back({node.latency_ns, node.bandwidth_bytes_per_s, 2 * v + down});
  };
  const auto add_switch = [&](uint32_t s, uint32_t down) {
    const topology::Switch& item = topology.switches()[s];
    slot->links.push_back(
        {item.latency_ns, item.bandwidth_bytes_per_s, 2 * (costs_->node_count() + costs_->SlotOfSwitch(s)) + down});
  };
  const uint32_t top = topology.nodes()[costs_->PlaceOf(from)].parent;
  const uint32_t bottom = topology.nodes()[costs_->PlaceOf(to)].parent;
  const uint32_t common = topology.CommonSwitch(top, bottom);
  add_node(from, 0);
  for (uint32_t s = top; s != common; s = topology.switches()[s].parent) add_switch(s, 0);
  const auto down_begin = static_cast<ptrdiff_t>(slot->links.size());
  for (uint32_t s = bottom; s != common; s = topology.switches()[s].parent) add_switch(s, 1);
  std::reverse(slot->links.begin() + down_begin, slot->links.end());
  add_node(to, 1);
}

void Wire::Hop(uint32_t slot, uint32_t place, int64_t time_ns) {
  const Slot& self = slots_[slot];
  const Link& link = self.links[place];
  int64_t& free = link_free_[link.busy];
  const int64_t start = std::max(time_ns, free);
  free = start + planner::StreamNs(self.frame.charged_bytes, link.bandwidth);
  const int64_t head = start + link.latency_ns;
  if (place + 1 == self.links.size()) return ArriveAt(slot, head + self.tail_ns);
  simulator_->At(absl::FromUnixNanos(head), kNetworkActor,
                 [this, slot, place] { Hop(slot, place + 1, NowNs(*simulator_)); });
}

void Wire::ArriveAt(uint32_t slot, int64_t time_ns) {
  simulator_->At(absl::FromUnixNanos(time_ns), slots_[slot].frame.to, [this, slot] {
    WireFrame frame = std::move(slots_[slot].frame);
    free_slots_.push_back(slot);
    arrived_(std::move(frame));
  });
}

}  // namespace copse::sim
