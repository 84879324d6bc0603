// SPDX-License-Identifier: Apache-2.0
//
// Frames over UCX: one active message each.
#ifndef COPSE_OFFLOAD_EMU_UCX_UCX_TRANSPORT_H_
#define COPSE_OFFLOAD_EMU_UCX_UCX_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// Empty strings leave the choice to UCX and its environment (UCX_TLS, UCX_NET_DEVICES), which also decides all else.
struct UcxTransportOptions {
  // TCP is the default between a cluster's daemons. UCX's shared memory reports a peer's death only after its
  // keepalive interval, 20 s.
  std::string tls = "tcp";
  std::string net_devices;
  uint32_t frames_per_peer_max = 64;  // sent and not yet taken by UCX; more: RESOURCE_EXHAUSTED
  uint32_t frames_max = 1024;         // the same over all peers
  bool peers_may_die = true;          // false: without UCX's error handling, which `self` lacks
  uint32_t polls = 1;                 // how often Progress polls UCX before it reports that nothing happened
};

// A UcxTransport owns one UCX context and worker. Single-threaded. Peers fail one by one: a lost connection is reported
// once, after the frames that came over it.
//
// To sleep: call Progress until it returns false, then Arm, then wait for event_fd() to become readable, for a bounded
// time.
class UcxTransport final : public Transport {
 public:
  // Errors: UCX's, with the operation that failed.
  static absl::StatusOr<std::unique_ptr<UcxTransport>> Create(const UcxTransportOptions& options);
  ~UcxTransport() override;

  std::string LocalAddress() const override;
  absl::Status Connect(const PeerAddress& peer) override;
  void Disconnect(Incarnation peer) override;
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  bool Progress(TransportSink* sink) override;

  // The descriptor is readable when something happened after an Arm that returned true.
  int event_fd() const;
  // Returns false if something happened meanwhile: call Progress again.
  absl::StatusOr<bool> Arm();

  // Number of received messages that cannot be frames (too long, or rendezvous) and were dropped.
  uint64_t dropped_messages() const;

 private:
  class Impl;
  explicit UcxTransport(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_UCX_UCX_TRANSPORT_H_
