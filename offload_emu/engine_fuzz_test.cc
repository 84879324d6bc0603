// SPDX-License-Identifier: Apache-2.0
//
// Feeds the engine frames of random and of mutated bytes: it must neither crash nor leak what it owns. Deterministic:
// a failure replays by running the test again; the trace names the iteration.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/single_engine.h"

namespace copse::emu {
namespace {

// A team's port with calls in progress, a client's port beside it, and memory with guards around it.
class Target : public SingleEngine {
 public:
  Target()
      : SingleEngine(
            {.slots = 4, .counters_per_slot = 4, .regions = 3, .edges = 3, .cell_bytes = 1000, .remote_access = true}),
        memory_(3 * kBytes) {
    std::fill(memory_.begin(), memory_.end(), kGuard);
    Bind(0, memory_.data() + kBytes, kBytes, true);
    Bind(1, memory_.data() + kBytes, kBytes, false);
    client_ = *engine.OpenPort({.mpq_entries = 4, .edges = 1, .remote_access = true}, &sink);
    client_label_ = engine.AddEdge(client_, Incarnation(SingleEngine::kPeer))->label;
    EXPECT_TRUE(engine.SetRemoteLabel(client_, 0, Label{77}).ok());
  }

  Label client_label() const { return client_label_; }

  // Runs a few calls' worth of normal operations, so that frames meet armed sequences, waiting ones and outstanding
  // gets.
  void Live(Prng* prng) {
    const uint64_t finished = engine.Finished(port).value();
    const uint64_t call = finished + prng->Below(4);
    const CounterIndex counter = static_cast<uint32_t>(call % 4 * 4 + prng->Below(4));
    const uint32_t edge = static_cast<uint32_t>(prng->Below(3));
    // The state decides whether these are accepted; they must be harmless in any case.
    switch (prng->Below(8)) {
      case 0:
        engine.ExpectHash(port, CallSeq(call), kTestHash).IgnoreError();
        break;
      case 1:
        engine.FinishCall(port, CallSeq(call)).IgnoreError();
        break;
      case 2:
        engine
            .Post(port, {.counter = counter, .threshold = 1 + prng->Below(2)},
                  {SendOf(edge, 1, call), EventOf(1), CountOf(counter)})
            .IgnoreError();
        break;
      case 3:
        engine.Post(port, {}, {GetOf(edge, 0, 0, {0, 0}, 64, counter)}).IgnoreError();
        break;
      case 4: {
        const MemoryRef cell{engine.CellRegion(port, edge, static_cast<uint32_t>(call % 4)), 0};
        engine
            .Post(port, {.counter = counter, .threshold = 1},
                  {ReduceOf(ElementOp::kSum, ElementType::kUint8, {{0, 0}, cell}, {0, 0}, kBytes)})
            .IgnoreError();
        break;
      }
      case 5: {
        MpPacket packet;
        uint32_t bytes;
        if (prng->Chance(0.9)) break;  // so that it fills up at times
        while (engine.PopPacket(client_, &packet, &bytes)) ASSERT_LE(bytes, kMpPayloadBytes);
        break;
      }
      case 6:
        if (prng->Chance(0.1)) {
          engine.RemoveEdge(port, edge);
          const auto added = engine.AddEdge(port, Incarnation(SingleEngine::kPeer + edge));
          ASSERT_TRUE(added.ok());
          labels[added->edge] = added->label;
          ASSERT_TRUE(engine.SetRemoteLabel(port, added->edge, Label{5}).ok());
        }
        break;
      default:
        break;
    }
  }

  void Deliver(Bytes frame) {
    transport.offers_frames = !transport.offers_frames;
    transport.to_deliver.push_back(std::move(frame));
    Run();
    transport.sent.clear();
    sink.events.clear();
    sink.mismatches.clear();
    control.controls.clear();
  }

  void CheckGuards() const {
    EXPECT_TRUE(std::all_of(memory_.begin(), memory_.begin() + kBytes, [](uint8_t b) { return b == kGuard; }));
    EXPECT_TRUE(std::all_of(memory_.end() - kBytes, memory_.end(), [](uint8_t b) { return b == kGuard; }));
  }

 private:
  static constexpr uint32_t kBytes = 256;
  static constexpr uint8_t kGuard = 0xa5;

