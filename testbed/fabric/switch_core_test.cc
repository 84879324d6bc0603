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

class Recorder : public PacketSink {
 public:
  void Deliver(uint32_t node, uint32_t packet, int64_t due_ns) override {
    deliveries.push_back({node, packet, due_ns});
  }
  void Release(uint32_t packet) override { ++releases[packet]; }

  std::vector<Delivery> deliveries;
  std::map<uint32_t, int> releases;
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

// Runs like the fabric: only when a delivery may be due.
void RunOut(SwitchCore* core) {
  while (core->next_delivery_ns() != kNever) core->Advance(core->next_delivery_ns());
}

TEST(SwitchCoreTest, OneHopTakesEachLinksSendingTimeAndLatency) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  core.Send(0, 1, SinglePacket(1000), 7, 5 * kMs);
  // The way up takes 10 us + 10 us, then the packet is stored, and the way down takes as much.
  core.Advance(5 * kMs + 40 * kUs - 1);
  EXPECT_TRUE(out.deliveries.empty());
  core.Advance(5 * kMs + 40 * kUs);
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{1, 7, 5 * kMs + 40 * kUs}}));
  EXPECT_EQ(out.releases[7], 1);
  EXPECT_EQ(core.next_delivery_ns(), kNever);
}

TEST(SwitchCoreTest, APathThroughTheRootCrossesBothTrunks) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  core.Send(0, 2, SinglePacket(1000), 7, 0);
  RunOut(&core);
  // The four hops take 10 + 10, 100 + 1000, 100 + 1000, 10 + 10 us.
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{2, 7, 2240 * kUs}}));
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).packets, 1u);
  EXPECT_EQ(core.counters(kRack1, Direction::kDown).packets, 0u);
  EXPECT_EQ(core.counters(kRack2, Direction::kDown).bytes, 1000u);
}

TEST(SwitchCoreTest, LateCallsDeliverWithTheDueTimesOfPunctualOnes) {
  Recorder punctual_out, late_out;
  SwitchCore punctual(TwoRacks(), 3, 1, &punctual_out), late(TwoRacks(), 3, 1, &late_out);
  for (uint32_t i = 0; i < 20; ++i) {
    punctual.Send(i % 2, 2 + i / 2 % 2, SinglePacket(500), i, i * 7 * kUs);
    late.Send(i % 2, 2 + i / 2 % 2, SinglePacket(500), i, i * 7 * kUs);
  }
  RunOut(&punctual);
  late.Advance(10'000 * kMs);
  EXPECT_EQ(punctual_out.deliveries.size(), 20u);
  EXPECT_EQ(punctual_out.deliveries, late_out.deliveries);
}

TEST(SwitchCoreTest, PacketsOfOneSenderQueueForItsLink) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  for (uint32_t i = 0; i < 3; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  RunOut(&core);
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{1, 0, 40 * kUs}, {1, 1, 50 * kUs}, {1, 2, 60 * kUs}}));
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).queue_bytes_high, 2000);
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).queue_packets_high, 2);
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).queue_bytes, 0);
}

TEST(SwitchCoreTest, FlowsThatCrossATrunkShareIt) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  for (uint32_t i = 0; i < 100; ++i) {
    core.Send(0, 2, SinglePacket(1000), i, 0);
    core.Send(1, 3, SinglePacket(1000), 100 + i, 0);
  }
  RunOut(&core);
  ASSERT_EQ(out.deliveries.size(), 200u);
  // The trunk sends one packet every 100 us, of both flows in turn. The first takes 2240 us.
  std::map<uint32_t, int> by_node;
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(out.deliveries[i].due_ns, 2240 * kUs + static_cast<int64_t>(i) * 100 * kUs) << i;
    ++by_node[out.deliveries[i].node];
    EXPECT_EQ(by_node[2] - by_node[3], i % 2 == 0 ? 1 : 0) << i;
  }
}

