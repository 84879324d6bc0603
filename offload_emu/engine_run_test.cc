// SPDX-License-Identifier: Apache-2.0
//
// Tests of triggers, order, failures and fairness of running sequences.
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "base/process/lost_memory.h"
#include "base/testing/mapping_beyond_end.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/single_engine.h"

namespace copse::emu {
namespace {

using copse::testing::FailsWith;
using Events = std::vector<RecordedEvent>;

std::vector<uint64_t> Values(const Events& events) {
  std::vector<uint64_t> values;
  for (const RecordedEvent& event : events) values.push_back(event.value);
  return values;
}

TEST(TriggerTest, FiresOnceWhenSuccessAndFailureReachTheThreshold) {
  SingleEngine one({.slots = 2});
  one.Arm({.counter = 3, .threshold = 3}, {EventOf(1)});
  one.Count(3, 2, 0);
  one.Run();
  EXPECT_TRUE(one.sink.events.empty());
  one.Count(3, 1, 0);
  one.Count(3, 9, 0);
  one.Run();
  EXPECT_EQ(one.sink.events, (Events{{1, false}}));
  EXPECT_EQ(one.Counter(3), (CounterValue{12, 0}));
}

TEST(TriggerTest, AThresholdThatIsReachedAlreadyFiresAtOnce) {
  SingleEngine one({.slots = 2});
  one.Count(0, 1, 0);
  one.Arm({.counter = 0, .threshold = 1}, {EventOf(1)});
  one.Arm({.counter = 1, .threshold = 0}, {EventOf(2)});
  one.Run();
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{1, 2}));
}

TEST(TriggerTest, SameThresholdsFireInOrderOfPostingLowerOnesFirst) {
  SingleEngine one({.slots = 2});
  for (const auto& [threshold, value] :
       std::vector<std::pair<uint64_t, uint64_t>>{{2, 21}, {1, 11}, {2, 22}, {1, 12}}) {
    one.Arm({.counter = 0, .threshold = threshold}, {EventOf(value)});
  }
  one.Count(0, 5, 0);
  one.Run();
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{11, 12, 21, 22}));
}

TEST(TriggerTest, OfThoseReadyHigherPriorityRunsFirst) {
  SingleEngine one({.slots = 2});
  for (const auto& [priority, value] : std::vector<std::pair<int, uint64_t>>{{0, 1}, {5, 2}, {5, 3}, {9, 4}, {0, 5}}) {
    const Trigger trigger{.counter = 0, .threshold = 1, .priority = static_cast<uint8_t>(priority)};
    one.Arm(trigger, {EventOf(value)});
  }
  one.Count(0, 1, 0);
  one.Run();
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{4, 2, 3, 1, 5}));
}

TEST(TriggerTest, CountsOfDescriptorsFireFurtherSequences) {
  SingleEngine one({.slots = 2});
  one.Arm({.counter = 1, .threshold = 2}, {EventOf(2)});
  one.Arm({.counter = 0, .threshold = 1}, {CountOf(1), CountOf(1), EventOf(1)});
  one.Count(0, 1, 0);
  one.Run();
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{1, 2}));
}

TEST(TriggerTest, AnEventMayPostAgain) {
  SingleEngine one({.slots = 2});
  one.sink.on_event = [&](PortId port, uint64_t value, bool) {
    if (value == 100) return;
    ASSERT_TRUE(one.engine.Post(port, {}, {EventOf(value + 1)}).ok());
  };
  one.PostAndRun({EventOf(0)});
  EXPECT_EQ(one.sink.events.size(), 101u);
}

// --- What Post refuses ---

class PostTest : public ::testing::Test {
 protected:
  void ExpectRefused(const Trigger& trigger, const Descriptor& descriptor, const char* thing) {
    EXPECT_THAT(one_.engine.Post(one_.port, trigger, {descriptor}),
                FailsWith(absl::StatusCode::kInvalidArgument, thing));
  }

