// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/switch_core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace copse::fabric {
namespace {

// Returns the time to send `bytes`, rounded up.
int64_t SendingNs(uint32_t bytes, int64_t bytes_per_s) {
  return (int64_t{bytes} * 1'000'000'000 + bytes_per_s - 1) / bytes_per_s;
}

}  // namespace

SwitchCore::SwitchCore(std::vector<Vertex> vertices, uint32_t switch_count, uint64_t seed, PacketSink* sink)
    : vertices_(std::move(vertices)),
      switch_count_(switch_count),
      children_(switch_count),
      cut_(vertices_.size(), false),
      lanes_(2 * vertices_.size()),
      events_(static_cast<uint32_t>(lanes_.size())),
      wakes_(static_cast<uint32_t>(lanes_.size())),
      prng_(seed),
      sink_(sink) {
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    if (vertices_[v].parent == kNone) continue;
    CHECK_LT(vertices_[v].parent, switch_count_);
    children_[vertices_[v].parent].push_back(v);
  }
  UpdateAhead();
}

const LinkCounters& SwitchCore::counters(uint32_t vertex, Direction direction) const {
  return lanes_[LaneOf(vertex, direction)].counters;
}

void SwitchCore::ClearCounters() {
  for (Lane& lane : lanes_) {
    const LinkCounters before = lane.counters;
    lane.counters = {.queue_bytes = before.queue_bytes,
                     .queue_packets = before.queue_packets,
                     .queue_bytes_high = before.queue_bytes,
                     .queue_packets_high = before.queue_packets};
  }
}

void SwitchCore::Send(uint32_t from, uint32_t to, const PacketShape& shape, uint32_t packet, int64_t now_ns) {
  Advance(now_ns);
  uint32_t index;
  if (packets_free_.empty()) {
    index = static_cast<uint32_t>(packets_.size());
    packets_.emplace_back();
  } else {
    index = packets_free_.back();
    packets_free_.pop_back();
  }
  packets_[index] = {.shape = shape, .to = to, .caller_packet = packet, .copies = 1};
  const Copy copy = {.due_ns = 0, .last_ns = now_ns_, .packet = index};
  const uint32_t lane = LaneOf(switch_count_ + from, Direction::kUp);
  if (to != kEveryone && (to >= node_count() || to == from)) {
    return DropCopy(lane, copy, Drop::kNoRoute);
  }
  Enter(lane, copy, now_ns_);
}

void SwitchCore::Advance(int64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  while (events_.first_due() <= now_ns_) {
    const uint32_t index = events_.first();
    Lane& lane = lanes_[index];
    if (!lane.wire.empty() && (lane.waiting.empty() || lane.wire.front().due_ns <= lane.free_ns)) {
      const Copy copy = lane.wire.front();
      lane.wire.pop_front();
      Arrive(index, copy);
    } else {
      const Copy copy = lane.waiting.front();
      lane.waiting.pop_front();
      const PacketShape& shape = packets_[copy.packet].shape;
      lane.counters.queue_bytes -= shape.wire_bytes;
      lane.counters.queue_packets -= shape.packets;
      Start(index, copy, lane.free_ns);
    }
    Schedule(index);
  }
}

void SwitchCore::Set(uint32_t vertex, const LinkSettings& settings, int64_t now_ns) {
  Advance(now_ns);
  vertices_[vertex].link = settings;
  UpdateAhead();
}

void SwitchCore::Cut(uint32_t vertex, int64_t now_ns) {
  Advance(now_ns);
  cut_[vertex] = true;
  for (const Direction direction : {Direction::kUp, Direction::kDown}) {
    const uint32_t index = LaneOf(vertex, direction);
    Lane& lane = lanes_[index];
    DropAll(index, &lane.waiting);
    DropAll(index, &lane.wire);
    lane.free_ns = now_ns_;
    lane.counters.queue_bytes = lane.counters.queue_packets = 0;
    Schedule(index);
  }
}

