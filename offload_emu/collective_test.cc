// SPDX-License-Identifier: Apache-2.0
//
// Tests of whole collectives from hand-written descriptors.
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/barrier_tree.h"
#include "offload_emu/testing/descriptor_factory.h"
#include "offload_emu/testing/engine_cluster.h"
#include "offload_emu/testing/recording_sinks.h"

namespace copse::emu {
namespace {

// Reduces up the tree into scratch, segment by segment, and sends the result down as puts.
TEST(AllreduceTest, SegmentsOverThreeEngines) {
  constexpr uint32_t kSlots = 4;
  constexpr uint32_t kSegments = 3;
  constexpr uint64_t kSegmentBytes = 8192;
  constexpr uint64_t kBytes = kSegments * kSegmentBytes;
  constexpr uint64_t kCount = kBytes / sizeof(int64_t);
  constexpr RegionIndex kMine = 0;
  constexpr RegionIndex kResult = 1;
  EngineCluster cluster(
      3, {.slots = kSlots, .counters_per_slot = kSegments * kPhases, .regions = 2, .edges = 2, .cell_bytes = kBytes});
  BarrierTree tree(&cluster, 2);
  std::vector<std::vector<int64_t>> mine(3, std::vector<int64_t>(kCount));
  std::vector<std::vector<int64_t>> result(3, std::vector<int64_t>(kCount));
  for (uint64_t call = 0; call < 10; ++call) {
    const uint32_t slot = call % kSlots;
    for (uint32_t i = 0; i < 3; ++i) {
      EngineNode& node = cluster.node(i);
      Engine& engine = *node.engine;
      std::iota(mine[i].begin(), mine[i].end(), static_cast<int64_t>(1000 * i + call));
      ASSERT_TRUE(engine
                      .BindRegion(node.port, kMine, reinterpret_cast<uint8_t*>(mine[i].data()), kBytes,
                                  /*writable=*/false)
                      .ok());
      ASSERT_TRUE(engine
                      .BindRegion(node.port, kResult, reinterpret_cast<uint8_t*>(result[i].data()), kBytes,
                                  /*writable=*/true)
                      .ok());
      ASSERT_TRUE(engine.ExpectHash(node.port, CallSeq(call), kTestHash).ok());
      for (uint32_t segment = 0; segment < kSegments; ++segment) {
        const uint64_t offset = segment * kSegmentBytes;
        const CounterIndex up = (slot * kSegments + segment) * kPhases + kUp;
        const CounterIndex down = up + kDown;
        Descriptor reduce = ReduceOf(ElementOp::kSum, ElementType::kInt64, {{kMine, offset}}, {}, kSegmentBytes);
        for (const uint32_t child : tree.children(i)) {
          reduce.operands[reduce.operand_count++] = {engine.CellRegion(node.port, child, slot), offset};
        }
        const MemoryRef scratch{engine.ScratchRegion(node.port, slot), offset};
        reduce.target = i == 0 ? MemoryRef{kResult, offset} : scratch;
        Descriptor put = PutOf(0, segment * kPhases + kUp, call, scratch, kSegmentBytes, offset);
        if (i == 0) {
          std::vector<Descriptor> all = {reduce};
          for (const uint32_t child : tree.children(0)) {
            put.edge = child;
            put.source = {kResult, offset};
            put.remote_counter = segment * kPhases + kDown;
            all.push_back(put);
          }
          all.push_back(EventOf(segment));
          ASSERT_TRUE(engine.Post(node.port, {up, tree.children(0).size(), 0}, all).ok());
        } else {
          put.edge = tree.parent(i);
          ASSERT_TRUE(engine.Post(node.port, {}, {reduce, put}).ok());
          const MemoryRef result_below{engine.CellRegion(node.port, tree.parent(i), slot), offset};
          const Descriptor copy = CopyOf(result_below, {kResult, offset}, kSegmentBytes);
          ASSERT_TRUE(engine.Post(node.port, {down, 1, 0}, {copy, EventOf(segment)}).ok());
        }
      }
    }
    cluster.Run();
    for (uint32_t i = 0; i < 3; ++i) {
      const std::vector<RecordedEvent> events = cluster.node(i).sink.TakeEvents();
      ASSERT_EQ(events.size(), kSegments) << "node " << i << " call " << call;
      for (const RecordedEvent& event : events) EXPECT_FALSE(event.failed);
      for (uint64_t k = 0; k < kCount; ++k) {
        ASSERT_EQ(result[i][k], static_cast<int64_t>(3000 + 3 * call + 3 * k)) << "node " << i << " element " << k;
      }
      ASSERT_TRUE(cluster.node(i).engine->FinishCall(cluster.node(i).port, CallSeq(call)).ok());
    }
  }
}

}  // namespace
}  // namespace copse::emu