  SingleEngine one_{{.sequences = 3,
                     .eq_entries = 2,
                     .slots = 2,
                     .counters_per_slot = 4,
                     .regions = 2,
                     .edges = 1,
                     .cell_bytes = 64}};
  static constexpr RegionIndex kBeyond = 2 + 2 * 2;  // regions, eager buffers of one edge, scratch
};

TEST_F(PostTest, RefusesFieldsOutOfRange) {
  ExpectRefused({.counter = 8, .threshold = 1}, EventOf(1), "counter 8");
  ExpectRefused({}, CountOf(8), "counter 8");
  ExpectRefused({}, SendOf(1, 0, 0), "edge 1");
  ExpectRefused({}, SendOf(0, 0, 2), "sequence 2");
  ExpectRefused({}, SendOf(0, 0, 0, {}, kMpPayloadBytes + 1), "bytes 121");
  ExpectRefused({}, PutOf(0, 0, 0, {0, 0}, kPutBytesMax + 1), "bytes 65465");
  ExpectRefused({}, PutOf(0, 0, 0, {kBeyond, 0}, 1), "source region");
  ExpectRefused({}, GetOf(0, 0, 0, {0, 0}, kPutBytesMax + 1, 0), "bytes 65465");
  ExpectRefused({}, GetOf(0, 0, 0, {kBeyond, 0}, 1, 0), "target region");
  ExpectRefused({}, CopyOf({kBeyond, 0}, {0, 0}, 1), "source region");
  ExpectRefused({}, CopyOf({0, 0}, {kBeyond, 0}, 1), "target region");
  const std::vector<MemoryRef> operand = {{0, 0}};
  ExpectRefused({}, ReduceOf(ElementOp::kSum, ElementType::kInt8, {}, {0, 0}, 1), "operand_count 0");
  Descriptor eight = ReduceOf(ElementOp::kSum, ElementType::kInt8, operand, {0, 0}, 1);
  eight.operand_count = 8;
  ExpectRefused({}, eight, "operand_count 8");
  ExpectRefused({}, ReduceOf(ElementOp::kBor, ElementType::kFloat, operand, {0, 0}, 4), "operation bor on type float");
  ExpectRefused({}, ReduceOf(ElementOp::kMin, ElementType::kFloatInt, operand, {0, 0}, 8),
                "operation min on type float_int");
  ExpectRefused({}, ReduceOf(ElementOp::kSum, ElementType::kComplexDouble, operand, {0, 0}, 24), "bytes 24");
  ExpectRefused({}, ReduceOf(ElementOp::kSum, ElementType::kInt32, operand, {0, 0}, 6), "bytes 6");
  ExpectRefused({}, ReduceOf(ElementOp::kSum, ElementType::kInt8, {{kBeyond, 0}}, {0, 0}, 1), "operand region");
  ExpectRefused({}, ReduceOf(ElementOp::kSum, ElementType::kInt8, operand, {kBeyond, 0}, 1), "target region");
  ExpectRefused({}, {.op = static_cast<OpCode>(8)}, "op 8");
  EXPECT_EQ(one_.engine.stats().sequences_posted, 0u);
}

TEST_F(PostTest, RefusesEmptyAndOverlongSequences) {
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.Post(one_.port, {}, {})));
  const std::vector<Descriptor> longest(64, CountOf(0));
  const std::vector<Descriptor> too_long(65, CountOf(0));
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.Post(one_.port, {}, too_long)));
  one_.PostAndRun(longest);
  EXPECT_EQ(one_.Counter(0), (CounterValue{64, 0}));
}

TEST_F(PostTest, RefusesMoreThanThePortsQueuesHold) {
  const Trigger never{.counter = 0, .threshold = 100};
  one_.Arm(never, {EventOf(1), EventOf(2)});
  EXPECT_TRUE(absl::IsResourceExhausted(one_.engine.Post(one_.port, never, {EventOf(3)})));
  one_.Arm(never, {CountOf(1)});
  one_.Arm(never, {CountOf(1)});
  EXPECT_TRUE(absl::IsResourceExhausted(one_.engine.Post(one_.port, never, {CountOf(1)})));
  one_.Finish(0);  // the resources are returned
  one_.Arm(never, {EventOf(1), EventOf(2)});
}

