// SPDX-License-Identifier: Apache-2.0
//
// The expected times are calculated by hand.
#include "testbed/fabric/switch_core.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"
#include "testbed/fabric/due_times.h"
#include "testbed/fabric/link_settings.h"

namespace copse::fabric {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kMs = 1'000'000;

struct Delivery {
  uint32_t node;
  uint32_t packet;
  int64_t due_ns;
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

// Root switch 0 has switches 1 and 2 below; nodes 0 and 1 (vertices 3, 4) are on 1, nodes 2 and 3 (vertices 5, 6) on
// 2. Node links: 10 us, 100 MB/s (10 ns per byte). Trunks: 1 ms, 10 MB/s (100 ns per byte).
constexpr uint32_t kRack1 = 1, kRack2 = 2, kNode0 = 3;
constexpr LinkSettings kNodeLink = {.latency_ns = 10 * kUs, .bytes_per_s = 100'000'000};
constexpr LinkSettings kTrunk = {.latency_ns = 1 * kMs, .bytes_per_s = 10'000'000};

std::vector<Vertex> TwoRacks(const LinkSettings& node_link = kNodeLink, const LinkSettings& trunk = kTrunk) {
  return {{kNone, {}}, {0, trunk}, {0, trunk}, {1, node_link}, {1, node_link}, {2, node_link}, {2, node_link}};
}
// Returns two nodes on a switch.
std::vector<Vertex> OneSwitch(const LinkSettings& link) { return {{kNone, {}}, {0, link}, {0, link}}; }

// A SwitchCore that records what comes out of it. Switches precede nodes, which are no vertex's parent.
class RecordedCore : public PacketSink, public SwitchCore {
 public:
  explicit RecordedCore(const std::vector<Vertex>& vertices, uint64_t seed = 1)
      : SwitchCore(vertices, vertices.back().parent + 1, seed, this) {}

  void Deliver(uint32_t node, uint32_t packet, int64_t due_ns) override {
    deliveries.push_back({node, packet, due_ns});
  }
  void Release(uint32_t packet) override { ++releases[packet]; }
  // Runs like the fabric: only when a delivery may be due.
  void RunOut() {
    while (next_delivery_ns() != kNever) Advance(next_delivery_ns());
  }

  std::vector<Delivery> deliveries;
  std::map<uint32_t, int> releases;
};

TEST(SwitchCoreTest, OneHopTakesEachLinksSendingTimeAndLatency) {
  RecordedCore core(TwoRacks());
  core.Send(0, 1, SinglePacket(1000), 7, 5 * kMs);
  // The way up takes 10 us + 10 us, then the packet is stored, and the way down takes as much.
  core.Advance(5 * kMs + 40 * kUs - 1);
  EXPECT_TRUE(core.deliveries.empty());
  core.Advance(5 * kMs + 40 * kUs);
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{1, 7, 5 * kMs + 40 * kUs}}));
  EXPECT_EQ(core.releases[7], 1);
  EXPECT_EQ(core.next_delivery_ns(), kNever);
}

TEST(SwitchCoreTest, APathThroughTheRootCrossesBothTrunks) {
  RecordedCore core(TwoRacks());
  core.Send(0, 2, SinglePacket(1000), 7, 0);
  core.RunOut();
  // The four hops take 10 + 10, 100 + 1000, 100 + 1000, 10 + 10 us.
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{2, 7, 2240 * kUs}}));
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).packets, 1u);
  EXPECT_EQ(core.counters(kRack1, Direction::kDown).packets, 0u);
  EXPECT_EQ(core.counters(kRack2, Direction::kDown).bytes, 1000u);
}

