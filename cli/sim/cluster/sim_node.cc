// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/sim_node.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "cli/sim/cluster/block_call.h"
#include "cli/sim/cluster/whole_call.h"
#include "offload_emu/packet.h"

namespace copse::sim {
namespace {

// Makes a node's part of `*call`, by chunks for a collective of blocks. All pointers must outlive the result.
std::unique_ptr<NodeCall> MakeNodeCall(const SimCall* call, uint32_t node, NodePort* port, NodeClock* clock) {
  if (call->blocks != nullptr) return std::make_unique<BlockCall>(call, node, port, clock);
  return std::make_unique<WholeCall>(call, node, port, clock);
}

}  // namespace

SimNode::SimNode(const SimCall* call, uint32_t node, Wire* wire, const Cores* cores)
    : call_(call),
      node_(node),
      wire_(wire),
      cores_(cores),
      clock_(call, node),
      port_(call, node),
      node_call_(MakeNodeCall(call, node, &port_, &clock_)) {}

absl::Status SimNode::OpenPort(uint32_t sequences_max) {
  RETURN_IF_ERROR(node_call_->Prepare());
  return port_.Open(node_call_->window(), sequences_max, this, this, this);
}

int64_t SimNode::Turn(int64_t now_ns) {
  CHECK(HasWork());
  clock_.Begin(now_ns, cores_->WakeNs(node_, now_ns));
  TakeNext();
  failure_.Update(Work());
  clock_.Work(port_.stats());
  return clock_.now_ns();
}

void SimNode::TakeNext() {
  Queued item = std::move(items_[next_item_++]);
  if (!HasWork()) {
    items_.clear();
    next_item_ = 0;
  }
  if (item.from_rank) {
    failure_.Update(node_call_->AddRank(item.local));
    return;
  }
  clock_.Receive(item.frame);
  inbox_ = std::move(item.frame);
  has_frame_ = true;
}

absl::Status SimNode::Work() {
  bool moved = true;
  while (moved && failure_.ok()) {
    port_.Settle();
    ASSIGN_OR_RETURN(moved, node_call_->Advance());
  }
  return absl::OkStatus();
}

void SimNode::TakeDone(std::vector<uint32_t>* done) {
  done->clear();
  done->swap(done_);
}

std::string SimNode::LocalAddress() const { return absl::StrCat(node_); }

absl::Status SimNode::Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
  clock_.Work(port_.stats());
  WireFrame frame{.from = node_, .to = static_cast<uint32_t>(peer.value() - 1)};
  frame.bytes.reserve(head.size() + body.size());
  frame.bytes.insert(frame.bytes.end(), head.begin(), head.end());
  frame.bytes.insert(frame.bytes.end(), body.begin(), body.end());
  frame.charged_bytes = ChargedBytes(frame.bytes);
  clock_.Send(frame);
  if (call_->charging == Charging::kMgo) {
    wire_->SendHead(std::move(frame), clock_.now_ns());
  } else {
    wire_->Send(std::move(frame), clock_.now_ns());
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

void SimNode::OnEvent(emu::PortId, uint64_t value, bool failed) {
  if (failed)
    failure_.Update(
        absl::InternalError(absl::StrCat("node ", node_, ": a part of the call failed (event=", value, ")")));
  node_call_->TakeEvent(value, &done_);
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

}  // namespace copse::sim
