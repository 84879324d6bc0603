// SPDX-License-Identifier: Apache-2.0
//
// Runs many barriers, also through network faults: cuts, pauses, crashes, duplicates, reordering; and checks replay.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/barrier_tree.h"
#include "offload_emu/testing/engine_cluster.h"
#include "sim/virtual_network.h"

namespace copse::emu {
namespace {

constexpr uint32_t kSlots = 8;
constexpr PortOptions kPort = {.slots = kSlots, .counters_per_slot = kPhases, .edges = 4};

// Keeps every node in barriers, one after the other, until each has left `calls` of them.
class BarrierRun {
 public:
  BarrierRun(uint32_t nodes, uint64_t calls, sim::VirtualNetworkOptions options)
      : cluster_(nodes, kPort, std::move(options)), tree_(&cluster_, 3), left_(nodes) {
    for (uint32_t i = 0; i < nodes; ++i) {
      cluster_.node(i).sink.on_event = [this, i, calls](PortId port, uint64_t call, bool failed) {
        EXPECT_FALSE(failed);
        EXPECT_EQ(call, left_[i]);
        EXPECT_TRUE(cluster_.node(i).engine->FinishCall(port, CallSeq(call)).ok());
        if (++left_[i] < calls) tree_.EnterBarrier(i, left_[i], kSlots);
      };
    }
  }

  // Node `late` does not enter by itself.
  void Start(uint32_t late = UINT32_MAX) {
    for (uint32_t i = 0; i < cluster_.size(); ++i) {
      if (i != late) tree_.EnterBarrier(i, 0, kSlots);
    }
    cluster_.Kick();
  }
  void RunFor(absl::Duration duration) { cluster_.simulator().RunFor(duration); }
  void ExpectAllLeft(uint64_t calls) {
    for (uint32_t i = 0; i < cluster_.size(); ++i) EXPECT_EQ(left_[i], calls) << "node " << i;
  }

  EngineCluster& cluster() { return cluster_; }
  BarrierTree& tree() { return tree_; }
  uint64_t left(uint32_t node) const { return left_[node]; }

 private:
  EngineCluster cluster_;
  BarrierTree tree_;
  std::vector<uint64_t> left_;
};

TEST(BarrierTest, ManyCallsWrapTheWindowAndTheSequenceNumber) {
  constexpr uint64_t kCalls = 70'000;
  BarrierRun run(3, kCalls, {});
  run.Start();
  run.RunFor(absl::Hours(1));
  run.ExpectAllLeft(kCalls);
  for (uint32_t i = 0; i < 3; ++i) {
    const EngineNode& node = run.cluster().node(i);
    EXPECT_EQ(node.engine->Finished(node.port), CallSeq(kCalls));
    EXPECT_EQ(node.engine->stats().dropped_window, 0u);
    EXPECT_EQ(node.engine->stats().credit_stalls, 0u);
  }
}

TEST(FaultTest, ACutDelaysAndHealingLetsThemGoOn) {
  BarrierRun run(7, 1000, {});
  run.Start();
  run.RunFor(absl::Milliseconds(5));
  const uint64_t before = run.left(0);
  EXPECT_GT(before, 10u);
  EXPECT_LT(before, 1000u);
  run.cluster().network().Cut(0, 2);
  run.RunFor(absl::Hours(1));
  EXPECT_LE(run.left(0), before + 1);
  run.cluster().network().Heal(0, 2);
  run.RunFor(absl::Hours(1));
  run.ExpectAllLeft(1000);
}

TEST(FaultTest, ALateNodeIsWaitedFor) {
  BarrierRun run(7, 50, {});
  run.Start(/*late=*/5);
  run.RunFor(absl::Hours(3));
  run.ExpectAllLeft(0);
  run.tree().EnterBarrier(5, 0, kSlots);
  run.cluster().node(5).Run();
  run.RunFor(absl::Hours(1));
  run.ExpectAllLeft(50);
}

TEST(FaultTest, APausedNodeIsWaitedFor) {
  BarrierRun run(7, 1000, {});
  run.Start();
  run.RunFor(absl::Milliseconds(3));
  run.cluster().network().Pause(1);
  run.RunFor(absl::Hours(1));
  EXPECT_LT(run.left(0), 1000u);
  run.cluster().network().Resume(1);
  run.RunFor(absl::Hours(1));
  run.ExpectAllLeft(1000);
  EXPECT_TRUE(run.cluster().node(0).control.downs.empty());
}

TEST(FaultTest, ACrashIsReportedToTheNeighborsAndNobodyGetsPast) {
  BarrierRun run(7, 1000, {});
  run.Start();
  run.RunFor(absl::Milliseconds(3));
  run.cluster().network().Crash(1);
  run.RunFor(absl::Hours(1));
  for (const uint32_t i : {0, 4, 5, 6}) {  // parent and children of 1
    ASSERT_EQ(run.cluster().node(i).control.downs.size(), 1u) << i;
    EXPECT_EQ(run.cluster().node(i).control.downs[0].first, Incarnation(101));
  }
  for (const uint32_t i : {2, 3}) EXPECT_TRUE(run.cluster().node(i).control.downs.empty()) << i;
  for (uint32_t i = 0; i < 7; ++i) EXPECT_LE(run.left(i), run.left(0) + 1) << i;
  EXPECT_LT(run.left(0), 1000u);
}

sim::VirtualNetworkOptions Faulty(uint64_t seed) {
  sim::VirtualNetworkOptions options{.seed = seed};
  options.link.jitter_max = absl::Microseconds(100);
  options.link.duplicate_probability = 0.2;
  options.link.reorder_probability = 0.2;
  options.link.reorder_delay_max = absl::Microseconds(500);
  return options;
}

TEST(FaultTest, DuplicatesAndReorderingChangeNothing) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    BarrierRun run(13, 100, Faulty(seed));
    run.Start();
    run.RunFor(absl::Hours(1));
    run.ExpectAllLeft(100);
    uint64_t dropped = 0;
    for (uint32_t i = 0; i < 13; ++i) {
      const EngineStats& stats = run.cluster().node(i).engine->stats();
      dropped += stats.dropped_duplicate + stats.dropped_window;
    }
    EXPECT_GT(dropped, 100u);
    EXPECT_GT(run.cluster().network().stats().frames_duplicated, 100u);
  }
}