void SwitchCore::Heal(uint32_t vertex, int64_t now_ns) {
  Advance(now_ns);
  cut_[vertex] = false;
}

void SwitchCore::RemoveCopy(uint32_t index) {
  Packet& packet = packets_[index];
  if (--packet.copies > 0) return;
  packets_free_.push_back(index);
  sink_->Release(packet.caller_packet);
}

void SwitchCore::DropCopy(uint32_t lane, const Copy& copy, Drop cause) {
  lanes_[lane].counters.drops[static_cast<int>(cause)] += packets_[copy.packet].shape.packets;
  RemoveCopy(copy.packet);
}

void SwitchCore::DropAll(uint32_t lane, std::deque<Copy>* copies) {
  for (const Copy& copy : *copies) DropCopy(lane, copy, Drop::kCut);
  copies->clear();
}

void SwitchCore::Enter(uint32_t index, const Copy& copy, int64_t at_ns) {
  const uint32_t vertex = index / 2;
  Lane& lane = lanes_[index];
  if (cut_[vertex]) return DropCopy(index, copy, Drop::kCut);
  if (lane.waiting.empty() && lane.free_ns <= at_ns) {
    Start(index, copy, at_ns);
    return Schedule(index);
  }
  const LinkSettings& link = vertices_[vertex].link;
  const PacketShape& shape = packets_[copy.packet].shape;
  LinkCounters& counters = lane.counters;
  if (!lane.waiting.empty() && (counters.queue_bytes + shape.wire_bytes > link.queue_bytes ||
                                counters.queue_packets + shape.packets > link.queue_packets)) {
    return DropCopy(index, copy, Drop::kQueue);
  }
  lane.waiting.push_back(copy);
  counters.queue_bytes += shape.wire_bytes;
  counters.queue_packets += shape.packets;
  counters.queue_bytes_high = std::max(counters.queue_bytes_high, counters.queue_bytes);
  counters.queue_packets_high = std::max(counters.queue_packets_high, counters.queue_packets);
  Schedule(index);
}

void SwitchCore::Start(uint32_t index, Copy copy, int64_t at_ns) {
  const uint32_t vertex = index / 2;
  const LinkSettings& link = vertices_[vertex].link;
  Lane& lane = lanes_[index];
  const PacketShape& shape = packets_[copy.packet].shape;
  lane.counters.packets += shape.packets;
  lane.counters.bytes += shape.wire_bytes;
  // A train that arrives more slowly than the link sends ends with its last packet.
  lane.free_ns = std::max(at_ns + SendingNs(shape.wire_bytes, link.bytes_per_s),
                          copy.last_ns + SendingNs(shape.last_bytes, link.bytes_per_s));
  if (link.loss > 0 && prng_.Chance(1 - std::pow(1 - link.loss, shape.packets))) {
    return DropCopy(index, copy, Drop::kLoss);
  }
  int64_t latency_ns = link.latency_ns;
  if (link.jitter_ns > 0) latency_ns += static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(link.jitter_ns) + 1));
  int64_t first_ns = at_ns + SendingNs(shape.first_bytes, link.bytes_per_s) + latency_ns;
  copy.last_ns = lane.free_ns + latency_ns;
  if (!link.reorder && first_ns < lane.last_arrival_ns) {
    copy.last_ns += lane.last_arrival_ns - first_ns;
    first_ns = lane.last_arrival_ns;
  }
  lane.last_arrival_ns = std::max(lane.last_arrival_ns, copy.last_ns);
  const bool to_node = IsNode(vertex) && index == LaneOf(vertex, Direction::kDown);
  copy.due_ns = to_node ? copy.last_ns : first_ns;
  // Packets overtake only where reordering was asked for.
  const auto earlier = [](const Copy& a, const Copy& b) { return a.due_ns < b.due_ns; };
  lane.wire.insert(std::upper_bound(lane.wire.begin(), lane.wire.end(), copy, earlier), copy);
}

