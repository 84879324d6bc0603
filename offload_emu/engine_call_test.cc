// SPDX-License-Identifier: Apache-2.0
//
// Tests of the calls of a team's port: window, hashes, duplicates, credit, and the end of a call.
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/single_engine.h"

namespace copse::emu {
namespace {

using Events = std::vector<RecordedEvent>;
using Mismatches = std::vector<RecordedMismatch>;
using WrongArrivals = std::vector<RecordedWrongArrival>;

constexpr uint32_t kCounters = 4;

// A port with a window of 4 and two neighbors.
class CallTest : public testing::Test {
 protected:
  CounterIndex At(uint64_t call, uint32_t counter) const {
    return static_cast<uint32_t>(call % 4) * kCounters + counter;
  }
  void Expect(uint64_t call, uint16_t hash = kTestHash) { one_.Expect(call, hash); }
  void Finish(uint64_t call) { one_.Finish(call); }
  RecordAndPayload Packet(uint32_t edge, uint64_t call, uint32_t counter, Bytes payload = {}) {
    return one_.From(edge, RecordKind::kPacket, call, counter, std::move(payload));
  }
  RecordAndPayload Credit(uint32_t edge, uint64_t finished, RecordKind kind = RecordKind::kCredit, uint64_t call = 0) {
    RecordAndPayload record = one_.From(edge, kind, call, 0);
    record.record.credit = static_cast<uint16_t>(finished);
    return record;
  }
  // Returns the kinds of the records sent since the last call, in order.
  std::vector<RecordKind> SentKinds() {
    std::vector<RecordKind> kinds;
    for (const RecordAndPayload& sent : one_.transport.TakeRecords()) {
      kinds.push_back(static_cast<RecordKind>(sent.record.kind));
    }
    return kinds;
  }
  const EngineStats& stats() { return one_.engine.stats(); }

  SingleEngine one_{{.slots = 4, .counters_per_slot = kCounters, .edges = 2, .cell_bytes = 256}};
};

// --- Window ---

TEST_F(CallTest, PacketsOutsideTheWindowAreDropped) {
  for (uint64_t call = 0; call < 3; ++call) {
    Expect(call);
    Finish(call);
  }
  EXPECT_EQ(one_.engine.Finished(one_.port), CallSeq(3));
  one_.Deliver(0, {Packet(0, 2, 0), Packet(0, 7, 0), Packet(0, 65535, 0)});
  EXPECT_EQ(stats().dropped_window, 3u);
  for (uint64_t call = 3; call < 7; ++call) Expect(call);
  one_.Deliver(0, {Packet(0, 3, 0), Packet(0, 6, 0)});
  EXPECT_EQ(stats().dropped_window, 3u);
  EXPECT_EQ(one_.Counter(At(3, 0)), (CounterValue{1, 0}));
  EXPECT_EQ(one_.Counter(At(6, 0)), (CounterValue{1, 0}));
}

TEST_F(CallTest, CallsMayFinishOutOfOrder) {
  Finish(1);
  Finish(2);
  EXPECT_EQ(one_.engine.Finished(one_.port), CallSeq(0));
  one_.Deliver(0, {Packet(0, 1, 0)});  // call 0 is over, though the prefix does not include it yet
  EXPECT_EQ(stats().dropped_window, 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.FinishCall(one_.port, CallSeq(1))));
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.ExpectHash(one_.port, CallSeq(2), 1)));
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.Count(one_.port, At(1, 0), 1, 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.Post(one_.port, {.counter = At(1, 0)}, {EventOf(1)})));
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.Post(one_.port, {}, {SendOf(0, 0, 1)})));
  Finish(0);
  EXPECT_EQ(one_.engine.Finished(one_.port), CallSeq(3));
  one_.Expect(5, 1);  // slot 1 again
}

TEST_F(CallTest, ExpectAndFinishRefuseCallsOutsideTheWindow) {
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.ExpectHash(one_.port, CallSeq(4), 1)));
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.FinishCall(one_.port, CallSeq(4))));
  Finish(0);
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.FinishCall(one_.port, CallSeq(0))));
  Expect(1, 5);
  Expect(1, 5);
  EXPECT_TRUE(absl::IsFailedPrecondition(one_.engine.ExpectHash(one_.port, CallSeq(1), 6)));
}

