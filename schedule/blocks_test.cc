// SPDX-License-Identifier: Apache-2.0
#include "schedule/blocks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "schedule/testing/plain_cluster.h"
#include "schedule/testing/rank_data.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

using testing::FailsWith;

Bytes RandomBytes(uint64_t bytes, Prng* prng) {
  Bytes made(bytes);
  for (uint8_t& b : made) b = static_cast<uint8_t>(prng->Next());
  return made;
}

struct Case {
  Collective collective;
  std::string_view algorithm;
};

class BlocksTest : public ::testing::TestWithParam<Case> {};

Plan PlanOf(const Case& which, uint32_t nodes, uint64_t seed, Prng* prng = nullptr) {
  if (which.algorithm == "tree") return RandomTreePlan(which.collective, nodes, seed);
  return CirculantPlan(which.collective, nodes, Distances(which.algorithm, nodes), prng);
}

// Returns the form of the collective with blocks of several sizes; itself if there is none.
Collective IrregularOf(Collective regular) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto c = static_cast<Collective>(i);
    if (IsIrregular(c) && PlanCollective(c) == regular) return c;
  }
  return regular;
}

// Checks one random call against rank_data.
void RunOne(const Case& which, uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << CollectiveName(which.collective) << " by " << which.algorithm << ", seed "
                                    << seed);
  Prng prng(seed);
  const auto nodes = static_cast<uint32_t>(1 + prng.Below(9));
  const auto size = static_cast<uint32_t>(nodes + prng.Below(2 * nodes + 1));
  const Collective c = which.collective;
  const bool tree = which.algorithm == "tree";
  // A node that passes on others' blocks must know their sizes.
  const bool passes_on = c == Collective::kAlltoall && which.algorithm == "doubling";
  TeamShape shape = RandomShape(nodes, size, &prng);
  if (IsScan(c) && !tree) std::sort(shape.node_of_rank.begin(), shape.node_of_rank.end());
  Plan plan = PlanOf(which, nodes, seed, IsScan(c) ? nullptr : &prng);
  plan.segment_bytes = prng.Below(2) == 0 ? SegmentBytesMax(c) : 64;
  plan.bytes_max = passes_on ? 1024 : plan.bytes_max;
  PlainCluster cluster(plan, shape);
  const bool equal = prng.Below(2) == 0 || passes_on || IsScan(c);
  const auto root = static_cast<uint32_t>(prng.Below(size));
  WholeCall whole{.arguments = {.collective = equal ? c : IrregularOf(c),
                                .type = ElementType::kUint32,
                                .count = equal ? prng.Below(prng.Below(2) == 0 ? 5 : 200) : 0,
                                .root = HasRoot(c) ? root : 0},
                  .displaced = true,
                  .seed = seed};
  const bool pairs = HasPairSizes(whole.arguments.collective);
  if (!equal) whole.counts.resize(pairs ? uint64_t{size} * size : size);
  for (uint64_t& count : whole.counts) count = prng.Below(3) == 0 ? 0 : prng.Below(100);
  std::vector<uint64_t> bytes(size);
  std::vector<RankData> data;
  for (uint32_t r = 0; r < size; ++r) {
    if (!pairs) bytes[r] = 4 * BlockCount(whole, r, r, size);
    data.push_back(MakeRankData(whole, r, size));
    cluster.ranks.push_back({data[r].send, data[r].receive, data[r].send_blocks.value_or(BlockList{}),
                             data[r].receive_blocks.value_or(BlockList{})});
  }
  const uint64_t each = whole.arguments.bytes();
  const BlockSizes sizes = equal ? BlockSizes(&cluster.order(), &cluster.shape(), each)
                                 : BlockSizes(&cluster.order(), &cluster.shape(), bytes);
  cluster.notes.assign(nodes, Bytes(2 * nodes * sizeof(PairNote)));
  uint64_t pair_bytes_max = pairs ? 0 : PairBytesMax(cluster.shape(), each);
  // The nodes exchange their metadata.
  for (uint32_t v = 0; pairs && v < nodes; ++v) {
    const BlockCall call = cluster.CallAt(v, sizes, c, root, true);
    for (uint32_t p = 0; p < nodes; ++p) {
      const PairNote note = NoteOf(call, p);
      pair_bytes_max = std::max(pair_bytes_max, note.bytes);
      std::memcpy(cluster.notes[v].data() + p * sizeof(note), &note, sizeof(note));
    }
  }
  const Cutting cutting(plan, sizes, each, pair_bytes_max);
  for (uint64_t k = 0; k < cutting.segment_count(); ++k) {
    cluster.Run(cluster.ExpandAll(sizes, c, root, pairs, cutting.At(k)));
    if (::testing::Test::HasFailure()) return;
  }
  for (uint32_t r = 0; r < size; ++r) {
    ASSERT_EQ(cluster.ranks[r].receive, data[r].expected)
        << "rank " << r << " of " << size << " on " << nodes << " nodes, " << each << " B";
  }
  for (uint32_t v = 0; pairs && v < nodes; ++v) {
    const BlockCall call = cluster.CallAt(v, sizes, c, root, true);
    for (uint32_t p = 0; p < nodes; ++p) {
      if (cluster.order().NodeAt(p) == v) continue;
      PairNote heard;
      std::memcpy(&heard, cluster.notes[v].data() + (nodes + p) * sizeof(heard), sizeof(heard));
      const PairNote expected = NoteExpected(call, p);
      ASSERT_EQ(heard.bytes, expected.bytes);
      ASSERT_EQ(heard.counts_hash, expected.counts_hash);
    }
  }
}

