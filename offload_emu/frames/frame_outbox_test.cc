// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/frames/frame_outbox.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/descriptor_factory.h"
#include "offload_emu/testing/engine_cluster.h"
#include "offload_emu/testing/fake_transport.h"

namespace copse::emu {
namespace {

constexpr uint32_t kLong = 30'000;
constexpr uint16_t kLeft = 7;  // a type of control messages

class FrameOutboxTest : public ::testing::Test {
 protected:
  static constexpr Incarnation kPeer{2};

  void Append(const Sender& sender, uint32_t bytes) {
    Record record{};
    record.bytes = bytes;
    record.counter = sender.job;
    std::fill_n(outbox_.Append(sender, record, bytes), bytes, uint8_t{1});
  }
  void AppendLong(const Sender& sender, int count) {
    for (int i = 0; i < count; ++i) Append(sender, kLong);
  }
  // Sends what the transport takes; returns the job of each record, or "." for a control message.
  std::string Flushed() {
    FrameOutbox::SentFrames sent;
    EXPECT_TRUE(outbox_.Flush(&transport_, &sent).ok());
    std::string jobs;
    for (const auto& [peer, frame] : std::exchange(transport_.sent, {})) {
      for (const RecordAndPayload& each : RecordsOf(frame)) jobs += std::to_string(each.record.counter);
      if (RecordsOf(frame).empty()) jobs += ".";
    }
    return jobs;
  }

