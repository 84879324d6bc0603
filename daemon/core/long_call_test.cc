// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/long_call.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "daemon/core/epoch_port.h"
#include "offload_emu/engine.h"
#include "offload_emu/fake_transport.h"
#include "planner/schedule/blocks.h"
#include "planner/schedule/collective.h"
#include "planner/schedule/control.h"
#include "planner/schedule/plan.h"

namespace copse::daemon {
namespace {

using schedule::CallArguments;
using schedule::Collective;
using schedule::Plan;

constexpr uint32_t kNodes = 100;
constexpr uint32_t kRanksPerNode = 200;  // so that counts take three chunks
constexpr uint64_t kShortBytes = 1024;

class DeafSink : public emu::ControlSink {
 public:
  void OnControl(Incarnation, uint16_t, absl::Span<const uint8_t>) override {}
  void OnPeerDown(Incarnation, const absl::Status&) override {}
  void OnPeerHeard(Incarnation) override {}
};

schedule::TeamShape Shape() {
  schedule::TeamShape shape{.node_count = kNodes};
  for (uint32_t r = 0; r < kNodes * kRanksPerNode; ++r) shape.node_of_rank.push_back(NodeIndex(r % kNodes));
  return shape;
}

// Stars around node 0: a plan of short blocks and one of the longest, as a planner makes them.
std::vector<Plan> PlansOf(Collective collective, uint32_t segment_bytes) {
  Plan plan{.id = PlanId(1), .collective = collective, .bytes_max = schedule::kMessageBytesMax, .algorithm = "flat"};
  plan.node_count = kNodes;
  plan.neighbours.resize(kNodes);
  for (uint32_t v = 1; v < kNodes; ++v) {
    plan.neighbours[0].push_back(v);
    plan.neighbours[v].push_back(0);
  }
  Plan brief = plan;
  brief.bytes_max = brief.segment_bytes = kShortBytes;
  plan.id = PlanId(2);
  plan.bytes_min = kShortBytes + 1;
  plan.segment_bytes = segment_bytes;
  return {brief, plan};
}

TEST(LongCallTest, CountsThatTheRootTellsFitThePlanThatIsChosen) {
  const schedule::ShapeIndex shape(Shape());
  schedule::TeamLayout layout{.id = TeamId(1), .shape = Shape()};
  for (uint32_t n = 0; n < kNodes; ++n) layout.nodes.push_back({"n" + std::to_string(n), Incarnation(n + 1), "fake"});
  const NodeIndex self(1);
  emu::FakeTransport transport;
  DeafSink sink;
  for (const auto& [collective, regular] :
       {std::pair(Collective::kGatherv, Collective::kGather), std::pair(Collective::kScatterv, Collective::kScatter)}) {
    for (const uint32_t segment_bytes : {4096u, 12'288u, schedule::kSegmentBytesMax}) {
      emu::Engine engine(&transport, &sink, {.incarnation = Incarnation(2)});
      bool has_events = false;
      auto port =
          EpochPort::Open(&engine, &shape, layout, self, EpochId(1), PlansOf(regular, segment_bytes), &has_events);
      ASSERT_TRUE(port.ok()) << port.status();
      // Nobody but the root knows how short the blocks are.
      const CallArguments arguments{.collective = collective, .type = emu::AluType::kInt32};
      const Plan* const plan = (*port)->PlanFor(arguments);
      ASSERT_NE(plan, nullptr);
      EXPECT_EQ(plan->id, PlanId(2));
      LongCall call(&shape, plan, &(*port)->IndexOf(*plan), self, CallSeq(0), arguments);
      ASSERT_EQ(call.chunk_count(), 3u);
      uint64_t end = 0;
      for (uint64_t c = 0; c < call.chunk_count(); ++c) {
        const Chunk chunk = call.ChunkAt(c);
        EXPECT_TRUE(chunk.notes);
        EXPECT_EQ(chunk.offset, end);
        end += chunk.bytes;
        const auto sequences = call.SequencesOf(c);
        ASSERT_TRUE(sequences.ok()) << sequences.status();
        EXPECT_LE(sequences->size(), schedule::SegmentsPerChunk(*plan));
        EXPECT_EQ(sequences->size(), (chunk.bytes + segment_bytes - 1) / segment_bytes);
      }
      EXPECT_EQ(end, uint64_t{kNodes} * kRanksPerNode * 8);
    }
  }
}

TEST(LongCallDeathTest, CountsDoNotGoByAPlanOfShortBlocks) {
  const schedule::ShapeIndex shape(Shape());
  const std::vector<Plan> plans = PlansOf(Collective::kGather, schedule::kSegmentBytesMax);
  const PlanIndex index(shape, plans[0]);
  const CallArguments arguments{.collective = Collective::kGatherv, .type = emu::AluType::kInt32};
  EXPECT_DEATH(LongCall(&shape, plans.data(), &index, NodeIndex(0), CallSeq(0), arguments), "1024 vs 65536");
}

}  // namespace
}  // namespace copse::daemon
