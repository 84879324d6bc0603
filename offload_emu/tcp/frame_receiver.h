// SPDX-License-Identifier: Apache-2.0
//
// Receives the frames of peers, in the order in which they were sent.
#ifndef COPSE_OFFLOAD_EMU_TCP_FRAME_RECEIVER_H_
#define COPSE_OFFLOAD_EMU_TCP_FRAME_RECEIVER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "offload_emu/frames/frame_inbox.h"
#include "offload_emu/tcp/connection_set.h"
#include "offload_emu/tcp/tcp_peer.h"
#include "offload_emu/tcp/wire_format.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// A FrameReceiver gives each frame of a lane to the transport's sink once. A frame that must not overtake one of the
// peer's other lane is held until that has come, and the input of its connection waits meanwhile. Single-threaded.
//
// Calls follow (Begin Take* End)*. Frames that the sink does not take within Take follow in End, where the transport
// may be called.
class FrameReceiver {
 public:
  // Both must outlive this object. `*released` gets the ids of connections whose held frame has been taken: no event
  // announces what has come behind it. `*dropped` counts frames whose header names another sender than the connection.
  FrameReceiver(std::vector<uint64_t>* released, uint64_t* dropped) : released_(released), dropped_(dropped) {}

  void Begin(TransportSink* sink) { sink_ = sink; }
  // Takes a frame of an attached connection, which it closes if a frame is missing. Returns whether messages that
  // follow may be taken.
  bool Take(TcpConnection* connection, const WireHeader& header, absl::Span<const uint8_t> payload);
  void End();

 private:
  void Deliver(TcpPeer* peer, LaneKind kind, absl::Span<const uint8_t> frame);
  void ReleaseHeld(TcpPeer* peer, LaneKind kind);

  std::vector<uint64_t>* const released_;
  uint64_t* const dropped_;
  TransportSink* sink_ = nullptr;  // set from Begin to End
  FrameInbox inbox_;
  FrameInbox delivering_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_FRAME_RECEIVER_H_
