// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/connections.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "offload_emu/packet.h"

namespace copse::daemon {
namespace {

// A request is repeated after this time.
constexpr absl::Duration kAskAgain = absl::Seconds(2);
// A daemon that does not answer this many requests has lost its end of the connection, or is too old to know them.
constexpr int kQuestionsMax = 5;
// The side with the higher incarnation waits this long for a request before it sends one: the peer may have lost its
// end of the connection.
constexpr absl::Duration kUnasked = absl::Seconds(20);
// Frames wait for a reply for at most this time.
constexpr absl::Duration kHoldMax = absl::Seconds(5);

}  // namespace

void Connections::SetState(Connection* connection, State state, absl::Time due) {
  held_ -= connection->state == State::kHeld ? 1 : 0;
  held_ += state == State::kHeld ? 1 : 0;
  connection->state = state;
  connection->due = due;
}

absl::Status Connections::Reconnect(Incarnation peer, Connection* connection) {
  network_->Disconnect(peer);
  SetState(connection, State::kUsed, absl::InfiniteFuture());
  return network_->Connect(connection->address);
}

absl::Status Connections::Connect(const emu::PeerAddress& peer) {
  const auto [it, is_new] = connections_.try_emplace(peer.incarnation);
  Connection* const connection = &it->second;
  if (is_new) {
    connection->address = peer;
    absl::Status connected = network_->Connect(peer);
    if (!connected.ok()) connections_.erase(it);
    return connected;
  }
  switch (connection->state) {
    case State::kUsed:
    case State::kHeld:
      break;
    case State::kIdle:
      SetState(connection, State::kUsed, absl::InfiniteFuture());
      break;
    case State::kAsked:
      SetState(connection, State::kHeld, clock_->Now() + kHoldMax);
      break;
    case State::kAgreed:
      return Reconnect(peer.incarnation, connection);
  }
  return absl::OkStatus();
}

void Connections::Disconnect(Incarnation peer) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  SetState(&it->second, State::kUsed, absl::InfiniteFuture());
  connections_.erase(it);
  network_->Disconnect(peer);
}

void Connections::Release(Incarnation peer) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  Connection* const connection = &it->second;
  if (connection->state == State::kHeld) return SetState(connection, State::kAsked, clock_->Now() + kAskAgain);
  if (connection->state != State::kUsed) return;
  SetState(connection, State::kIdle, clock_->Now() + kUnasked);
  connection->unanswered = 0;
  if (self_ < peer) Ask(peer, connection);
}

void Connections::Ask(Incarnation peer, Connection* connection) {
  connection->number = next_number_++;
  ++connection->unanswered;
  const bool asked = SendMessage(peer, CloseRequestMessage{.number = connection->number});
  SetState(connection, asked ? State::kAsked : State::kIdle, clock_->Now() + kAskAgain);
}

void Connections::Tick() {
  const absl::Time now = clock_->Now();
  std::vector<Incarnation> over;
  for (auto& [peer, connection] : connections_) {
    if (connection.due > now) continue;
    if (connection.state == State::kHeld) {
      SetState(&connection, State::kUsed, absl::InfiniteFuture());
    } else if (connection.state == State::kAgreed || connection.unanswered >= kQuestionsMax) {
      over.push_back(peer);
    } else {
      Ask(peer, &connection);
    }
  }
  for (const Incarnation peer : over) Disconnect(peer);
}

bool Connections::waiting() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& entry) { return entry.second.due != absl::InfiniteFuture(); });
}

absl::Status Connections::CheckHeld(Incarnation peer) const {
  if (held_ > 0) {
    const auto it = connections_.find(peer);
    if (it != connections_.end() && it->second.state == State::kHeld) {
      return absl::ResourceExhaustedError(
          absl::StrCat("connection to incarnation ", peer.value(), " may be closing: frames wait"));
    }
  }
  return absl::OkStatus();
}

absl::Status Connections::Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
  RETURN_IF_ERROR(CheckHeld(peer));
  return network_->Send(peer, head, body);
}

absl::Status Connections::SendBehind(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
  RETURN_IF_ERROR(CheckHeld(peer));
  return network_->SendBehind(peer, head, body);
}

