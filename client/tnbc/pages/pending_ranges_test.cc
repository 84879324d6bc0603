// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/pending_ranges.h"

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

constexpr uint64_t kLong = 10'000'000'000;  // ns

TEST(PendingRangesTest, FindsTheFirstRangeThatOverlaps) {
  PendingRanges ranges;
  const Range both[] = {{100, 200}, {300, 400}};
  ASSERT_TRUE(ranges.Add(both));
  EXPECT_EQ(ranges.count(), 2u);
  EXPECT_FALSE(ranges.Find(0, 100).has_value());
  EXPECT_EQ(ranges.Find(0, 101)->range, both[0]);
  EXPECT_EQ(ranges.Find(199, 1)->range, both[0]);
  EXPECT_FALSE(ranges.Find(200, 100).has_value());
  EXPECT_EQ(ranges.Find(200, 101)->range, both[1]);
  EXPECT_EQ(ranges.Find(0, UINTPTR_MAX)->range, both[0]);
  EXPECT_FALSE(ranges.Find(400, UINTPTR_MAX - 400).has_value());
}

TEST(PendingRangesTest, WaitingEndsWhenTheRangeIsTakenOut) {
  PendingRanges ranges;
  const Range range = {4096, 8192};
  ASSERT_TRUE(ranges.Add({&range, 1}));
  const auto found = ranges.Find(5000, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(PendingRanges::Wait(*found, 1000));
  std::thread other([&] { ranges.Remove(range.begin); });
  EXPECT_TRUE(PendingRanges::Wait(*found, kLong));
  other.join();
  EXPECT_FALSE(ranges.Find(5000, 1).has_value());
}

// A range may be taken out and another one have its word before the waiting thread sleeps.
TEST(PendingRangesTest, AWordThatIsUsedAgainEndsTheFormerRangesWait) {
  PendingRanges ranges;
  const Range first = {4096, 8192}, second = {16384, 20480};
  ASSERT_TRUE(ranges.Add({&first, 1}));
  const auto found = ranges.Find(first.begin, 1);
  ranges.Remove(first.begin);
  ASSERT_TRUE(ranges.Add({&second, 1}));
  EXPECT_EQ(ranges.Find(second.begin, 1)->word, found->word);
  EXPECT_TRUE(PendingRanges::Wait(*found, kLong));
}

TEST(PendingRangesTest, ALostRangeStaysAndNobodyWaitsForIt) {
  PendingRanges ranges;
  const Range range = {4096, 8192};
  ASSERT_TRUE(ranges.Add({&range, 1}));
  const auto before = ranges.Find(4096, 1);
  std::thread other([&] { ranges.MarkFailed(range.begin); });
  EXPECT_TRUE(PendingRanges::Wait(*before, kLong));
  other.join();
  const auto after = ranges.Find(4096, 1);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->state, PageState::kFailed);
  EXPECT_TRUE(PendingRanges::Wait(*after, kLong));
  ranges.Remove(range.begin);
  ASSERT_TRUE(ranges.Add({&range, 1}));
  EXPECT_EQ(ranges.Find(4096, 1)->state, PageState::kPending);
}

// The thread that opens a range may be held up until another one has taken the range out, and its word has another use.
TEST(PendingRangesTest, OpeningEndsForItsOwnRangeOnly) {
  PendingRanges ranges;
  const Range first = {4096, 8192}, second = {16384, 20480};
  ASSERT_TRUE(ranges.Add({&first, 1}));
  ranges.MarkArrived(first.begin);
  const auto found = ranges.Find(first.begin, 1);
  ASSERT_TRUE(PendingRanges::BeginOpening(*found));
  ranges.Remove(first.begin);
  ASSERT_TRUE(ranges.Add({&second, 1}));
  PendingRanges::EndOpening(*found);
  EXPECT_EQ(ranges.Find(second.begin, 1)->state, PageState::kPending);
}

