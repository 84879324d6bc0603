// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_check.h"

#include "gtest/gtest.h"

namespace copse {
namespace {

constexpr uint32_t kSize = 4;
constexpr uint64_t kBytesMax = uint64_t{1} << 40;

RawArguments Good(Collective collective) {
  return {.collective = static_cast<int64_t>(collective),
          .type = static_cast<int64_t>(ElementType::kInt32),
          .count = 4,
          .root = 1};
}

CallDefect Check(const RawArguments& raw) {
  CallArguments arguments;
  return CheckArguments(raw, kSize, kBytesMax, &arguments);
}

void ExpectDefect(const CallDefect& defect, Failure failure, const std::string& things) {
  EXPECT_EQ(defect.failure, failure) << defect.text;
  EXPECT_NE(defect.text.find(things), std::string::npos) << defect.text;
}

TEST(CheckArgumentsTest, KeepsWhatMeansSomethingToTheCollective) {
  for (int c = 0; c < kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    RawArguments raw = Good(collective);
    raw.op = static_cast<int64_t>(ElementOp::kMax);
    raw.options = kCountsKnown | kReproducible | kPairsBounded;
    CallArguments arguments{.count = 99};
    ASSERT_FALSE(CheckArguments(raw, kSize, kBytesMax, &arguments)) << CollectiveName(collective);
    EXPECT_EQ(arguments.collective, collective);
    EXPECT_EQ(arguments.root, HasRoot(collective) ? 1u : 0u);
    EXPECT_EQ(arguments.op, Reduces(collective) ? ElementOp::kMax : ElementOp::kSum);
    EXPECT_EQ(arguments.options, HasData(collective) ? OptionsOf(collective) : 0);
    const bool has_count = HasData(collective) && (!IsIrregular(collective) || HasPairSizes(collective));
    EXPECT_EQ(arguments.count, has_count ? 4u : 0u) << CollectiveName(collective);
  }
}

TEST(CheckArgumentsTest, NamesThingValueAndLimit) {
  const auto changed = [](Collective collective, auto change) {
    RawArguments raw = Good(collective);
    change(&raw);
    return Check(raw);
  };
  for (const int64_t c : {int64_t{-1}, int64_t{kCollectiveCount}, int64_t{256}, int64_t{1} << 40}) {
    ExpectDefect(changed(Collective::kBcast, [&](RawArguments* raw) { raw->collective = c; }),
                 Failure::kInvalidArgument,
                 "collective=" + std::to_string(c) + ", limit=" + std::to_string(kCollectiveCount - 1));
  }
  ExpectDefect(changed(Collective::kReduce, [](RawArguments* raw) { raw->root = 4; }), Failure::kInvalidArgument,
               "root=4, size=4");
  ExpectDefect(changed(Collective::kBcast, [](RawArguments* raw) { raw->type = kElementTypeCount; }),
               Failure::kInvalidArgument, "type=20, limit=19");
  ExpectDefect(changed(Collective::kAllreduce, [](RawArguments* raw) { raw->op = kElementOpCount; }),
               Failure::kInvalidArgument, "op=12, limit=11");
  const auto bxor = [](RawArguments* raw) {
    raw->type = static_cast<int64_t>(ElementType::kDouble);
    raw->op = static_cast<int64_t>(ElementOp::kBxor);
  };
  ExpectDefect(changed(Collective::kAllreduce, bxor), Failure::kInvalidArgument, "op=bxor, type=double");
  EXPECT_FALSE(changed(Collective::kBcast, bxor)) << "it has no operation";
  EXPECT_FALSE(changed(Collective::kAllreduce, [&](RawArguments* raw) {
    bxor(raw);
    raw->has_own_op = true;
  }));
  EXPECT_FALSE(changed(Collective::kAllreduce, [](RawArguments* raw) { raw->root = 4; })) << "it has no root";
  EXPECT_FALSE(changed(Collective::kBarrier, [](RawArguments* raw) { raw->type = 99; })) << "it has no data";
}

TEST(CheckArgumentsTest, WhatOneRankMayNotHaveAllMayNot) {
  for (int c = 1; c < kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    const bool is_bound = HasPairSizes(collective);
    const uint64_t blocks = HoldsBlocks(collective) && !IsIrregular(collective) ? kSize : 1;
    const uint64_t limit = (is_bound ? kPairBoundMax : kBytesMax) / 4 / blocks;
    RawArguments raw = Good(collective);
    raw.options = kPairsBounded;
    raw.count = limit;
    CallArguments arguments;
    EXPECT_FALSE(CheckArguments(raw, kSize, kBytesMax, &arguments)) << CollectiveName(collective);
    for (const uint64_t count : {limit + 1, uint64_t{1} << 62, ~uint64_t{0}}) {
      const std::string facts = "limit=" + std::to_string(limit);
      ExpectDefect(CheckCount(arguments, count, kSize, kBytesMax), Failure::kNotSupported, facts);
      raw.count = count;
      // The lists determine the count.
      if (IsIrregular(collective) && !is_bound) {
        EXPECT_FALSE(Check(raw)) << CollectiveName(collective);
      } else {
        ExpectDefect(Check(raw), Failure::kNotSupported, facts);
      }
    }
  }
}

TEST(BlockSumsTest, BlocksAreWholeAddressableAndBounded) {
  BlockSums sums("send", ElementType::kInt32, 100);
  EXPECT_FALSE(sums.Add(0, {40, 8}));
  EXPECT_FALSE(sums.Add(1, {~uint64_t{0}, 0})) << "empty blocks lie nowhere";
  EXPECT_FALSE(sums.Add(2, {0, 40}));
  EXPECT_EQ(sums.total_bytes(), 48u);
  EXPECT_EQ(sums.span_bytes(), 48u);
  ExpectDefect(sums.Add(3, {0, 6}), Failure::kInvalidArgument, "rank=3, bytes=6, type_bytes=4");
  ExpectDefect(sums.Add(3, {0, 56}), Failure::kNotSupported, "rank=3, bytes=56, bytes_before=48, limit=100");
  ExpectDefect(sums.Add(3, {0, ~uint64_t{3}}), Failure::kNotSupported, "limit=100");
  ExpectDefect(sums.Add(3, {~uint64_t{0} - 7, 8}), Failure::kInvalidArgument, "offset=18446744073709551608");
}

TEST(CheckOwnCountTest, IsWhatTheListSays) {
  EXPECT_FALSE(CheckOwnCount(2, 3, {0, 12}, ElementType::kInt32));
  ExpectDefect(CheckOwnCount(2, 4, {0, 12}, ElementType::kInt32), Failure::kInvalidArgument,
               "count=4, rank=2, counted=3");
}

}  // namespace
}  // namespace copse