  std::vector<uint8_t> memory_;
  PortId client_;
  Label client_label_ = kNoLabel;
};

Bytes RandomBytes(Prng* prng, uint64_t bytes_max) {
  Bytes bytes(prng->Below(bytes_max + 1));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng->Next());
  return bytes;
}

// Makes a well-formed frame whose fields are likely to be meaningful.
Bytes LikelyFrame(Prng* prng, Target* target) {
  const uint32_t edge = static_cast<uint32_t>(prng->Below(3));
  std::vector<RecordAndPayload> records(1 + prng->Below(4));
  for (RecordAndPayload& each : records) {
    const RecordKind kind = static_cast<RecordKind>(1 + prng->Below(5));
    const uint64_t call = target->engine.Finished(target->port).value() + prng->Below(6);
    each = target->From(edge, kind, call, static_cast<uint32_t>(prng->Below(5)));
    if (prng->Chance(0.2)) each.record.header.label = static_cast<uint32_t>(target->client_label());
    if (prng->Chance(0.1)) each.record.header.hash = 1;
    each.record.credit = static_cast<uint16_t>(prng->Chance(0.8) ? call : prng->Next());
    each.record.region = prng->Chance(0.5) ? kCellOfEdge : static_cast<uint32_t>(prng->Below(20));
    each.record.offset = prng->Chance(0.9) ? prng->Below(1100) : prng->Next();
    if (kind == RecordKind::kPut && prng->Chance(0.3)) {
      each.record.flags = kRecordReply;
      each.record.region = static_cast<uint32_t>(prng->Below(3) << 16 | prng->Below(4));
    }
    if (kind == RecordKind::kGet) each.record.bytes = static_cast<uint32_t>(prng->Below(300));
    if (kind == RecordKind::kPacket || kind == RecordKind::kPut) {
      if (prng->Chance(0.2)) {
        each.record.flags |= kRecordError;
      } else {
        each.payload = RandomBytes(prng, kind == RecordKind::kPacket ? kMpPayloadBytes : 300);
        each.record.bytes = static_cast<uint32_t>(each.payload.size());
      }
    }
  }
  return MakeDataFrame(Incarnation(SingleEngine::kPeer + edge), Incarnation(SingleEngine::kSelf), records);
}

void Mutate(Prng* prng, Bytes* frame) {
  const uint64_t changes = prng->Below(4);
  for (uint64_t i = 0; i < changes && !frame->empty(); ++i) {
    uint8_t& byte = (*frame)[prng->Below(frame->size())];
    switch (prng->Below(4)) {
      case 0:
        byte ^= static_cast<uint8_t>(1u << prng->Below(8));
        break;
      case 1:
        byte = static_cast<uint8_t>(prng->Next());
        break;
      case 2:
        byte = prng->Chance(0.5) ? 0xff : 0;
        break;
      default:
        frame->resize(prng->Below(frame->size() + 16));
        break;
    }
  }
}

TEST(EngineFuzzTest, RandomBytes) {
  Target target;
  for (uint64_t seed = 0; seed < 30'000; ++seed) {
    Prng prng(seed);
    target.Live(&prng);
    target.Deliver(RandomBytes(&prng, 200));
  }
  EXPECT_EQ(target.engine.stats().frames_received, 30'000u);
  EXPECT_EQ(target.control.heard, 0u);
  target.CheckGuards();
}

TEST(EngineFuzzTest, MutatedFrames) {
  Target target;
  for (uint64_t seed = 0; seed < 100'000; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    target.Live(&prng);
    Bytes frame = LikelyFrame(&prng, &target);
    Mutate(&prng, &frame);
    target.Deliver(std::move(frame));
    ASSERT_LE(target.engine.stats().memory_used_bytes, target.engine.stats().memory_reserved_bytes);
  }
  target.CheckGuards();
  // Not all frames were refused at the entry: every path through the engine was taken.
  const EngineStats& stats = target.engine.stats();
  EXPECT_GT(stats.packets_received, 10u);
  EXPECT_GT(stats.puts_received, 10u);
  EXPECT_GT(stats.gets_received, 10u);
  EXPECT_GT(stats.dropped_malformed, 10u);
  EXPECT_GT(stats.dropped_label, 10u);
  EXPECT_GT(stats.dropped_window, 10u);
  EXPECT_GT(stats.dropped_incarnation, 10u);
  EXPECT_GT(stats.dropped_mpq_full, 10u);
  EXPECT_GT(stats.dropped_duplicate, 10u);
  EXPECT_GT(stats.dropped_mismatch, 10u);
  EXPECT_GT(stats.dropped_version, 10u);
  EXPECT_GT(stats.events, 10u);
  EXPECT_GT(stats.alu_bytes, 10u);
  EXPECT_GT(stats.credit_stalls, 10u);
  target.engine.ClosePort(target.port);
  EXPECT_LE(target.engine.stats().memory_reserved_bytes, 0u);
}

}  // namespace
}  // namespace copse::emu
