// SPDX-License-Identifier: Apache-2.0
//
// Keeps the connections between daemons, and closes those that neither side uses, by agreement.
#ifndef COPSE_DAEMON_CORE_PEERS_CONNECTIONS_H_
#define COPSE_DAEMON_CORE_PEERS_CONNECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "offload_emu/transport.h"

namespace copse::daemon {

// Connections is the Transport between engine and network that closes connections which neither side uses.
//
// A close at one side is a reset at the other, and a reset counts as the loss of the node. So one of the two daemons,
// the one with the lower incarnation, sends a request before it closes (the other one only if it receives none for
// long), and closes once the peer, which does not use the connection either, agrees, or does not answer several
// requests (docs/reference/packets.md). A daemon that has agreed and needs the connection again connects anew; a daemon
// that has sent a request and needs the connection again holds its frames back until the reply. Thread-compatible: only
// the core's thread calls it. `*clock` and `*network` must outlive it.
class Connections final : public emu::Transport, private emu::TransportSink {
 public:
  Connections(const Clock* clock, emu::Transport* network, Incarnation self)
      : clock_(clock), network_(network), self_(self) {}

  // The connection is not used any more, until Connect. Starts the agreement about its end.
  void Release(Incarnation peer);
  // Sends requests that are due, and closes connections whose wait is over. The core calls it every few hundred
  // milliseconds while waiting().
  void Tick();
  // Returns whether a connection waits for a time at which Tick must act.
  bool waiting() const;
  size_t size() const { return connections_.size(); }

  // --- emu::Transport ---
  absl::Status Open() override { return network_->Open(); }
  std::string LocalAddress() const override { return network_->LocalAddress(); }
  absl::Status Connect(const emu::PeerAddress& peer) override;
  void Disconnect(Incarnation peer) override;
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  absl::Status SendBehind(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  bool Progress(emu::TransportSink* sink) override;

 private:
  enum class State : uint8_t {
    kUsed,
    kIdle,    // unused: waits for the peer's request, or for the time to send one
    kAsked,   // unused: waits for the reply to a request
    kHeld,    // used again while the reply is outstanding: frames wait for it, too
    kAgreed,  // unused: the peer may close it at any time, or has closed it
  };
  struct Connection {
    emu::PeerAddress address;
    State state = State::kUsed;
    uint64_t number = 0;                      // number of the last request
    int unanswered = 0;                       // number of requests since the last reply
    absl::Time due = absl::InfiniteFuture();  // time at which Tick sends a request or ends the state
  };

  // --- emu::TransportSink ---
  void OnFrame(absl::Span<const uint8_t> frame) override;
  bool TakeFrame(absl::Span<const uint8_t> frame) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;

  // Handles the frame if it is a request or a reply; else returns false.
  bool TakeMessage(absl::Span<const uint8_t> frame);
  void OnAsk(Incarnation peer, const CloseRequestMessage& message);
  void OnAnswer(Incarnation peer, const CloseReplyMessage& message);
  void Ask(Incarnation peer, Connection* connection);
  bool SendMessage(Incarnation peer, const PeerMessage& message);
  void SetState(Connection* connection, State state, absl::Time due);
  // Returns RESOURCE_EXHAUSTED while frames to the peer must wait.
  absl::Status CheckHeld(Incarnation peer) const;
  absl::Status Reconnect(Incarnation peer, Connection* connection);

  const Clock* const clock_;
  emu::Transport* const network_;
  const Incarnation self_;
  emu::TransportSink* sink_ = nullptr;  // set during Progress
  std::map<Incarnation, Connection> connections_;
  uint64_t next_number_ = 1;
  size_t held_ = 0;  // number of connections in kHeld
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_CONNECTIONS_H_