TEST_P(BlocksTest, IsWhatPlainLoopsSay) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RunOne(GetParam(), seed);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BlocksTest,
    ::testing::Values(Case{Collective::kGather, "tree"}, Case{Collective::kScatter, "tree"},
                      Case{Collective::kAllgather, "tree"}, Case{Collective::kAllgather, "ring"},
                      Case{Collective::kAllgather, "doubling"}, Case{Collective::kReduceScatter, "tree"},
                      Case{Collective::kReduceScatter, "ring"}, Case{Collective::kReduceScatter, "doubling"},
                      Case{Collective::kScan, "tree"}, Case{Collective::kScan, "ring"},
                      Case{Collective::kScan, "doubling"}, Case{Collective::kExscan, "tree"},
                      Case{Collective::kExscan, "ring"}, Case{Collective::kExscan, "doubling"},
                      Case{Collective::kAlltoall, "everybody"}, Case{Collective::kAlltoall, "doubling"}),
    [](const auto& info) {
      return std::string(CollectiveName(info.param.collective)) + "_" + std::string(info.param.algorithm);
    });

// A single operand is not combined with anything, so a logical operation leaves it unchanged.
TEST(BlocksTest, TheFirstScannedAndTheSecondExscannedGetWhatTheFirstGave) {
  Prng prng(9);
  for (const Collective c : {Collective::kScan, Collective::kExscan}) {
    for (const char* algorithm : {"tree", "ring", "doubling"}) {
      constexpr uint32_t kNodes = 5;
      PlainCluster cluster(PlanOf({c, algorithm}, kNodes, 3), BlockShape(kNodes, 1));
      cluster.op = ElementOp::kLor;
      cluster.type = ElementType::kUint8;
      cluster.ranks.assign(kNodes, {.send = Bytes(8, 7), .receive = Bytes(8, 0)});
      const BlockSizes sizes(&cluster.order(), &cluster.shape(), 8);
      cluster.Run(cluster.ExpandAll(sizes, c, 0, false, {0, 8}));
      const uint32_t first = c == Collective::kScan ? 0 : 1;
      EXPECT_EQ(cluster.ranks[first].receive, Bytes(8, 7)) << algorithm;
      EXPECT_EQ(cluster.ranks[first + 1].receive, Bytes(8, 1)) << algorithm;
    }
  }
}