  BufferPool pool_{0};
  FrameOutbox outbox_{Incarnation(1), kPeer, &pool_};
  FakeTransport transport_;
};

TEST_F(FrameOutboxTest, ShortRecordsPassLongOnesThatAreRefused) {
  AppendLong({.job = 1}, 3);
  Append({.job = 2}, 100);
  Append({.job = 1}, 100);
  transport_.answer_to_long = absl::ResourceExhaustedError("its lane is full");
  EXPECT_EQ(Flushed(), "21");
  EXPECT_EQ(outbox_.frame_count(), 3u);
  transport_.answer_to_long = absl::OkStatus();
  EXPECT_EQ(Flushed(), "111");
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(pool_.used_bytes(), 0u);
}

TEST_F(FrameOutboxTest, JobsTakeTurnsByTheirWeights) {
  AppendLong({.job = 1}, 8);
  AppendLong({.job = 2, .weight = 2}, 8);
  EXPECT_EQ(Flushed(), "1122221122221111");  // two of these frames fit into a turn
}

TEST_F(FrameOutboxTest, ATurnGoesOnWhereTheTransportHadNoRoom) {
  AppendLong({.job = 1}, 6);
  AppendLong({.job = 2}, 6);
  std::string jobs;
  while (!outbox_.empty()) {
    transport_.frames_max = 1;
    jobs += Flushed();
  }
  EXPECT_EQ(jobs, "112211221122");
}

TEST_F(FrameOutboxTest, AJobThatHasLittleHereMayAppendBesideOneThatHasMuch) {
  AppendLong({.job = 1}, FrameOutbox::kFramesMax - 1);
  EXPECT_FALSE(outbox_.full(1, kLong));
  EXPECT_FALSE(outbox_.has_full());
  AppendLong({.job = 1}, 1);
  EXPECT_TRUE(outbox_.full(1, kLong));
  EXPECT_TRUE(outbox_.has_full());
  EXPECT_FALSE(outbox_.full(1, 100));
  EXPECT_FALSE(outbox_.full(2, kLong));
  AppendLong({.job = 2}, FrameOutbox::kFramesMax / 2 - 1);
  EXPECT_FALSE(outbox_.full(2, kLong));
  AppendLong({.job = 2}, 1);
  EXPECT_TRUE(outbox_.full(2, kLong));
  EXPECT_FALSE(outbox_.full(3, kLong));
}

TEST_F(FrameOutboxTest, RecordsOfAnyLengthShareAFrameWhileNoneWaits) {
  Append({.job = 1}, 8192);
  Append({.job = 1}, 808);
  EXPECT_EQ(outbox_.frame_count(), 1u);
}

TEST_F(FrameOutboxTest, ShortRecordsShareNoMoreThanAShortFrameWhileOthersWait) {
  for (int i = 0; i < 8; ++i) Append({.job = 1}, 1000);
  EXPECT_EQ(outbox_.frame_count(), 1u);
  transport_.answer_to_long = absl::ResourceExhaustedError("its lane is full");
  EXPECT_EQ(Flushed(), "");
  for (int i = 0; i < 8; ++i) Append({.job = 3}, 1000);
  EXPECT_EQ(Flushed(), "33333333");
}

TEST_F(FrameOutboxTest, AMessageBehindDataWaitsForWhatWasThereAndForNoMore) {
  AppendLong({.job = 1}, 1);
  ASSERT_TRUE(outbox_.AppendControl(kLeft, {}, ControlPlace::kBehind));
  Append({.job = 2}, 100);
  transport_.answer_to_long = absl::ResourceExhaustedError("its lane is full");
  EXPECT_EQ(Flushed(), "2");
  AppendLong({.job = 2}, 1);
  ASSERT_TRUE(outbox_.AppendControl(kLeft, {}, ControlPlace::kAhead));
  EXPECT_EQ(Flushed(), ".");
  transport_.answer_to_long = absl::OkStatus();
  transport_.frames_max = 1;
  EXPECT_EQ(Flushed(), "1");
  EXPECT_EQ(Flushed(), "2");  // it may pass, and it may not
  EXPECT_EQ(Flushed(), ".");
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(FrameOutboxTest, AFailureDropsAll) {
  AppendLong({.job = 1}, 2);
  Append({.job = 2}, 100);
  ASSERT_TRUE(outbox_.AppendControl(kLeft, {}, ControlPlace::kBehind));
  transport_.answer = absl::UnavailableError("down");
  FrameOutbox::SentFrames sent;
  EXPECT_EQ(outbox_.Flush(&transport_, &sent).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(pool_.used_bytes(), 0u);
}

// A job has 64 MiB to send over a slow link, whose queue is short, when the barrier of another one begins.
TEST(OutboxOnALinkTest, AnotherJobsBulkDelaysABarrierByFewFrames) {
  constexpr uint32_t kBarrier = 1;
  constexpr uint32_t kBytes = 60'000, kFrames = (64u << 20) / kBytes;
  constexpr double kRate = 25e6;  // 200 Mbit/s
  const PortOptions bulk = {.job = 1,
                            .sequences = kFrames,
                            .slots = 4,
                            .counters_per_slot = 1,
                            .regions = 1,
                            .edges = 1,
                            .remote_access = true};
  EngineCluster cluster(2, bulk, {.link = {.bytes_per_second = kRate}, .frames_per_peer_max = 2});
  cluster.Link(0, 1);
  std::vector<uint8_t> memory(kBytes);
  EngineNode& sender = cluster.node(0);
  EngineNode& receiver = cluster.node(1);
  ASSERT_TRUE(sender.engine->BindRegion(sender.port, 0, memory.data(), memory.size(), false).ok());
  const auto open = [](EngineNode* node, uint32_t peer, Engine::NewEdge* edge) {
    const PortId port =
        node->engine->OpenPort({.job = 2, .slots = 4, .counters_per_slot = 1, .edges = 1}, &node->sink).value();
    *edge = node->engine->AddEdge(port, Incarnation(100 + peer)).value();
    return port;
  };
  Engine::NewEdge there, here;
  const PortId barrier = open(&sender, 1, &there), arrival = open(&receiver, 0, &here);
  ASSERT_TRUE(sender.engine->SetRemoteLabel(barrier, there.edge, here.label).ok());
  ASSERT_TRUE(receiver.engine->ExpectHash(arrival, CallSeq(0), kTestHash).ok());
  ASSERT_TRUE(receiver.engine->Post(arrival, {.counter = 0, .threshold = 1}, {EventOf(kBarrier)}).ok());
  for (uint32_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(sender.engine->Post(sender.port, {}, {PutOf(0, 0, 0, {0, 0}, kBytes)}).ok());
  }
  cluster.Kick();
  cluster.simulator().RunFor(absl::Milliseconds(500));
  ASSERT_GT(sender.engine->stats().frames_waiting, 0u);

  const absl::Time begun = cluster.simulator().Now();
  ASSERT_TRUE(sender.engine->Post(barrier, {}, {SendOf(0, 0, 0)}).ok());
  sender.Run();
  ASSERT_TRUE(cluster.simulator().RunUntil([&] { return !receiver.sink.events.empty(); }, begun + absl::Seconds(3)));
  const double frames = absl::ToDoubleSeconds(cluster.simulator().Now() - begun) * kRate / kBytes;
  RecordProperty("frames", std::to_string(frames));
  EXPECT_LT(frames, 4) << "of the other job, in whose time the barrier was on its way";
}

}  // namespace
}  // namespace copse::emu