TEST_F(PostTest, CountRefusesCountersOutOfRange) {
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.Count(one_.port, 8, 1, 0)));
  EXPECT_EQ(one_.Counter(8), CounterValue{});
}

// --- Failures ---

TEST(FailureTest, AFailedTriggerIsPassedOnAsAnErrorNeverAsData) {
  SingleEngine one({.slots = 2, .counters_per_slot = 8, .regions = 1, .edges = 1});
  std::vector<uint8_t> memory(16, 1);
  one.Bind(0, memory.data(), 16, true);
  Descriptor send = SendOf(0, 5, 0, {0, 0}, 8);
  send.counter = 1;
  Descriptor copy = CopyOf({0, 0}, {0, 8}, 8);
  copy.counter = 2;
  Descriptor get = GetOf(0, 0, 0, {0, 0}, 8, 3);
  memory[0] = 9;
  one.Arm({.counter = 0, .threshold = 2}, {send, copy, get, CountOf(4), EventOf(7), EventOf(8, kOptionEventOnError)});
  one.Count(0, 1, 1);
  one.Run();
  const auto records = one.transport.TakeRecords();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].record.flags, kRecordTrigger | kRecordError);
  EXPECT_EQ(records[0].record.bytes, 0u);
  EXPECT_EQ(records[0].record.counter, 5u);
  EXPECT_EQ(memory[8], 1);
  for (const CounterIndex counter : {1, 2, 3, 4}) EXPECT_EQ(one.Counter(counter), (CounterValue{0, 1})) << counter;
  EXPECT_EQ(one.sink.events, (Events{{7, true}, {8, true}}));
}

TEST(FailureTest, OfAnOperationFailsTheRestOfItsSequence) {
  SingleEngine one({.slots = 2, .counters_per_slot = 8, .regions = 1, .edges = 1});
  std::vector<uint8_t> memory(16, 1);
  one.Bind(0, memory.data(), 16, true);
  Descriptor reduce = ReduceOf(ElementOp::kSum, ElementType::kUint8, {{0, 0}, {0, 9}}, {0, 0}, 8);
  reduce.counter = 2;
  one.Arm({}, {CountOf(1), reduce, SendOf(0, 5, 0), CountOf(1), EventOf(7)});
  one.Arm({}, {EventOf(9, kOptionEventOnError), EventOf(10)});
  one.Run();
  EXPECT_EQ(memory, std::vector<uint8_t>(16, 1));
  EXPECT_EQ(one.Counter(1), (CounterValue{1, 1}));
  EXPECT_EQ(one.Counter(2), (CounterValue{0, 1}));
  EXPECT_EQ(one.sink.events, (Events{{7, true}, {10, false}}));
  EXPECT_NE(one.transport.TakeRecords()[0].record.flags & kRecordError, 0);
}

TEST(FailureTest, ASendFromUnboundMemoryIsSentAsAnError) {
  SingleEngine one({.slots = 2, .regions = 1, .edges = 1});
  Descriptor put = PutOf(0, 1, 0, {0, 0}, 100);
  put.counter = 2;
  one.Arm({}, {put});
  one.Arm({}, {ReduceOf(ElementOp::kSum, ElementType::kInt8, {{0, 0}}, {0, 0}, 1), EventOf(1)});
  one.Arm({}, {GetOf(0, 0, 0, {0, 0}, 1, 3)});
  one.Run();
  EXPECT_EQ(one.Counter(2), (CounterValue{0, 1}));
  EXPECT_EQ(one.Counter(3), (CounterValue{0, 1}));
  EXPECT_EQ(one.sink.events, (Events{{1, true}}));
  const auto records = one.transport.TakeRecords();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].record.flags, kRecordTrigger | kRecordError);
}

TEST(FailureTest, AnErrorRecordCountsAsAFailure) {
  SingleEngine one({.slots = 2, .edges = 1, .cell_bytes = 64});
  one.Expect(0);
  one.Arm({.counter = 3, .threshold = 1}, {EventOf(1)});
  RecordAndPayload error = one.From(0, RecordKind::kPut, 0, 3);
  error.record.flags |= kRecordError;
  one.Deliver(0, {error});
  EXPECT_EQ(one.Counter(3), (CounterValue{0, 1}));
  EXPECT_EQ(one.sink.events, (Events{{1, true}}));
}