void SwitchCore::Arrive(uint32_t index, const Copy& copy) {
  const uint32_t vertex = index / 2;
  const bool up = index == LaneOf(vertex, Direction::kUp);
  if (!up && IsNode(vertex)) {
    sink_->Deliver(vertex - switch_count_, packets_[copy.packet].caller_packet, copy.due_ns);
    return RemoveCopy(copy.packet);
  }
  const uint32_t here = up ? vertices_[vertex].parent : vertex;
  const uint32_t to = packets_[copy.packet].to;
  if (to == kEveryone) return Flood(here, index, copy);
  Enter(Route(here, to), copy, copy.due_ns);
}

uint32_t SwitchCore::Route(uint32_t switch_vertex, uint32_t node) const {
  uint32_t vertex = switch_count_ + node;
  while (vertices_[vertex].parent != switch_vertex) {
    vertex = vertices_[vertex].parent;
    if (vertices_[vertex].parent == kNone) return LaneOf(switch_vertex, Direction::kUp);
  }
  return LaneOf(vertex, Direction::kDown);
}

void SwitchCore::Flood(uint32_t switch_vertex, uint32_t from_lane, const Copy& copy) {
  const auto enter = [&](uint32_t lane) {
    ++packets_[copy.packet].copies;
    Enter(lane, copy, copy.due_ns);
  };
  if (vertices_[switch_vertex].parent != kNone && from_lane != LaneOf(switch_vertex, Direction::kDown)) {
    enter(LaneOf(switch_vertex, Direction::kUp));
  }
  for (const uint32_t child : children_[switch_vertex]) {
    if (from_lane != LaneOf(child, Direction::kUp)) enter(LaneOf(child, Direction::kDown));
  }
  RemoveCopy(copy.packet);
}

void SwitchCore::Schedule(uint32_t index) {
  const Lane& lane = lanes_[index];
  int64_t event_ns = kNever;
  int64_t wake_ns = kNever;
  if (!lane.waiting.empty()) {
    event_ns = lane.free_ns;
    wake_ns = lane.free_ns + vertices_[index / 2].link.latency_ns + lane.ahead_ns;
  }
  if (!lane.wire.empty()) {
    const int64_t due_ns = lane.wire.front().due_ns;
    event_ns = std::min(event_ns, due_ns);
    wake_ns = std::min(wake_ns, due_ns + lane.ahead_ns);
  }
  events_.Set(index, event_ns);
  wakes_.Set(index, wake_ns);
}

void SwitchCore::UpdateAhead() {
  // Switches are visited in an order in which parents come first.
  std::vector<uint32_t> order;
  for (uint32_t v = 0; v < switch_count_; ++v) {
    if (vertices_[v].parent == kNone) order.push_back(v);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t child : children_[order[i]]) {
      if (!IsNode(child)) order.push_back(child);
    }
  }
  // Distances lead from a switch to the nearest node below, then to the nearest by any way; sending time is not
  // counted.
  constexpr int64_t kFar = kLatencyNsMax;
  std::vector<int64_t> nearest(switch_count_, kFar);
  const auto down = [&](uint32_t vertex) {
    return vertices_[vertex].link.latency_ns + (IsNode(vertex) ? 0 : nearest[vertex]);
  };
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    for (const uint32_t child : children_[*v]) nearest[*v] = std::min(nearest[*v], down(child));
  }
  for (const uint32_t v : order) {
    if (vertices_[v].parent != kNone) {
      nearest[v] = std::min(nearest[v], vertices_[v].link.latency_ns + nearest[vertices_[v].parent]);
    }
  }
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    lanes_[LaneOf(v, Direction::kDown)].ahead_ns = IsNode(v) ? 0 : nearest[v];
    lanes_[LaneOf(v, Direction::kUp)].ahead_ns = vertices_[v].parent == kNone ? 0 : nearest[vertices_[v].parent];
    Schedule(LaneOf(v, Direction::kUp));
    Schedule(LaneOf(v, Direction::kDown));
  }
}

}  // namespace copse::fabric
