// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives frames over UCX, each as one active message.
#ifndef COPSE_OFFLOAD_EMU_UCX_UCX_TRANSPORT_H_
#define COPSE_OFFLOAD_EMU_UCX_UCX_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// Empty strings leave the choice to UCX and its environment (UCX_TLS, UCX_NET_DEVICES), which also sets all other
// options of UCX.
struct UcxTransportOptions {
  // TCP is the default between a cluster's daemons. UCX's shared memory reports a peer's death only after its
  // keepalive interval, 20 s.
  std::string tls = "tcp";
  std::string net_devices;
  uint32_t frames_per_peer_max = 64;  // sends that UCX has not completed; more: RESOURCE_EXHAUSTED
  uint32_t frames_max = 1024;         // limit of such sends over all peers
  bool peers_may_die = true;          // false: no UCX error handling, as the transport `self` has none
  uint32_t polls = 1;                 // calls of ucp_worker_progress before Progress returns that nothing happened
};

// A UcxTransport owns one UCX context and worker. Single-threaded. Each peer fails on its own: a lost connection is
// reported once, after the frames that were received over it. UCX listens for whoever connects, and believes it, from
// Open on.
class UcxTransport final : public PolledTransport {
 public:
  // Finds the devices, and opens none of them. Errors: UCX's (UcxToStatus), with the operation that failed.
  static absl::StatusOr<std::unique_ptr<UcxTransport>> Create(const UcxTransportOptions& options);
  ~UcxTransport() override;

  absl::Status Open() override;
  std::string LocalAddress() const override;
  absl::Status Connect(const PeerAddress& peer) override;
  void Disconnect(Incarnation peer) override;
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  bool Progress(TransportSink* sink) override;

  int event_fd() const override;
  absl::StatusOr<bool> Arm() override;

  // Returns the number of received messages that were dropped since they cannot be frames: too long, rendezvous, or
  // with a UCX header.
  uint64_t dropped_messages() const;

 private:
  class Impl;
  explicit UcxTransport(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_UCX_UCX_TRANSPORT_H_
