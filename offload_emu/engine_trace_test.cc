// SPDX-License-Identifier: Apache-2.0
//
// Tests of the engine's trace records.
#include <cstdint>
#include <vector>

#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/single_engine.h"
#include "offload_emu/trace_ring.h"

namespace copse::emu {
namespace {

class EngineTraceTest : public testing::Test {
 protected:
  EngineTraceTest() { one_.engine.NameInTrace(one_.port, TeamId(7), CallSeq(100)); }

  std::vector<TraceRecord> Take() {
    std::vector<TraceRecord> records;
    ring_.Read(read_, ~0u, &records);
    read_ = ring_.next();
    return records;
  }

  FakeClock clock_;
  TraceRing ring_{&clock_, 256};
  SingleEngine one_{{.slots = 4, .counters_per_slot = 2, .regions = 4, .edges = 2, .cell_bytes = 4096},
                    {.trace = &ring_}};
  uint64_t read_ = 0;
};

TEST_F(EngineTraceTest, APacketThatFiresASendIsThreeRecordsAndItsFrame) {
  const uint32_t counter = 1 * 2 + 1;  // belongs to call 1
  one_.Expect(1);
  one_.Arm({.counter = counter, .threshold = 1}, {SendOf(1, 0, 1)});
  one_.Deliver(0, {one_.From(0, RecordKind::kPacket, 1, 1, Bytes(24))});
  const std::vector<TraceRecord> records = Take();
  ASSERT_EQ(records.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].team, 7u);
    EXPECT_EQ(records[i].call, 101u);
  }
  EXPECT_EQ(records[0].kind, TraceKind::kPacketReceived);
  EXPECT_EQ(records[0].subject, static_cast<uint32_t>(one_.labels[0]));
  EXPECT_EQ(records[0].peer, TraceTag(Incarnation(SingleEngine::kPeer)));
  EXPECT_EQ(records[0].phase, 1);
  EXPECT_EQ(records[0].bytes, 24u);
  EXPECT_EQ(records[1].kind, TraceKind::kTriggerFired);
  EXPECT_EQ(records[1].phase, 1);
  EXPECT_EQ(records[1].peer, 1u);
  EXPECT_EQ(records[2].kind, TraceKind::kPacketSent);
  EXPECT_EQ(records[2].subject, SingleEngine::kRemote + 1);
  EXPECT_EQ(records[2].peer, TraceTag(Incarnation(SingleEngine::kPeer + 1)));
  EXPECT_EQ(records[3].kind, TraceKind::kFramesSent);
  EXPECT_EQ(records[3].subject, 1u);
  EXPECT_EQ(records[3].peer, records[2].peer);
}

TEST_F(EngineTraceTest, WorkHasBeginningAndEnd) {
  std::vector<uint8_t> memory(4096);
  one_.Bind(0, memory.data(), memory.size(), true);
  one_.PostAndRun({ReduceOf(ElementOp::kSum, ElementType::kUint8, {{0, 0}, {0, 1024}}, {0, 0}, 1024),
                   CopyOf({0, 0}, {0, 2048}, 16)});
  const std::vector<TraceRecord> records = Take();
  const TraceKind kinds[] = {TraceKind::kReduceBegin, TraceKind::kReduceEnd, TraceKind::kCopyBegin,
                             TraceKind::kCopyEnd};
  ASSERT_EQ(records.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(records[i].kind, kinds[i]);
    EXPECT_EQ(records[i].bytes, i < 2 ? 1024u : 16u);
  }
  EXPECT_EQ(records[0].peer, 2u);  // operands
  EXPECT_EQ(one_.engine.stats().reduces, 1u);
  EXPECT_EQ(one_.engine.stats().copies, 1u);
}

TEST_F(EngineTraceTest, ACopyListThatFailsHalfwayEndsWithItsBytes) {
  std::vector<uint8_t> memory(64);
  one_.Bind(0, memory.data(), memory.size(), true);
  const CopyRun runs[] = {{{0, 0}, {0, 32}, 16}, {{0, 0}, {0, 60}, 16}};  // the second one exceeds the region
  Descriptor copies{.op = OpCode::kCopyList, .bytes = 2};
  copies.runs = runs;
  one_.PostAndRun({copies});
  const std::vector<TraceRecord> records = Take();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].kind, TraceKind::kCopyEnd);
  EXPECT_EQ(records[1].bytes, 16u);
  EXPECT_EQ(one_.engine.stats().copy_bytes, 16u);
  EXPECT_EQ(one_.engine.stats().copies, 0u);
}

TEST_F(EngineTraceTest, FailuresAndStallsSaySo) {
  one_.Arm({.counter = 0, .threshold = 1}, {SendOf(0, 0, 0)});
  one_.Count(0, 0, 1);
  one_.Run();
  std::vector<TraceRecord> records = Take();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].kind, TraceKind::kTriggerFired);
  EXPECT_EQ(records[0].flags, kTraceFailed);
  EXPECT_EQ(records[1].kind, TraceKind::kPacketSent);
  EXPECT_EQ(records[1].flags, kTraceFailed);
  for (uint64_t call = 0; call < 4; ++call) one_.Finish(call);
  one_.PostAndRun({SendOf(0, 0, 4)});
  records = Take();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records[0].kind, TraceKind::kCreditStall);
  EXPECT_EQ(records[0].call, 104u);
}

// A received payload is forwarded unchanged: the inner node of a broadcast.
TEST_F(EngineTraceTest, ForwardedBytesAreCounted) {
  one_.Expect(0);
  const MemoryRef cell{one_.engine.CellRegion(one_.port, 0, 0), 0};
  one_.Arm({.counter = 0, .threshold = 1}, {SendOf(1, 0, 0, cell, 24)});
  one_.Deliver(0, {one_.From(0, RecordKind::kPacket, 0, 0, Bytes(24))});
  EXPECT_EQ(one_.engine.stats().packets_forwarded, 1u);
  EXPECT_EQ(one_.engine.stats().bytes_forwarded, 24u);
  EXPECT_GE(one_.engine.stats().memory_used_bytes_max, 64u);
}

}  // namespace
}  // namespace copse::emu
