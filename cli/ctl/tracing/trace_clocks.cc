// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tracing/trace_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace copse::ctl {
namespace {

// A PacketKey is (receiver's tag, its label, call, counter). The n-th packet sent with a key is the n-th received with
// it.
using PacketKey = std::tuple<uint32_t, uint32_t, uint32_t, uint16_t>;

}  // namespace

std::vector<Packet> MatchPackets(const std::vector<NodeTrace>& nodes) {
  std::map<PacketKey, std::deque<PacketEnd>> sent;
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (size_t i = 0; i < nodes[n].records.size(); ++i) {
      const TraceRecord& r = nodes[n].records[i];
      if (r.kind == TraceRecord::kPacketSent) sent[{r.peer, r.subject, r.call, r.phase}].push_back({n, i});
    }
  }
  std::vector<Packet> packets;
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (size_t i = 0; i < nodes[n].records.size(); ++i) {
      const TraceRecord& r = nodes[n].records[i];
      if (r.kind != TraceRecord::kPacketReceived) continue;
      const auto it = sent.find({nodes[n].tag(), r.subject, r.call, r.phase});
      if (it == sent.end() || it->second.empty()) continue;
      const PacketEnd from = it->second.front();
      if (nodes[from.node].tag() != r.peer) continue;
      it->second.pop_front();
      packets.push_back({from, {n, i}});
    }
  }
  return packets;
}

Alignment Align(const std::vector<NodeTrace>& nodes, const std::vector<Packet>& packets) {
  // `best` has, for each clock, the node whose answer had the shortest round trip.
  std::map<std::string, size_t> best;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const auto [it, is_new] = best.emplace(nodes[n].clock, n);
    if (!is_new && nodes[n].doubt_ns < nodes[it->second].doubt_ns) it->second = n;
  }
  std::map<std::string, int64_t> offset;
  std::map<std::string, int64_t> doubt;
  for (const auto& [clock, n] : best) {
    offset[clock] = nodes[n].planner_ns - nodes[n].now_ns;
    doubt[clock] = nodes[n].doubt_ns;
  }
  // `fastest` has the shortest time of a packet from one clock to another, by the offsets so far.
  std::map<std::pair<std::string, std::string>, int64_t> fastest;
  for (const Packet& packet : packets) {
    const NodeTrace& from = nodes[packet.sent.node];
    const NodeTrace& to = nodes[packet.received.node];
    if (from.clock == to.clock) continue;
    const int64_t took = to.records[packet.received.record].time_ns + offset[to.clock] -
                         from.records[packet.sent.record].time_ns - offset[from.clock];
    const auto [it, is_new] = fastest.emplace(std::pair(from.clock, to.clock), took);
    if (!is_new) it->second = std::min(it->second, took);
  }
  // The walk begins at the first node's clock and follows clocks that packets connect.
  std::map<std::string, int64_t> moved;
  std::map<std::string, int64_t> by_packets;  // errors against the first node's clock, if packets show them
  std::deque<std::string> reached;
  if (!nodes.empty()) {
    moved[nodes[0].clock] = by_packets[nodes[0].clock] = 0;
    reached.push_back(nodes[0].clock);
  }
  while (!reached.empty()) {
    const std::string a = reached.front();
    reached.pop_front();
    for (const auto& [b, node] : best) {
      if (moved.count(b) != 0) continue;
      const auto there = fastest.find({a, b});
      const auto back = fastest.find({b, a});
      if (there == fastest.end() && back == fastest.end()) continue;
      int64_t move = moved[a];
      if (there != fastest.end() && back != fastest.end()) {
        move += (back->second - there->second) / 2;
        const auto known = by_packets.find(a);
        if (known != by_packets.end()) {
          by_packets[b] = known->second + std::max<int64_t>(0, (back->second + there->second) / 2);
        }
      } else if (there != fastest.end()) {
        move += std::max<int64_t>(0, -there->second);
      } else {
        move -= std::max<int64_t>(0, -back->second);
      }
      moved[b] = move;
      reached.push_back(b);
    }
  }
  Alignment alignment;
  for (const NodeTrace& node : nodes) {
    const auto it = moved.find(node.clock);
    alignment.offset_ns.push_back(offset[node.clock] + (it == moved.end() ? 0 : it->second));
  }
  // Each pair has a clock's errors against the planner's clock and against the first node's.
  std::vector<std::pair<int64_t, int64_t>> errors;
  const int64_t first_ns = nodes.empty() ? 0 : doubt[nodes[0].clock];
  for (const auto& [clock, ns] : doubt) {
    const int64_t by_planner = ns + std::abs(moved[clock]);
    const auto known = by_packets.find(clock);
    const int64_t by_first = first_ns + by_planner;
    errors.emplace_back(by_planner, known == by_packets.end() ? by_first : std::min(by_first, known->second));
  }
  for (size_t a = 0; a < errors.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const int64_t apart = std::min(errors[a].first + errors[b].first, errors[a].second + errors[b].second);
      alignment.doubt_ns = std::max(alignment.doubt_ns, apart);
    }
  }
  return alignment;
}

}  // namespace copse::ctl
