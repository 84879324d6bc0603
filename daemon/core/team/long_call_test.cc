// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/long_call.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/testing/status_matchers.h"
#include "collectives/call_arguments.h"
#include "daemon/core/team/epoch_port.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/fake_transport.h"
#include "offload_emu/testing/recording_sinks.h"
#include "protocol/control.h"
#include "schedule/blocks.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

using schedule::Plan;

constexpr uint32_t kNodes = 100;
constexpr uint32_t kRanksPerNode = 200;  // so that counts take three chunks
constexpr uint64_t kShortBytes = 1024;

schedule::TeamShape Shape() {
  schedule::TeamShape shape{.node_count = kNodes};
  for (uint32_t r = 0; r < kNodes * kRanksPerNode; ++r) shape.node_of_rank.push_back(NodeIndex(r % kNodes));
  return shape;
}

// Stars around node 0: a plan of short blocks and one of the longest, as a planner makes them.
std::vector<Plan> PlansOf(Collective collective, uint32_t segment_bytes) {
  Plan plan{.id = PlanId(1), .collective = collective, .bytes_max = schedule::kMessageBytesMax, .algorithm = "flat"};
  plan.node_count = kNodes;
  plan.neighbors.resize(kNodes);
  for (uint32_t v = 1; v < kNodes; ++v) {
    plan.neighbors[0].push_back(v);
    plan.neighbors[v].push_back(0);
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
  emu::RecordingControlSink sink;
  for (const auto& [collective, regular] :
       {std::pair(Collective::kGatherv, Collective::kGather), std::pair(Collective::kScatterv, Collective::kScatter)}) {
    for (const uint32_t segment_bytes : {4096u, 12'288u, schedule::kSegmentBytesMax}) {
      emu::Engine engine(&transport, &sink, {.incarnation = Incarnation(2)});
      ReadyTeams ready;
      ReadyTeams::Entry entry(&ready, nullptr);
      auto port =
          EpochPort::Open(&engine, &shape, layout, self, EpochId(1),
                          std::make_shared<const VerifiedPlans>(PlansOf(regular, segment_bytes), shape, self), &entry);
      ASSERT_TRUE(port.ok()) << port.status();
      // Nobody but the root knows how short the blocks are.
      const CallArguments arguments{.collective = collective, .type = ElementType::kInt32};
      const Plan* const plan = (*port)->plans().PlanFor(arguments);
      ASSERT_NE(plan, nullptr);
      EXPECT_EQ(plan->id, PlanId(2));
      LongCall call(&shape, plan, &(*port)->plans().IndexOf(*plan), self, CallSeq(0), arguments);
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

TEST(LongCallTest, TheRootTellsTheCountsThatItGave) {
  const schedule::ShapeIndex shape(
      {.node_of_rank = {NodeIndex(0), NodeIndex(0), NodeIndex(1), NodeIndex(1)}, .node_count = 2});
  Plan plan{.id = PlanId(1), .collective = Collective::kGather, .bytes_max = schedule::kMessageBytesMax};
  plan.algorithm = "flat";
  plan.node_count = 2;
  plan.segment_bytes = 4096;
  plan.neighbors = {{1}, {0}};
  const PlanIndex index(shape, plan);
  const BlockList blocks = {{0, 4}, {4, 8}, {12, 0}, {12, 16}};
  for (const bool given : {false, true}) {
    CallPost post{.arguments = {.collective = Collective::kGatherv, .type = ElementType::kInt32}};
    LongCall call(&shape, &plan, &index, NodeIndex(0), CallSeq(0), post.arguments);
    call.Join(1, post);
    if (given) post.receive_blocks = std::make_shared<BlockList>(blocks);
    call.Join(0, post);
    const absl::Status status = call.SequencesOf(0).status();
    if (!given) {
      EXPECT_THAT(status, FailsWith(absl::StatusCode::kInvalidArgument, "counts=0", "ranks=4"));
      continue;
    }
    EXPECT_TRUE(status.ok()) << status;
    std::vector<uint64_t> told(4);
    ASSERT_EQ(call.notes().size(), 4 * sizeof(uint64_t));
    std::memcpy(told.data(), call.notes().data(), call.notes().size());
    EXPECT_EQ(told, (std::vector<uint64_t>{4, 8, 0, 16}));
  }
}

// Two ranks on each of two nodes. Rank 0 sends all others `count` int32, and nobody else anything.
class BoundedPairsTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBound = 100'000;  // elements

  static Plan Pairwise() {
    Plan plan{.id = PlanId(1), .collective = Collective::kAlltoall, .kind = schedule::PlanKind::kCirculant};
    plan.bytes_max = schedule::kCallBytesMax;
    plan.algorithm = "pairwise";
    plan.node_count = 2;
    plan.segment_bytes = 4096;
    plan.neighbors = {{0, 1}, {1}};
    return plan;
  }
  CallArguments Arguments(uint8_t options) const {
    return {.collective = Collective::kAlltoallv,
            .type = ElementType::kInt32,
            .options = options,
            .count = options == 0 ? 0 : kBound};
  }
  // Node 0's side.
  std::unique_ptr<LongCall> Call(uint64_t count, uint8_t options = kPairsBounded) {
    auto call = std::make_unique<LongCall>(&shape_, &plan_, &index_, NodeIndex(0), CallSeq(7), Arguments(options));
    for (uint32_t local = 0; local < 2; ++local) {
      BlockList send(4), receive(4);
      for (uint32_t to = 1; local == 0 && to < 4; ++to) send[to] = {(to - 1) * count * 4, count * 4};
      if (local == 1) receive[0] = {0, count * 4};
      CallPost post{.arguments = Arguments(options)};
      post.send_blocks = std::make_shared<BlockList>(send);
      post.receive_blocks = std::make_shared<BlockList>(receive);
      call->Join(local, post);
    }
    return call;
  }
  // As if node 1 had told so much; it has nothing to send.
  static void Hear(LongCall* call, uint64_t bytes) {
    schedule::PairNote note;
    std::memcpy(&note, call->notes().data() + 3 * sizeof(note), sizeof(note));
    note = {.bytes = bytes, .counts_hash = HashCounts(std::vector<uint64_t>(4)), .bytes_max = bytes};
    std::memcpy(call->notes().data() + 3 * sizeof(note), &note, sizeof(note));
  }

  const schedule::ShapeIndex shape_{
      {.node_of_rank = {NodeIndex(0), NodeIndex(0), NodeIndex(1), NodeIndex(1)}, .node_count = 2}};
  const Plan plan_ = Pairwise();
  const PlanIndex index_{shape_, plan_};
};

TEST_F(BoundedPairsTest, AllChunksMayStartBeforeOthersHaveToldAnything) {
  const auto told = Call(10'000, 0), known = Call(10'000);
  EXPECT_FALSE(told->complete());
  EXPECT_EQ(told->chunk_count(), 1u);
  EXPECT_TRUE(known->complete());
  EXPECT_GT(known->chunk_count(), 1u);
  EXPECT_FALSE(known->agreed());
  ASSERT_TRUE(known->SequencesOf(0).ok());
  // Both blocks for node 1 are one stream; beyond it there is nothing to do.
  const uint64_t pair_segments = 2 * 10'000 * 4 / plan_.segment_bytes + 1;
  for (uint64_t chunk = 1; chunk < known->chunk_count(); ++chunk) {
    EXPECT_EQ(known->PassesBy(chunk), known->ChunkAt(chunk).first_segment >= pair_segments) << chunk;
  }
  EXPECT_TRUE(known->OnChunkOver(1).ok());
  EXPECT_FALSE(known->agreed());
}

TEST_F(BoundedPairsTest, MoreThanTheRanksSaidIsRefused) {
  const auto call = Call(kBound / 2 + 1);
  EXPECT_THAT(call->SequencesOf(0).status(),
              FailsWith(absl::StatusCode::kInvalidArgument, "alltoallv: ", "bytes=400008", "limit=400000"));
  EXPECT_TRUE(Call(kBound / 2)->SequencesOf(0).ok());
}

TEST_F(BoundedPairsTest, CountsAreComparedAllTheSame) {
  const auto call = Call(10'000);
  ASSERT_TRUE(call->SequencesOf(0).ok());
  Hear(call.get(), 4);
  EXPECT_THAT(call->OnChunkOver(0),
              FailsWith(absl::StatusCode::kInvalidArgument, "sender=2", "receiver=0", "bytes=4", "counted=0"));
  EXPECT_FALSE(call->agreed());
}

TEST(LongCallDeathTest, CountsDoNotGoByAPlanOfShortBlocks) {
  const schedule::ShapeIndex shape(Shape());
  const std::vector<Plan> plans = PlansOf(Collective::kGather, schedule::kSegmentBytesMax);
  const PlanIndex index(shape, plans[0]);
  const CallArguments arguments{.collective = Collective::kGatherv, .type = ElementType::kInt32};
  EXPECT_DEATH(LongCall(&shape, plans.data(), &index, NodeIndex(0), CallSeq(0), arguments), "1024 vs 65536");
}

}  // namespace
}  // namespace copse::daemon
