// SPDX-License-Identifier: Apache-2.0
#include "sim/virtual_network.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "sim/simulator.h"

namespace copse::sim {
namespace {

constexpr uint64_t kFirst = 1000;  // incarnation of node 0

struct Arrival {
  uint32_t number;
  absl::Time time;
};

// A few nodes that record arrivals, their times, and lost peers.
class VirtualNetworkTest : public testing::Test {
 protected:
  struct Node final : emu::TransportSink {
    void OnFrame(absl::Span<const uint8_t> frame) override {
      uint32_t number = 0;
      std::memcpy(&number, frame.data(), sizeof(number));
      arrivals.push_back({number, simulator->Now()});
    }
    void OnPeerDown(Incarnation peer, const absl::Status& why) override {
      EXPECT_TRUE(absl::IsUnavailable(why));
      downs.emplace_back(peer, simulator->Now());
    }
    std::vector<uint32_t> Numbers() const {
      std::vector<uint32_t> numbers;
      for (const Arrival& arrival : arrivals) numbers.push_back(arrival.number);
      return numbers;
    }
    Simulator* simulator = nullptr;
    emu::Transport* transport = nullptr;
    std::vector<Arrival> arrivals;
    std::vector<std::pair<Incarnation, absl::Time>> downs;
    int ready = 0;
  };

  void Make(uint32_t count, VirtualNetworkOptions options = {}) {
    nodes_.clear();
    network_.reset();
    simulator_ = std::make_unique<Simulator>();
    network_ = std::make_unique<VirtualNetwork>(simulator_.get(), options);
    for (uint32_t i = 0; i < count; ++i) {
      nodes_.push_back(std::make_unique<Node>());
      Node* node = nodes_.back().get();
      EXPECT_EQ(network_->AddNode("n", Incarnation(kFirst + i),
                                  [node] {
                                    ++node->ready;
                                    while (node->transport->Progress(node)) {
                                    }
                                  }),
                i);
      node->simulator = simulator_.get();
      node->transport = network_->transport(i);
    }
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < count; ++j) {
        if (i != j) Connect(i, j);
      }
    }
  }
  void Connect(uint32_t from, uint32_t to) {
    ASSERT_TRUE(
        nodes_[from]->transport->Connect({network_->incarnation(to), network_->transport(to)->LocalAddress()}).ok());
  }
  absl::Status Send(uint32_t from, uint32_t to, uint32_t number, size_t bytes = 64) {
    std::vector<uint8_t> frame(bytes);
    std::memcpy(frame.data(), &number, sizeof(number));
    return nodes_[from]->transport->Send(network_->incarnation(to), frame, {});
  }
  absl::Time After(absl::Duration duration) { return absl::UnixEpoch() + duration; }

  std::unique_ptr<Simulator> simulator_;
  std::unique_ptr<VirtualNetwork> network_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

constexpr LinkProperties kLink = {.latency = absl::Microseconds(20),
                                  .send_overhead = absl::Microseconds(2),
                                  .receive_overhead = absl::Microseconds(3),
                                  .bytes_per_second = 64e6};  // 1 us for 64 bytes

TEST_F(VirtualNetworkTest, AFrameTakesOverheadsBandwidthAndLatency) {
  Make(3, {.link = kLink, .wake_latency = absl::Microseconds(7)});
  EXPECT_EQ(network_->name(1), "n");
  ASSERT_TRUE(Send(0, 2, 1).ok());
  ASSERT_TRUE(Send(0, 2, 2).ok());
  ASSERT_TRUE(Send(1, 2, 3).ok());
  simulator_->RunUntilIdle();
  // Sends leave at 3 and 6 (node 0) and 3 (node 1), arrive at 23, 26 and 23, and are taken in at 26, 32 and 29; the
  // wake-up of the first takes in those that came by 33.
  ASSERT_EQ(nodes_[2]->Numbers(), (std::vector<uint32_t>{1, 3, 2}));
  EXPECT_EQ(nodes_[2]->arrivals[0].time, After(absl::Microseconds(33)));
  EXPECT_EQ(nodes_[2]->arrivals[2].time, After(absl::Microseconds(33)));
  EXPECT_EQ(nodes_[2]->ready, 1);
  EXPECT_EQ(network_->stats().frames_delivered, 3u);
}

TEST_F(VirtualNetworkTest, LinksDifferByDirection) {
  Make(2, {.link = kLink});
  LinkProperties slow = kLink;
  slow.latency = absl::Seconds(1);
  network_->SetLinkOneWay(0, 1, slow);
  ASSERT_TRUE(Send(0, 1, 1).ok());
  ASSERT_TRUE(Send(1, 0, 2).ok());
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[0]->arrivals[0].time, After(absl::Microseconds(26)));
  EXPECT_EQ(nodes_[1]->arrivals[0].time, After(absl::Seconds(1) + absl::Microseconds(6)));
}