TEST(SwitchCoreTest, DirectionsOfALinkDoNotShareIt) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  core.Send(0, 2, SinglePacket(1000), 1, 0);
  core.Send(2, 0, SinglePacket(1000), 2, 0);
  RunOut(&core);
  ASSERT_EQ(out.deliveries.size(), 2u);
  EXPECT_EQ(out.deliveries[0].due_ns, 2240 * kUs);
  EXPECT_EQ(out.deliveries[1].due_ns, 2240 * kUs);
}

TEST(SwitchCoreTest, AFullQueueDropsTheLast) {
  LinkSettings link = kNodeLink;
  link.queue_bytes = 2500;  // two packets of 1000
  Recorder out;
  SwitchCore core(OneSwitch(link), 1, 1, &out);
  for (uint32_t i = 0; i < 5; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  RunOut(&core);
  // One packet is being sent, two wait.
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{1, 0, 40 * kUs}, {1, 1, 50 * kUs}, {1, 2, 60 * kUs}}));
  EXPECT_EQ(core.counters(1, Direction::kUp).drops[static_cast<int>(Drop::kQueue)], 2u);
  EXPECT_EQ(out.releases.size(), 5u);
}

TEST(SwitchCoreTest, AQueueIsAlsoLimitedInPacketsAndHoldsAtLeastOne) {
  LinkSettings link = kNodeLink;
  link.queue_packets = 1;
  link.queue_bytes = 10;
  Recorder out;
  SwitchCore core(OneSwitch(link), 1, 1, &out);
  for (uint32_t i = 0; i < 5; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  RunOut(&core);
  EXPECT_EQ(out.deliveries.size(), 2u);
}

TEST(SwitchCoreTest, LossIsAsSet) {
  LinkSettings link = kNodeLink;
  link.loss = 0.1;
  Recorder out;
  SwitchCore core({{kNone, {}}, {0, link}, {0, kNodeLink}}, 1, 42, &out);
  for (uint32_t i = 0; i < 10'000; ++i) core.Send(0, 1, SinglePacket(100), i, i * 10 * kUs);
  RunOut(&core);
  const uint64_t lost = core.counters(1, Direction::kUp).drops[static_cast<int>(Drop::kLoss)];
  EXPECT_EQ(out.deliveries.size() + lost, 10'000u);
  EXPECT_NEAR(static_cast<double>(lost), 1000, 150);  // five standard deviations of 30
  EXPECT_EQ(core.counters(1, Direction::kUp).packets, 10'000u) << "lost packets are sent too";
}

TEST(SwitchCoreTest, TheSameSeedLosesTheSamePackets) {
  LinkSettings link = kNodeLink;
  link.loss = 0.3;
  link.jitter_ns = 50 * kUs;
  const auto run = [&](uint64_t seed) {
    Recorder out;
    SwitchCore core(OneSwitch(link), 1, seed, &out);
    for (uint32_t i = 0; i < 200; ++i) core.Send(0, 1, SinglePacket(100), i, i * 10 * kUs);
    RunOut(&core);
    return out.deliveries;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(SwitchCoreTest, JitterIsBoundedAndKeepsTheOrder) {
  LinkSettings link = kNodeLink;
  link.jitter_ns = 100 * kUs;
  Recorder out;
  SwitchCore core({{kNone, {}}, {0, link}, {0, kNodeLink}}, 1, 3, &out);
  for (uint32_t i = 0; i < 1000; ++i) core.Send(0, 1, SinglePacket(100), i, i * 20 * kUs);
  RunOut(&core);
  ASSERT_EQ(out.deliveries.size(), 1000u);
  int64_t most = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(out.deliveries[i].packet, i);
    const int64_t took = out.deliveries[i].due_ns - i * 20 * kUs;
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
  Recorder out;
  SwitchCore core({{kNone, {}}, {0, kNodeLink}, {0, link}}, 1, 3, &out);
  for (uint32_t i = 0; i < 1000; ++i) core.Send(0, 1, SinglePacket(100), i, i * 20 * kUs);
  RunOut(&core);
  ASSERT_EQ(out.deliveries.size(), 1000u);
  int overtaken = 0;
  for (uint32_t i = 1; i < 1000; ++i) {
    EXPECT_LE(out.deliveries[i - 1].due_ns, out.deliveries[i].due_ns);
    if (out.deliveries[i].packet < out.deliveries[i - 1].packet) ++overtaken;
  }
  EXPECT_GT(overtaken, 100);
}

TEST(SwitchCoreTest, ATrainIsStoredPacketByPacket) {
  // A train of 10 packets of 1000 bytes takes as long as ten single ones.
  Recorder train_out, single_out;
  SwitchCore train(TwoRacks(), 3, 1, &train_out), single(TwoRacks(), 3, 1, &single_out);
  train.Send(0, 2, {.wire_bytes = 10'000, .first_bytes = 1000, .last_bytes = 1000, .packets = 10}, 1, 0);
  for (uint32_t i = 0; i < 10; ++i) single.Send(0, 2, SinglePacket(1000), i, 0);
  RunOut(&train);
  RunOut(&single);
  ASSERT_EQ(train_out.deliveries.size(), 1u);
  EXPECT_EQ(train_out.deliveries[0].due_ns,
            3140 * kUs);  // the first packet's 2240 us and nine times the trunk's 100 us
  EXPECT_EQ(single_out.deliveries.back().due_ns, 3140 * kUs);
  EXPECT_EQ(train.counters(kRack1, Direction::kUp).packets, 10u);
}

TEST(SwitchCoreTest, ATrainComesOutOfAFasterLinkNoEarlierThanItCameIn) {
  // The node link is slow, the trunks are fast, and the last packet is short.
  const LinkSettings slow = {.latency_ns = 10 * kUs, .bytes_per_s = 1'000'000};
  Recorder train_out, single_out;
  SwitchCore train(TwoRacks(slow), 3, 1, &train_out), single(TwoRacks(slow), 3, 1, &single_out);
  train.Send(0, 2, {.wire_bytes = 2500, .first_bytes = 1000, .last_bytes = 500, .packets = 3}, 1, 0);
  for (uint32_t i = 0; i < 3; ++i) single.Send(0, 2, SinglePacket(i == 2 ? 500 : 1000), i, 0);
  RunOut(&train);
  RunOut(&single);
  ASSERT_EQ(train_out.deliveries.size(), 1u);
  EXPECT_EQ(train_out.deliveries[0].due_ns, single_out.deliveries.back().due_ns);
}

TEST(SwitchCoreTest, SettingsChangeWhatComesAndLoseNothing) {
  Recorder out;
  SwitchCore core(OneSwitch(kNodeLink), 1, 1, &out);
  for (uint32_t i = 0; i < 3; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  LinkSettings slower = kNodeLink;
  slower.bytes_per_s = 10'000'000;
  slower.queue_packets = 1;
  core.Set(1, slower, 5 * kUs);
  RunOut(&core);
  // The first packet continues at its rate, waiting ones take 100 us each.
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{1, 0, 40 * kUs}, {1, 1, 140 * kUs}, {1, 2, 240 * kUs}}));
}

TEST(SwitchCoreTest, ShorterLatencyDoesNotReorder) {
  LinkSettings link = {.latency_ns = 10 * kMs, .bytes_per_s = 100'000'000};
  Recorder out;
  SwitchCore core({{kNone, {}}, {0, link}, {0, kNodeLink}}, 1, 1, &out);
  core.Send(0, 1, SinglePacket(1000), 0, 0);
  core.Set(1, kNodeLink, 1 * kMs);
  core.Send(0, 1, SinglePacket(1000), 1, 1 * kMs);
  RunOut(&core);
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{1, 0, 10'030 * kUs}, {1, 1, 10'040 * kUs}}));
}

TEST(SwitchCoreTest, ACutLinkDropsWhatIsOnItAndWhatComesUntilHealed) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
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
  RunOut(&core);
  EXPECT_EQ(out.deliveries,
            (std::vector<Delivery>{{1, 3, 70 * kUs}, {0, 5, 1050 * kUs}, {3, 6, 2 * kMs + 2240 * kUs}}));
  EXPECT_EQ(out.releases.size(), 7u);
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).queue_bytes, 0);
}