// --- Quanta ---

// The quantum is no multiple of an element here.
TEST(QuantumTest, ReductionsAreCutBetweenElements) {
  struct Pair {
    double value;
    int32_t index;
  };
  constexpr uint32_t kCount = 1000;
  SingleEngine one({.job = 1, .slots = 2, .regions = 2}, {.quantum_bytes = 1000});
  std::vector<Pair> a(kCount), b(kCount);
  for (int32_t i = 0; i < static_cast<int32_t>(kCount); ++i) {
    a[i] = {static_cast<double>(i % 3), 2 * i};
    b[i] = {static_cast<double>(i % 2), i};
  }
  const uint32_t bytes = kCount * sizeof(Pair);
  one.Bind(0, reinterpret_cast<uint8_t*>(a.data()), bytes, true);
  one.Bind(1, reinterpret_cast<uint8_t*>(b.data()), bytes, true);
  const Descriptor reduce = ReduceOf(ElementOp::kMaxloc, ElementType::kDoubleInt, {{0, 0}, {1, 0}}, {0, 0}, bytes);
  one.Arm({}, {reduce, EventOf(1)});
  one.Run(1000);
  ASSERT_EQ(Values(one.sink.events), (std::vector<uint64_t>{1}));
  for (int32_t i = 0; i < static_cast<int32_t>(kCount); ++i) {
    ASSERT_EQ(a[i].value, std::max(i % 3, i % 2)) << i;
    ASSERT_EQ(a[i].index, i % 3 > i % 2 ? 2 * i : i) << i;  // equal values: the lower index, b's
  }
}

TEST(QuantumTest, ALongReductionNeitherDelaysAnotherJobNorLosesItsPlace) {
  constexpr uint32_t kBytes = 1 << 20;
  SingleEngine one({.job = 1, .slots = 2, .regions = 2}, {.quantum_bytes = 4096});
  const PortId other = *one.engine.OpenPort({.job = 2}, &one.sink);
  std::vector<uint64_t> a(kBytes / 8, 1), b(kBytes / 8, 2);
  one.Bind(0, reinterpret_cast<uint8_t*>(a.data()), kBytes, true);
  one.Bind(1, reinterpret_cast<uint8_t*>(b.data()), kBytes, true);
  const Descriptor reduce = ReduceOf(ElementOp::kSum, ElementType::kUint64, {{0, 0}, {1, 0}}, {0, 0}, kBytes);
  one.Arm({}, {reduce, reduce, EventOf(1)});
  one.Arm({}, {EventOf(2)});
  ASSERT_TRUE(one.engine.Post(other, {}, {EventOf(3)}).ok());
  EXPECT_TRUE(one.engine.Progress(3 * 4096));
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{3}));  // the other job's turn came
  EXPECT_LE(one.engine.stats().alu_bytes, 3 * 4096u);
  EXPECT_GE(one.engine.stats().alu_bytes, 2 * 4096u - 64);
  one.Run(1000);
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{3, 1, 2}));
  EXPECT_EQ(a, std::vector<uint64_t>(kBytes / 8, 5));
  EXPECT_EQ(one.engine.stats().alu_bytes, 2u * kBytes);
  EXPECT_EQ(one.engine.stats().alu_operand_bytes, 4u * kBytes);
}

TEST(QuantumTest, HigherPriorityOvertakesBetweenQuanta) {
  SingleEngine one({.slots = 2, .regions = 1}, {.quantum_bytes = 4096});
  std::vector<uint8_t> memory(1 << 20);
  one.Bind(0, memory.data(), memory.size(), true);
  const Descriptor copy = CopyOf({0, 0}, {0, 1 << 19}, 1 << 19);
  one.Arm({.priority = 1}, {copy, EventOf(1)});
  one.engine.Progress(4096);
  one.Arm({.priority = 2}, {EventOf(2)});
  one.Arm({.priority = 1}, {EventOf(3)});
  one.Run(4096);
  EXPECT_EQ(Values(one.sink.events), (std::vector<uint64_t>{2, 1, 3}));
}