TEST_F(VirtualNetworkTest, JitterKeepsTheOrderAndReorderingDoesNot) {
  LinkProperties jittery = kLink;
  jittery.jitter_max = absl::Milliseconds(1);
  Make(2, {.link = jittery, .frames_per_peer_max = 1000});
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(Send(0, 1, i).ok());
    expected.push_back(i);
  }
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), expected);

  jittery.reorder_probability = 0.2;
  Make(2, {.link = jittery, .frames_per_peer_max = 1000});
  for (uint32_t i = 0; i < 200; ++i) ASSERT_TRUE(Send(0, 1, i).ok());
  simulator_->RunUntilIdle();
  std::vector<uint32_t> numbers = nodes_[1]->Numbers();
  EXPECT_NE(numbers, expected);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, expected);
  EXPECT_GT(network_->stats().frames_reordered, 10u);
}

TEST_F(VirtualNetworkTest, WhatWasOvertakenIsNotLostWithTheConnection) {
  LinkProperties late = kLink;
  late.reorder_probability = 1;
  late.reorder_delay_max = absl::Milliseconds(3);
  Make(2, {.link = late, .down_delay = absl::Milliseconds(5)});
  ASSERT_TRUE(Send(0, 1, 1).ok());
  network_->SetLink(0, 1, kLink);
  ASSERT_TRUE(Send(0, 1, 2).ok());
  simulator_->RunFor(absl::Microseconds(100));
  ASSERT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{2}));
  ASSERT_TRUE(Send(0, 1, 3).ok());
  network_->Crash(0);
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{2, 1}));
}

TEST_F(VirtualNetworkTest, DuplicatesArriveTwice) {
  LinkProperties faulty = kLink;
  faulty.duplicate_probability = 1;
  Make(2, {.link = faulty});
  ASSERT_TRUE(Send(0, 1, 5).ok());
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{5, 5}));
  EXPECT_EQ(network_->stats().frames_duplicated, 1u);
}

TEST_F(VirtualNetworkTest, ACutHoldsFramesAndHealingDeliversThemInOrder) {
  Make(2, {.link = kLink});
  ASSERT_TRUE(Send(0, 1, 1).ok());  // in flight when the link is cut
  network_->Cut(1, 0);
  EXPECT_TRUE(network_->IsCut(0, 1));
  ASSERT_TRUE(Send(0, 1, 2).ok());
  simulator_->RunFor(absl::Hours(1));
  EXPECT_TRUE(nodes_[1]->arrivals.empty());
  EXPECT_TRUE(nodes_[0]->downs.empty());
  network_->Heal(0, 1);
  ASSERT_TRUE(Send(0, 1, 3).ok());
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{1, 2, 3}));
  network_->Heal(0, 1);  // heals nothing
}

TEST_F(VirtualNetworkTest, ACrashLosesFramesAndIsReportedToPeersOnce) {
  Make(3, {.link = kLink, .down_delay = absl::Milliseconds(5)});
  ASSERT_TRUE(Send(0, 1, 1).ok());
  ASSERT_TRUE(Send(1, 0, 2).ok());
  network_->Crash(1);
  network_->Crash(1);
  EXPECT_FALSE(network_->alive(1));
  EXPECT_FALSE(network_->running(1));
  EXPECT_TRUE(Send(0, 1, 3).ok());  // node 0 has not noticed yet
  EXPECT_TRUE(absl::IsUnavailable(Send(1, 0, 4)));
  simulator_->RunUntilIdle();
  EXPECT_TRUE(nodes_[1]->arrivals.empty());
  EXPECT_TRUE(nodes_[0]->arrivals.empty());
  for (const uint32_t i : {0, 2}) {
    ASSERT_EQ(nodes_[i]->downs.size(), 1u);
    EXPECT_EQ(nodes_[i]->downs[0], std::make_pair(Incarnation(kFirst + 1), After(absl::Milliseconds(5))));
    EXPECT_TRUE(absl::IsUnavailable(Send(i, 1, 4)));
  }
  EXPECT_EQ(network_->stats().frames_lost, 3u);
}