TEST(SwitchCoreTest, AFloodReachesEveryOtherNodeAndCrossesEachLinkOnce) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  core.Send(0, kEveryone, SinglePacket(1000), 9, 0);
  RunOut(&core);
  EXPECT_EQ(out.deliveries, (std::vector<Delivery>{{1, 9, 40 * kUs}, {2, 9, 2240 * kUs}, {3, 9, 2240 * kUs}}));
  EXPECT_EQ(out.releases[9], 1);
  EXPECT_EQ(core.counters(kRack1, Direction::kUp).packets, 1u);
  EXPECT_EQ(core.counters(kNode0, Direction::kDown).packets, 0u);
}

TEST(SwitchCoreTest, APacketToNobodyIsDropped) {
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  core.Send(0, 0, SinglePacket(1000), 1, 0);
  core.Send(0, 4, SinglePacket(1000), 2, 0);
  core.Send(0, kNone, SinglePacket(1000), 3, 0);
  RunOut(&core);
  EXPECT_TRUE(out.deliveries.empty());
  EXPECT_EQ(out.releases.size(), 3u);
  EXPECT_EQ(core.counters(kNode0, Direction::kUp).drops[static_cast<int>(Drop::kNoRoute)], 3u);
}

TEST(SwitchCoreTest, AFewWakesSufficeForOneDelivery) {
  // On four links, each change may delay the delivery, none may hasten it.
  Recorder out;
  SwitchCore core(TwoRacks(), 3, 1, &out);
  core.Send(0, 2, SinglePacket(1000), 7, 0);
  int wakes = 0;
  for (; core.next_delivery_ns() != kNever; ++wakes) {
    EXPECT_LE(core.next_delivery_ns(), 2240 * kUs);
    core.Advance(core.next_delivery_ns());
  }
  EXPECT_LE(wakes, 6);
  EXPECT_EQ(out.deliveries.size(), 1u);
}

