// SPDX-License-Identifier: Apache-2.0
//
// What a transport knows of a daemon that it talks to, and how the two greet each other.
#ifndef COPSE_OFFLOAD_EMU_TCP_TCP_PEER_H_
#define COPSE_OFFLOAD_EMU_TCP_TCP_PEER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/tcp/connection_set.h"
#include "offload_emu/tcp/lane.h"
#include "offload_emu/tcp/sealed_stream.h"
#include "offload_emu/tcp/socket_address.h"
#include "offload_emu/tcp/wire_format.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// A HeldFrame waits for a frame of the other lane.
struct HeldFrame {
  uint64_t after = 0;
  std::vector<uint8_t> bytes;
};

// A PeerLane is a lane with its connection, or with the attempts to make one.
struct PeerLane {
  static constexpr absl::Duration kPauseMin = absl::Milliseconds(50);
  static constexpr absl::Duration kPauseMax = absl::Seconds(1);

  Lane lane;
  TcpConnection* attached = nullptr;
  TcpConnection* dialing = nullptr;
  absl::Time dial_at = absl::InfinitePast();
  absl::Duration pause = kPauseMin;
  int refused = 0;  // dials in succession at whose address nobody listened
  int denied = 0;   // dials in succession whose handshake failed
  bool was_attached = false;
  std::optional<HeldFrame> held = std::nullopt;

  // Returns whether a connection should be made now or at dial_at. Long frames have one from the first of them on.
  bool NeedsConnection(LaneKind kind) const;
  void NoteAttached(TcpConnection* connection);
  // An attempt has failed, since nobody listened (`was_refused`) or since `why`.
  void NoteFailedDial(absl::Time now, bool was_refused, const absl::Status& why);
};

struct TcpPeer {
  PeerAddress address;
  SocketAddress socket;
  uint64_t session = 0;
  uint64_t its_session = 0;  // 0: no hello has come from it
  absl::Time since;
  PeerLane lanes[kLaneCount];
  absl::Status down = absl::OkStatus();

  PeerLane& LaneOf(LaneKind kind) { return lanes[static_cast<int>(kind)]; }
  const PeerLane& LaneOf(LaneKind kind) const { return lanes[static_cast<int>(kind)]; }
  // Takes the session of its hello. Returns false if it has begun anew since the last one.
  bool TakeSession(const WireHello& hello);
};

// Says to the peer at the other end of the connection which daemon this is.
void SayHello(Incarnation self, const TcpPeer& peer, bool encrypts, TcpConnection* connection);
// Says why there will be no connection, and closes it.
void Refuse(Refusal why, bool encrypts, TcpConnection* connection);
// Returns the hello in a message; nothing if it is another message.
std::optional<WireHello> HelloIn(const WireHeader& header, absl::Span<const uint8_t> payload);
// Returns OK if the hello that answers `self`'s is the peer's. Else the peer is down.
absl::Status CheckReply(const WireHello& hello, const SealedStream& stream, const TcpPeer& peer);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TCP_PEER_H_
