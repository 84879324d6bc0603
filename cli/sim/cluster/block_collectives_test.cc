// SPDX-License-Identifier: Apache-2.0
//
// Collectives of blocks on simulated engines: correct data, predicted times, and bounded memory.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/testing/status_matchers.h"
#include "cli/sim/cluster/block_data.h"
#include "cli/sim/cluster/plan_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/candidates.h"
#include "planner/node_order.h"
#include "planner/pricing/cost_model.h"
#include "planner/size_class.h"
#include "planner/structure.h"
#include "planner/topology/generate.h"
#include "schedule/block_program.h"
#include "schedule/blocks.h"
#include "schedule/select_plan.h"
#include "schedule/testing/staging.h"

namespace copse::sim {
namespace {

using schedule::Plan;
using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct Team {
  schedule::TeamShape shape;
  std::unique_ptr<topology::Topology> topology;  // at a fixed address: costs point to it
  std::unique_ptr<planner::TeamCosts> costs;
};

// Node v has 1 + v % uneven ranks.
Team MakeTeam(uint32_t nodes, uint32_t uneven, const std::string& cluster = "racks") {
  Team team;
  team.topology = std::make_unique<topology::Topology>(*topology::GenerateTopology(cluster, nodes, nodes));
  std::vector<std::string> names;
  team.shape.node_count = nodes;
  for (uint32_t v = 0; v < nodes; ++v) {
    names.push_back(team.topology->nodes()[v].name);
    for (uint32_t i = 0; i < 1 + v % uneven; ++i) team.shape.node_of_rank.push_back(NodeIndex(v));
  }
  team.costs =
      std::make_unique<planner::TeamCosts>(*planner::TeamCosts::Create(names, *team.topology, team.topology->costs()));
  return team;
}

struct Case {
  Collective collective;
  std::string algorithm;
  std::string counts = "equal";
  uint8_t options = 0;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  const std::vector<std::string> trees = {"flat", "binomial", "kary-2", "chain"};
  const auto add = [&](Collective c, const std::vector<std::string>& algorithms) {
    for (const std::string& algorithm : algorithms) {
      if (!IsIrregular(c)) {
        cases.push_back({c, algorithm});
        continue;
      }
      for (const char* counts : {"equal", "heavy", "random", "sparse"}) cases.push_back({c, algorithm, counts});
    }
  };
  add(Collective::kGather, trees);
  add(Collective::kScatter, trees);
  add(Collective::kGatherv, {"binomial", "flat"});
  add(Collective::kScatterv, {"binomial", "kary-2"});
  cases.push_back({Collective::kGatherv, "binomial", "random", kCountsKnown});
  cases.push_back({Collective::kScatterv, "binomial", "heavy", kCountsKnown});
  add(Collective::kAllgather, {"flat", "binomial", "kary-2", "ring", "bruck"});
  add(Collective::kAllgatherv, {"binomial", "ring", "bruck"});
  add(Collective::kReduceScatter, {"flat", "binomial", "kary-2", "ring", "rotated-binomial"});
  add(Collective::kReduceScatterv, {"binomial", "ring", "rotated-binomial"});
  add(Collective::kScan, {"binomial", "ring", "doubling"});
  add(Collective::kExscan, {"kary-2", "ring", "doubling"});
  add(Collective::kAlltoall, {"pairwise", "bruck"});
  add(Collective::kAlltoallv, {"pairwise"});
  return cases;
}

struct Call {
  Plan plan;
  CallArguments arguments;
  schedule::BlockCounts counts;
  std::string text;
};

Call MakeCall(const Case& which, const Team& team, uint64_t bytes) {
  const uint32_t ranks = team.shape.size();
  const Collective regular = PlanCollective(which.collective);
  const bool scans = regular == Collective::kScan || regular == Collective::kExscan;
  std::vector<uint32_t> order = planner::OrderByTopology(*team.costs, 0);
  if (scans) std::iota(order.begin(), order.end(), 0);
  const auto structure = planner::BuildStructure(which.algorithm, order);
  EXPECT_TRUE(structure.ok()) << structure.status();
  Call call;
  call.arguments = {.collective = which.collective,
                    .type = ElementType::kUint32,
                    .options = which.options,
                    .count = bytes / 4,
                    .root = HasRoot(which.collective) ? ranks / 2 : 0};
  call.counts = *MakeBlockCounts(which.counts, which.collective, ranks, bytes, 4, bytes + ranks);
  call.arguments = WithCounts(call.arguments, call.counts);
  // A size that is forwarded does not belong to the longest class.
  const bool passes_on = regular == Collective::kAlltoall && which.algorithm == "bruck";
  const uint64_t of_block = passes_on ? 0 : schedule::PlanBytesOf(call.arguments, ranks);
  const uint64_t bytes_max = planner::BlockClassOf(regular, of_block).bytes_max;
  call.plan = planner::PlanOf(*structure, regular, 0, bytes_max, schedule::kSegmentBytesUsual);
  call.text = absl::StrCat(std::string(CollectiveName(which.collective)), " by ", which.algorithm, ", ", which.counts,
                           ", ", bytes, " B, nodes ", team.shape.node_count, ", ranks ", ranks);
  return call;
}

absl::StatusOr<PlanRunResult> RunCall(const Call& call, const Team& team) {
  PlanRunOptions options;
  options.counts = call.counts;
  return RunPlan(call.plan, team.shape, *team.costs, call.arguments, options);
}

// Limit of the ratio to the prediction; simulations of collectives of blocks agree with their price to the nanosecond
// unless they wait for credit, whose messages share packets with others: docs/reference/copse-sim.md.
constexpr double kFarthest = 1.35;

TEST(BlockCollectivesTest, AllAreRightAndTakeWhatIsPredicted) {
  std::vector<double> ratios;
  for (const uint32_t nodes : {1, 2, 3, 8}) {
    for (const uint32_t uneven : {1, 3}) {
      const Team team = MakeTeam(nodes, uneven);
      for (const uint64_t bytes : {0, 8, 1000, 9000}) {
        for (const Case& which : AllCases()) {
          const Call call = MakeCall(which, team, bytes);
          const auto run = RunCall(call, team);
          ASSERT_TRUE(run.ok()) << run.status() << ": " << call.text;
          const auto price = planner::Price(call.plan, team.shape, *team.costs, call.arguments,
                                            {.critical_path = false, .post_ns = {}, .counts = &call.counts});
          ASSERT_TRUE(price.ok()) << price.status() << ": " << call.text;
          ratios.push_back(static_cast<double>(run->total_ns) / static_cast<double>(price->total_ns));
          EXPECT_LT(ratios.back(), kFarthest) << call.text;
          EXPECT_GT(ratios.back(), 1 / kFarthest) << call.text;
        }
      }
    }
  }
  std::sort(ratios.begin(), ratios.end());
  // 19 of 20 cases are within 5 %.
  EXPECT_GT(ratios[ratios.size() / 40], 0.95);
  EXPECT_LT(ratios[ratios.size() - 1 - ratios.size() / 40], 1.05);
}

TEST(BlockCollectivesTest, LongCallsTakeAboutWhatIsPredicted) {
  // There are more chunks than a window holds, so calls wait for credit again and again.
  const Team team = MakeTeam(5, 2);
  for (const Case& which : AllCases()) {
    if (which.counts == "sparse") continue;
    const Call call = MakeCall(which, team, 200'000);
    const auto run = RunCall(call, team);
    ASSERT_TRUE(run.ok()) << run.status() << ": " << call.text;
    const auto price = planner::Price(call.plan, team.shape, *team.costs, call.arguments,
                                      {.critical_path = false, .post_ns = {}, .counts = &call.counts});
    ASSERT_TRUE(price.ok()) << price.status() << ": " << call.text;
    const double ratio = static_cast<double>(run->total_ns) / static_cast<double>(price->total_ns);
    // Scans with an ordered reduction of all contributions are cut into hundreds of short segments, which share frames
    // by chance.
    const bool folds = schedule::FoldsAll(call.plan);
    EXPECT_LT(ratio, folds ? 1.6 : 1.2) << call.text;
    EXPECT_GT(ratio, folds ? 0.7 : 0.9) << call.text;
  }
}

TEST(BlockCollectivesTest, DaemonsHoldWhatTheExpansionSays) {
  const Team team = MakeTeam(8, 3);
  const schedule::ShapeIndex shape(team.shape);
  for (const uint64_t bytes : {8, 1000, 9000, 100'000}) {
    for (const Case& which : AllCases()) {
      const Call call = MakeCall(which, team, bytes);
      const auto run = RunCall(call, team);
      ASSERT_TRUE(run.ok()) << run.status() << ": " << call.text;
      const auto program = schedule::BlockProgram::Create(&call.plan, &shape, call.arguments, call.counts);
      ASSERT_TRUE(program.ok());
      uint64_t least = 0, most = 0;
      for (uint32_t v = 0; v < team.shape.node_count; ++v) {
        std::vector<schedule::StagingBytes> chunks;
        uint64_t largest = 0;
        for (uint64_t c = 0; c < (*program)->chunk_count(); ++c) {
          chunks.push_back(schedule::StagingOf(call.plan, *(*program)->SequencesOf(c, NodeIndex(v))));
          largest = std::max(largest, chunks.back().largest);
        }
        for (size_t first = 0; first < chunks.size(); ++first) {
          least = std::max(least, chunks[first].cells - chunks[first].landing + chunks[first].scratch);
          uint64_t window = 0;
          for (size_t c = first; c < std::min(chunks.size(), first + planner::kTeamWindow); ++c) {
            const uint64_t held =
                chunks.size() == 1 ? chunks[c].cells + chunks[c].scratch : chunks[c].buffers * largest;
            window += held + chunks[c].frames;
          }
          most = std::max(most, window);
        }
      }
      EXPECT_GE(run->most.staging_bytes, least) << call.text;
      // A growing buffer briefly exists twice; credit that is sent alone takes a frame.
      EXPECT_LE(run->most.staging_bytes, most + most / 2 + 128 * run->most.connections) << call.text;
      EXPECT_GE(run->most.connections, run->root.connections);
    }
  }
}

TEST(BlockCollectivesTest, WrongCountsAreRefused) {
  const Team team = MakeTeam(3, 1);
  Call call = MakeCall({Collective::kGatherv, "flat"}, team, 100);
  call.counts.by_rank.pop_back();
  EXPECT_THAT(RunCall(call, team), FailsWith(kInvalid, "gatherv", "by_rank=2", "needed=3"));
  call = MakeCall({Collective::kGatherv, "flat"}, team, 100);
  call.plan.bytes_max = 1024;
  EXPECT_THAT(RunCall(call, team), FailsWith(kInvalid, "plan 0", "gatherv", "bytes_max=1024"));
  call = MakeCall({Collective::kAlltoall, "pairwise"}, team, 100);
  call.counts.by_pair.assign(9, 1);
  EXPECT_THAT(RunCall(call, team), FailsWith(kInvalid, "alltoall", "by_pair=9"));
  EXPECT_THAT(MakeBlockCounts("odd", Collective::kGatherv, 3, 8, 4, 1), FailsWith(kInvalid, "counts", "value=odd"));
}

}  // namespace
}  // namespace copse::sim
