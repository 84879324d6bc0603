// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_network.h"

namespace copse::planner {
namespace {

// The engine packs messages to one node into frames of up to FrameOutbox::kBatchBytesMax
// (offload_emu/frames/frame_outbox.h); packet.h has the headers.
constexpr uint64_t kFrameBytes = 16 * 1024;
constexpr uint64_t kFrameHeaderBytes = 32;
constexpr uint64_t kRecordBytes = 40;
constexpr uint32_t kSent = 0xffffffff;  // replaces the receiver of a message that was sent

}  // namespace

void CostNetwork::Send(uint32_t node, const CostMessage& message) {
  messages_.push_back(message);
  SendFrom(node, static_cast<uint32_t>(messages_.size()) - 1);
}

void CostNetwork::SendFrames(uint32_t node, std::vector<CostMessage>* messages) {
  for (size_t first = 0; first < messages->size(); ++first) {
    const uint32_t to = (*messages)[first].to;
    if (to == kSent) continue;
    auto begin = static_cast<uint32_t>(messages_.size());
    uint64_t used = kFrameHeaderBytes;
    for (size_t i = first; i < messages->size(); ++i) {
      CostMessage& message = (*messages)[i];
      if (message.to != to) continue;
      const uint64_t more = kRecordBytes + message.bytes;
      if (used + more > kFrameBytes && messages_.size() > begin) {
        SendFrom(node, begin);
        begin = static_cast<uint32_t>(messages_.size());
        used = kFrameHeaderBytes;
      }
      used += more;
      messages_.push_back(message);
      message.to = kSent;
    }
    SendFrom(node, begin);
  }
  messages->clear();
}

void CostNetwork::SendCredit(uint32_t node, uint32_t peer) {
  actors_.Work(node, Doing::kSend, peer, costs_.node(node).send_overhead_ns);
  actors_.Push(actors_.now_ns() + costs_.PathBetween(node, peer).latency_ns, CostEvent::Kind::kCredit, peer, node);
}

void CostNetwork::OnEvent(int64_t time_ns, const CostEvent& event) {
  if (event.kind == CostEvent::Kind::kHop) return Hop(time_ns, event.who, event.where);
  const Packet& packet = packets_[event.who];
  const uint32_t transfer = trace_.AddTransfer(packet.from, packet.to, packet.sender_span, time_ns);
  actors_.AddItem(packet.to, {time_ns, transfer, packet.from, event.who, CostItem::Kind::kPacket});
}

void CostNetwork::SendFrom(uint32_t node, uint32_t begin) {
  const uint32_t to = messages_[begin].to;
  uint64_t bytes = 0;
  for (uint32_t m = begin; m < messages_.size(); ++m) bytes += messages_[m].bytes;
  actors_.Work(node, Doing::kSend, to,
               costs_.node(node).send_overhead_ns + PerByteNs(bytes, costs_.parameters().send_ps_per_byte));
  const topology::Path path = costs_.PathBetween(node, to);
  const uint32_t packet = static_cast<uint32_t>(packets_.size());
  packets_.push_back({.from = node,
                      .to = to,
                      .sender_span = actors_.now_span(),
                      .bytes = bytes,
                      .messages_begin = begin,
                      .messages_end = static_cast<uint32_t>(messages_.size()),
                      .hops_begin = static_cast<uint32_t>(hops_.size()),
                      .hops_end = 0,
                      .tail_ns = StreamNs(bytes, path.bandwidth_bytes_per_s)});
  const int64_t now_ns = actors_.now_ns();
  if (packets_[packet].tail_ns == 0) {
    return actors_.Push(now_ns + path.latency_ns, CostEvent::Kind::kArrived, packet);
  }
  costs_.AppendHops(node, to, &hops_);
  packets_[packet].hops_end = static_cast<uint32_t>(hops_.size());
  Hop(now_ns, packet, packets_[packet].hops_begin);  // needs no event: only this node's packets use its uplink
}

void CostNetwork::Hop(int64_t time_ns, uint32_t packet, uint32_t place) {
  const Packet& item = packets_[packet];
  const sim::Hop& hop = hops_[place];
  const int64_t head_ns = links_.Pass(hop, StreamNs(item.bytes, hop.bandwidth_bytes_per_s), time_ns);
  if (place + 1 < item.hops_end) {
    actors_.Push(head_ns, CostEvent::Kind::kHop, packet, place + 1);
  } else {
    actors_.Push(head_ns + item.tail_ns, CostEvent::Kind::kArrived, packet);
  }
}

}  // namespace copse::planner