// Returns the bytes, by rank, of each rank's block in a reduce_scatter along a ring of one rank per node.
std::vector<Slice> CutAlongARing(const std::vector<uint64_t>& bytes) {
  const auto nodes = static_cast<uint32_t>(bytes.size());
  const Plan plan = CirculantPlan(Collective::kReduceScatter, nodes, Distances("ring", nodes));
  const PlainCluster cluster(plan, BlockShape(nodes, 1));
  const Cutting cutting(plan, BlockSizes(&cluster.order(), &cluster.shape(), bytes), 0, 0);
  std::vector<Slice> slices;
  for (uint64_t s = 0; s < cutting.segment_count(); ++s) slices.push_back(cutting.At(s));
  return slices;
}

TEST(CuttingTest, OwnersTakeTurns) {
  constexpr uint64_t kStep = kSegmentBytesMax;
  EXPECT_EQ(CutAlongARing({2 * kStep, 2 * kStep}),
            (std::vector<Slice>{{0, kStep}, {2 * kStep, 3 * kStep}, {kStep, 2 * kStep}, {3 * kStep, 4 * kStep}}));
  EXPECT_EQ(
      CutAlongARing({0, 10, 2 * kStep + 1, 0}),
      (std::vector<Slice>{{10, 10 + kStep}, {0, 10}, {10 + kStep, 10 + 2 * kStep}, {10 + 2 * kStep, 11 + 2 * kStep}}));
  EXPECT_EQ(CutAlongARing({0, 0}), (std::vector<Slice>{{0, 0}}));
}