TEST_F(CallTest, TheEndOfACallZeroesItsCountersAndDropsWhatIsArmedThere) {
  Expect(0);
  one_.Arm({.counter = At(0, 1), .threshold = 9}, {EventOf(1)});
  one_.Arm({.counter = At(1, 1), .threshold = 2}, {EventOf(2)});
  one_.Arm({}, {SendOf(0, 0, 0), EventOf(3)});  // ready, belongs to call 0
  one_.Arm({}, {CountOf(At(0, 3)), EventOf(4)});
  one_.Arm({}, {EventOf(5)});  // belongs to no call
  one_.Count(At(0, 1), 8, 0);
  Finish(0);
  EXPECT_EQ(one_.Counter(At(0, 1)), CounterValue{});
  one_.Count(At(4, 1), 9, 0);
  one_.Count(At(1, 1), 2, 0);
  one_.Run();
  EXPECT_EQ(one_.sink.events, (Events{{5, false}, {2, false}}));
  EXPECT_TRUE(SentKinds().empty());
}

// --- Hashes and duplicates ---

TEST_F(CallTest, EarlyPacketsCountOnceTheHashIsKnown) {
  one_.Arm({.counter = At(0, 0), .threshold = 2}, {EventOf(1)});
  RecordAndPayload error = Packet(1, 0, 0);
  error.record.flags |= kRecordError;
  one_.Deliver(0, {Packet(0, 0, 0), Packet(0, 0, 3)});
  one_.Deliver(1, {error});
  EXPECT_EQ(one_.Counter(At(0, 0)), CounterValue{});
  Expect(0);
  one_.Run();
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{1, 1}));
  EXPECT_EQ(one_.Counter(At(0, 3)), (CounterValue{1, 0}));
  EXPECT_EQ(one_.sink.events, (Events{{1, true}}));
  EXPECT_TRUE(one_.sink.mismatches.empty());
}

TEST_F(CallTest, AMismatchIsReportedWhicheverCameFirstAndNeverCounts) {
  one_.Deliver(0, {Packet(0, 0, 0), Packet(0, 0, 1)});
  Expect(0, 0x1111);
  EXPECT_EQ(one_.sink.mismatches, (Mismatches{{0, 0, kTestHash}}));
  one_.Deliver(1, {Packet(1, 0, 0), Packet(1, 0, 1)});
  one_.Deliver(0, {Packet(0, 0, 2)});
  EXPECT_EQ(one_.sink.mismatches, (Mismatches{{0, 0, kTestHash}, {1, 0, kTestHash}}));
  EXPECT_EQ(one_.Counter(At(0, 0)), CounterValue{});
  EXPECT_GE(stats().dropped_mismatch, 4u);
  // The next call on that slot is not affected.
  for (uint64_t call = 0; call < 4; ++call) Finish(call);
  Expect(4);
  one_.Deliver(0, {Packet(0, 4, 0)});
  EXPECT_EQ(one_.Counter(At(4, 0)), (CounterValue{1, 0}));
}

TEST_F(CallTest, AnEdgeThatContradictsItselfIsHeldToItsFirstPacket) {
  RecordAndPayload other = Packet(0, 0, 1);
  other.record.header.hash = 0x1111;
  one_.Deliver(0, {Packet(0, 0, 0), other});
  Expect(0);
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{1, 0}));
  EXPECT_EQ(one_.Counter(At(0, 1)), CounterValue{});
  EXPECT_EQ(stats().dropped_mismatch, 1u);
}

TEST_F(CallTest, TheSinkMayFinishTheCallThatMismatches) {
  one_.Deliver(0, {Packet(0, 0, 0)});
  one_.Deliver(1, {Packet(1, 0, 0)});
  one_.sink.on_mismatch = [&](PortId) { Finish(0); };
  Expect(0, 0x1111);
  EXPECT_EQ(one_.sink.mismatches.size(), 1u);
  EXPECT_EQ(one_.engine.Finished(one_.port), CallSeq(1));
}

TEST_F(CallTest, MismatchesOfFramesTakenInTheNetworkAreReportedAfterIt) {
  one_.transport.offers_frames = true;
  Expect(0, 0x1111);
  one_.sink.on_mismatch = [&](PortId port) { one_.engine.ClosePort(port); };
  one_.Deliver(0, {Packet(0, 0, 0), Packet(0, 1, 0)});
  EXPECT_EQ(one_.sink.mismatches.size(), 1u);
  EXPECT_EQ(stats().packets_received, 2u);
  EXPECT_EQ(stats().frames_received, 1u);
}