TEST(SwitchCoreTest, LateCallsDeliverWithTheDueTimesOfPunctualOnes) {
  RecordedCore punctual(TwoRacks()), late(TwoRacks());
  for (uint32_t i = 0; i < 20; ++i) {
    punctual.Send(i % 2, 2 + i / 2 % 2, SinglePacket(500), i, i * 7 * kUs);
    late.Send(i % 2, 2 + i / 2 % 2, SinglePacket(500), i, i * 7 * kUs);
  }
  punctual.RunOut();
  late.Advance(10'000 * kMs);
  EXPECT_EQ(punctual.deliveries.size(), 20u);
  EXPECT_EQ(punctual.deliveries, late.deliveries);
}

TEST(SwitchCoreTest, PacketsOfOneSenderQueueForItsLink) {
  RecordedCore core(TwoRacks());
  for (uint32_t i = 0; i < 3; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  core.RunOut();
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{1, 0, 40 * kUs}, {1, 1, 50 * kUs}, {1, 2, 60 * kUs}}));
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).queue_bytes_high, 2000);
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).queue_packets_high, 2);
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).queue_bytes, 0);
}

TEST(SwitchCoreTest, FlowsThatCrossATrunkShareIt) {
  RecordedCore core(TwoRacks());
  for (uint32_t i = 0; i < 100; ++i) {
    core.Send(0, 2, SinglePacket(1000), i, 0);
    core.Send(1, 3, SinglePacket(1000), 100 + i, 0);
  }
  core.RunOut();
  ASSERT_EQ(core.deliveries.size(), 200u);
  // The trunk sends one packet every 100 us, of both flows in turn. The first takes 2240 us.
  std::map<uint32_t, int> by_node;
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(core.deliveries[i].due_ns, 2240 * kUs + static_cast<int64_t>(i) * 100 * kUs) << i;
    ++by_node[core.deliveries[i].node];
    EXPECT_EQ(by_node[2] - by_node[3], i % 2 == 0 ? 1 : 0) << i;
  }
}

TEST(SwitchCoreTest, DirectionsOfALinkDoNotShareIt) {
  RecordedCore core(TwoRacks());
  core.Send(0, 2, SinglePacket(1000), 1, 0);
  core.Send(2, 0, SinglePacket(1000), 2, 0);
  core.RunOut();
  ASSERT_EQ(core.deliveries.size(), 2u);
  EXPECT_EQ(core.deliveries[0].due_ns, 2240 * kUs);
  EXPECT_EQ(core.deliveries[1].due_ns, 2240 * kUs);
}

TEST(SwitchCoreTest, AFullQueueDropsTheLast) {
  LinkSettings link = kNodeLink;
  link.queue_bytes = 2500;  // two packets of 1000
  RecordedCore core(OneSwitch(link));
  for (uint32_t i = 0; i < 5; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  core.RunOut();
  // One packet is being sent, two wait.
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{1, 0, 40 * kUs}, {1, 1, 50 * kUs}, {1, 2, 60 * kUs}}));
  EXPECT_EQ(core.counters(1, Direction::kUp).drops[static_cast<int>(Drop::kQueue)], 2u);
  EXPECT_EQ(core.releases.size(), 5u);
}

