// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/frame_receiver.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "offload_emu/packet.h"
#include "offload_emu/tcp/lane.h"

namespace copse::emu {
namespace {

LaneKind OtherLane(LaneKind kind) { return kind == LaneKind::kShort ? LaneKind::kBulk : LaneKind::kShort; }

}  // namespace

bool FrameReceiver::Take(TcpConnection* connection, const WireHeader& header, absl::Span<const uint8_t> payload) {
  TcpPeer* const peer = connection->peer;
  PeerLane& lane = peer->LaneOf(connection->lane);
  switch (lane.lane.Judge(header)) {
    case Lane::Verdict::kAgain:
      return true;
    case Lane::Verdict::kWrong:
      connection->stream->Close(absl::UnavailableError(
          absl::StrCat("a frame is missing (number=", header.number, ", received=", lane.lane.received(), ")")));
      return false;
    case Lane::Verdict::kNext:
      break;
  }
  const LaneKind other = OtherLane(connection->lane);
  if (header.after > peer->LaneOf(other).lane.received()) {
    lane.held = HeldFrame{header.after, {payload.begin(), payload.end()}};
    return false;
  }
  Deliver(peer, connection->lane, payload);
  ReleaseHeld(peer, other);
  return true;
}

// The connection says who the sender is; a frame that says something else is dropped.
void FrameReceiver::Deliver(TcpPeer* peer, LaneKind kind, absl::Span<const uint8_t> frame) {
  peer->LaneOf(kind).lane.Delivered(frame.size());
  FrameHeader header;
  if (frame.size() < sizeof(header)) {
    ++*dropped_;
    return;
  }
  std::memcpy(&header, frame.data(), sizeof(header));
  if (header.source_incarnation != peer->address.incarnation.value()) {
    ++*dropped_;
    return;
  }
  if (!sink_->TakeFrame(frame)) inbox_.Add(frame.data(), frame.size());
}

// A frame of this lane may have waited for one of the other lane that has come now.
void FrameReceiver::ReleaseHeld(TcpPeer* peer, LaneKind kind) {
  PeerLane& lane = peer->LaneOf(kind);
  if (!lane.held.has_value() || lane.held->after > peer->LaneOf(OtherLane(kind)).lane.received()) return;
  const HeldFrame held = *std::exchange(lane.held, std::nullopt);
  Deliver(peer, kind, held.bytes);
  if (lane.attached != nullptr) released_->push_back(lane.attached->id);
}

void FrameReceiver::End() {
  TransportSink* const sink = std::exchange(sink_, nullptr);
  if (inbox_.empty()) return;
  delivering_.Clear();
  delivering_.Swap(&inbox_);
  delivering_.ForEach([sink](absl::Span<const uint8_t> frame) { sink->OnFrame(frame); });
}

}  // namespace copse::emu