TEST_F(CallTest, DuplicatesCountOnce) {
  one_.Deliver(0, {Packet(0, 0, 0), Packet(0, 0, 0)});
  Expect(0);
  one_.Deliver(0, {Packet(0, 0, 0), Packet(0, 0, 1)});
  one_.Deliver(0, {Packet(0, 0, 1)});
  one_.Deliver(1, {Packet(1, 0, 0)});
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{2, 0}));  // one from each neighbor
  EXPECT_EQ(one_.Counter(At(0, 1)), (CounterValue{1, 0}));
  EXPECT_EQ(stats().dropped_duplicate, 3u);
}

TEST_F(CallTest, ANewEdgeDoesNotInheritWhatItsPredecessorSent) {
  Expect(0);
  one_.Deliver(0, {Packet(0, 0, 0)});
  one_.engine.RemoveEdge(one_.port, 0);
  one_.labels[0] = one_.engine.AddEdge(one_.port, Incarnation(SingleEngine::kPeer))->label;
  one_.Deliver(0, {Packet(0, 0, 0)});
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{2, 0}));
}

// --- Lengths of what arrives ---

// The port's call 0 awaits 16 bytes at offset 32 from edge 0, and 8 bytes at the start from edge 1, for counter 0.
class AwaitedTest : public CallTest, public testing::WithParamInterface<bool> {
 protected:
  AwaitedTest() { one_.transport.offers_frames = GetParam(); }

  void Await() {
    const std::vector<Arrival> awaited = {{.edge = 0, .counter = 0, .bytes = 16, .offset = 32},
                                          {.edge = 1, .counter = 0, .bytes = 8}};
    EXPECT_TRUE(one_.engine.ExpectArrivals(one_.port, CallSeq(0), awaited).ok());
    Expect(0);
    one_.Run();
  }
  RecordAndPayload Put(uint32_t edge, size_t bytes, uint64_t offset, uint32_t counter = 0) {
    RecordAndPayload put = one_.From(edge, RecordKind::kPut, 0, counter, Bytes(bytes, 0x77));
    put.record.offset = offset;
    return put;
  }
};
INSTANTIATE_TEST_SUITE_P(InTheNetworkOrLater, AwaitedTest, testing::Bool());

TEST_P(AwaitedTest, WhatIsAwaitedCountsBeforeAndAfterTheCallIsKnown) {
  one_.Deliver(0, {Put(0, 16, 32)});
  Await();
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{1, 0}));
  RecordAndPayload error = Put(1, 0, 0);  // has no payload, whatever is awaited
  error.record.flags |= kRecordError;
  one_.Deliver(1, {error});
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{1, 1}));
  EXPECT_TRUE(one_.sink.wrong_arrivals.empty());
}

TEST_P(AwaitedTest, AnotherLengthIsReportedWhicheverCameFirstAndNeverCounts) {
  one_.Deliver(0, {Put(0, 15, 32)});
  one_.Deliver(1, {Packet(1, 0, 0, Bytes(8))});
  Await();
  EXPECT_EQ(one_.sink.wrong_arrivals, (WrongArrivals{{0, 0, 15, 16}}));
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{1, 0}));
  EXPECT_EQ(stats().dropped_mismatch, 1u);
}

TEST_P(AwaitedTest, WhatIsNotAwaitedIsReportedOnceForAnEdgeAndIsNotWritten) {
  Bytes target(32, 0xee);
  one_.Bind(0, target.data(), target.size(), true);
  Descriptor landing = CopyOf({one_.engine.CellRegion(one_.port, 0, 0), 32}, {0, 0}, 16);
  landing.options = kOptionLand;
  one_.Arm({.counter = At(0, 0), .threshold = 2}, {landing});
  Await();
  one_.Deliver(0, {Put(0, 17, 32), Put(0, 15, 32), Put(0, 16, 31), Put(0, 16, 32, 1)});
  one_.Deliver(1, {Packet(1, 0, 1, Bytes(8))});
  RecordAndPayload error = Put(1, 0, 0, 2);
  error.record.flags |= kRecordError;
  one_.Deliver(1, {error});
  EXPECT_EQ(one_.sink.wrong_arrivals, (WrongArrivals{{0, 0, 17, 16}, {1, 0, 8, -1}}));
  for (uint32_t counter = 0; counter < kCounters; ++counter) {
    EXPECT_EQ(one_.Counter(At(0, counter)), CounterValue{}) << counter;
  }
  EXPECT_EQ(target, Bytes(32, 0xee));
  EXPECT_EQ(stats().puts_landed, 0u);
  // The next call on that slot is not affected.
  for (uint64_t call = 0; call < 4; ++call) Finish(call);
  Expect(4);
  one_.Deliver(0, {Packet(0, 4, 2, Bytes(5))});
  EXPECT_EQ(one_.Counter(At(4, 2)), (CounterValue{1, 0}));
}