TEST(SwitchCoreTest, AQueueIsAlsoLimitedInPacketsAndHoldsAtLeastOne) {
  LinkSettings link = kNodeLink;
  link.queue_packets = 1;
  link.queue_bytes = 10;
  RecordedCore core(OneSwitch(link));
  for (uint32_t i = 0; i < 5; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  core.RunOut();
  EXPECT_EQ(core.deliveries.size(), 2u);
}

TEST(SwitchCoreTest, LossIsAsSet) {
  LinkSettings link = kNodeLink;
  link.loss = 0.1;
  RecordedCore core({{kNone, {}}, {0, link}, {0, kNodeLink}}, 42);
  for (uint32_t i = 0; i < 10'000; ++i) core.Send(0, 1, SinglePacket(100), i, i * 10 * kUs);
  core.RunOut();
  const uint64_t lost = core.counters(1, Direction::kUp).drops[static_cast<int>(Drop::kLoss)];
  EXPECT_EQ(core.deliveries.size() + lost, 10'000u);
  EXPECT_NEAR(static_cast<double>(lost), 1000, 150);  // five standard deviations of 30
  EXPECT_EQ(core.counters(1, Direction::kUp).packets, 10'000u) << "lost packets are sent too";
}

TEST(SwitchCoreTest, TheSameSeedLosesTheSamePackets) {
  LinkSettings link = kNodeLink;
  link.loss = 0.3;
  link.jitter_ns = 50 * kUs;
  const auto run = [&](uint64_t seed) {
    RecordedCore core(OneSwitch(link), seed);
    for (uint32_t i = 0; i < 200; ++i) core.Send(0, 1, SinglePacket(100), i, i * 10 * kUs);
    core.RunOut();
    return core.deliveries;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(SwitchCoreTest, JitterIsBoundedAndKeepsTheOrder) {
  LinkSettings link = kNodeLink;
  link.jitter_ns = 100 * kUs;
  RecordedCore core({{kNone, {}}, {0, link}, {0, kNodeLink}}, 3);
  for (uint32_t i = 0; i < 1000; ++i) core.Send(0, 1, SinglePacket(100), i, i * 20 * kUs);
  core.RunOut();
  ASSERT_EQ(core.deliveries.size(), 1000u);
  int64_t most = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(core.deliveries[i].packet, i);
    const int64_t took = core.deliveries[i].due_ns - i * 20 * kUs;
    EXPECT_GE(took, 22 * kUs);  // 2 x (1 us + 10 us)
    // Packets that waited for one before may have to be sent one after the other then, 1 us each.
    EXPECT_LE(took, 122 * kUs + 6 * kUs);
    most = std::max(most, took);
  }
  EXPECT_GT(most, 110 * kUs);
}

TEST(SwitchCoreTest, JitterReordersWhereAsked) {
  LinkSettings link = kNodeLink;
  link.jitter_ns = 100 * kUs;
  link.reorder = true;
  RecordedCore core({{kNone, {}}, {0, kNodeLink}, {0, link}}, 3);
  for (uint32_t i = 0; i < 1000; ++i) core.Send(0, 1, SinglePacket(100), i, i * 20 * kUs);
  core.RunOut();
  ASSERT_EQ(core.deliveries.size(), 1000u);
  int overtaken = 0;
  for (uint32_t i = 1; i < 1000; ++i) {
    EXPECT_LE(core.deliveries[i - 1].due_ns, core.deliveries[i].due_ns);
    if (core.deliveries[i].packet < core.deliveries[i - 1].packet) ++overtaken;
  }
  EXPECT_GT(overtaken, 100);
}

TEST(SwitchCoreTest, ATrainIsStoredPacketByPacket) {
  // A train of 10 packets of 1000 bytes takes as long as ten single ones.
  RecordedCore train(TwoRacks()), single(TwoRacks());
  train.Send(0, 2, {.wire_bytes = 10'000, .first_bytes = 1000, .last_bytes = 1000, .packets = 10}, 1, 0);
  for (uint32_t i = 0; i < 10; ++i) single.Send(0, 2, SinglePacket(1000), i, 0);
  train.RunOut();
  single.RunOut();
  ASSERT_EQ(train.deliveries.size(), 1u);
  EXPECT_EQ(train.deliveries[0].due_ns,
            3140 * kUs);  // the first packet's 2240 us and nine times the trunk's 100 us
  EXPECT_EQ(single.deliveries.back().due_ns, 3140 * kUs);
  EXPECT_EQ(train.counters(kRack1, Direction::kUp).packets, 10u);
}

TEST(SwitchCoreTest, ATrainComesOutOfAFasterLinkNoEarlierThanItCameIn) {
  // The node link is slow, the trunks are fast, and the last packet is short.
  const LinkSettings slow = {.latency_ns = 10 * kUs, .bytes_per_s = 1'000'000};
  RecordedCore train(TwoRacks(slow)), single(TwoRacks(slow));
  train.Send(0, 2, {.wire_bytes = 2500, .first_bytes = 1000, .last_bytes = 500, .packets = 3}, 1, 0);
  for (uint32_t i = 0; i < 3; ++i) single.Send(0, 2, SinglePacket(i == 2 ? 500 : 1000), i, 0);
  train.RunOut();
  single.RunOut();
  ASSERT_EQ(train.deliveries.size(), 1u);
  EXPECT_EQ(train.deliveries[0].due_ns, single.deliveries.back().due_ns);
}

TEST(SwitchCoreTest, SettingsChangeWhatComesAndLoseNothing) {
  RecordedCore core(OneSwitch(kNodeLink));
  for (uint32_t i = 0; i < 3; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  LinkSettings slower = kNodeLink;
  slower.bytes_per_s = 10'000'000;
  slower.queue_packets = 1;
  core.Set(1, slower, 5 * kUs);
  core.RunOut();
  // The first packet continues at its rate, waiting ones take 100 us each.
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{1, 0, 40 * kUs}, {1, 1, 140 * kUs}, {1, 2, 240 * kUs}}));
}

TEST(SwitchCoreTest, ShorterLatencyDoesNotReorder) {
  LinkSettings link = {.latency_ns = 10 * kMs, .bytes_per_s = 100'000'000};
  RecordedCore core({{kNone, {}}, {0, link}, {0, kNodeLink}});
  core.Send(0, 1, SinglePacket(1000), 0, 0);
  core.Set(1, kNodeLink, 1 * kMs);
  core.Send(0, 1, SinglePacket(1000), 1, 1 * kMs);
  core.RunOut();
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{1, 0, 10'030 * kUs}, {1, 1, 10'040 * kUs}}));
}

TEST(SwitchCoreTest, ACutLinkDropsWhatIsOnItAndWhatComesUntilHealed) {
  RecordedCore core(TwoRacks());
  for (uint32_t i = 0; i < 3; ++i)
    core.Send(0, 2, SinglePacket(1000), i, 0);  // one on the trunk's wire, two wait there
  core.Send(0, 1, SinglePacket(1000), 3, 0);
  core.Cut(kRack1, 130 * kUs);
  EXPECT_TRUE(core.is_cut(kRack1));
  core.Send(1, 3, SinglePacket(1000), 4, 1 * kMs);
  core.Send(1, 0, SinglePacket(1000), 5, 1 * kMs);
  core.Advance(2 * kMs);
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).drops[static_cast<int>(Drop::kCut)], 4u);
  core.Heal(kRack1, 2 * kMs);
  core.Send(1, 3, SinglePacket(1000), 6, 2 * kMs);
  core.RunOut();
  EXPECT_EQ(core.deliveries,
            (std::vector<Delivery>{{1, 3, 70 * kUs}, {0, 5, 1050 * kUs}, {3, 6, 2 * kMs + 2240 * kUs}}));
  EXPECT_EQ(core.releases.size(), 7u);
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).queue_bytes, 0);
}

