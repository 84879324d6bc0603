// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "bench/pairs/hop_side.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/poller.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine.h"
#include "offload_emu/packet.h"
#include "offload_emu/ucx/ucx_transport.h"

namespace copse::bench {
namespace {

constexpr uint64_t kBudgetBytes = 1 << 20;

Incarnation IncarnationOf(uint32_t number) { return Incarnation(number + 1); }

class NoControl final : public emu::ControlSink {
 public:
  void OnControl(Incarnation, uint16_t, absl::Span<const uint8_t>) override {}
  void OnPeerDown(Incarnation, const absl::Status& why) override { down = why; }
  void OnPeerHeard(Incarnation) override {}

  absl::Status down;
};

class NoEvents final : public emu::PortSink {
 public:
  void OnEvent(emu::PortId, uint64_t, bool) override {}
  void OnMismatch(emu::PortId, uint32_t, uint16_t, uint16_t) override {}
};

class EngineSide final : public HopSide, public daemon::LoopWork {
 public:
  explicit EngineSide(uint32_t number) : number_(number) {}

  absl::Status Open() {
    emu::UcxTransportOptions options;
    options.net_devices = "lo";
    ASSIGN_OR_RETURN(transport_, emu::UcxTransport::Create(options));
    emu::EngineOptions engine_options;
    engine_options.incarnation = IncarnationOf(number_);
    engine_ = std::make_unique<emu::Engine>(transport_.get(), &control_, engine_options);
    emu::PortOptions port;
    port.mpq_entries = 16;
    port.regions = 1;
    port.edges = 1;
    ASSIGN_OR_RETURN(port_, engine_->OpenPort(port, &sink_));
    RETURN_IF_ERROR(engine_->BindRegion(port_, 0, payload_.data(), payload_.size(), false));
    ASSIGN_OR_RETURN(poller_, daemon::Poller::Create());
    RETURN_IF_ERROR(poller_->Watch(transport_->event_fd(), EPOLLIN, nullptr));
    loop_ =
        std::make_unique<daemon::Loop>(&clock_, poller_.get(), this, daemon::LoopOptions{.spin = absl::ZeroDuration()});
    return absl::OkStatus();
  }

  // The label that the peer sends with, and the worker's address.
  std::string Address() override {
    const auto edge = engine_->AddEdge(port_, IncarnationOf(1 - number_));
    if (!edge.ok()) return "";
    edge_ = edge->edge;
    std::string address(sizeof(edge->label), '\0');
    std::memcpy(address.data(), &edge->label, sizeof(edge->label));
    return address + transport_->LocalAddress();
  }

  absl::Status Connect(const std::string& peer_address) override {
    emu::Label label = emu::kNoLabel;
    if (peer_address.size() <= sizeof(label)) return absl::InvalidArgumentError("no address");
    std::memcpy(&label, peer_address.data(), sizeof(label));
    RETURN_IF_ERROR(transport_->Connect({IncarnationOf(1 - number_), peer_address.substr(sizeof(label))}));
    return engine_->SetRemoteLabel(port_, edge_, label);
  }

  absl::Status Send() override {
    emu::Descriptor send;
    send.op = emu::OpCode::kSend;
    send.edge = edge_;
    send.source = {0, 0};
    send.bytes = kHopPayloadBytes;
    RETURN_IF_ERROR(engine_->Post(port_, {}, absl::MakeConstSpan(&send, 1)));
    Progress();
    return absl::OkStatus();
  }

  absl::Status Receive(bool sleep) override {
    while (received_ == 0 && control_.down.ok()) {
      if (sleep) {
        loop_->Turn();
      } else {
        Progress();
      }
    }
    if (received_ > 0) --received_;
    return control_.down;
  }

  absl::Status Flush() override {
    Progress();
    return control_.down;
  }

  // --- The daemon's loop ---
  bool ReadPosts() override { return false; }
  bool Progress() override {
    const bool any = engine_->Progress(kBudgetBytes);
    emu::MpPacket packet;
    uint32_t bytes = 0;
    if (engine_->PopPacket(port_, &packet, &bytes)) ++received_;
    return any;
  }
  void SetSleeping(bool) override {}
  // What has come is not to be slept on.
  bool ArmNetwork() override {
    if (received_ > 0) return false;
    const absl::StatusOr<bool> armed = transport_->Arm();
    return armed.ok() && *armed;
  }
  absl::Time NextDeadline() override { return absl::InfiniteFuture(); }

 private:
  const uint32_t number_;
  const MonotonicClock clock_;
  NoControl control_;
  NoEvents sink_;
  std::array<uint8_t, kHopPayloadBytes> payload_ = {};
  std::unique_ptr<emu::UcxTransport> transport_;
  std::unique_ptr<emu::Engine> engine_;
  std::unique_ptr<daemon::Poller> poller_;
  std::unique_ptr<daemon::Loop> loop_;
  emu::PortId port_;
  uint32_t edge_ = 0;
  uint32_t received_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HopSide>> NewEngineSide(uint32_t number) {
  auto side = std::make_unique<EngineSide>(number);
  RETURN_IF_ERROR(side->Open());
  return side;
}

}  // namespace copse::bench