TEST(QuantumTest, NoBudgetRunsNothingButSaysThatWorkIsLeft) {
  SingleEngine one({.slots = 2});
  one.Arm({}, {EventOf(1)});
  EXPECT_TRUE(one.engine.Progress(0));
  EXPECT_TRUE(one.sink.events.empty());
  one.Run(1);
  EXPECT_EQ(one.sink.events.size(), 1u);
  EXPECT_FALSE(one.engine.Progress(1));
}

TEST(QuantumTest, AnOverlappingCopyIsMadeInOneGo) {
  SingleEngine one({.slots = 2, .regions = 1}, {.quantum_bytes = 64});
  std::vector<uint8_t> memory(1000);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(i);
  std::vector<uint8_t> expected = memory;
  std::memmove(expected.data() + 10, expected.data(), 900);
  one.Bind(0, memory.data(), memory.size(), true);
  one.PostAndRun({CopyOf({0, 0}, {0, 10}, 900)});
  EXPECT_EQ(memory, expected);
}

TEST(QuantumTest, AListOfCopiesIsCutBetweenItsRuns) {
  constexpr uint32_t kRuns = 100, kRunBytes = 64, kQuantumBytes = 1024;
  SingleEngine one({.slots = 2, .regions = 1}, {.quantum_bytes = kQuantumBytes});
  std::vector<uint8_t> memory(2 * kRuns * kRunBytes);
  for (size_t i = 0; i < memory.size() / 2; ++i) memory[i] = static_cast<uint8_t>(i % 251);
  one.Bind(0, memory.data(), memory.size(), true);
  std::vector<CopyRun> runs;
  for (uint32_t i = 0; i < kRuns; ++i) runs.push_back({{0, i * kRunBytes}, {0, (kRuns + i) * kRunBytes}, kRunBytes});
  Descriptor copies{.op = OpCode::kCopyList, .bytes = kRuns};
  copies.runs = runs.data();
  one.Arm({}, {copies, EventOf(1)});
  EXPECT_TRUE(one.engine.Progress(kQuantumBytes));
  const uint64_t copied = one.engine.stats().copy_bytes;
  EXPECT_GT(copied, 0u);
  EXPECT_LT(copied, kQuantumBytes);  // a run costs more than its bytes
  EXPECT_EQ(copied % kRunBytes, 0u);
  EXPECT_EQ(one.engine.stats().copies, 0u);
  one.Run(kQuantumBytes);
  EXPECT_EQ(one.engine.stats().copy_bytes, uint64_t{kRuns} * kRunBytes);
  EXPECT_EQ(one.engine.stats().copies, 1u);
  EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + kRuns * kRunBytes, memory.begin() + kRuns * kRunBytes));
}

TEST(QuantumTest, AReductionIsCutOnElementBoundaries) {
  SingleEngine one({.slots = 2, .regions = 1}, {.quantum_bytes = 13});
  std::vector<uint32_t> memory(100, 3);
  one.Bind(0, reinterpret_cast<uint8_t*>(memory.data()), 400, true);
  one.Arm({}, {ReduceOf(ElementOp::kProd, ElementType::kUint32, {{0, 0}, {0, 0}}, {0, 0}, 400)});
  one.Run(7);
  EXPECT_EQ(memory, std::vector<uint32_t>(100, 9));
}

// --- Memory that is lost while it is used ---

// An engine whose region 0 is lost at the first access, while region 1 is intact.
struct WithLostRegion {
  explicit WithLostRegion(PortOptions options = {.slots = 2, .regions = 2, .edges = 1, .cell_bytes = 64 * 1024})
      : one(options) {
    CatchMemoryFaults();
    tracked = *TrackedMemory::Track(lost.data(), lost.bytes());
    one.Bind(0, lost.data(), lost.bytes(), true);
    one.Bind(1, sound.data(), sound.size(), true);
  }