TEST_P(AwaitedTest, TheSinkMayCloseThePort) {
  one_.sink.on_mismatch = [&](PortId port) { one_.engine.ClosePort(port); };
  one_.Deliver(0, {Put(0, 15, 32)});
  one_.Deliver(1, {Put(1, 9, 0)});
  Await();
  EXPECT_EQ(one_.sink.wrong_arrivals.size(), 1u);
}

TEST_F(CallTest, WhatIsAwaitedIsSaidBeforeTheHashAndOfEdges) {
  const auto expect = [&](uint64_t call, uint32_t edge) {
    return one_.engine.ExpectArrivals(one_.port, CallSeq(call), {{.edge = edge}}).code();
  };
  EXPECT_EQ(expect(4, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(expect(0, 2), absl::StatusCode::kInvalidArgument);
  Expect(0);
  EXPECT_EQ(expect(0, 0), absl::StatusCode::kFailedPrecondition);
  one_.engine.ClosePort(one_.port);
  EXPECT_EQ(expect(1, 0), absl::StatusCode::kNotFound);
}

// --- Credit ---

TEST_F(CallTest, SendsBeyondTheCreditWaitAndAskOnce) {
  for (uint64_t call = 0; call < 4; ++call) Finish(call);
  SentKinds();
  one_.Arm({}, {SendOf(0, 0, 4), EventOf(4)});
  one_.Arm({}, {SendOf(0, 0, 5), EventOf(5)});
  one_.Arm({}, {SendOf(1, 0, 4), EventOf(6)});
  one_.Run();
  const auto asks = one_.transport.TakeRecords();
  ASSERT_EQ(asks.size(), 2u);
  for (const RecordAndPayload& ask : asks) {
    EXPECT_EQ(static_cast<RecordKind>(ask.record.kind), RecordKind::kCreditAsk);
    EXPECT_EQ(ask.record.header.sequence, 4);
    EXPECT_EQ(ask.record.credit, 4);
  }
  EXPECT_TRUE(one_.sink.events.empty());
  EXPECT_EQ(stats().credit_stalls, 2u);
  EXPECT_EQ(stats().credit_asks, 2u);
  EXPECT_EQ(stats().sends_waiting, 3u);

  one_.Deliver(0, {Credit(0, 1)});  // enough for call 4; call 5 stalls anew
  EXPECT_EQ(one_.sink.TakeEvents(), (Events{{4, false}}));
  EXPECT_EQ(SentKinds(), (std::vector<RecordKind>{RecordKind::kPacket, RecordKind::kCreditAsk}));
  one_.Deliver(0, {Credit(0, 1), Credit(0, 0)});  // nothing new
  EXPECT_TRUE(SentKinds().empty());
  one_.Deliver(0, {Credit(0, 4)});
  EXPECT_EQ(one_.sink.TakeEvents(), (Events{{5, false}}));
  EXPECT_EQ(SentKinds(), (std::vector<RecordKind>{RecordKind::kPacket}));
  EXPECT_EQ(stats().sends_waiting, 1u);
  // A packet carries credit just as a credit record does.
  RecordAndPayload packet = Packet(1, 4, 0);
  packet.record.credit = 2;
  one_.Deliver(1, {packet});
  EXPECT_EQ(one_.sink.TakeEvents(), (Events{{6, false}}));
  EXPECT_EQ(stats().sends_waiting, 0u);
  EXPECT_EQ(stats().sends_waiting_max, 3u);
}

TEST_F(CallTest, CreditGoesBackAloneAfterHalfTheWindowWhereDataCameIn) {
  Expect(0);
  one_.Deliver(0, {Packet(0, 0, 0)});
  Finish(0);
  one_.Run();
  EXPECT_TRUE(SentKinds().empty());
  Finish(1);
  one_.Run();
  const auto records = one_.transport.TakeRecords();
  ASSERT_EQ(records.size(), 1u);  // to neighbor 0 only
  EXPECT_EQ(static_cast<RecordKind>(records[0].record.kind), RecordKind::kCredit);
  EXPECT_EQ(records[0].record.header.label, SingleEngine::kRemote);
  EXPECT_EQ(records[0].record.credit, 2);
  for (uint64_t call = 2; call < 10; ++call) Finish(call);
  one_.Run();
  EXPECT_TRUE(SentKinds().empty());  // no data came in since
  EXPECT_EQ(stats().credits_sent, 1u);
}

TEST_F(CallTest, CreditThatIsDueGoesOutOnceTheNeighborsLabelIsKnown) {
  one_.engine.RemoveEdge(one_.port, 1);
  const Incarnation neighbor(70);
  const auto edge = *one_.engine.AddEdge(one_.port, neighbor);
  RecordAndPayload packet = Packet(1, 0, 0);
  packet.record.header.label = static_cast<uint32_t>(edge.label);
  Expect(0);
  one_.transport.to_deliver.push_back(MakeDataFrame(neighbor, Incarnation(SingleEngine::kSelf), {packet}));
  one_.Run();
  EXPECT_EQ(one_.Counter(At(0, 0)), (CounterValue{1, 0}));
  Finish(0);
  Finish(1);
  one_.Run();
  EXPECT_TRUE(SentKinds().empty());
  ASSERT_TRUE(one_.engine.SetRemoteLabel(one_.port, edge.edge, Label{77}).ok());
  one_.Run();
  EXPECT_EQ(SentKinds(), (std::vector<RecordKind>{RecordKind::kCredit}));
}

// It is counted once it has grown.
TEST_F(CallTest, CreditTravelsWithPacketsRatherThanAlone) {
  Expect(0);
  one_.PostAndRun({SendOf(0, 0, 0), SendOf(0, 1, 0)});
  EXPECT_EQ(stats().credits_piggybacked, 0u);
  one_.Deliver(0, {Packet(0, 0, 0)});
  Finish(0);
  Finish(1);
  SentKinds();
  one_.PostAndRun({SendOf(0, 0, 2), SendOf(0, 1, 2)});
  const auto records = one_.transport.TakeRecords();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(static_cast<RecordKind>(records[0].record.kind), RecordKind::kPacket);
  EXPECT_EQ(records[0].record.credit, 2);
  EXPECT_EQ(stats().credits_piggybacked, 1u);
}

TEST_F(CallTest, AnAskIsAnsweredAtOnceOrWhenTheCallIsOver) {
  one_.Deliver(0, {Credit(0, 0, RecordKind::kCreditAsk, 3)});  // the peer has that credit, or its report is on its way
  EXPECT_TRUE(SentKinds().empty());
  one_.Deliver(0, {Credit(0, 0, RecordKind::kCreditAsk, 5)});
  EXPECT_TRUE(SentKinds().empty());
  Finish(0);
  one_.Run();
  EXPECT_TRUE(SentKinds().empty());
  Finish(1);
  one_.Run();
  const auto records = one_.transport.TakeRecords();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(static_cast<RecordKind>(records[0].record.kind), RecordKind::kCredit);
  EXPECT_EQ(records[0].record.credit, 2);
  Finish(2);
  one_.Run();
  EXPECT_TRUE(SentKinds().empty());
  one_.Deliver(0, {Credit(0, 0, RecordKind::kCreditAsk, 6)});
  EXPECT_EQ(SentKinds(), (std::vector<RecordKind>{RecordKind::kCredit}));
}

TEST_F(CallTest, AnEdgeUnusedForLongerThanItsSequenceNumbersStillKnowsItsCredit) {
  for (uint64_t call = 0; call < 100'000; ++call) Finish(call);
  SentKinds();
  one_.PostAndRun({SendOf(0, 0, 100'000), EventOf(1)});
  EXPECT_EQ(SentKinds(), (std::vector<RecordKind>{RecordKind::kCreditAsk}));
  one_.Deliver(0, {Credit(0, 99'999)});
  EXPECT_EQ(one_.sink.events, (Events{{1, false}}));
}

TEST_F(CallTest, AWaitingSequenceEndsWithItsCall) {
  for (uint64_t call = 0; call < 4; ++call) Finish(call);
  one_.PostAndRun({SendOf(0, 0, 4), EventOf(4)});
  EXPECT_EQ(stats().sends_waiting, 1u);
  Finish(4);
  EXPECT_EQ(stats().sends_waiting, 0u);
  SentKinds();
  one_.Deliver(0, {Credit(0, 4)});
  EXPECT_TRUE(one_.sink.events.empty());
  EXPECT_TRUE(SentKinds().empty());
}

}  // namespace
}  // namespace copse::emu
