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
#include <string>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "bench/pairs/engine_end.h"
#include "offload_emu/transport.h"

namespace copse::bench {
namespace {

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

struct Node {
  DirectTransport transport;
  EngineEnd end;

  void Run() {
    while (end.Progress()) {
    }
  }
};

void Link(std::array<Node, 2>* nodes) {
  for (uint32_t i = 0; i < 2; ++i) {
    Node& node = (*nodes)[i];
    node.transport.peer = &(*nodes)[1 - i].transport;
    CHECK(node.end.Open(&node.transport, i).ok());
  }
  for (uint32_t i = 0; i < 2; ++i) CHECK((*nodes)[i].end.SetPeer((*nodes)[1 - i].end.label()).ok());
}

void SendPacket(std::array<Node, 2>* nodes) {
  Node& from = (*nodes)[0];
  Node& to = (*nodes)[1];
  CHECK(from.end.Post().ok());
  from.Run();
  to.Run();
  CHECK(to.end.Pop());
}

int Main(uint64_t packets) {
  std::array<Node, 2> nodes;
  Link(&nodes);
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