TEST(PendingRangesTest, OneOpensWhatHasArrived) {
  PendingRanges ranges;
  const Range range = {4096, 8192};
  ASSERT_TRUE(ranges.Add({&range, 1}));
  EXPECT_FALSE(PendingRanges::BeginOpening(*ranges.Find(4096, 1)));
  ranges.MarkArrived(range.begin);
  ranges.MarkFailed(range.begin);  // too late
  const auto arrived = ranges.Find(4096, 1);
  EXPECT_EQ(arrived->state, PageState::kArrived);
  EXPECT_TRUE(PendingRanges::BeginOpening(*arrived));
  EXPECT_FALSE(PendingRanges::BeginOpening(*arrived));
  EXPECT_EQ(ranges.Find(4096, 1)->state, PageState::kOpening);
  PendingRanges::EndOpening(*arrived);
  EXPECT_EQ(ranges.Find(4096, 1)->state, PageState::kOpen);
}

TEST(PendingRangesTest, RefusesMoreThanThereIsRoomFor) {
  PendingRanges ranges;
  std::vector<Range> many;
  for (uintptr_t i = 1; i <= PendingRanges::kRangesMax; ++i) many.push_back({i * 10, i * 10 + 5});
  ASSERT_TRUE(ranges.Add(many));
  const Range one = {1, 2};
  EXPECT_FALSE(ranges.Add({&one, 1}));
  EXPECT_FALSE(ranges.Find(1, 1).has_value());
  ranges.Remove(10);
  EXPECT_TRUE(ranges.Add({&one, 1}));
  EXPECT_EQ(ranges.Find(0, 2)->range, one);
}

TEST(PendingRangesTest, FindsWhatAMapFinds) {
  PendingRanges ranges;
  std::map<uintptr_t, uintptr_t> model;  // begin to end
  Prng prng(7);
  for (int step = 0; step < 20'000; ++step) {
    const uintptr_t begin = 1 + prng.Below(2000) * 16, end = begin + 1 + prng.Below(16);
    const auto at = model.find(begin);
    if (at != model.end()) {
      ranges.Remove(begin);
      model.erase(at);
    } else if (model.size() < 500) {
      const Range range = {begin, end};
      ASSERT_TRUE(ranges.Add({&range, 1}));
      model[begin] = end;
    }
    const uintptr_t from = prng.Below(32'000), bytes = 1 + prng.Below(100);
    auto expected = model.begin();
    while (expected != model.end() && expected->second <= from) ++expected;
    const bool overlaps = expected != model.end() && expected->first < from + bytes;
    const auto found = ranges.Find(from, bytes);
    ASSERT_EQ(found.has_value(), overlaps) << step;
    if (overlaps) {
      ASSERT_EQ(found->range, (Range{expected->first, expected->second})) << step;
    }
  }
}

// Ranges that never change are found at every moment, whatever is added and removed around them.
TEST(PendingRangesTest, ReadersSeeWholeStatesWhileOthersWrite) {
  PendingRanges ranges;
  const Range kept = {1'000'000, 1'000'100};
  ASSERT_TRUE(ranges.Add({&kept, 1}));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> misses{0}, reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const auto found = ranges.Find(1'000'050, 1);
        if (!found.has_value() || !(found->range == kept)) ++misses;
        ++reads;
      }
    });
  }
  Prng prng(3);
  for (int step = 0; step < 5'000 || reads < 1'000; ++step) {
    const uintptr_t begin = prng.Below(2) * 2'000'000 + 10;
    const Range range = {begin, begin + 10};
    ASSERT_TRUE(ranges.Add({&range, 1}));
    ranges.Remove(begin);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(misses, 0u);
}

PendingRanges::Found SnapshotOf(Range range, uint8_t* copy) {
  PendingRanges::Found snapshot;
  snapshot.range = range;
  snapshot.copy = copy;
  return snapshot;
}

