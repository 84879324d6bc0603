// SPDX-License-Identifier: Apache-2.0
//
// Two engines that send packets to each other in one process, for callgrind to count their instructions.
//
//     valgrind --tool=callgrind --collect-atstart=no engine_packets CASE PACKETS
//
// CASE `packet`: from client to client, 120 bytes, from Post to PopPacket. CASE `barrier`: calls of a team on two
// nodes, a packet each way, from ExpectHash to FinishCall. Collects the engines alone: neither the transport here nor
// the first few calls, which allocate.
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
constexpr uint16_t kHash = 0x4242;
constexpr uint32_t kSlots = 16;

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
  void OnEvent(emu::PortId, uint64_t, bool) override { ++events; }
  void OnMismatch(emu::PortId, uint32_t, uint16_t, uint16_t) override {}

  uint64_t events = 0;
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

void SendPacket(std::array<Node, 2>* nodes, uint64_t /*call*/) {
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

void MakeBarrier(std::array<Node, 2>* nodes, uint64_t call) {
  const uint32_t counter = static_cast<uint32_t>(call % kSlots);
  for (Node& node : *nodes) {
    CHECK(node.engine->ExpectHash(node.port, CallSeq(call), kHash).ok());
    Descriptor send;
    send.op = emu::OpCode::kSend;
    send.options = emu::kOptionTrigger;
    send.edge = node.edge.edge;
    send.remote_counter = 0;
    send.sequence = static_cast<uint16_t>(call);
    send.hash = kHash;
    CHECK(node.engine->Post(node.port, {}, absl::MakeConstSpan(&send, 1)).ok());
    Descriptor event;
    event.op = emu::OpCode::kEvent;
    event.value = call;
    CHECK(node.engine->Post(node.port, {.counter = counter, .threshold = 1}, absl::MakeConstSpan(&event, 1)).ok());
  }
  (*nodes)[0].Run();
  (*nodes)[1].Run();
  (*nodes)[0].Run();
  for (Node& node : *nodes) {
    CHECK(node.sinks.events == call + 1);
    CHECK(node.engine->FinishCall(node.port, CallSeq(call)).ok());
  }
}

int Main(const std::string& name, uint64_t packets) {
  const bool barrier = name == "barrier";
  std::array<Node, 2> nodes;
  emu::PortOptions options;
  options.regions = 1;
  options.edges = 1;
  if (barrier) {
    options.slots = kSlots;
    options.counters_per_slot = 1;
    options.cell_bytes = emu::kMpPayloadBytes;
  } else {
    options.mpq_entries = 16;
  }
  Link(options, &nodes);
  const auto step = barrier ? MakeBarrier : SendPacket;
  for (uint64_t call = 0; call < kWarmUpCalls; ++call) step(&nodes, call);
  const uint64_t calls = barrier ? packets / 2 : packets;
  counting = true;
  CALLGRIND_TOGGLE_COLLECT;
  for (uint64_t call = 0; call < calls; ++call) step(&nodes, kWarmUpCalls + call);
  CALLGRIND_TOGGLE_COLLECT;
  return 0;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  const std::string name = argc == 3 ? argv[1] : "";
  if (name != "packet" && name != "barrier") {
    std::fprintf(stderr, "usage: engine_packets packet|barrier PACKETS\n");
    return 2;
  }
  return copse::bench::Main(name, std::strtoull(argv[2], nullptr, 10));
}
