// SPDX-License-Identifier: Apache-2.0
//
// Tests of records: packets and puts into eager buffers and regions, gets, the MPQ, control messages, and refused
// frames.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/frames/frame_outbox.h"
#include "offload_emu/testing/engine_cluster.h"
#include "offload_emu/testing/single_engine.h"

namespace copse::emu {
namespace {

using copse::testing::FailsWith;
using Events = std::vector<RecordedEvent>;

constexpr PortOptions kTeam = {
    .slots = 4, .counters_per_slot = 4, .regions = 4, .edges = 2, .cell_bytes = 256, .remote_access = true};

// --- Placement of payload ---

class LandingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    one_.Expect(1);
    one_.Bind(0, memory_.data(), memory_.size(), true);
    one_.Bind(1, locked_.data(), locked_.size(), false);
  }
  // Returns the content of the eager buffer of `edge` in call 1's slot.
  Bytes Cell(uint32_t edge, uint64_t offset, uint32_t bytes) {
    const MemoryRef cell{one_.engine.CellRegion(one_.port, edge, 1), offset};
    Bytes copy(bytes);
    one_.Bind(3, copy.data(), bytes, true);
    one_.PostAndRun({CopyOf(cell, {3, 0}, bytes)});
    return copy;
  }
  RecordAndPayload Put(uint32_t region, uint64_t offset, Bytes payload) {
    RecordAndPayload put = one_.From(0, RecordKind::kPut, 1, 2, std::move(payload));
    put.record.region = region;
    put.record.offset = offset;
    return put;
  }
  CounterValue Counted() { return one_.Counter(1 * 4 + 2); }

  SingleEngine one_{kTeam};
  Bytes memory_ = Bytes(64);
  Bytes locked_ = Bytes(64);
};

TEST_F(LandingTest, PacketsAndPutsLandInTheEdgesCell) {
  RecordAndPayload packet = one_.From(1, RecordKind::kPacket, 1, 0, {1, 2, 3});
  packet.record.offset = 5;
  one_.Deliver(1, {packet});
  one_.Deliver(0, {Put(kCellOfEdge, 200, Bytes(56, 9))});
  EXPECT_EQ(Cell(1, 5, 3), (Bytes{1, 2, 3}));
  EXPECT_EQ(Cell(0, 200, 56), Bytes(56, 9));
  EXPECT_EQ(Counted(), (CounterValue{1, 0}));
  EXPECT_EQ(one_.engine.stats().packets_received, 1u);
  EXPECT_EQ(one_.engine.stats().puts_received, 1u);
}

TEST_F(LandingTest, APutGoesToABoundRegion) {
  one_.Deliver(0, {Put(0, 60, {1, 2, 3, 4})});
  EXPECT_EQ(memory_[63], 4);
  EXPECT_EQ(Counted(), (CounterValue{1, 0}));
}

TEST_F(LandingTest, APutToARegionForACallThatIsNotKnownYetFails) {
  RecordAndPayload put = Put(0, 0, {7});
  put.record.header.sequence = 2;
  one_.Deliver(0, {put});
  EXPECT_EQ(memory_[0], 0);
  one_.Expect(2);
  EXPECT_EQ(one_.Counter(2 * 4 + 2), (CounterValue{0, 1}));
  EXPECT_EQ(one_.engine.stats().dropped_window, 1u);
}

TEST_F(LandingTest, WithoutTheTriggerFlagItLandsAndDoesNotCount) {
  RecordAndPayload put = Put(0, 0, {7});
  put.record.flags = 0;
  one_.Deliver(0, {put});
  EXPECT_EQ(memory_[0], 7);
  EXPECT_EQ(Counted(), CounterValue{});
}

TEST_F(LandingTest, WhatIsOutOfBoundsIsDropped) {
  RecordAndPayload counter = Put(0, 0, {7});
  counter.record.counter = 4;
  const std::vector<RecordAndPayload> bad = {
      Put(kCellOfEdge, 250, Bytes(7)),
      Put(kCellOfEdge, UINT64_MAX, Bytes(7)),
      Put(0, 60, Bytes(5)),
      Put(1, 0, Bytes(5)),                                        // read-only
      Put(2, 0, Bytes(5)),                                        // unbound
      Put(one_.engine.CellRegion(one_.port, 1, 1), 0, Bytes(5)),  // another edge's eager buffer
      Put(one_.engine.ScratchRegion(one_.port, 1), 0, Bytes(5)),  // scratch is private
      counter,
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    one_.Deliver(0, {bad[i]});
    EXPECT_EQ(one_.engine.stats().dropped_malformed, i + 1) << i;
  }
  EXPECT_EQ(Counted(), CounterValue{});
  EXPECT_EQ(memory_, Bytes(64));
}