TEST(SwitchCoreTest, ClearedCountersKeepWhatWaits) {
  Recorder out;
  SwitchCore core(OneSwitch(kNodeLink), 1, 1, &out);
  for (uint32_t i = 0; i < 3; ++i) core.Send(0, 1, SinglePacket(1000), i, 0);
  core.ClearCounters();
  EXPECT_EQ(core.counters(1, Direction::kUp).packets, 0u);
  EXPECT_EQ(core.counters(1, Direction::kUp).queue_bytes, 2000);
  EXPECT_EQ(core.counters(1, Direction::kUp).queue_bytes_high, 2000);
  RunOut(&core);
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
    Recorder out;
    SwitchCore core(TwoRacks(link, trunk), 3, seed, &out);
    int64_t now_ns = 0;
    for (uint32_t i = 0; i < 500; ++i) {
      now_ns += static_cast<int64_t>(prng.Below(40 * kUs));
      while (core.next_delivery_ns() <= now_ns) {
        const int64_t wake_ns = core.next_delivery_ns();
        const size_t before = out.deliveries.size();
        core.Advance(wake_ns);
        for (size_t d = before; d < out.deliveries.size(); ++d) ASSERT_EQ(out.deliveries[d].due_ns, wake_ns) << seed;
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
    RunOut(&core);
    EXPECT_EQ(out.releases.size(), 500u) << seed;
    for (const auto& [packet, count] : out.releases) EXPECT_EQ(count, 1) << seed << " " << packet;
    EXPECT_GT(out.deliveries.size(), 50u) << seed;
    for (uint32_t vertex = 1; vertex < 7; ++vertex) {
      EXPECT_EQ(core.counters(vertex, Direction::kUp).queue_bytes, 0) << seed;
      EXPECT_EQ(core.counters(vertex, Direction::kDown).queue_packets, 0) << seed;
    }
  }
}

}  // namespace
}  // namespace copse::fabric