TEST(SwitchCoreTest, AFloodReachesEveryOtherNodeAndCrossesEachLinkOnce) {
  RecordedCore core(TwoRacks());
  core.Send(0, kEveryone, SinglePacket(1000), 9, 0);
  core.RunOut();
  EXPECT_EQ(core.deliveries, (std::vector<Delivery>{{1, 9, 40 * kUs}, {2, 9, 2240 * kUs}, {3, 9, 2240 * kUs}}));
  EXPECT_EQ(core.releases[9], 1);
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).packets, 1u);
  EXPECT_EQ(core.counters(kNode0, Direction::kDown).packets, 0u);
}

TEST(SwitchCoreTest, APacketToNobodyIsDropped) {
  RecordedCore core(TwoRacks());
  core.Send(0, 0, SinglePacket(1000), 1, 0);
  core.Send(0, 4, SinglePacket(1000), 2, 0);
  core.Send(0, kNone, SinglePacket(1000), 3, 0);
  core.RunOut();
  EXPECT_TRUE(core.deliveries.empty());
  EXPECT_EQ(core.releases.size(), 3u);
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).drops[static_cast<int>(Drop::kNoRoute)], 3u);
}

TEST(SwitchCoreTest, AFewWakesSufficeForOneDelivery) {
  // On four links, each change may delay the delivery, none may hasten it.
  RecordedCore core(TwoRacks());
  core.Send(0, 2, SinglePacket(1000), 7, 0);
  int wakes = 0;
  for (; core.next_delivery_ns() != kNever; ++wakes) {
    EXPECT_LE(core.next_delivery_ns(), 2240 * kUs);
    core.Advance(core.next_delivery_ns());
  }
  EXPECT_LE(wakes, 6);
  EXPECT_EQ(core.deliveries.size(), 1u);
}

