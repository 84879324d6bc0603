// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/agreement.h"

#include <algorithm>
#include <climits>
#include <vector>

#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

// Reduces the ranks' numbers as MPI_Allreduce with MPI_MIN does.
void Settle(std::vector<Agreement>* ranks) {
  std::vector<long long> minima(ranks->front().numbers().begin(), ranks->front().numbers().end());
  for (const Agreement& rank : *ranks) {
    for (size_t i = 0; i < minima.size(); ++i) minima[i] = std::min(minima[i], rank.numbers()[i]);
  }
  for (Agreement& rank : *ranks) rank.Settle(minima);
}

std::vector<Agreement> Ranks(int count) {
  std::vector<Agreement> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.emplace_back(rank, count);
  return ranks;
}

TEST(AgreementTest, AllRanksLearnTheLeastValue) {
  std::vector<Agreement> ranks = Ranks(3);
  ranks[0].AddLeast(7);
  ranks[1].AddLeast(-2);
  ranks[2].AddLeast(9);
  Settle(&ranks);
  for (Agreement& rank : ranks) EXPECT_EQ(rank.TakeLeast(), -2);
}

TEST(AgreementTest, AValueIsCommonOnlyIfAllRanksHaveIt) {
  for (const long long value : {0LL, 5LL, -5LL, LLONG_MIN, LLONG_MAX}) {
    for (const long long other : {value, value / 2 + 1}) {
      std::vector<Agreement> ranks = Ranks(3);
      for (int rank = 0; rank < 3; ++rank) ranks[rank].AddCommon(rank == 1 ? other : value);
      Settle(&ranks);
      for (Agreement& rank : ranks) {
        const std::optional<long long> common = rank.TakeCommon();
        ASSERT_EQ(common.has_value(), value == other);
        if (value == other) {
          EXPECT_EQ(*common, value);
        }
      }
    }
  }
}

TEST(AgreementTest, TheFirstRankForWhichItHoldsIsFound) {
  std::vector<Agreement> ranks = Ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    ranks[rank].AddFirstRank(rank >= 2);
    ranks[rank].AddFirstRank(false);
  }
  Settle(&ranks);
  for (Agreement& rank : ranks) {
    EXPECT_EQ(rank.TakeFirstRank(), 2);
    EXPECT_EQ(rank.TakeFirstRank(), 4);
  }
}

TEST(AgreementTest, AnswersComeInTheOrderOfTheQuestions) {
  std::vector<Agreement> ranks = Ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank].AddLeast(10 + rank);
    ranks[rank].AddCommon(3);
    ranks[rank].AddFirstRank(rank == 1);
    ranks[rank].AddLeast(20 - rank);
  }
  Settle(&ranks);
  for (Agreement& rank : ranks) {
    EXPECT_EQ(rank.TakeLeast(), 10);
    EXPECT_EQ(rank.TakeCommon(), 3);
    EXPECT_EQ(rank.TakeFirstRank(), 1);
    EXPECT_EQ(rank.TakeLeast(), 19);
  }
}

}  // namespace
}  // namespace copse::mpi
