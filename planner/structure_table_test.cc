// SPDX-License-Identifier: Apache-2.0
#include "planner/structure_table.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schedule/plan.h"
#include "schedule/verify.h"

namespace copse::planner {
namespace {

using ::testing::Contains;
using testing::FailsWith;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Sites is a team on three sites, the middle one near to both others; node v is in site v % 3, and n1 in the middle
// site.
struct Sites {
  explicit Sites(uint32_t nodes) {
    std::vector<topology::Switch> switches = {{"middle"}};
    for (const char* site : {"left", "right"}) switches.push_back({site, 0, 10'000'000, 1'000'000'000});
    std::vector<topology::Node> members;
    std::vector<std::string> names;
    for (uint32_t v = 0; v < nodes; ++v) {
      names.push_back(absl::StrCat("n", v));
      members.push_back({.name = names.back(),
                         .parent = v % 3 == 1 ? 0 : (v % 3 == 0 ? 1u : 2u),
                         .overhead_ns = 1'000,
                         .latency_ns = 1'000,
                         .bandwidth_bytes_per_s = 1'000'000'000});
    }
    topology.emplace(*topology::Topology::Create(switches, members));
    costs.emplace(*TeamCosts::Create(names, *topology, {}));
    table.emplace(&*costs, 0);
  }

  std::optional<topology::Topology> topology;
  std::optional<TeamCosts> costs;  // points to the topology
  std::optional<StructureTable> table;
};

std::vector<std::string> NamesOf(const StructureTable& table, const std::vector<uint32_t>& which) {
  std::vector<std::string> names;
  for (const uint32_t i : which) names.push_back(table.structures()[i].algorithm);
  return names;
}

TEST(StructureTableTest, NoNodeHasMoreNeighborsThanThePlansThatPass) {
  Sites sites(schedule::kNeighborsMax + 2);
  StructureTable& table = *sites.table;
  const auto found = table.Candidates(Collective::kBcast, {0, 120}).value();
  EXPECT_THAT(NamesOf(table, found), Not(Contains("flat")));
  EXPECT_THAT(NamesOf(table, found), Contains("binomial"));
  EXPECT_THAT(NamesOf(table, found), Contains("best"));
  for (const char* name : {"flat", "ft"}) {
    EXPECT_THAT(table.Named(name, Collective::kBcast, {0, 120}), FailsWith(kInvalid, "neighbors=4097", "limit=4096"));
  }
}

TEST(StructureTableTest, TreesByCostAreAmongTheCandidates) {
  Sites sites(13);
  StructureTable& table = *sites.table;
  const auto shorts = table.Candidates(Collective::kBcast, {0, 120}).value(),
             longs = table.Candidates(Collective::kBcast, {8'193, 65'536}).value();
  EXPECT_THAT(NamesOf(table, shorts), Contains("flat"));
  EXPECT_THAT(NamesOf(table, shorts), Contains("mgo"));
  EXPECT_THAT(NamesOf(table, shorts), Not(Contains("chain")));
  EXPECT_THAT(NamesOf(table, longs), Contains("chain"));
  EXPECT_THAT(NamesOf(table, longs), Contains("pipeline-2"));
  // No tree appears twice.
  for (const auto& which : {shorts, longs}) {
    std::set<std::pair<uint32_t, Neighbors>> trees;
    for (const uint32_t i : which) {
      EXPECT_TRUE(trees.emplace(table.structures()[i].root_node.value(), table.structures()[i].neighbors).second);
    }
  }
  // Repeated requests build nothing.
  const size_t before = table.structures().size();
  EXPECT_EQ(*table.Candidates(Collective::kBcast, {8'193, 65'536}), longs);
  EXPECT_EQ(table.structures().size(), before);
}

TEST(StructureTableTest, CallsWithoutARootMayGrowFromTheMiddle) {
  Sites sites(13);
  StructureTable& table = *sites.table;
  const auto roots = [&](Collective collective) {
    std::set<uint32_t> result;
    const auto which = table.Candidates(collective, {0, 0}).value();
    for (const uint32_t i : which) result.insert(table.structures()[i].root_node.value());
    return result;
  };
  EXPECT_EQ(roots(Collective::kBcast), (std::set<uint32_t>{0}));
  EXPECT_EQ(roots(Collective::kReduce), (std::set<uint32_t>{0}));
  EXPECT_EQ(roots(Collective::kBarrier), (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(roots(Collective::kAllreduce), (std::set<uint32_t>{0, 1}));
}

TEST(StructureTableTest, PartsOfTheClusterExchangeWhereThereIsNoRoot) {
  Sites sites(13);
  StructureTable& table = *sites.table;
  for (int c = 0; c < kCommonCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    const auto which = table.Candidates(collective, {0, 0}).value();
    const auto names = NamesOf(table, which);
    EXPECT_EQ(std::count(names.begin(), names.end(), "hierarchical"), HasRoot(collective) ? 0 : 1);
    const auto named = table.Named("hierarchical", collective, {0, 0});
    EXPECT_EQ(named.ok(), !HasRoot(collective)) << named.status();
    EXPECT_EQ(named.ok() ? named->size() : 1, 1u);
  }
}

TEST(StructureTableTest, AnExchangeThatCostsOfTwoSizesLeadToIsOneCandidate) {
  Sites sites(13);
  StructureTable& table = *sites.table;
  // Calls that are cut into segments have structures made for the whole call and for a segment.
  const auto which =
      table.Candidates(Collective::kAllreduce, {schedule::kSegmentBytesUsual + 1, 4 * schedule::kSegmentBytesUsual});
  ASSERT_TRUE(which.ok()) << which.status();
  std::vector<decltype(Structure::steps)> found;
  for (const uint32_t i : *which) {
    const Structure& structure = table.structures()[i];
    if (structure.algorithm != "hierarchical") continue;
    EXPECT_EQ(std::count(found.begin(), found.end(), structure.steps), 0);
    found.push_back(structure.steps);
  }
  EXPECT_FALSE(found.empty());
}

TEST(StructureTableTest, NamedKeepsTheNameAskedFor) {
  Sites sites(6);
  StructureTable& table = *sites.table;
  for (const char* name : {"flat", "chain",       "binomial", "knomial-3", "kary-2",     "ft",        "bt",
                           "fnf",  "fef-latency", "fef-cost", "fcef",      "fcef-bhat",  "la",        "la-bhat",
                           "mgo",  "mgo-jackson", "optimal",  "best",      "pipeline-1", "pipeline-4"}) {
    for (int c = 0; c < kCommonCollectiveCount; ++c) {
      const auto which =
          table.Named(name, static_cast<Collective>(c), c == 0 ? SizeClass{0, 0} : SizeClass{8'193, 65'536}).value();
      ASSERT_FALSE(which.empty());
      for (const uint32_t i : which) EXPECT_EQ(table.structures()[i].algorithm, name);
    }
  }
  EXPECT_THAT(table.Named("bush", Collective::kBcast, {0, 8}), FailsWith(kInvalid, "algorithm", "name=bush", "known="));
  EXPECT_THAT(table.Named("dissemination", Collective::kBcast, {0, 8}),
              FailsWith(kInvalid, "dissemination", "collective=bcast"));
}

TEST(StructureTableTest, ThousandsOfNodesHaveFewTreesForAll) {
  Sites sites(2'100);
  StructureTable& table = *sites.table;
  const auto barrier = table.Candidates(Collective::kBarrier, {0, 0}).value();
  const size_t built = table.structures().size();
  ASSERT_TRUE(table.Candidates(Collective::kReduce, {8'193, 65'536}).ok());
  EXPECT_EQ(table.structures().size(), built);
  EXPECT_THAT(table.Named("la", Collective::kBcast, {0, 8}), FailsWith(kInvalid, "la", "nodes=2100", "limit=2000"));
  EXPECT_TRUE(table.Named("best", Collective::kBcast, {0, 8}).ok());
}

}  // namespace
}  // namespace copse::planner
