// SPDX-License-Identifier: Apache-2.0
//
// Defines one of two engines that send packets to each other.
#ifndef COPSE_BENCH_PAIRS_ENGINE_END_H_
#define COPSE_BENCH_PAIRS_ENGINE_END_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine.h"
#include "offload_emu/packet.h"
#include "offload_emu/transport.h"

namespace copse::bench {

// An EngineEnd owns an engine with a port, whose one edge leads to the other end. Calls follow Open, SetPeer, then the
// others in any order.
class EngineEnd final : public emu::ControlSink, public emu::PortSink {
 public:
  // Ends 0 and 1 know each other by these incarnations.
  static Incarnation IncarnationOf(uint32_t number) { return Incarnation(number + 1); }

  absl::Status Open(emu::Transport* transport, uint32_t number) {
    emu::EngineOptions options;
    options.incarnation = IncarnationOf(number);
    engine_ = std::make_unique<emu::Engine>(transport, this, options);
    emu::PortOptions port;
    port.regions = 1;
    port.edges = 1;
    port.mpq_entries = 16;
    ASSIGN_OR_RETURN(port_, engine_->OpenPort(port, this));
    RETURN_IF_ERROR(engine_->BindRegion(port_, 0, payload_.data(), payload_.size(), false));
    ASSIGN_OR_RETURN(edge_, engine_->AddEdge(port_, IncarnationOf(1 - number)));
    return absl::OkStatus();
  }
  // The label that the other end sends with.
  emu::Label label() const { return edge_.label; }
  absl::Status SetPeer(emu::Label label) { return engine_->SetRemoteLabel(port_, edge_.edge, label); }

  // Posts a packet with kMpPayloadBytes of payload.
  absl::Status Post() {
    emu::Descriptor send;
    send.op = emu::OpCode::kSend;
    send.edge = edge_.edge;
    send.source = {0, 0};
    send.bytes = emu::kMpPayloadBytes;
    return engine_->Post(port_, {}, absl::MakeConstSpan(&send, 1));
  }
  bool Progress() { return engine_->Progress(kBudgetBytes); }
  // Returns whether a packet has arrived, which is then taken.
  bool Pop() {
    emu::MpPacket packet;
    uint32_t bytes = 0;
    return engine_->PopPacket(port_, &packet, &bytes);
  }
  // An error if the other end is lost.
  const absl::Status& peer_status() const { return peer_status_; }

  void OnControl(Incarnation, uint16_t, absl::Span<const uint8_t>) override {}
  void OnPeerDown(Incarnation, const absl::Status& why) override { peer_status_ = why; }
  void OnPeerHeard(Incarnation) override {}
  void OnEvent(emu::PortId, uint64_t, bool) override {}
  void OnMismatch(emu::PortId, uint32_t, uint16_t, uint16_t) override {}
  void OnWrongArrival(emu::PortId, uint16_t, const emu::Arrival&, const emu::Arrival*) override {}

 private:
  static constexpr uint64_t kBudgetBytes = 1 << 20;

  std::array<uint8_t, emu::kMpPayloadBytes> payload_ = {};
  absl::Status peer_status_;
  std::unique_ptr<emu::Engine> engine_;
  emu::PortId port_;
  emu::Engine::NewEdge edge_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_ENGINE_END_H_
