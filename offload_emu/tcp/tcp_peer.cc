// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/tcp_peer.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace copse::emu {

bool PeerLane::NeedsConnection(LaneKind kind) const {
  if (attached != nullptr || dialing != nullptr) return false;
  return kind == LaneKind::kShort || was_attached || lane.has_unacknowledged();
}

void PeerLane::NoteAttached(TcpConnection* connection) {
  if (dialing == connection) dialing = nullptr;
  attached = connection;
  refused = denied = 0;
  pause = kPauseMin;
  was_attached = true;
}

void PeerLane::NoteFailedDial(absl::Time now, bool was_refused, const absl::Status& why) {
  dial_at = now + pause;
  pause = std::min(2 * pause, kPauseMax);
  refused = was_refused ? refused + 1 : 0;
  denied = why.code() == absl::StatusCode::kPermissionDenied ? denied + 1 : 0;
}

bool TcpPeer::TakeSession(const WireHello& hello) {
  if (its_session == 0) its_session = hello.session;
  return its_session == hello.session && (hello.peer_session == 0 || hello.peer_session == session);
}

void SayHello(Incarnation self, const TcpPeer& peer, bool encrypts, TcpConnection* connection) {
  const WireHello hello{.source = self.value(),
                        .destination = peer.address.incarnation.value(),
                        .session = peer.session,
                        .peer_session = peer.its_session};
  WireHeader header{};
  header.kind = static_cast<uint8_t>(WireKind::kHello);
  header.lane = static_cast<uint8_t>(connection->lane);
  header.received = peer.LaneOf(connection->lane).lane.received();
  connection->stream->Put(header, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&hello), sizeof(hello)),
                          encrypts);
  connection->stream->Write();
}

void Refuse(Refusal why, bool encrypts, TcpConnection* connection) {
  WireHeader header{};
  header.kind = static_cast<uint8_t>(WireKind::kRefuse);
  header.number = static_cast<uint64_t>(why);
  connection->stream->Put(header, {}, encrypts);
  connection->stream->Write();
  connection->stream->Close(absl::UnavailableError("refused"));
}

std::optional<WireHello> HelloIn(const WireHeader& header, absl::Span<const uint8_t> payload) {
  WireHello hello;
  if (header.kind != static_cast<uint8_t>(WireKind::kHello) || payload.size() != sizeof(hello)) return std::nullopt;
  std::memcpy(&hello, payload.data(), sizeof(hello));
  return hello;
}

absl::Status CheckReply(const WireHello& hello, const SealedStream& stream, const TcpPeer& peer) {
  if (hello.source != peer.address.incarnation.value()) {
    return absl::UnavailableError("the daemon has ended: another one answers at its address");
  }
  const std::string& node = stream.peer();
  if (peer.address.node.empty() || node == peer.address.node) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("node ", node, " answers at the address of node ", peer.address.node));
}

}  // namespace copse::emu