// A copy of the eager buffer's bytes [8, 24) to region 0, triggered by `edge`'s record for counter 2.
Descriptor LandingCopy(RegionIndex cell, uint32_t edge = 0) {
  Descriptor copy = CopyOf({cell, 8}, {0, 4}, 16);
  copy.options = kOptionLand;
  copy.edge = edge;
  copy.remote_counter = 2;
  return copy;
}

class LandAtTargetTest : public LandingTest {
 protected:
  absl::Status Arm(const std::vector<Descriptor>& descriptors, uint64_t threshold = 1) {
    return one_.engine.Post(one_.port, {.counter = 1 * 4 + 2, .threshold = threshold}, descriptors);
  }
  RegionIndex CellOf(uint32_t edge) const { return one_.engine.CellRegion(one_.port, edge, 1); }
  uint64_t landed() const { return one_.engine.stats().puts_landed; }
  uint64_t copied() const { return one_.engine.stats().copy_bytes; }
};

TEST_F(LandAtTargetTest, WhatComesOnceTheCopyIsArmedSkipsTheCell) {
  ASSERT_TRUE(Arm({LandingCopy(CellOf(0)), EventOf(5)}).ok());
  one_.Deliver(0, {Put(kCellOfEdge, 8, Bytes(16, 7))});
  EXPECT_EQ(one_.sink.events, (Events{{5, false}}));
  EXPECT_EQ(Bytes(memory_.begin() + 4, memory_.begin() + 20), Bytes(16, 7));
  EXPECT_EQ(memory_[3] | memory_[20], 0);
  EXPECT_EQ(copied(), 0u);
  EXPECT_EQ(landed(), 1u);
  EXPECT_EQ(Cell(0, 8, 16), Bytes(16, 0));
}

TEST_F(LandAtTargetTest, WhatCameBeforeIsCopied) {
  one_.Deliver(0, {Put(kCellOfEdge, 8, Bytes(16, 7))});
  ASSERT_TRUE(Arm({LandingCopy(CellOf(0)), EventOf(5)}).ok());
  one_.Run();
  EXPECT_EQ(one_.sink.events, (Events{{5, false}}));
  EXPECT_EQ(Bytes(memory_.begin() + 4, memory_.begin() + 20), Bytes(16, 7));
  EXPECT_EQ(copied(), 16u);
  EXPECT_EQ(landed(), 0u);
}

