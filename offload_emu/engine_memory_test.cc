// SPDX-License-Identifier: Apache-2.0
//
// Tests the engine's cost: memory of an idle one, and allocations of a warm one. Every operator new is counted.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/packet.h"
#include "offload_emu/testing/engine_cluster.h"
#include "offload_emu/testing/recording_sinks.h"
#include "offload_emu/testing/single_engine.h"
#include "sim/simulator.h"
#include "sim/virtual_network.h"

namespace {

uint64_t g_allocations = 0;
uint64_t g_live_bytes = 0;

// Bytes before each block, which hold its size.
constexpr size_t kHead = alignof(std::max_align_t);

void* Allocate(size_t bytes) {
  char* block = static_cast<char*>(std::malloc(bytes + kHead));
  if (block == nullptr) std::abort();
  *reinterpret_cast<size_t*>(block) = bytes;
  ++g_allocations;
  g_live_bytes += bytes;
  return block + kHead;
}

void Deallocate(void* pointer) {
  if (pointer == nullptr) return;
  char* block = static_cast<char*>(pointer) - kHead;
  g_live_bytes -= *reinterpret_cast<size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void operator delete(void* pointer) noexcept { Deallocate(pointer); }
void operator delete[](void* pointer) noexcept { Deallocate(pointer); }
void operator delete(void* pointer, size_t) noexcept { Deallocate(pointer); }
void operator delete[](void* pointer, size_t) noexcept { Deallocate(pointer); }

namespace copse::emu {
namespace {

constexpr PortOptions kClientPort = {.sequences = 64, .mpq_entries = 64, .eq_entries = 64};
constexpr PortOptions kTeamPort = {.slots = 8, .counters_per_slot = 32, .regions = 64, .edges = 4, .cell_bytes = 65536};

TEST(IdleMemoryTest, TenThousandNodesWithOnePortAndOneTeamCostUnderTenKilobytesEach) {
  constexpr uint32_t kNodes = 10'000;
  struct Node {
    std::unique_ptr<Engine> engine;
    RecordingControlSink control;
    RecordingPortSink sink;
  };
  sim::Simulator simulator;
  sim::VirtualNetwork network(&simulator, {});
  std::vector<std::unique_ptr<Node>> nodes;
  const uint64_t before = g_live_bytes;
  for (uint32_t i = 0; i < kNodes; ++i) {
    auto node = std::make_unique<Node>();
    const sim::NodeNumber number = network.AddNode(absl::StrCat("n", i), Incarnation(1 + i), nullptr);
    node->engine = std::make_unique<Engine>(network.transport(number), &node->control,
                                            EngineOptions{.incarnation = Incarnation(1 + i)});
    ASSERT_TRUE(node->engine->OpenPort(kClientPort, &node->sink).ok());
    const auto team = node->engine->OpenPort(kTeamPort, &node->sink);
    ASSERT_TRUE(team.ok());
    for (const uint32_t neighbor : {i + 1, i + 2, i + 3}) {
      const Incarnation peer(1 + neighbor % kNodes);
      const auto edge = node->engine->AddEdge(*team, peer);
      ASSERT_TRUE(edge.ok());
      ASSERT_TRUE(node->engine->SetRemoteLabel(*team, edge->edge, Label{1}).ok());
      if (neighbor % kNodes < i) {
        ASSERT_TRUE(network.transport(number)->Connect({peer, absl::StrCat(neighbor % kNodes)}).ok());
      }
    }
    nodes.push_back(std::move(node));
  }
  const uint64_t bytes = (g_live_bytes - before) / kNodes;
  std::cout << "an idle node: " << bytes << " bytes\n";
  RecordProperty("idle_node_bytes", static_cast<int>(bytes));
  // DESIGN allows 20 KB for the whole daemon; this is the share of the engine and the network.
  EXPECT_LT(bytes, 10'000u);
}

// Two transports that pass frames through memory that they keep.
class LoopTransport final : public Transport {
 public:
  std::string LocalAddress() const override { return ""; }
  absl::Status Connect(const PeerAddress&) override { return absl::OkStatus(); }
  void Disconnect(Incarnation) override {}
  absl::Status Send(Incarnation, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override {
    Slot& slot = other->ring[other->written++ % kSlots];
    EXPECT_LT(other->written, other->read + kSlots);
    slot.bytes = head.size() + body.size();
    uint8_t* at = reinterpret_cast<uint8_t*>(slot.words);
    std::copy(head.begin(), head.end(), at);
    std::copy(body.begin(), body.end(), at + head.size());
    return absl::OkStatus();
  }
  bool Progress(TransportSink* sink) override {
    const bool any = read < written;
    while (read < written) {
      const Slot& slot = ring[read++ % kSlots];
      sink->OnFrame(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(slot.words), slot.bytes));
    }
    return any;
  }

  LoopTransport* other = nullptr;

 private:
  static constexpr uint64_t kSlots = 16;
  struct Slot {
    size_t bytes = 0;
    uint64_t words[kFrameBytesMax / 8];
  };
  std::vector<Slot> ring = std::vector<Slot>(kSlots);
  uint64_t written = 0;
  uint64_t read = 0;
};

// Counts events only.
class CountingSink final : public PortSink {
 public:
  void OnEvent(PortId, uint64_t, bool failed) override {
    ++events;
    EXPECT_FALSE(failed);
  }
  void OnMismatch(PortId, uint32_t, uint16_t, uint16_t) override { ADD_FAILURE(); }
  void OnWrongArrival(PortId, uint16_t, const Arrival&, const Arrival*) override { ADD_FAILURE(); }
  uint64_t events = 0;
};

TEST(WarmAllocationTest, AThousandBarriersAndAllreducesAllocateNothing) {
  constexpr uint32_t kBytes = 4096;
  LoopTransport transports[2];
  transports[0].other = &transports[1];
  transports[1].other = &transports[0];
  RecordingControlSink control;
  CountingSink sinks[2];
  std::vector<std::unique_ptr<Engine>> engines;
  PortId ports[2];
  std::vector<uint64_t> values[2] = {std::vector<uint64_t>(kBytes / 8, 1), std::vector<uint64_t>(kBytes / 8, 2)};
  std::vector<uint64_t> results[2] = {std::vector<uint64_t>(kBytes / 8), std::vector<uint64_t>(kBytes / 8)};
  Label labels[2];
  for (uint32_t i = 0; i < 2; ++i) {
    engines.push_back(
        std::make_unique<Engine>(&transports[i], &control, EngineOptions{.incarnation = Incarnation(1 + i)}));
    ports[i] = *engines[i]->OpenPort(kTeamPort, &sinks[i]);
    labels[i] = engines[i]->AddEdge(ports[i], Incarnation(2 - i))->label;
    ASSERT_TRUE(engines[i]->BindRegion(ports[i], 0, reinterpret_cast<uint8_t*>(values[i].data()), kBytes, false).ok());
    ASSERT_TRUE(engines[i]->BindRegion(ports[i], 1, reinterpret_cast<uint8_t*>(results[i].data()), kBytes, true).ok());
  }
  for (uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(engines[i]->SetRemoteLabel(ports[i], 0, labels[1 - i]).ok());

  const auto enter = [&](uint32_t i, uint64_t call) {
    Engine& engine = *engines[i];
    const uint32_t slot = call % 8;
    const CounterIndex base = slot * 32;
    ASSERT_TRUE(engine.ExpectHash(ports[i], CallSeq(call), kTestHash).ok());
    Descriptor descriptors[3];
    if (call % 2 == 0) {  // a barrier
      descriptors[0] = SendOf(0, 0, call);
      ASSERT_TRUE(engine.Post(ports[i], {}, absl::MakeConstSpan(descriptors, 1)).ok());
      descriptors[0] = EventOf(call);
      ASSERT_TRUE(engine.Post(ports[i], {.counter = base, .threshold = 1}, absl::MakeConstSpan(descriptors, 1)).ok());
      return;
    }
    descriptors[0] = PutOf(0, 0, call, {0, 0}, kBytes);
    ASSERT_TRUE(engine.Post(ports[i], {}, absl::MakeConstSpan(descriptors, 1)).ok());
    Descriptor& reduce = descriptors[0];
    reduce = Descriptor{};
    reduce.op = OpCode::kReduce;
    reduce.alu_type = ElementType::kUint64;
    reduce.bytes = kBytes;
    reduce.operand_count = 2;
    reduce.operands[0] = {0, 0};
    reduce.operands[1] = {engine.CellRegion(ports[i], 0, slot), 0};
    reduce.target = {engine.ScratchRegion(ports[i], slot), 0};
    descriptors[1] = CopyOf(reduce.target, {1, 0}, kBytes);
    descriptors[2] = EventOf(call);
    ASSERT_TRUE(engine.Post(ports[i], {.counter = base, .threshold = 1}, absl::MakeConstSpan(descriptors, 3)).ok());
  };
  const auto run = [&](uint64_t first, uint64_t last) {
    for (uint64_t call = first; call < last; ++call) {
      for (uint32_t i = 0; i < 2; ++i) enter(i, call);
      while (sinks[0].events <= call || sinks[1].events <= call) {
        for (uint32_t i = 0; i < 2; ++i) engines[i]->Progress(1 << 20);
      }
      for (uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(engines[i]->FinishCall(ports[i], CallSeq(call)).ok());
    }
  };
  run(0, 16);
  const uint64_t before = g_allocations;
  run(16, 2016);
  EXPECT_EQ(g_allocations - before, 0u);
  EXPECT_EQ(results[0][7], 3u);
  EXPECT_EQ(results[1][7], 3u);
}

}  // namespace
}  // namespace copse::emu
