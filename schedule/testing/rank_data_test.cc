// SPDX-License-Identifier: Apache-2.0
#include "schedule/testing/rank_data.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "offload_emu/alu/alu.h"

namespace copse::schedule {
namespace {

using Numbers = std::vector<uint32_t>;

Numbers NumbersOf(const std::vector<uint8_t>& bytes, uint64_t at, uint64_t count) {
  Numbers numbers(count);
  EXPECT_LE(at + count * 4, bytes.size());
  // memcpy must not be given an empty vector's data().
  if (count > 0) std::memcpy(numbers.data(), bytes.data() + at, count * 4);
  return numbers;
}

WholeCall SumOf(Collective collective, uint32_t size, uint64_t seed) {
  WholeCall call{.seed = seed};
  call.arguments = {.collective = collective, .type = ElementType::kUint32, .op = ElementOp::kSum, .count = 7};
  if (HasRoot(collective)) call.arguments.root = static_cast<uint32_t>(seed % size);
  const uint64_t counts = collective == Collective::kAlltoallv ? uint64_t{size} * size : size;
  for (uint64_t i = 0; IsIrregular(collective) && i < counts; ++i) call.counts.push_back(i * seed % 9);
  call.displaced = true;  // irregular collectives only
  return call;
}

// Returns the data that rank `from` gives to rank `to`, read from its buffers.
Numbers Given(const WholeCall& call, const std::vector<RankData>& ranks, uint32_t from, uint32_t to) {
  const RankData& data = ranks[from];
  const auto size = static_cast<uint32_t>(ranks.size());
  const uint64_t count = BlockCount(call, from, to, size);
  const Collective c = PlanCollective(call.arguments.collective);
  uint64_t at = 0;
  if (c == Collective::kScatter || c == Collective::kAlltoall || c == Collective::kReduceScatter) {
    for (uint32_t before = 0; before < to; ++before) at += BlockCount(call, from, before, size) * 4;
    if (data.send_blocks) at = (*data.send_blocks)[to].offset;
  }
  if (data.contribution_at) return NumbersOf(data.receive, *data.contribution_at, count);
  return NumbersOf(data.send, at, count);
}

Numbers SumOfFirst(const WholeCall& call, const std::vector<RankData>& ranks, uint32_t first, uint32_t to) {
  Numbers sum = Given(call, ranks, 0, to);
  for (uint32_t r = 1; r < first; ++r) {
    const Numbers more = Given(call, ranks, r, to);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  return sum;
}

// Returns rank `rank`'s expected result, if it has one.
Numbers OneExpected(const WholeCall& call, const std::vector<RankData>& ranks, uint32_t rank) {
  const auto size = static_cast<uint32_t>(ranks.size());
  switch (PlanCollective(call.arguments.collective)) {
    case Collective::kBcast:
    case Collective::kScatter:
      return Given(call, ranks, call.arguments.root, rank);
    case Collective::kScan:
      return SumOfFirst(call, ranks, rank + 1, rank);
    case Collective::kExscan:
      return SumOfFirst(call, ranks, rank, rank);
    default:
      return SumOfFirst(call, ranks, size, rank);
  }
}

TEST(RankDataTest, ResultsAreMadeOfWhatRanksGive) {
  for (int c = 1; c < kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (uint32_t size = 1; size <= 6; ++size) {
      for (uint64_t seed = 1; seed < 8; ++seed) {
        SCOPED_TRACE(std::string(CollectiveName(collective)) + " of " + std::to_string(size) + ", seed " +
                     std::to_string(seed));
        WholeCall call = SumOf(collective, size, seed);
        call.in_place = seed % 2 == 0;
        std::vector<RankData> ranks;
        for (uint32_t r = 0; r < size; ++r) ranks.push_back(MakeRankData(call, r, size));
        for (uint32_t r = 0; r < size; ++r) {
          const RankData& data = ranks[r];
          EXPECT_EQ(data.receive.size(), data.expected.size());
          if (data.expected.empty()) continue;
          if (data.result_bytes > 0) {
            EXPECT_EQ(NumbersOf(data.expected, 0, data.result_bytes / 4), OneExpected(call, ranks, r));
            continue;
          }
          std::vector<uint8_t> gaps = data.expected;
          for (uint32_t from = 0; from < size; ++from) {
            const uint64_t count = BlockCount(call, from, r, size);
            const uint64_t at = data.receive_blocks ? (*data.receive_blocks)[from].offset : from * count * 4;
            EXPECT_EQ(NumbersOf(data.expected, at, count), Given(call, ranks, from, r)) << from << " to " << r;
            std::memset(gaps.data() + at, 0x5a, count * 4);
          }
          EXPECT_EQ(gaps, std::vector<uint8_t>(gaps.size(), 0x5a)) << "written between the blocks";
        }
      }
    }
  }
}

TEST(RankDataTest, InPlaceWhereOneBufferHasRoomForBoth) {
  WholeCall call = SumOf(Collective::kGatherv, 3, 1);  // root 1
  call.in_place = true;
  EXPECT_EQ(MakeRankData(call, 1, 3).contribution_at, (*MakeRankData(call, 1, 3).receive_blocks)[1].offset);
  EXPECT_FALSE(MakeRankData(call, 0, 3).contribution_at);
  call = SumOf(Collective::kScatterv, 3, 1);
  call.in_place = true;
  EXPECT_EQ(MakeRankData(call, 1, 3).result_at, (*MakeRankData(call, 1, 3).send_blocks)[1].offset);
  EXPECT_TRUE(MakeRankData(call, 1, 3).receive.empty());
  call = SumOf(Collective::kExscan, 3, 1);
  call.in_place = true;
  EXPECT_EQ(MakeRankData(call, 1, 3).contribution_at, 0u);
  EXPECT_FALSE(MakeRankData(call, 0, 3).contribution_at) << "rank 0 receives nothing";
}

TEST(RankDataTest, WhoGivesCounts) {
  WholeCall call = SumOf(Collective::kGatherv, 3, 1);
  EXPECT_FALSE(MakeRankData(call, 0, 3).receive_blocks);
  EXPECT_EQ(ArgumentsOf(call).count, 0u);
  EXPECT_EQ(ArgumentsOf(call).counts_hash, 0u);
  call.arguments.options = kCountsKnown;
  EXPECT_TRUE(MakeRankData(call, 0, 3).receive_blocks);
  EXPECT_NE(ArgumentsOf(call).counts_hash, 0u);
  call = SumOf(Collective::kAllgatherv, 3, 4);
  EXPECT_EQ(ArgumentsOf(call).count, std::accumulate(call.counts.begin(), call.counts.end(), uint64_t{0}));
}

TEST(RankDataTest, LongContributionsRepeatAfterAPrime) {
  WholeCall call = SumOf(Collective::kBcast, 2, 1);  // root 1
  call.arguments.count = 20000;
  const Numbers sent = Given(call, {MakeRankData(call, 0, 2), MakeRankData(call, 1, 2)}, 1, 0);
  for (size_t i = 5003; i < sent.size(); ++i) ASSERT_EQ(sent[i], sent[i - 5003]) << i;
  EXPECT_NE(Numbers(sent.begin(), sent.begin() + 2048), Numbers(sent.begin() + 2048, sent.begin() + 4096));
}

}  // namespace
}  // namespace copse::schedule