TEST_F(LandAtTargetTest, RunsOfAListLandWhereEachBelongs) {
  const CopyRun runs[] = {{{CellOf(0), 12}, {0, 0}, 4}, {{CellOf(0), 8}, {0, 40}, 4}};
  Descriptor list = LandingCopy(CellOf(0));
  list.op = OpCode::kCopyList;
  list.bytes = 2;
  list.runs = runs;
  ASSERT_TRUE(Arm({list, EventOf(5)}).ok());
  one_.Deliver(0, {Put(kCellOfEdge, 8, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(Bytes(memory_.begin(), memory_.begin() + 4), (Bytes{5, 6, 7, 8}));
  EXPECT_EQ(Bytes(memory_.begin() + 40, memory_.begin() + 44), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(one_.sink.events, (Events{{5, false}}));
  EXPECT_EQ(landed(), 1u);
}

TEST_F(LandAtTargetTest, EachEdgeHasItsOwnCopyAndTheSequenceItsThreshold) {
  Descriptor other = LandingCopy(CellOf(1), 1);
  other.target.offset = 40;
  ASSERT_TRUE(Arm({LandingCopy(CellOf(0)), other, EventOf(5)}, 2).ok());
  RecordAndPayload put = one_.From(1, RecordKind::kPut, 1, 2, Bytes(16, 9));
  put.record.offset = 8;
  one_.Deliver(1, {put});
  EXPECT_EQ(memory_[40], 9);
  EXPECT_EQ(memory_[4], 0);
  EXPECT_TRUE(one_.sink.events.empty());
  one_.Deliver(0, {Put(kCellOfEdge, 8, Bytes(16, 7))});
  EXPECT_EQ(memory_[4], 7);
  EXPECT_EQ(landed(), 2u);
  EXPECT_EQ(one_.sink.events, (Events{{5, false}}));
}

// A put to another place than agreed goes to its own eager buffer.
TEST_F(LandAtTargetTest, WhatDoesNotFitTheCopyGoesToTheCell) {
  ASSERT_TRUE(Arm({LandingCopy(CellOf(0)), EventOf(5)}).ok());
  one_.Deliver(0, {Put(kCellOfEdge, 12, Bytes(16, 7))});
  EXPECT_EQ(landed(), 0u);
  EXPECT_EQ(one_.sink.events, (Events{{5, false}}));
  EXPECT_EQ(memory_[4], 0);
  EXPECT_EQ(memory_[8], 7);
  EXPECT_EQ(Cell(0, 12, 16), Bytes(16, 7));
}

TEST_F(LandAtTargetTest, ATargetThatMayNotBeWrittenFailsTheCopy) {
  Descriptor copy = LandingCopy(CellOf(0));
  copy.target.region = 1;
  ASSERT_TRUE(Arm({copy, EventOf(5)}).ok());
  one_.Deliver(0, {Put(kCellOfEdge, 8, Bytes(16, 7))});
  EXPECT_EQ(one_.sink.events, (Events{{5, true}}));
  EXPECT_EQ(locked_, Bytes(64));
}

// The sequence that a failure fires is gone when the data comes.
TEST_F(LandAtTargetTest, NothingLandsForASequenceThatHasFired) {
  ASSERT_TRUE(Arm({LandingCopy(CellOf(0)), EventOf(5)}).ok());
  one_.Count(1 * 4 + 2, 0, 1);
  one_.Run();
  EXPECT_EQ(one_.sink.events, (Events{{5, true}}));
  one_.Deliver(0, {Put(kCellOfEdge, 8, Bytes(16, 7))});
  EXPECT_EQ(landed(), 0u);
  EXPECT_EQ(memory_, Bytes(64));
}

TEST_F(LandAtTargetTest, NothingLandsForACallThatIsOver) {
  ASSERT_TRUE(Arm({LandingCopy(CellOf(0)), EventOf(5)}).ok());
  one_.Finish(1);
  one_.Deliver(0, {Put(kCellOfEdge, 8, Bytes(16, 7))});
  EXPECT_EQ(landed(), 0u);
  EXPECT_EQ(memory_, Bytes(64));
}

TEST_F(LandAtTargetTest, ItsCounterHasToExist) {
  Descriptor copy = LandingCopy(CellOf(0));
  copy.remote_counter = 4;
  EXPECT_THAT(Arm({copy}), FailsWith(absl::StatusCode::kInvalidArgument, "counter 4", "limit 3"));
}

// --- Get ---

class GetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto edges = cluster_.Link(0, 1);
    ASSERT_EQ(edges.first, 0u);
    for (uint32_t i = 0; i < 2; ++i) {
      EngineNode& node = cluster_.node(i);
      ASSERT_TRUE(node.engine->BindRegion(node.port, 0, memory_[i].data(), memory_[i].size(), true).ok());
    }
    for (size_t i = 0; i < memory_[1].size(); ++i) memory_[1][i] = static_cast<uint8_t>(i * 7);
  }
  absl::Status Get(uint64_t offset, uint32_t bytes, CounterIndex counter, uint32_t region = 0) {
    return cluster_.node(0).engine->Post(cluster_.node(0).port, {},
                                         {GetOf(0, region, offset, {0, offset}, bytes, counter)});
  }
  CounterValue Counter(CounterIndex index) {
    return cluster_.node(0).engine->ReadCounter(cluster_.node(0).port, index);
  }

  EngineCluster cluster_{
      2, {.sequences = 200, .slots = 2, .counters_per_slot = 4, .regions = 1, .edges = 1, .remote_access = true}};
  Bytes memory_[2] = {Bytes(200'000), Bytes(200'000)};
};

TEST_F(GetTest, FetchesWhatThePeerHasBound) {
  ASSERT_TRUE(Get(100, 16'000, 1).ok());
  cluster_.Run();
  EXPECT_EQ(Counter(1), (CounterValue{1, 0}));
  EXPECT_TRUE(std::equal(memory_[0].begin() + 100, memory_[0].begin() + 16'100, memory_[1].begin() + 100));
  EXPECT_EQ(memory_[0][16'100], 0);
}

TEST_F(GetTest, MoreThanAnEdgeHoldsWait) {
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(Get(i * 2000, 2000, 1).ok());
  cluster_.Run();
  EXPECT_EQ(Counter(1), (CounterValue{100, 0}));
  EXPECT_EQ(memory_[0], memory_[1]);
  EXPECT_EQ(cluster_.node(1).engine->stats().dropped_malformed, 0u);
}

TEST_F(GetTest, OutOfBoundsIsAnsweredWithAFailure) {
  ASSERT_TRUE(Get(190'000, 16'000, 1).ok());  // also beyond our own region: fails here
  ASSERT_TRUE(Get(0, 10, 2, /*region=*/5).ok());
  ASSERT_TRUE(Get(0, 10, 3, kCellOfEdge).ok());
  cluster_.Run();
  for (const CounterIndex counter : {1, 2, 3}) EXPECT_EQ(Counter(counter), (CounterValue{0, 1})) << counter;
}

TEST_F(GetTest, AnEdgeThatIsRemovedFailsWhatWasAskedForOnce) {
  ASSERT_TRUE(Get(0, 10, 1).ok());
  cluster_.node(0).Run();
  cluster_.node(0).engine->RemoveEdge(cluster_.node(0).port, 0);
  EXPECT_EQ(Counter(1), (CounterValue{0, 1}));
  cluster_.Run();
  EXPECT_EQ(Counter(1), (CounterValue{0, 1}));
}

TEST_F(GetTest, AnAnswerThatComesAfterTheCallIsDropped) {
  ASSERT_TRUE(Get(0, 10, 1).ok());
  cluster_.node(0).Run();
  ASSERT_TRUE(cluster_.node(0).engine->FinishCall(cluster_.node(0).port, CallSeq(0)).ok());
  cluster_.Run();
  EXPECT_EQ(Counter(1), CounterValue{});
  EXPECT_EQ(memory_[0][1], 0);
  EXPECT_EQ(cluster_.node(0).engine->stats().dropped_window, 1u);
}

TEST(GetReplyTest, OnlyTheAnswerThatWasAskedForIsTaken) {
  SingleEngine one(kTeam);
  Bytes memory(64);
  one.Bind(0, memory.data(), 64, true);
  one.Arm({}, {GetOf(0, 0, 0, {0, 0}, 8, 1)});
  one.Arm({}, {GetOf(0, 0, 0, {0, 8}, 8, 2)});
  one.Run();
  const auto gets = one.transport.TakeRecords();
  ASSERT_EQ(gets.size(), 2u);
  EXPECT_EQ(gets[0].record.reply_label, static_cast<uint32_t>(one.labels[0]));
  const auto reply = [&](uint32_t edge, uint32_t number, Bytes payload) {
    RecordAndPayload put = one.From(edge, RecordKind::kPut, 0, 0, std::move(payload));
    put.record.flags = kRecordReply;
    put.record.region = number;
    return put;
  };
  one.Deliver(1, {reply(1, gets[0].record.reply_region, Bytes(8, 1))});            // another edge
  one.Deliver(0, {reply(0, gets[0].record.reply_region + 0x10000, Bytes(8, 1))});  // an earlier request
  EXPECT_EQ(one.engine.stats().dropped_window, 2u);
  EXPECT_EQ(memory, Bytes(64));
  one.Deliver(0, {reply(0, gets[0].record.reply_region, Bytes(9, 1))});  // not the requested length
  EXPECT_EQ(one.Counter(1), (CounterValue{0, 1}));
  one.Deliver(0, {reply(0, gets[1].record.reply_region, Bytes(8, 2))});
  one.Deliver(0, {reply(0, gets[1].record.reply_region, Bytes(8, 3))});  // again
  EXPECT_EQ(one.Counter(2), (CounterValue{1, 0}));
  EXPECT_EQ(memory[8], 2);
  EXPECT_EQ(memory[0], 0);
}

TEST(GetRequestTest, MoreThanAnEdgeMayAskAreDropped) {
  SingleEngine one(kTeam);
  one.transport.answer = absl::ResourceExhaustedError("full");
  RecordAndPayload get = one.From(0, RecordKind::kGet, 0, 0);
  get.record.bytes = kPutBytesMax;
  one.Deliver(0, std::vector<RecordAndPayload>(100, get));
  EXPECT_EQ(one.engine.stats().gets_received, 16u);
  EXPECT_EQ(one.engine.stats().dropped_malformed, 84u);
}

TEST(RemoteAccessTest, APortThatDoesNotGrantItIsNeitherReadNorWritten) {
  SingleEngine one({.slots = 4, .counters_per_slot = 4, .regions = 4, .edges = 1, .cell_bytes = 256});
  Bytes memory(64);
  one.Expect(1);
  one.Bind(0, memory.data(), memory.size(), true);
  RecordAndPayload put = one.From(0, RecordKind::kPut, 1, 2, {7, 7, 7, 7});
  put.record.region = 0;
  RecordAndPayload get = one.From(0, RecordKind::kGet, 1, 0);
  get.record.bytes = 4;
  one.Deliver(0, {put, get});
  EXPECT_EQ(memory, Bytes(64));
  EXPECT_EQ(one.Counter(1 * 4 + 2), (CounterValue{0, 0}));
  EXPECT_EQ(one.engine.stats().dropped_refused, 2u);
  EXPECT_EQ(one.engine.stats().gets_received, 0u);
  put.record.region = kCellOfEdge;
  one.Deliver(0, {put});
  EXPECT_EQ(one.Counter(1 * 4 + 2), (CounterValue{1, 0}));
}

// --- MPQ ---

TEST(MpqTest, PacketsQueueInOrderAndAFullQueueDrops) {
  SingleEngine one({.mpq_entries = 2, .counters_per_slot = 2, .regions = 1, .edges = 1, .remote_access = true});
  RecordAndPayload quiet = one.From(0, RecordKind::kPacket, 7, 0, {1, 2});
  quiet.record.flags = 0;
  one.Deliver(0, {quiet, one.From(0, RecordKind::kPacket, 7, 1, {3}), one.From(0, RecordKind::kPacket, 7, 1, {4})});
  EXPECT_EQ(one.engine.stats().dropped_mpq_full, 1u);
  EXPECT_EQ(one.Counter(1), (CounterValue{1, 0}));
  MpPacket packet;
  uint32_t bytes = 0;
  ASSERT_TRUE(one.engine.PopPacket(one.port, &packet, &bytes));
  EXPECT_EQ(bytes, 2u);
  EXPECT_EQ(packet.payload[1], 2);
  EXPECT_EQ(packet.payload[2], 0);
  EXPECT_EQ(packet.header.sequence, 7);
  EXPECT_EQ(packet.header.label, static_cast<uint32_t>(one.labels[0]));
  // The same counter counts every packet: this port has no calls, hence no duplicates.
  one.Deliver(0, {one.From(0, RecordKind::kPacket, 9, 1, {5})});
  EXPECT_EQ(one.Counter(1), (CounterValue{2, 0}));
  ASSERT_TRUE(one.engine.PopPacket(one.port, &packet, &bytes));
  EXPECT_EQ(packet.payload[0], 3);
  ASSERT_TRUE(one.engine.PopPacket(one.port, &packet, &bytes));
  EXPECT_EQ(packet.payload[0], 5);
  EXPECT_FALSE(one.engine.PopPacket(one.port, &packet, &bytes));
}

TEST(MpqTest, PutsGoToBoundRegionsErrorsCountAsFailuresAndBoundsHold) {
  SingleEngine one({.mpq_entries = 2, .counters_per_slot = 2, .regions = 1, .edges = 1, .remote_access = true});
  Bytes memory(8);
  one.Bind(0, memory.data(), 8, true);
  RecordAndPayload put = one.From(0, RecordKind::kPut, 7, 0, {1, 2});
  one.Deliver(0, {put});  // to an eager buffer: there are none
  EXPECT_EQ(one.engine.stats().dropped_malformed, 1u);
  put.record.region = 0;
  one.Deliver(0, {put});
  EXPECT_EQ(memory[1], 2);
  RecordAndPayload error = one.From(0, RecordKind::kPacket, 7, 0);
  error.record.flags |= kRecordError;
  one.Deliver(0, {error, one.From(0, RecordKind::kPacket, 7, 2)});
  EXPECT_EQ(one.Counter(0), (CounterValue{1, 1}));
  EXPECT_EQ(one.engine.stats().dropped_malformed, 2u);
}

TEST(MpqTest, ClientsExchangePacketsWithoutCalls) {
  EngineCluster cluster(2, {.mpq_entries = 8, .regions = 1, .edges = 1, .remote_access = true});
  cluster.Link(0, 1);
  Bytes memory = {1, 2, 3, 4};
  EngineNode& a = cluster.node(0);
  EngineNode& b = cluster.node(1);
  ASSERT_TRUE(a.engine->BindRegion(a.port, 0, memory.data(), 4, false).ok());
  for (uint32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(a.engine->Post(a.port, {}, {SendOf(0, 3, 1000 * i, {0, 0}, 4)}).ok());
  }
  cluster.Run();
  EXPECT_EQ(b.engine->ReadCounter(b.port, 3), (CounterValue{8, 0}));
  MpPacket packet;
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(b.engine->PopPacket(b.port, &packet, &bytes));
    EXPECT_EQ(packet.header.sequence, static_cast<uint16_t>(1000 * i));
  }
}

// An example of the papers' machine: a packet triggers a get of the data that it announces, and the end of the get is
// an event; the two clients' processors do nothing meanwhile.
TEST(MpqTest, APacketTriggersAGetWhoseEndIsAnEvent) {
  EngineCluster cluster(2, {.mpq_entries = 8, .regions = 1, .edges = 1, .remote_access = true});
  cluster.Link(0, 1);
  EngineNode& owner = cluster.node(0);
  EngineNode& reader = cluster.node(1);
  Bytes data = {1, 2, 3, 4}, copy(4);
  ASSERT_TRUE(owner.engine->BindRegion(owner.port, 0, data.data(), 4, false).ok());
  ASSERT_TRUE(reader.engine->BindRegion(reader.port, 0, copy.data(), 4, true).ok());
  const auto arm = [&](CounterIndex counter, const Descriptor& descriptor) {
    return reader.engine->Post(reader.port, {.counter = counter, .threshold = 1}, {descriptor});
  };
  ASSERT_TRUE(arm(2, GetOf(0, 0, 0, {0, 0}, 4, 3)).ok());
  ASSERT_TRUE(arm(3, EventOf(77)).ok());
  ASSERT_TRUE(owner.engine->Post(owner.port, {}, {SendOf(0, 2, 0)}).ok());
  cluster.Run();
  EXPECT_EQ(reader.sink.events, (Events{{77, false}}));
  EXPECT_EQ(copy, data);
}

// --- Frames ---

TEST(FrameOutboxTest, RecordsToOnePeerShareFrames) {
  SingleEngine one({.slots = 4, .regions = 1, .edges = 2, .remote_access = true});
  Bytes memory(4000, 5);
  one.Bind(0, memory.data(), 4000, false);
  std::vector<Descriptor> sends;
  for (uint32_t i = 0; i < 10; ++i) sends.push_back(PutOf(i % 2, i, 0, {0, 0}, 4000 - i));
  one.PostAndRun(sends);
  ASSERT_EQ(one.transport.sent.size(), 4u);  // 4 + 1 puts per peer
  for (const auto& [peer, frame] : one.transport.sent) EXPECT_LE(frame.size(), kFrameBytesMax);
  const auto records = one.transport.TakeRecords();
  ASSERT_EQ(records.size(), 10u);
  for (const RecordAndPayload& each : records) EXPECT_EQ(each.payload, Bytes(4000 - each.record.counter, 5));
}

// Short records are batched, long ones are sent at once.
class FullTransportTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(FullTransportTest, FramesThatTheTransportDoesNotTakeAreKeptAndSendersWait) {
  const uint32_t bytes = GetParam();
  SingleEngine one({.sequences = 200, .slots = 4, .regions = 1, .edges = 1, .remote_access = true});
  Bytes memory(bytes, 5);
  one.Bind(0, memory.data(), bytes, false);
  one.transport.answer = absl::ResourceExhaustedError("full");
  for (uint32_t i = 0; i < 100; ++i) {
    one.Arm({}, {PutOf(0, i, 0, {0, 0}, bytes)});
  }
  one.Run(1 << 30);
  EXPECT_FALSE(one.engine.Progress(1 << 20));  // no reason to spin
  EXPECT_EQ(one.engine.stats().puts_sent, FrameOutbox::kFramesMax);
  EXPECT_LE(one.engine.stats().memory_used_bytes, (FrameOutbox::kFramesMax + 1) * kFrameBytesMax);
  one.transport.answer = absl::OkStatus();
  one.Run(1 << 30);
  const auto records = one.transport.TakeRecords();
  ASSERT_EQ(records.size(), 100u);
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(records[i].record.counter, i);
    EXPECT_EQ(records[i].payload, memory);
  }
  EXPECT_EQ(one.engine.stats().memory_used_bytes, 0u);
}
INSTANTIATE_TEST_SUITE_P(FrameOutboxTest, FullTransportTest, ::testing::Values(16'000, 32'768, 32'763));

TEST(FrameOutboxTest, LongRecordsTakeNoOutboxAndOvertakeNothing) {
  SingleEngine one({.slots = 4, .regions = 1, .edges = 1, .remote_access = true});
  Bytes memory(32'768, 5);
  one.Bind(0, memory.data(), memory.size(), false);
  one.PostAndRun({PutOf(0, 0, 0, {0, 0}, 32'768), PutOf(0, 1, 0, {0, 0}, 100), PutOf(0, 2, 0, {0, 0}, 32'768)});
  EXPECT_EQ(one.engine.stats().frames_sent, 3u);
  const auto records = one.transport.TakeRecords();
  ASSERT_EQ(records.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(records[i].record.counter, i);
  EXPECT_EQ(records[2].payload, memory);
}

TEST(FrameOutboxTest, AnUnconnectedPeerIsReportedOnceAndItsFramesAreDropped) {
  SingleEngine one({.slots = 4, .edges = 1});
  one.transport.answer = absl::UnavailableError("no connection");
  one.PostAndRun({SendOf(0, 0, 0)});
  one.PostAndRun({SendOf(0, 1, 0)});
  ASSERT_EQ(one.control.downs.size(), 1u);
  EXPECT_EQ(one.control.downs[0].first, Incarnation(SingleEngine::kPeer));
  one.transport.answer = absl::OkStatus();
  one.Run();
  EXPECT_TRUE(one.transport.sent.empty());
}

TEST(FrameOutboxTest, ALostPeersFramesAreDroppedAndItsEdgesGoOnUntilRemoved) {
  SingleEngine one({.slots = 4, .regions = 1, .edges = 1, .remote_access = true});
  one.transport.answer = absl::ResourceExhaustedError("full");
  one.PostAndRun({SendOf(0, 0, 0), EventOf(1)});
  one.transport.to_lose.push_back(Incarnation(SingleEngine::kPeer));
  one.transport.to_lose.push_back(Incarnation(999));  // a peer without an edge
  one.Run();
  EXPECT_EQ(one.control.downs.size(), 2u);
  one.transport.answer = absl::UnavailableError("down");
  one.Run();
  EXPECT_EQ(one.control.downs.size(), 2u);  // not twice
  EXPECT_EQ(one.engine.stats().memory_used_bytes, 0u);
}

TEST(ControlTest, MessagesTravelBothWays) {
  EngineCluster cluster(2, {.edges = 1});
  cluster.Link(0, 1);
  const std::string text = "hello";
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  ASSERT_TRUE(cluster.node(0).engine->SendControl(Incarnation(101), 7, bytes).ok());
  ASSERT_TRUE(cluster.node(1).engine->SendControl(Incarnation(100), 8, {}).ok());
  cluster.Run();
  ASSERT_EQ(cluster.node(1).control.controls.size(), 1u);
  EXPECT_EQ(cluster.node(1).control.controls[0], std::make_tuple(Incarnation(100), uint16_t{7}, text));
  EXPECT_EQ(cluster.node(0).control.controls[0], std::make_tuple(Incarnation(101), uint16_t{8}, std::string()));
  EXPECT_EQ(cluster.node(1).control.heard, 1u);
}

TEST(ControlTest, RefusesWhatIsTooLongUnconnectedOrTooMuch) {
  SingleEngine one({}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(one.engine.SendControl(Incarnation(2), 1, Bytes(kControlBytesMax + 1))));
  one.transport.answer = absl::UnavailableError("no connection");
  EXPECT_TRUE(absl::IsUnavailable(one.engine.SendControl(Incarnation(2), 1, Bytes(10))));
  one.transport.answer = absl::ResourceExhaustedError("full");
  for (size_t i = 0; i < FrameOutbox::kFramesMax; ++i) {
    EXPECT_TRUE(one.engine.SendControl(Incarnation(2), static_cast<uint16_t>(i), Bytes(i)).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(one.engine.SendControl(Incarnation(2), 1, Bytes(10))));
  one.transport.answer = absl::OkStatus();
  one.Run();
  ASSERT_EQ(one.transport.sent.size(), FrameOutbox::kFramesMax);
  EXPECT_EQ(one.transport.sent[3].second.size(), sizeof(FrameHeader) + 3);
}

TEST(ControlTest, FindsRoomAheadOfDataOrBehindIt) {
  SingleEngine one({.sequences = 200, .slots = 4, .regions = 1, .edges = 1, .remote_access = true});
  const Incarnation peer(SingleEngine::kPeer);
  Bytes memory(16'000, 5);
  one.Bind(0, memory.data(), memory.size(), false);
  one.transport.answer = absl::ResourceExhaustedError("full");
  for (uint32_t i = 0; i < 100; ++i) {
    one.Arm({}, {PutOf(0, i, 0, {0, 0}, 16'000)});
  }
  one.Run(1 << 30);
  size_t as_data = 0;
  while (one.engine.SendControl(peer, 1, Bytes(9)).ok()) ++as_data;
  EXPECT_EQ(as_data, FrameOutbox::kFramesMax / 2);
  EXPECT_TRUE(one.engine.SendControl(peer, 2, Bytes(9), ControlPlace::kBehind).ok());
  for (const uint16_t type : {3, 4, 3}) {  // a waiting message is not kept twice
    EXPECT_TRUE(one.engine.SendControl(peer, type, Bytes(9), ControlPlace::kAhead).ok());
  }
  EXPECT_EQ(one.engine.stats().frames_waiting, FrameOutbox::kFramesMax + as_data + 3);
  for (uint32_t i = 0; i < 2 * FrameOutbox::kControlsMax; ++i) {
    const bool sent = one.engine.SendControl(peer, 5, Bytes(i), ControlPlace::kAhead).ok();
    EXPECT_EQ(sent, i < FrameOutbox::kControlsMax - 3) << i;
  }
  one.transport.answer = absl::OkStatus();
  one.Run(1 << 30);
  std::vector<int> kinds;  // types of control frames; 0: data
  for (const auto& [to, frame] : one.transport.sent) {
    FrameHeader header;
    std::memcpy(&header, frame.data(), sizeof(header));
    const bool is_control = header.kind == static_cast<uint8_t>(FrameKind::kControl);
    kinds.push_back(is_control ? header.count : 0);
  }
  ASSERT_EQ(kinds.size(), FrameOutbox::kControlsMax + 100 + as_data);
  const auto data = static_cast<size_t>(std::find(kinds.begin(), kinds.end(), 0) - kinds.begin());
  EXPECT_EQ(data, FrameOutbox::kControlsMax - 1);
  EXPECT_EQ(kinds[0], 3);
  EXPECT_EQ(kinds[1], 4);
  EXPECT_EQ(kinds[data + FrameOutbox::kFramesMax + as_data], 2);
  EXPECT_EQ(one.engine.stats().memory_used_bytes, 0u);
}

TEST(FrameTest, WhatDoesNotFitIsDroppedWholeAndCounted) {
  SingleEngine one(kTeam);
  one.Expect(0);
  const Incarnation peer(SingleEngine::kPeer);
  const RecordAndPayload good = one.From(0, RecordKind::kPacket, 0, 0, {1, 2, 3});
  const auto frame = [&](const RecordAndPayload& second) {
    return MakeDataFrame(peer, Incarnation(SingleEngine::kSelf), {good, second});
  };
  const auto with_header = [&](auto change) {
    Bytes bytes = frame(one.From(0, RecordKind::kPacket, 0, 1));
    FrameHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(&header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
  };
  const auto with_record = [&](RecordKind kind, auto change) {
    RecordAndPayload record = one.From(0, kind, 0, 1);
    change(&record);
    return frame(record);
  };
  const std::vector<Bytes> malformed = {
      {},
      Bytes(31),
      Bytes(kFrameBytesMax + 8),
      with_header([](FrameHeader* h) { h->kind = 3; }),
      with_header([](FrameHeader* h) { h->bytes += 8; }),
      with_header([](FrameHeader* h) { h->count = 1; }),
      with_header([](FrameHeader* h) { h->count = 3; }),
      with_record(static_cast<RecordKind>(6), [](RecordAndPayload*) {}),
      with_record(RecordKind::kPacket, [](RecordAndPayload* r) { r->record.flags = 8; }),
      with_record(RecordKind::kPacket, [](RecordAndPayload* r) { r->record.flags = kRecordReply; }),
      with_record(RecordKind::kPacket, [](RecordAndPayload* r) { r->record.bytes = 8; }),
      with_record(RecordKind::kPacket, [](RecordAndPayload* r) { r->payload.resize(r->record.bytes = 121); }),
      with_record(RecordKind::kPut, [](RecordAndPayload* r) { r->record.bytes = UINT32_MAX; }),
      with_record(RecordKind::kPut,
                  [](RecordAndPayload* r) {
                    r->payload.resize(r->record.bytes = 8);
                    r->record.flags = kRecordError;
                  }),
      with_record(RecordKind::kGet, [](RecordAndPayload* r) { r->record.bytes = kPutBytesMax + 1; }),
      with_record(RecordKind::kGet, [](RecordAndPayload* r) { r->record.flags = kRecordTrigger; }),
      with_record(RecordKind::kCredit, [](RecordAndPayload* r) { r->payload.resize(r->record.bytes = 8); }),
      with_record(RecordKind::kCreditAsk, [](RecordAndPayload* r) { r->record.flags = kRecordTrigger; }),
  };
  for (size_t i = 0; i < malformed.size(); ++i) {
    one.transport.to_deliver.push_back(malformed[i]);
    one.Run();
    EXPECT_EQ(one.engine.stats().dropped_malformed, i + 1) << i;
  }
  EXPECT_EQ(one.control.heard, 0u);
  EXPECT_EQ(one.Counter(0), CounterValue{});

  one.transport.to_deliver.push_back(with_header([](FrameHeader* h) { h->version = 3; }));
  one.Run();
  EXPECT_EQ(one.engine.stats().dropped_version, 1u);
  one.transport.to_deliver.push_back(with_header([](FrameHeader* h) { h->destination_incarnation = 77; }));
  one.Run();
  EXPECT_EQ(one.engine.stats().dropped_incarnation, 1u);
  one.transport.to_deliver.push_back(with_header([](FrameHeader* h) { h->source_incarnation += 1; }));
  one.Run();  // the neighbor of edge 1, with labels of edge 0
  EXPECT_EQ(one.engine.stats().dropped_incarnation, 3u);
  one.transport.to_deliver.push_back(with_header([](FrameHeader* h) { h->version = 2; }));  // a later version's
  one.Run();
  EXPECT_EQ(one.Counter(0), (CounterValue{1, 0}));
}

}  // namespace
}  // namespace copse::emu
