// SPDX-License-Identifier: Apache-2.0
//
// Declares the interface by which an engine notifies its owner of other daemons' messages and of their loss.
#ifndef COPSE_OFFLOAD_EMU_CONTROL_SINK_H_
#define COPSE_OFFLOAD_EMU_CONTROL_SINK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"

namespace copse::emu {

// A ControlSink receives the daemons' control messages, which are opaque to the engine, and the loss of peers. It is
// called from Progress.
class ControlSink {
 public:
  virtual ~ControlSink() = default;
  // It is called for each control frame. `message` is valid only during the call.
  virtual void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) = 0;
  // It is called when the connection is lost. Frames that waited for the peer are dropped; its edges stay until
  // RemoveEdge.
  virtual void OnPeerDown(Incarnation peer, const absl::Status& why) = 0;
  // It is called for each frame of the peer, which is therefore alive. It must not call the engine: data frames are
  // reported from within the network's callback.
  virtual void OnPeerHeard(Incarnation peer) = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_CONTROL_SINK_H_