  const MappingBeyondEnd lost{0, 64 * 1024};
  TrackedMemory tracked;
  std::vector<uint8_t> sound = std::vector<uint8_t>(64 * 1024, 1);
  SingleEngine one;
};

TEST(LostMemoryTest, NothingOfItIsSent) {
  for (const uint32_t bytes : {8u, 4096u, 60'000u}) {  // batched, batched, and sent at once from its place
    WithLostRegion with;
    with.one.Arm({}, {PutOf(0, 0, 0, {1, 0}, 8), EventOf(1)});
    with.one.Arm({}, {PutOf(0, 0, 0, {0, 0}, bytes), EventOf(2)});
    with.one.Arm({}, {PutOf(0, 0, 0, {1, 0}, bytes), EventOf(3)});
    with.one.Run();
    EXPECT_TRUE(with.tracked.lost());
    const std::vector<RecordAndPayload> sent = with.one.transport.TakeRecords();
    ASSERT_EQ(sent.size(), 2u) << bytes;
    EXPECT_EQ(sent[0].payload, Bytes(8, 1));
    EXPECT_EQ(sent[1].payload, Bytes(bytes, 1));
    EXPECT_EQ(Values(with.one.sink.events), (std::vector<uint64_t>{1, 3})) << bytes;
    // The owner has to end the call.
    with.one.engine.ClosePort(with.one.port);
    with.one.Run();
  }
}

TEST(LostMemoryTest, WhatWasComputedFromItIsNotUsed) {
  const RegionIndex kLost = 0, kSound = 1;
  for (const Descriptor& first :
       {CopyOf({kLost, 100}, {kSound, 0}, 8), CopyOf({kSound, 0}, {kLost, 100}, 8),
        ReduceOf(ElementOp::kSum, ElementType::kUint8, {{kSound, 0}, {kLost, 0}}, {kSound, 0}, 64),
        ReduceOf(ElementOp::kSum, ElementType::kUint8, {{kSound, 0}, {kSound, 8}}, {kLost, 0}, 64)}) {
    WithLostRegion with;
    with.one.PostAndRun({first, PutOf(0, 0, 0, {kSound, 0}, 8), EventOf(1)});
    EXPECT_TRUE(with.tracked.lost());
    EXPECT_TRUE(with.one.transport.TakeRecords().empty()) << static_cast<int>(first.op);
    EXPECT_TRUE(with.one.sink.events.empty()) << static_cast<int>(first.op);
    // A later use fails as well, without a fault.
    with.one.PostAndRun({CopyOf({kLost, 0}, {kSound, 0}, 8), EventOf(2)});
    EXPECT_TRUE(with.one.sink.events.empty());
  }
}

TEST(LostMemoryTest, ListsOfCopiesAreSeenWhole) {
  WithLostRegion with;
  const CopyRun runs[] = {{{1, 0}, {1, 100}, 8}, {{1, 0}, {0, 0}, 8}};
  Descriptor copies{.op = OpCode::kCopyList, .bytes = 2};
  copies.runs = runs;
  with.one.PostAndRun({copies, EventOf(1)});
  EXPECT_TRUE(with.tracked.lost());
  EXPECT_TRUE(with.one.sink.events.empty());
}

TEST(LostMemoryTest, OtherPortsGoOn) {
  WithLostRegion with;
  RecordingPortSink other_sink;
  const auto other = with.one.engine.OpenPort({.slots = 2, .regions = 1}, &other_sink);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(with.one.engine.BindRegion(*other, 0, with.sound.data(), 4096, true).ok());
  with.one.Arm({}, {CopyOf({0, 0}, {1, 0}, 8), EventOf(1)});
  ASSERT_TRUE(with.one.engine.Post(*other, {}, {CopyOf({0, 0}, {0, 100}, 8), EventOf(2)}).ok());
  with.one.Run();
  EXPECT_TRUE(with.tracked.lost());
  EXPECT_EQ(other_sink.events, (Events{{2, false}}));
}

}  // namespace
}  // namespace copse::emu