TEST(SnapshotsOfPendingRangesTest, OneClaimsAndOthersWaitUntilItIsSettled) {
  PendingRanges ranges;
  uint8_t copy[4096];
  PendingRanges::Found snapshot = SnapshotOf({4096, 8192}, copy);
  ASSERT_TRUE(ranges.AddSnapshots({&snapshot, 1}));
  const auto found = ranges.Find(5000, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->copy, copy);
  EXPECT_TRUE(PendingRanges::AwaitSettled(*found, kLong));  // nobody is at it
  ASSERT_TRUE(PendingRanges::Claim(snapshot));
  EXPECT_FALSE(PendingRanges::Claim(*found));
  EXPECT_FALSE(PendingRanges::AwaitSettled(*found, 1000));
  std::thread other([&] { PendingRanges::Settle(snapshot); });
  EXPECT_TRUE(PendingRanges::AwaitSettled(*found, kLong));
  other.join();
  EXPECT_FALSE(PendingRanges::Claim(*found));
}

TEST(SnapshotsOfPendingRangesTest, WhatIsSettledIsNotFoundAndMakesRoom) {
  PendingRanges ranges;
  uint8_t copy[1];
  PendingRanges::Found both[] = {SnapshotOf({100, 200}, copy), SnapshotOf({200, 300}, copy)};
  ASSERT_TRUE(ranges.AddSnapshots(both));
  ASSERT_TRUE(PendingRanges::Claim(both[0]));
  EXPECT_EQ(ranges.Find(0, 1000)->range, both[0].range);
  PendingRanges::Settle(both[0]);
  EXPECT_EQ(ranges.Find(0, 1000)->range, both[1].range);
  const Range again = {150, 160};
  EXPECT_TRUE(ranges.Add({&again, 1}));
  EXPECT_EQ(ranges.Find(0, 1000)->range, again);
  ranges.Remove(both[0]);  // of which there is nothing left
  EXPECT_EQ(ranges.count(), 2u);
  ASSERT_TRUE(PendingRanges::Claim(both[1]));
  PendingRanges::Settle(both[1]);
  ranges.Remove(both[1]);
  EXPECT_EQ(ranges.count(), 1u);
}

TEST(SnapshotsOfPendingRangesTest, NothingIsInTheIndexTwice) {
  PendingRanges ranges;
  uint8_t copy[1];
  PendingRanges::Found snapshot = SnapshotOf({100, 200}, copy);
  ASSERT_TRUE(ranges.AddSnapshots({&snapshot, 1}));
  const Range overlapping[] = {{0, 50}, {199, 300}};
  EXPECT_FALSE(ranges.Add(overlapping));
  PendingRanges::Found inside = SnapshotOf({120, 130}, copy);
  EXPECT_FALSE(ranges.AddSnapshots({&inside, 1}));
  EXPECT_EQ(ranges.count(), 1u);
  const Range beside[] = {{0, 100}, {200, 300}};
  EXPECT_TRUE(ranges.Add(beside));
}

// A thread that found a snapshot must not claim another one that has its word since.
TEST(SnapshotsOfPendingRangesTest, AFormerSnapshotCannotBeClaimed) {
  PendingRanges ranges;
  uint8_t copy[1];
  PendingRanges::Found first = SnapshotOf({100, 200}, copy), second = SnapshotOf({100, 200}, copy);
  ASSERT_TRUE(ranges.AddSnapshots({&first, 1}));
  const auto found = ranges.Find(100, 1);
  ASSERT_TRUE(PendingRanges::Claim(first));
  PendingRanges::Settle(first);
  ranges.Remove(first);
  ASSERT_TRUE(ranges.AddSnapshots({&second, 1}));
  ASSERT_EQ(second.word, found->word);
  EXPECT_FALSE(PendingRanges::Claim(*found));
  ranges.Remove(first);
  EXPECT_EQ(ranges.count(), 1u);
  EXPECT_TRUE(PendingRanges::Claim(second));
}

}  // namespace
}  // namespace copse::tnbc