TEST(CuttingTest, EveryByteIsInOneSegmentOfOneOwner) {
  Prng prng(5);
  for (int i = 0; i < 100; ++i) {
    std::vector<uint64_t> bytes(1 + prng.Below(9));
    for (uint64_t& b : bytes) b = prng.Below(3) == 0 ? 0 : prng.Below(200'000);
    std::vector<Slice> slices = CutAlongARing(bytes);
    const uint64_t total = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
    if (total == 0) continue;
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
    uint64_t next = 0, owner = 0, owner_end = bytes[0];
    for (const Slice& slice : slices) {
      EXPECT_EQ(slice.begin, next);
      EXPECT_GT(slice.end, slice.begin);
      EXPECT_LE(slice.bytes(), kSegmentBytesMax);
      while (slice.begin >= owner_end) owner_end += bytes[++owner];
      EXPECT_LE(slice.end, owner_end);
      next = slice.end;
    }
    EXPECT_EQ(next, total);
  }
}

TEST(BlocksTest, TheRootsNotesReachAllNodes) {
  for (uint32_t root = 0; root < 5; ++root) {
    const Plan plan = RandomTreePlan(Collective::kGather, 5, 3);
    PlainCluster cluster(plan, BlockShape(5, 2));
    cluster.ranks.resize(10);
    Prng prng(root + 1);
    cluster.notes.assign(5, Bytes(100));
    cluster.notes[root] = RandomBytes(100, &prng);
    for (const Slice slice : {Slice{0, 64}, Slice{64, 100}}) {
      std::vector<NodeSequence> sequences;
      for (uint32_t v = 0; v < 5; ++v) {
        sequences.push_back(ExpandNotes(plan, cluster.index(), NodeIndex(v), root, 2, slice));
      }
      cluster.Run(std::move(sequences));
    }
    for (uint32_t v = 0; v < 5; ++v) EXPECT_EQ(cluster.notes[v], cluster.notes[root]) << "node " << v;
  }
}

TEST(BlocksTest, AlltoallsThatArePassedOnTakeLogNMessagesANode) {
  for (const uint32_t nodes : {4, 7, 8, 13}) {
    Plan plan = CirculantPlan(Collective::kAlltoall, nodes, Distances("doubling", nodes));
    plan.bytes_max = 1024;
    ASSERT_TRUE(PassesOn(plan));
    EXPECT_EQ(PhaseCount(plan), DistancesOf(plan).size() + 1);
    PlainCluster cluster(plan, BlockShape(nodes, 2));
    cluster.ranks.assign(2 * nodes, {.send = Bytes(2 * nodes * 8, 1), .receive = Bytes(2 * nodes * 8)});
    const BlockSizes sizes(&cluster.order(), &cluster.shape(), 8);
    const Cutting cutting(plan, sizes, 8, PairBytesMax(cluster.shape(), 8));
    ASSERT_EQ(cutting.segment_count(), 1);
    cluster.Run(cluster.ExpandAll(sizes, Collective::kAlltoall, 0, false, cutting.At(0)));
    EXPECT_EQ(cluster.messages, nodes * DistancesOf(plan).size());
    for (const auto& rank : cluster.ranks) EXPECT_EQ(rank.receive, rank.send);
  }
}

// A daemon must not be busy with its own ranks for longer than with a segment of others.
TEST(BlocksTest, NoSegmentOfAnAlltoallCopiesMoreThanASegmentAmongANodesRanks) {
  constexpr uint64_t kBlockBytes = 1000;
  TeamShape uneven = BlockShape(3, 2);
  uneven.node_of_rank.insert(uneven.node_of_rank.end(), 6, NodeIndex(1));
  for (const TeamShape& shape : {BlockShape(1, 5), BlockShape(4, 3), uneven}) {
    for (const char* algorithm : {"everybody", "doubling"}) {
      const uint32_t nodes = shape.node_count;
      Plan plan = CirculantPlan(Collective::kAlltoall, nodes, Distances(algorithm, nodes));
      plan.segment_bytes = 2048;
      plan.bytes_max = 1024;
      PlainCluster cluster(plan, shape);
      cluster.ranks.resize(shape.size());
      const BlockSizes sizes(&cluster.order(), &cluster.shape(), kBlockBytes);
      const Cutting cutting(plan, sizes, kBlockBytes, PairBytesMax(cluster.shape(), kBlockBytes));
      for (uint32_t v = 0; v < nodes; ++v) {
        const uint64_t ranks = cluster.shape().RanksOf(NodeIndex(v)).size();
        uint64_t total = 0;
        for (uint64_t k = 0; k < cutting.segment_count(); ++k) {
          uint64_t copied = 0;
          const BlockCall call = cluster.CallAt(v, sizes, Collective::kAlltoall, 0, false);
          const NodeSequence sequence = *ExpandBlocks(call, cutting.At(k));
          for (const Primitive& p : sequence.primitives) {
            for (const BufferRun& run : p.runs) {
              const bool is_local = run.from.place == Place::kRankSend && run.to.place == Place::kRankRecv;
              copied += is_local ? run.bytes : 0;
            }
          }
          EXPECT_LE(copied, 2048) << "node " << v << " of " << nodes << ", segment " << k << ", " << algorithm;
          total += copied;
        }
        EXPECT_EQ(total, ranks * ranks * kBlockBytes) << "node " << v << " of " << nodes << ", " << algorithm;
      }
    }
  }
}

// Otherwise an idle node would be ahead of the others by more calls than a packet distinguishes.
TEST(BlocksTest, NeighborsMeetHoweverLittleTheyHaveForEachOther) {
  constexpr uint32_t kNodes = 6;
  constexpr uint64_t kLongBytes = 40'000;  // 2,500 segments
  for (const Case& which : {Case{Collective::kGather, "tree"}, Case{Collective::kScatter, "tree"},
                            Case{Collective::kAlltoall, "everybody"}, Case{Collective::kAlltoall, "doubling"}}) {
    const auto& [c, algorithm] = which;
    SCOPED_TRACE(::testing::Message() << CollectiveName(c) << " by " << algorithm);
    const bool pairs = c == Collective::kAlltoall;
    const bool doubling = algorithm == "doubling";
    Plan plan = PlanOf(which, kNodes, 3);
    plan.segment_bytes = 16;
    // Equal blocks where nodes pass them on: then the two nodes with many ranks have the most for each other.
    TeamShape shape = BlockShape(kNodes, 1);
    for (const uint32_t v : {1, 4})
      shape.node_of_rank.insert(shape.node_of_rank.end(), doubling ? 59 : 0, NodeIndex(v));
    const uint64_t block = doubling ? 4 : 0;
    PlainCluster cluster(plan, shape);
    cluster.ranks.resize(shape.size());
    cluster.notes.assign(kNodes, Bytes(2 * kNodes * sizeof(PairNote)));
    // Only rank 4 has data: for the root, from it, or for rank 1.
    std::vector<uint64_t> bytes(shape.size(), block);
    if (!doubling) bytes[pairs ? 1 : 4] = kLongBytes;
    for (uint32_t r = 0; r < shape.size(); ++r) {
      PlainCluster::Rank& rank = cluster.ranks[r];
      rank.send = rank.receive = Bytes(kLongBytes);
      if (c == Collective::kGather) rank.receive_list.assign(kNodes, {0, 0});
      if (c == Collective::kScatter) rank.send_list.assign(kNodes, {0, 0});
      if (pairs && !doubling) {
        rank.send_list.assign(kNodes, {0, 0});
        rank.receive_list.assign(kNodes, {0, 0});
        if (r == 4) rank.send_list[1].bytes = kLongBytes;
        if (r == 1) rank.receive_list[4].bytes = kLongBytes;
      }
    }
    const BlockSizes sizes = doubling ? BlockSizes(&cluster.order(), &cluster.shape(), block)
                                      : BlockSizes(&cluster.order(), &cluster.shape(), bytes);
    const Cutting cutting(plan, sizes, block, doubling ? PairBytesMax(cluster.shape(), block) : kLongBytes);
    ASSERT_GT(cutting.segment_count(), 2 * kSegmentsApartMax);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> met;  // by pair: the segment after which it met
    for (uint32_t v = 0; v < kNodes; ++v) {
      for (const NodeIndex other : NeighborsOf(plan, NodeIndex(v))) met[std::minmax(v, other.value())] = 0;
    }
    for (uint64_t k = 0; k < cutting.segment_count(); ++k) {
      std::vector<NodeSequence> sequences = cluster.ExpandAll(sizes, c, 0, pairs && !doubling, cutting.At(k));
      for (uint32_t v = 0; v < kNodes; ++v) {
        for (const Primitive& p : sequences[v].primitives) {
          if (p.step == Step::kSendTo) met.at(std::minmax(v, p.peer)) = k + 1;
        }
      }
      cluster.Run(std::move(sequences));
      for (const auto& [pair, last] : met) {
        ASSERT_LT(k + 1 - last, kSegmentsApartMax) << "nodes " << pair.first << " and " << pair.second;
      }
    }
    const uint64_t each_segment = cutting.segment_count() * met.size();
    EXPECT_LT(cluster.messages, each_segment) << "who has nothing for each other need not meet in every segment";
  }
}

TEST(BlocksTest, SizesThatNobodyKnowsAreNotPassedOn) {
  Plan plan = CirculantPlan(Collective::kAlltoall, 5, Distances("doubling", 5));
  plan.bytes_max = 1024;
  PlainCluster cluster(plan, BlockShape(5, 1));
  cluster.ranks.resize(5);
  const BlockSizes sizes(&cluster.order(), &cluster.shape(), 8);
  EXPECT_THAT(ExpandBlocks(cluster.CallAt(0, sizes, Collective::kAlltoall, 0, true), {0, 8}),
              FailsWith(absl::StatusCode::kInvalidArgument, "alltoallv"));
}

TEST(BlocksTest, GatherTakesOneMessageALinkWhichLandsAtTheRoot) {
  const Plan plan = RandomTreePlan(Collective::kGather, 9, 4);
  PlainCluster cluster(plan, BlockShape(9, 4));
  cluster.ranks.assign(36, {.send = Bytes(64, 1)});
  cluster.ranks[17].receive = Bytes(36 * 64);
  const BlockSizes sizes(&cluster.order(), &cluster.shape(), 64);
  const Cutting cutting(plan, sizes, 64, 0);
  ASSERT_EQ(cutting.segment_count(), 1);
  cluster.Run(cluster.ExpandAll(sizes, Collective::kGather, 17, false, cutting.At(0)));
  EXPECT_EQ(cluster.messages, 8);
  EXPECT_EQ(cluster.landed, plan.neighbors[4].size());
  EXPECT_EQ(cluster.ranks[17].receive, Bytes(36 * 64, 1));
}

}  // namespace
}  // namespace copse::schedule
