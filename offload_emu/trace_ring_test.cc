// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/trace_ring.h"

#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace copse::emu {
namespace {

class CountingClock final : public Clock {
 public:
  absl::Time Now() const override {
    ++reads;
    return now;
  }
  absl::Time now = absl::FromUnixSeconds(5);
  mutable int reads = 0;
};

TraceRecord Numbered(uint32_t call) { return {.kind = TraceKind::kTriggerFired, .call = call}; }

// copsectl knows the kinds by their numbers.
TEST(TraceRingTest, KindsKeepTheirNumbers) {
  constexpr TraceKind kKinds[] = {
      TraceKind::kNone,          TraceKind::kCallPosted,   TraceKind::kCallArmed,      TraceKind::kRanksArrived,
      TraceKind::kCallCompleted, TraceKind::kCallOver,     TraceKind::kPacketReceived, TraceKind::kPacketSent,
      TraceKind::kFramesSent,    TraceKind::kReduceBegin,  TraceKind::kReduceEnd,      TraceKind::kCopyBegin,
      TraceKind::kCopyEnd,       TraceKind::kTriggerFired, TraceKind::kClientWoken,    TraceKind::kCreditStall,
      TraceKind::kEpochSwitch,   TraceKind::kTeamBroken,   TraceKind::kLoopSleep,      TraceKind::kLoopWake};
  EXPECT_EQ(std::size(kKinds), size_t{kTraceKindCount});
  for (size_t i = 0; i < std::size(kKinds); ++i) EXPECT_EQ(static_cast<size_t>(kKinds[i]), i);
}

TEST(TraceRingTest, KeepsTheNewestRecords) {
  FakeClock clock;
  TraceRing ring(&clock, 5);  // rounded up to 8
  EXPECT_EQ(ring.capacity(), 8u);
  for (uint32_t i = 0; i < 20; ++i) ring.Record(Numbered(i));
  EXPECT_EQ(ring.next(), 20u);
  EXPECT_EQ(ring.oldest(), 12u);
  std::vector<TraceRecord> records;
  EXPECT_EQ(ring.Read(0, 100, &records), 12u);
  ASSERT_EQ(records.size(), 8u);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(records[i].call, 12 + i);
}

TEST(TraceRingTest, ReadsInPieces) {
  FakeClock clock;
  TraceRing ring(&clock, 16);
  for (uint32_t i = 0; i < 10; ++i) ring.Record(Numbered(i));
  std::vector<TraceRecord> records;
  EXPECT_EQ(ring.Read(4, 3, &records), 4u);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2].call, 6u);
  EXPECT_EQ(ring.Read(8, 100, &records), 8u);
  EXPECT_EQ(records.size(), 2u);
  EXPECT_EQ(ring.Read(99, 100, &records), 10u);
  EXPECT_TRUE(records.empty());
}

TEST(TraceRingTest, ReadsTheClockOnceATurnAndWhenStamped) {
  CountingClock clock;
  TraceRing ring(&clock, 64);
  ring.NewTurn();
  EXPECT_EQ(clock.reads, 0);
  for (uint32_t i = 0; i < 5; ++i) ring.Record(Numbered(i));
  EXPECT_EQ(clock.reads, 1);
  clock.now += absl::Microseconds(3);
  ring.Stamp();
  ring.Record(Numbered(5));
  EXPECT_EQ(clock.reads, 2);
  ring.Stamp(clock.now + absl::Microseconds(1));
  ring.Record(Numbered(6));
  EXPECT_EQ(clock.reads, 2);
  std::vector<TraceRecord> records;
  ring.Read(0, 100, &records);
  EXPECT_EQ(records[0].time_ns, 5'000'000'000);
  EXPECT_EQ(records[4].time_ns, 5'000'000'004);
  EXPECT_EQ(records[5].time_ns, 5'000'003'000);
  EXPECT_EQ(records[6].time_ns, 5'000'004'000);
}

TEST(TraceRingTest, TimesAscendEvenIfTheClockStands) {
  FakeClock clock;
  TraceRing ring(&clock, 64);
  for (uint32_t i = 0; i < 40; ++i) {
    ring.NewTurn();
    ring.Record(Numbered(i));
    if (i % 7 == 0) clock.Advance(absl::Nanoseconds(2));
  }
  std::vector<TraceRecord> records;
  ring.Read(0, 100, &records);
  for (size_t i = 1; i < records.size(); ++i) EXPECT_GT(records[i].time_ns, records[i - 1].time_ns);
}

TEST(TraceRingTest, FindsTheFirstRecordSinceATime) {
  FakeClock clock;
  TraceRing ring(&clock, 8);
  EXPECT_EQ(ring.FirstSince(0), 0u);
  for (uint32_t i = 0; i < 12; ++i) {
    clock.Advance(absl::Microseconds(1));
    ring.NewTurn();
    ring.Record(Numbered(i));  // recorded at (i + 1) us
  }
  EXPECT_EQ(ring.FirstSince(0), 4u);
  EXPECT_EQ(ring.FirstSince(7000), 6u);
  EXPECT_EQ(ring.FirstSince(7001), 7u);
  EXPECT_EQ(ring.FirstSince(99000), 12u);
}

}  // namespace
}  // namespace copse::emu