TEST_F(VirtualNetworkTest, ACrashBehindACutIsNoticedWhenItHeals) {
  Make(2, {.link = kLink});
  network_->Cut(0, 1);
  network_->Crash(1);
  simulator_->RunUntilIdle();
  EXPECT_TRUE(nodes_[0]->downs.empty());
  network_->Heal(0, 1);
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[0]->downs.size(), 1u);
}

TEST_F(VirtualNetworkTest, ARestartedNodeIsReachedByItsNewIncarnationOnly) {
  Make(2, {.link = kLink});
  ASSERT_TRUE(Send(0, 1, 1).ok());
  network_->Restart(1, Incarnation(2000));
  EXPECT_TRUE(network_->running(1));
  simulator_->RunUntilIdle();
  EXPECT_TRUE(nodes_[1]->arrivals.empty());
  EXPECT_EQ(nodes_[0]->downs[0].first, Incarnation(kFirst + 1));
  EXPECT_TRUE(absl::IsUnavailable(Send(0, 1, 2)));  // no connection to the new one
  Connect(0, 1);
  ASSERT_TRUE(Send(0, 1, 3).ok());
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{3}));
  // The old incarnation is refused.
  ASSERT_TRUE(nodes_[0]->transport->Connect({Incarnation(kFirst + 1), "1"}).ok());
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[0]->downs.size(), 2u);
}

TEST_F(VirtualNetworkTest, APausedNodeSleepsAndNobodyIsTold) {
  Make(2, {.link = kLink});
  network_->Pause(1);
  EXPECT_TRUE(network_->alive(1));
  EXPECT_FALSE(network_->running(1));
  ASSERT_TRUE(Send(0, 1, 1).ok());
  simulator_->RunFor(absl::Hours(1));
  EXPECT_EQ(nodes_[1]->ready, 0);
  EXPECT_TRUE(nodes_[0]->downs.empty());
  network_->Resume(1);
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{1}));
}

TEST_F(VirtualNetworkTest, APeerThatTakesNothingExhaustsItsShareAndRoomWakesTheSender) {
  Make(3, {.link = kLink, .frames_per_peer_max = 4});
  network_->Pause(1);
  for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(Send(0, 1, i).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Send(0, 1, 4)));
  EXPECT_TRUE(Send(0, 2, 5).ok());  // others are not affected
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[0]->ready, 0);
  network_->Resume(1);
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[0]->ready, 1);
  EXPECT_TRUE(Send(0, 1, 4).ok());
}

TEST_F(VirtualNetworkTest, DisconnectLosesWhatIsOnTheWay) {
  Make(2, {.link = kLink});
  ASSERT_TRUE(Send(0, 1, 1).ok());
  nodes_[0]->transport->Disconnect(network_->incarnation(1));
  EXPECT_TRUE(absl::IsUnavailable(Send(0, 1, 2)));
  Connect(0, 1);
  ASSERT_TRUE(Send(0, 1, 3).ok());
  simulator_->RunUntilIdle();
  EXPECT_EQ(nodes_[1]->Numbers(), (std::vector<uint32_t>{3}));
}

TEST_F(VirtualNetworkTest, ConnectRefusesAnAddressOfNoNode) {
  Make(2);
  EXPECT_TRUE(absl::IsInvalidArgument(nodes_[0]->transport->Connect({Incarnation(1), "2"})));
  EXPECT_TRUE(absl::IsInvalidArgument(nodes_[0]->transport->Connect({Incarnation(1), "x"})));
}

TEST_F(VirtualNetworkTest, SameSeedSameTrace) {
  const auto run = [&](uint64_t seed) {
    LinkProperties faulty = kLink;
    faulty.jitter_max = absl::Microseconds(50);
    faulty.duplicate_probability = 0.1;
    faulty.reorder_probability = 0.1;
    Make(3, {.seed = seed, .link = faulty, .frames_per_peer_max = 1000});
    for (uint32_t i = 0; i < 300; ++i) EXPECT_TRUE(Send(i % 3, (i + 1) % 3, i).ok());
    simulator_->RunUntilIdle();
    return simulator_->trace_hash();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace copse::sim
