// SPDX-License-Identifier: Apache-2.0
//
// The simulated runner of the scenarios without faults.
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"
#include "integration_tests/sim/sim_cluster.h"

namespace copse::scenario {
namespace {

// Runs every collective, operation, type and root, 1 to 17 ranks on uneven nodes, in one packet.
class EveryCollectiveTest : public testing::TestWithParam<uint32_t> {};
TEST_P(EveryCollectiveTest, OnUnevenNodes) {
  const uint32_t ranks = GetParam();
  EveryCollective(MakeSimCluster().get(), std::max(1u, (ranks * 2 + 2) / 3), ranks, {3}, ranks);
}
INSTANTIATE_TEST_SUITE_P(Ranks, EveryCollectiveTest, testing::Range(1u, 18u));

class RandomCallsTest : public testing::TestWithParam<uint64_t> {};
TEST_P(RandomCallsTest, UpToSeveralChunks) {
  const uint64_t seed = GetParam();
  RandomCalls(MakeSimCluster().get(), 1 + seed % 9, 1 + (seed * 7) % 17, 60, seed);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomCallsTest, testing::Range(uint64_t{1}, uint64_t{41}));

// A small campaign; campaign_test.cc has the full one.
TEST(SimCollectivesTest, RandomTeams) {
  for (uint64_t seed = 1; seed <= 10 && !HasFailure(); ++seed) {
    RandomTeam(MakeSimCluster().get(), 15, uint64_t{8} << 20, seed);
  }
}

TEST(SimCollectivesTest, BackToBackSkewed) { BackToBackSkewed(MakeSimCluster().get(), 5, 9, 10000, 3); }

// Runs three ranks on nodes of their own; the last one arrives a second later. Returns the number of outcomes, the
// team's included, that the middle rank, which posts a call of all ranks and then a broadcast by the first, has
// before that.
size_t OutcomesBeforeTheLastRankComes(uint32_t under_way_max, uint64_t count) {
  const auto cluster = MakeSimCluster();
  EXPECT_TRUE(cluster->Start({.nodes = 3}).ok());
  const CallArguments sum = {.collective = Collective::kAllreduce, .type = ElementType::kInt64, .count = count};
  CallArguments bcast = sum;
  bcast.collective = Collective::kBcast;
  std::vector<Program> programs;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    Step limited = PostStep(0, bcast, 2);
    if (rank == 0) limited.under_way_max = under_way_max;
    programs.push_back({rank, {TeamStep(0, "t", rank, 3)}});
    if (rank == 2) programs.back().script.push_back(PauseStep(absl::Seconds(1)));
    for (const Step& step : {PostStep(0, sum, 1), limited, PostStep(0, sum, 3), AwaitStep(), DestroyStep(0)}) {
      programs.back().script.push_back(step);
    }
  }
  const uint32_t first = cluster->Launch(programs);
  EXPECT_TRUE(cluster->AwaitOutcomes(first + 1, 1, absl::Seconds(1)).ok());
  cluster->Pass(absl::Milliseconds(500));
  const size_t before = cluster->Outcomes(first + 1).size();
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(cluster->AwaitEnd(first + rank, absl::Seconds(10)).ok());
    for (const Outcome& outcome : cluster->Outcomes(first + rank)) EXPECT_EQ(outcome, Outcome());
    EXPECT_EQ(cluster->Outcomes(first + rank).size(), 5u);
  }
  return before;
}

// The calls are of one packet, and of several chunks.
TEST(SimCollectivesTest, ACallWaitsWhileTooManyAreUnderWay) {
  for (const uint64_t count : {uint64_t{8}, uint64_t{3} << 13}) {
    SCOPED_TRACE(count);
    EXPECT_EQ(OutcomesBeforeTheLastRankComes(0, count), 2u);
    EXPECT_EQ(OutcomesBeforeTheLastRankComes(1, count), 1u);
    EXPECT_EQ(OutcomesBeforeTheLastRankComes(2, count), 2u);
  }
}

TEST(SimCollectivesTest, TwoTeamsAtOnce) { TwoTeamsAtOnce(MakeSimCluster().get(), 11); }

TEST(SimCollectivesTest, SubTeams) { SubTeams(MakeSimCluster().get()); }

TEST(SimCollectivesTest, ManyChildren) { ManyChildren(MakeSimCluster().get(), 150); }

TEST(SimCollectivesTest, SameSeedSameTrace) {
  uint64_t hashes[3];
  for (int i = 0; i < 3; ++i) {
    const auto cluster = MakeSimCluster({.jitter_max = absl::Microseconds(50)});
    RandomCalls(cluster.get(), 4, 7, 40, i == 2 ? 6 : 5);
    hashes[i] = cluster->trace_hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
}

TEST(SimCollectivesTest, PacketsThatOvertakeAndRepeat) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto cluster = MakeSimCluster(
        {.jitter_max = absl::Microseconds(100), .duplicate_probability = 0.05, .reorder_probability = 0.2});
    BackToBackSkewed(cluster.get(), 5, 8, 400, seed);
  }
}

}  // namespace
}  // namespace copse::scenario