TEST(ReplayTest, TheSameSeedGivesTheSameTraceAndAnotherDoesNot) {
  const auto trace = [](uint64_t seed) {
    BarrierRun run(13, 100, Faulty(seed));
    run.Start();
    run.RunFor(absl::Hours(1));
    run.ExpectAllLeft(100);
    return run.cluster().simulator().trace_hash();
  };
  EXPECT_EQ(trace(1), trace(1));
  EXPECT_NE(trace(1), trace(2));
}

// A root only sends, to a child that lags: the window holds it back, whatever the network does with the frames.
TEST(CreditTest, ASenderIsNeverMoreThanTheWindowAheadOfAReceiver) {
  constexpr uint64_t kCalls = 500;
  EngineCluster cluster(2, kPort, Faulty(3));
  cluster.Link(0, 1);
  EngineNode& root = cluster.node(0);
  EngineNode& leaf = cluster.node(1);
  uint64_t sent = 0, received = 0;
  const auto post = [&] {
    Descriptor send = SendOf(0, kDown, sent);
    ASSERT_TRUE(root.engine->ExpectHash(root.port, CallSeq(sent), kTestHash).ok());
    ASSERT_TRUE(root.engine->Post(root.port, {}, {send, EventOf(sent)}).ok());
  };
  root.sink.on_event = [&](PortId port, uint64_t call, bool) {
    ASSERT_LT(call, received + kSlots);
    ASSERT_TRUE(root.engine->FinishCall(port, CallSeq(call)).ok());
    if (++sent < kCalls) post();
  };
  const auto await = [&] {
    ASSERT_TRUE(leaf.engine->ExpectHash(leaf.port, CallSeq(received), kTestHash).ok());
    const CounterIndex counter = static_cast<uint32_t>(received % kSlots) * kPhases + kDown;
    ASSERT_TRUE(leaf.engine->Post(leaf.port, {.counter = counter, .threshold = 1}, {EventOf(received)}).ok());
    leaf.Run();
  };
  leaf.sink.on_event = [&](PortId, uint64_t call, bool failed) {
    ASSERT_FALSE(failed);
    ASSERT_EQ(call, received);
    // The child pauses before the next call.
    cluster.simulator().Schedule(absl::Milliseconds(1), 1, [&] {
      ASSERT_TRUE(leaf.engine->FinishCall(leaf.port, CallSeq(received)).ok());
      if (++received < kCalls) await();
      leaf.Run();
    });
  };
  post();
  await();
  cluster.Run();
  EXPECT_EQ(sent, kCalls);
  EXPECT_EQ(received, kCalls);
  EXPECT_GT(root.engine->stats().credit_stalls, 10u);
  EXPECT_LE(root.engine->stats().credit_asks, root.engine->stats().credit_stalls);
  EXPECT_EQ(leaf.engine->stats().packets_received - leaf.engine->stats().dropped_duplicate -
                leaf.engine->stats().dropped_window,
            kCalls);
}

}  // namespace
}  // namespace copse::emu
