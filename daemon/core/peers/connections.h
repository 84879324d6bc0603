// SPDX-License-Identifier: Apache-2.0
//
// Connections between daemons, closed by agreement.
#ifndef COPSE_DAEMON_CORE_PEERS_CONNECTIONS_H_
#define COPSE_DAEMON_CORE_PEERS_CONNECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "offload_emu/transport.h"

namespace copse::daemon {

// Connections stand between the engine and the network, and close what neither side uses.
//
// A side that closes resets the other, where a reset is evidence of death. So of two daemons the one with the lower
// incarnation asks before it closes (the other one only if it is not asked for long), and closes only if the other has
// no use for the connection either (docs/reference/packets.md). Who has agreed and needs it again connects anew; who
// has asked and needs it again holds its frames back until it knows. Thread-compatible: the core's thread. `*clock` and
// `*network` outlive it.
class Connections final : public emu::Transport, private emu::TransportSink {
 public:
  Connections(const Clock* clock, emu::Transport* network, Incarnation self)
      : clock_(clock), network_(network), self_(self) {}

  // The connection is not used any more, until Connect. It may stay for a while.
  void Part(Incarnation peer);
  // Asks again, and gives up. To be called every few hundred milliseconds while `waiting`.
  void Tick();
  bool waiting() const;
  size_t size() const { return connections_.size(); }

  // --- emu::Transport ---
  std::string LocalAddress() const override { return network_->LocalAddress(); }
  absl::Status Connect(const emu::PeerAddress& peer) override;
  void Disconnect(Incarnation peer) override;
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  bool Progress(emu::TransportSink* sink) override;

 private:
  enum class State : uint8_t {
    kUsed,
    kIdle,    // waits for the peer to ask, or to ask it
    kAsked,   // waits for its answer
    kHeld,    // the same, but is needed again: frames wait too
    kAgreed,  // the peer will close it, or has
  };
  struct Connection {
    std::string worker_address;
    State state = State::kUsed;
    uint64_t number = 0;                      // of the last question
    int unanswered = 0;                       // questions
    absl::Time due = absl::InfiniteFuture();  // to ask, or to wait no longer
  };

  // --- emu::TransportSink ---
  void OnFrame(absl::Span<const uint8_t> frame) override;
  bool TakeFrame(absl::Span<const uint8_t> frame) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;

  // Whether the frame is one of ours, and handled.
  bool TakeMessage(absl::Span<const uint8_t> frame);
  void OnAsk(Incarnation peer, const PartAskMessage& message);
  void OnAnswer(Incarnation peer, const PartAnswerMessage& message);
  void Ask(Incarnation peer, Connection* connection);
  bool SendMessage(Incarnation peer, const PeerMessage& message);
  void SetState(Connection* connection, State state, absl::Time due);
  absl::Status Reconnect(Incarnation peer, Connection* connection);

  const Clock* const clock_;
  emu::Transport* const network_;
  const Incarnation self_;
  emu::TransportSink* sink_ = nullptr;  // during Progress
  std::map<Incarnation, Connection> connections_;
  uint64_t next_number_ = 1;
  size_t held_ = 0;  // connections in kHeld
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_CONNECTIONS_H_