TEST(SwitchCoreTest, ClearedCountersKeepWhatWaits) {
  RecordedCore core(OneSwitch(kNodeLink));
  for (uint32_t i = 0; i < 3; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  core.ClearCounters();
  EXPECT_EQ(core.counters(1, Direction::kUp).packets, 0u);
  EXPECT_EQ(core.counters(1, Direction::kUp).queue_bytes, 2000);
  EXPECT_EQ(core.counters(1, Direction::kUp).queue_bytes_high, 2000);
  core.RunOut();
  EXPECT_EQ(core.counters(1, Direction::kUp).packets, 2u);
  EXPECT_EQ(core.counters(1, Direction::kUp).queue_bytes, 0);
}

// In random runs, packets leave or are dropped once, times never go back, and punctual wakes miss nothing.
TEST(SwitchCoreTest, NothingIsLostUncountedInRandomRuns) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Prng prng(seed);
    LinkSettings link = kNodeLink, trunk = kTrunk;
    link.loss = prng.Chance(0.5) ? 0.05 : 0;
    link.jitter_ns = prng.Chance(0.5) ? 30 * kUs : 0;
    trunk.reorder = prng.Chance(0.5);
    trunk.jitter_ns = 2 * kMs;
    trunk.queue_bytes = 20'000;
    RecordedCore core(TwoRacks(link, trunk), seed);
    int64_t now_ns = 0;
    for (uint32_t i = 0; i < 500; ++i) {
      now_ns += static_cast<int64_t>(prng.Below(40 * kUs));
      while (core.next_delivery_ns() <= now_ns) {
        const int64_t wake_ns = core.next_delivery_ns();
        const size_t before = core.deliveries.size();
        core.Advance(wake_ns);
        for (size_t d = before; d < core.deliveries.size(); ++d) ASSERT_EQ(core.deliveries[d].due_ns, wake_ns) << seed;
      }
      const auto vertex = static_cast<uint32_t>(1 + prng.Below(6));
      if (prng.Chance(0.01)) core.Cut(vertex, now_ns);
      if (prng.Chance(0.1)) core.Heal(vertex, now_ns);
      if (prng.Chance(0.05)) {
        LinkSettings changed = core.settings(vertex);
        changed.latency_ns = static_cast<int64_t>(prng.Below(kMs));
        core.Set(vertex, changed, now_ns);
      }
      const auto packets = static_cast<uint32_t>(1 + prng.Below(4));
      core.Send(static_cast<uint32_t>(prng.Below(4)), prng.Chance(0.05) ? kEveryone : uint32_t(prng.Below(4)),
                {.wire_bytes = packets * 1000, .first_bytes = 1000, .last_bytes = 1000, .packets = packets}, i, now_ns);
    }
    core.RunOut();
    EXPECT_EQ(core.releases.size(), 500u) << seed;
    for (const auto& [packet, count] : core.releases) EXPECT_EQ(count, 1) << seed << " " << packet;
    EXPECT_GT(core.deliveries.size(), 50u) << seed;
    for (uint32_t vertex = 1; vertex < 7; ++vertex) {
      EXPECT_EQ(core.counters(vertex, Direction::kUp).queue_bytes, 0) << seed;
      EXPECT_EQ(core.counters(vertex, Direction::kDown).queue_packets, 0) << seed;
    }
  }
}

}  // namespace
}  // namespace copse::fabric
