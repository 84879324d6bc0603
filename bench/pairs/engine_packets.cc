// SPDX-License-Identifier: Apache-2.0
//
// Two engines that send packets to each other in one process, for callgrind to count their instructions.
//
//     valgrind --tool=callgrind --collect-atstart=no engine_packets PACKETS
//
// A packet goes from client to client, 120 bytes, from Post to PopPacket. Collects the engines alone: neither the
// transport here nor the first few packets, which allocate.
#include <valgrind/callgrind.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine.h"
#include "offload_emu/packet.h"
#include "offload_emu/transport.h"

namespace copse::bench {
namespace {

using emu::Descriptor;
using emu::Engine;

constexpr uint64_t kBudgetBytes = 1 << 20;
constexpr uint64_t kWarmUpCalls = 256;

bool counting = false;

// While it lives, instructions are not the engines'.
class Pause {
 public:
  Pause() {
    if (counting) CALLGRIND_TOGGLE_COLLECT;
  }
  ~Pause() {
    if (counting) CALLGRIND_TOGGLE_COLLECT;
  }
};

// Hands frames to the other engine's transport.
class DirectTransport final : public emu::Transport {
 public:
  std::string LocalAddress() const override { return "direct"; }
  absl::Status Connect(const emu::PeerAddress&) override { return absl::OkStatus(); }
  void Disconnect(Incarnation) override {}
  absl::Status Send(Incarnation, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override {
    const Pause pause;
    std::vector<uint64_t> frame((head.size() + body.size() + 7) / 8 + 1);
    frame[0] = head.size() + body.size();
    std::memcpy(&frame[1], head.data(), head.size());
    std::memcpy(reinterpret_cast<uint8_t*>(&frame[1]) + head.size(), body.data(), body.size());
    peer->arrived_.push_back(std::move(frame));
    return absl::OkStatus();
  }
  bool Progress(emu::TransportSink* sink) override {
    bool any = false;
    for (;;) {
      std::vector<uint64_t> frame;
      {
        const Pause pause;
        if (arrived_.empty()) return any;
        frame = std::move(arrived_.front());
        arrived_.pop_front();
      }
      sink->OnFrame({reinterpret_cast<const uint8_t*>(&frame[1]), frame[0]});
      any = true;
      const Pause pause;
      frame = {};
    }
  }

  DirectTransport* peer = nullptr;

 private:
  std::deque<std::vector<uint64_t>> arrived_;
};

class Sinks final : public emu::ControlSink, public emu::PortSink {
 public:
  void OnControl(Incarnation, uint16_t, absl::Span<const uint8_t>) override {}
  void OnPeerDown(Incarnation, const absl::Status&) override {}
  void OnPeerHeard(Incarnation) override {}
  void OnEvent(emu::PortId, uint64_t, bool) override {}
  void OnMismatch(emu::PortId, uint32_t, uint16_t, uint16_t) override {}
};

struct Node {
  DirectTransport transport;
  Sinks sinks;
  std::unique_ptr<Engine> engine;
  emu::PortId port;
  Engine::NewEdge edge;
  std::array<uint8_t, emu::kMpPayloadBytes> payload = {};

  void Run() {
    while (engine->Progress(kBudgetBytes)) {
    }
  }
};

void Link(const emu::PortOptions& options, std::array<Node, 2>* nodes) {
  for (uint64_t i = 0; i < 2; ++i) {
    Node& node = (*nodes)[i];
    node.transport.peer = &(*nodes)[1 - i].transport;
    emu::EngineOptions engine_options;
    engine_options.incarnation = Incarnation(1 + i);
    node.engine = std::make_unique<Engine>(&node.transport, &node.sinks, engine_options);
    const auto port = node.engine->OpenPort(options, &node.sinks);
    CHECK(port.ok());
    node.port = *port;
    CHECK(node.engine->BindRegion(node.port, 0, node.payload.data(), node.payload.size(), false).ok());
    const auto edge = node.engine->AddEdge(node.port, Incarnation(2 - i));
    CHECK(edge.ok());
    node.edge = *edge;
  }
  for (int i = 0; i < 2; ++i) {
    Node& node = (*nodes)[i];
    CHECK(node.engine->SetRemoteLabel(node.port, node.edge.edge, (*nodes)[1 - i].edge.label).ok());
  }
}

void SendPacket(std::array<Node, 2>* nodes) {
  Node& from = (*nodes)[0];
  Node& to = (*nodes)[1];
  Descriptor send;
  send.op = emu::OpCode::kSend;
  send.edge = from.edge.edge;
  send.source = {0, 0};
  send.bytes = emu::kMpPayloadBytes;
  CHECK(from.engine->Post(from.port, {}, absl::MakeConstSpan(&send, 1)).ok());
  from.Run();
  to.Run();
  emu::MpPacket packet;
  uint32_t bytes = 0;
  CHECK(to.engine->PopPacket(to.port, &packet, &bytes));
}

int Main(uint64_t packets) {
  std::array<Node, 2> nodes;
  emu::PortOptions options;
  options.regions = 1;
  options.edges = 1;
  options.mpq_entries = 16;
  Link(options, &nodes);
  for (uint64_t i = 0; i < kWarmUpCalls; ++i) SendPacket(&nodes);
  counting = true;
  CALLGRIND_TOGGLE_COLLECT;
  for (uint64_t i = 0; i < packets; ++i) SendPacket(&nodes);
  CALLGRIND_TOGGLE_COLLECT;
  return 0;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: engine_packets PACKETS\n");
    return 2;
  }
  return copse::bench::Main(std::strtoull(argv[1], nullptr, 10));
}
