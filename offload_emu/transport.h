// SPDX-License-Identifier: Apache-2.0
//
// Declares the engine's interface to a network, which UCX (offload_emu/ucx), TCP (offload_emu/tcp) and the virtual
// network (sim) implement.
#ifndef COPSE_OFFLOAD_EMU_TRANSPORT_H_
#define COPSE_OFFLOAD_EMU_TRANSPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"

namespace copse::emu {

// A PeerAddress identifies another daemon by its incarnation, which is unique in the cluster and in time, and says how
// to reach it.
struct PeerAddress {
  Incarnation incarnation;
  std::string worker_address;  // opaque: UCX's worker address, TCP's, or the virtual network's node number
  std::string node = {};       // the daemon must prove that it is this node, where identities are configured
};

// Longer frames are bulk, which a transport may carry apart from short ones.
inline constexpr uint32_t kShortFrameBytesMax = 4095;

// A TransportSink receives frames and losses of peers. It is called from Transport::Progress only, never from within
// Send.
class TransportSink {
 public:
  virtual ~TransportSink() = default;
  // Handles one whole frame, which begins with its FrameHeader. `frame` is 8-byte aligned and valid only during the
  // call. Its origin is known only from the frame itself, and order is not guaranteed. But if a frame has arrived, the
  // frames sent before it arrive, too, even if the connection is lost meanwhile.
  virtual void OnFrame(absl::Span<const uint8_t> frame) = 0;
  // Handles a frame from within the network's own callback, where the transport must not be called; `frame` need not be
  // aligned. Saves the copy that delivery by OnFrame needs. Returns false if the frame was not handled; OnFrame
  // follows.
  virtual bool TakeFrame(absl::Span<const uint8_t> /*frame*/) { return false; }
  // It is called when the connection is lost (reset, refused, timed out). Frames in flight may be lost, too; sends fail
  // until the peer is connected anew.
  virtual void OnPeerDown(Incarnation peer, const absl::Status& why) = 0;
};

// A ControlPlace is the place of a control message among waiting frames if the transport does not take it at once.
enum class ControlPlace : uint8_t {
  kAhead,   // ahead of waiting data
  kBehind,  // behind waiting data
  kAsData,  // behind waiting data; refused if there is no room for more data
};

// A Transport sends frames to peers that were connected before. Single-threaded: the engine's thread makes every call.
class Transport {
 public:
  virtual ~Transport() = default;

  // Opens the network to peers, if it is not open yet: before, nobody can connect. Networks that need no address of an
  // open port open with the first Connect. Idempotent. Errors: the network's.
  virtual absl::Status Open() { return absl::OkStatus(); }
  // Returns this node's worker address, which peers get through the control plane. Empty: it is not known before Open.
  virtual std::string LocalAddress() const = 0;

  // Prepares an endpoint. Idempotent. An unreachable peer is reported later, by OnPeerDown. INVALID_ARGUMENT: the
  // address is not valid. FAILED_PRECONDITION: this node has no address yet.
  virtual absl::Status Connect(const PeerAddress& peer) = 0;
  // Drops the endpoint at once; frames not yet sent are lost. Unknown peers are ignored.
  virtual void Disconnect(Incarnation peer) = 0;

  // Queues one frame made of `head` and `body` (either may be empty; together at most kFrameBytesMax); both are
  // copied before it returns. UNAVAILABLE: not connected or down. DATA_LOSS: `body` is in memory that was lost
  // (base/process/lost_memory.h), so nothing was sent. RESOURCE_EXHAUSTED: too many frames are in flight; try again
  // after Progress.
  virtual absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) = 0;

  // As Send, for a frame that must arrive after all that were sent to this peer before. Networks that keep the order do
  // not distinguish it.
  virtual absl::Status SendBehind(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
    return Send(peer, head, body);
  }

  // Advances the network and calls the sink. Returns true if anything happened.
  virtual bool Progress(TransportSink* sink) = 0;
};

// A PolledTransport is a network of this machine, for whose events a process can sleep: call Progress until it returns
// false, then Arm, then wait for event_fd() to become readable, for at most 100 ms.
class PolledTransport : public Transport {
 public:
  // Returns a descriptor that becomes readable when something has happened after an Arm that returned true. -1: there
  // is none before Open.
  virtual int event_fd() const = 0;
  // Prepares event_fd() for waiting. Returns false if something has happened meanwhile: call Progress again. Errors:
  // the network's.
  virtual absl::StatusOr<bool> Arm() = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TRANSPORT_H_
