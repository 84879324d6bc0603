// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives frames over TCP, between daemons that prove who they are.
#ifndef COPSE_OFFLOAD_EMU_TCP_TCP_TRANSPORT_H_
#define COPSE_OFFLOAD_EMU_TCP_TCP_TRANSPORT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "offload_emu/tcp/lane.h"
#include "offload_emu/tcp/tls_identity.h"
#include "offload_emu/tcp/wire_format.h"
#include "offload_emu/transport.h"

namespace copse::emu {

struct TcpTransportOptions {
  std::string address = "127.0.0.1:0";  // numeric; port 0: any
  Incarnation self;
  std::shared_ptr<const TlsIdentity> identity;
  bool encrypt = false;                              // false: frames are authenticated and can be read by others
  LaneLimits limits = {};                            // of each lane to a peer
  uint32_t short_bytes_max = kShortFrameBytesMax;    // longer frames go over the bulk lane
  std::array<uint8_t, kLaneCount> dscp = {18, 10};   // of each LaneKind's packets: AF21 and AF11 (RFC 4594)
  absl::Duration first_contact = absl::Seconds(10);  // a peer whose address refuses connections for so long is down
  absl::Duration hello_timeout = absl::Seconds(10);  // from a connection to its hello
  uint32_t strangers_max = 256;                      // connections that have not said hello
};

struct TcpTransportCounts {
  uint64_t connected = 0;    // connections over which both sides said hello
  uint64_t reconnected = 0;  // of these, such that followed a lost one
  uint64_t refused = 0;      // peers that were not believed, and connections that ended before their hello
  uint64_t dropped = 0;      // frames whose header names another sender than the connection
};

// A TcpTransport owns the sockets of one daemon. Single-threaded.
//
// Each pair of peers has a connection for short frames and, from the first long frame on, one for long ones. A
// connection that is lost is made anew, and what it may have lost is sent again, so peers fail only by evidence: the
// address refuses connections, or another daemon answers there; the peer has disconnected; its certificate is another
// node's; or several handshakes in succession have failed. Whoever does not prove that it is a node gets no further
// than the handshake. Nobody can connect before the first call of Connect.
class TcpTransport final : public PolledTransport {
 public:
  // `*clock` must outlive it. Errors: INVALID_ARGUMENT if the address is not numeric; UNAVAILABLE if it cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<TcpTransport>> Create(const Clock* clock, const TcpTransportOptions& options);
  ~TcpTransport() override;

  std::string LocalAddress() const override;
  absl::Status Connect(const PeerAddress& peer) override;
  // Tells the peer, which reports this side as down.
  void Disconnect(Incarnation peer) override;
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  absl::Status SendBehind(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  bool Progress(TransportSink* sink) override;
  int event_fd() const override;
  absl::StatusOr<bool> Arm() override;

  const TcpTransportCounts& counts() const;

  // Uses this identity for new connections. The peers of those that exist are checked by it, a few at each call of
  // Progress; one that it does not believe is down.
  void UseIdentity(std::shared_ptr<const TlsIdentity> identity);

 private:
  class Impl;
  explicit TcpTransport(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TCP_TRANSPORT_H_