bool Connections::SendMessage(Incarnation peer, const PeerMessage& message) {
  const EncodedPeerMessage encoded = EncodePeerMessage(message);
  emu::FrameHeader header{};
  header.version = static_cast<uint8_t>(kPacketVersion);
  header.kind = static_cast<uint8_t>(emu::FrameKind::kControl);
  header.count = encoded.type;
  header.bytes = static_cast<uint32_t>(encoded.body.size());
  header.source_incarnation = self_.value();
  header.destination_incarnation = peer.value();
  // The peer may close the connection at once, so nothing that was sent before may still be on its way.
  return network_
      ->SendBehind(peer, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof(header)),
                   absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(encoded.body.data()), encoded.body.size()))
      .ok();
}

bool Connections::Progress(emu::TransportSink* sink) {
  sink_ = sink;
  const bool any = network_->Progress(this);
  sink_ = nullptr;
  return any;
}

void Connections::OnFrame(absl::Span<const uint8_t> frame) {
  if (!TakeMessage(frame)) sink_->OnFrame(frame);
}

// Requests and replies need no check here: the engine takes no control frames in TakeFrame, so they come to OnFrame.
bool Connections::TakeFrame(absl::Span<const uint8_t> frame) { return sink_->TakeFrame(frame); }

bool Connections::TakeMessage(absl::Span<const uint8_t> frame) {
  emu::FrameHeader header;
  if (frame.size() < sizeof(header)) return false;
  std::memcpy(&header, frame.data(), sizeof(header));
  if (header.kind != static_cast<uint8_t>(emu::FrameKind::kControl)) return false;
  const auto type = static_cast<PeerMessageType>(header.count);
  if (type != PeerMessageType::kCloseRequest && type != PeerMessageType::kCloseReply) return false;
  frame.remove_prefix(sizeof(header));
  // A malformed frame goes to the engine, which counts it.
  if (!Compatible(kPacketVersion, header.version) || header.destination_incarnation != self_.value() ||
      header.bytes != frame.size()) {
    return false;
  }
  const absl::StatusOr<PeerMessage> message =
      DecodePeerMessage(header.count, std::string_view(reinterpret_cast<const char*>(frame.data()), frame.size()));
  if (!message.ok()) return false;
  const Incarnation peer(header.source_incarnation);
  if (const auto* ask = std::get_if<CloseRequestMessage>(&*message)) OnAsk(peer, *ask);
  if (const auto* answer = std::get_if<CloseReplyMessage>(&*message)) OnAnswer(peer, *answer);
  return true;
}

void Connections::OnAsk(Incarnation peer, const CloseRequestMessage& message) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  Connection* const connection = &it->second;
  const bool agreed = connection->state == State::kIdle || connection->state == State::kAgreed;
  const bool said = SendMessage(peer, CloseReplyMessage{.number = message.number, .agreed = agreed});
  // Tick closes this end after a while, since not every network reports that the peer has closed its end.
  if (agreed && said) SetState(connection, State::kAgreed, clock_->Now() + kAskAgain);
}

void Connections::OnAnswer(Incarnation peer, const CloseReplyMessage& message) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  Connection* const connection = &it->second;
  if (message.number != connection->number) return;  // the reply to an older request
  const bool held = connection->state == State::kHeld;
  if (!held && connection->state != State::kAsked) return;
  if (!message.agreed) {
    connection->unanswered = 0;
    if (held) return SetState(connection, State::kUsed, absl::InfiniteFuture());
    return SetState(connection, State::kIdle, clock_->Now() + (self_ < peer ? kAskAgain : kUnasked));
  }
  if (!held) return Disconnect(peer);
  if (const absl::Status connected = Reconnect(peer, connection); !connected.ok()) sink_->OnPeerDown(peer, connected);
}

void Connections::OnPeerDown(Incarnation peer, const absl::Status& why) {
  const auto it = connections_.find(peer);
  if (it == connections_.end() || it->second.state == State::kUsed) return sink_->OnPeerDown(peer, why);
  if (it->second.state == State::kHeld) {
    // The peer has probably agreed and closed. If it is lost instead, the new connection fails, too.
    const absl::Status connected = Reconnect(peer, &it->second);
    if (!connected.ok()) sink_->OnPeerDown(peer, connected);
    return;
  }
  COPSE_LOG(kDebug, "daemon ", peer.value(), " has closed a connection without use: ", why.message());
  Disconnect(peer);
}

}  // namespace copse::daemon
