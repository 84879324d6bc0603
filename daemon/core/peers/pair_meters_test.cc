// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/pair_meters.h"

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/testing/fake_clock.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;
using schedule::MeasureQuery;
using schedule::MeasureReply;

constexpr Incarnation kA{1}, kB{2};

// Two daemons' meters with a link between them: a pipe each way, with a latency and a rate, that takes `queue`
// messages.
class PairMetersTest : public ::testing::Test {
 protected:
  class Side : public PairMeterHost {
   public:
    Side(PairMetersTest* test, Incarnation self) : test_(test), self_(self), meters(this) {}
    absl::Time Now() const override { return test_->clock.Now(); }
    absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) override {
      if (!connect_status.ok()) return connect_status;
      ++connections[peer.incarnation];
      return absl::OkStatus();
    }
    void DisconnectAfterMeasuring(Incarnation peer) override { --connections[peer]; }
    absl::Status SendToMeasured(Incarnation, const PeerMessage& message) override {
      if (!send_status.ok()) return send_status;
      return test_->Carry(self_, *AsMeterMessage(message), EncodePeerMessage(message).body.size());
    }
    void OnMeasured(const MeasureReply& reply) override {
      replies.push_back(reply);
      bulk_left = test_->BulkUnderWay();
    }

   private:
    PairMetersTest* const test_;
    const Incarnation self_;

   public:
    absl::Status connect_status, send_status;
    std::map<Incarnation, int> connections;
    std::vector<MeasureReply> replies;
    uint64_t bulk_left = 0;  // under way when it answered
    PairMeters meters;
  };
  struct Carried {
    Incarnation from;
    MeterMessage message;
  };

  absl::Status Carry(Incarnation from, const MeterMessage& message, size_t bytes) {
    if (const auto* ping = std::get_if<MeterPing>(&message)) pinged = ping->number;
    if (const auto* bulk = std::get_if<MeterBulk>(&message)) bulk_sent += bulk->bytes;
    if (cut) return absl::OkStatus();
    absl::Time& free = free_[from];
    if (free - clock.Now() > queue) return absl::ResourceExhaustedError("full");
    free = std::max(free, clock.Now()) + absl::Seconds(static_cast<double>(bytes) / rate);
    under_way_.emplace(free + latency, Carried{from, message});
    return absl::OkStatus();
  }

  uint64_t BulkUnderWay() const {
    uint64_t bytes = 0;
    for (const auto& [when, carried] : under_way_) {
      if (const auto* bulk = std::get_if<MeterBulk>(&carried.message)) bytes += bulk->bytes;
    }
    return bytes;
  }
  std::vector<MeterAck> AcksUnderWay() const {
    std::vector<MeterAck> acks;
    for (const auto& [when, carried] : under_way_) {
      if (const auto* ack = std::get_if<MeterAck>(&carried.message)) acks.push_back(*ack);
    }
    return acks;
  }

  // A starts, and the test takes B's part: answers pings.
  void StartAlone(absl::Duration round_trip, absl::Duration bulk_max = absl::Minutes(1)) {
    cut = true;
    MeasureQuery query = Query(true);
    query.bulk_ns_max = absl::ToInt64Nanoseconds(bulk_max);
    query.timeout_ns = 60'000'000'000;
    a.meters.Start(query);
    while (bulk_sent == 0) {
      clock.AdvanceTo(clock.Now() + round_trip);
      a.meters.OnMessage(kB, MeterPong{.query = 7, .number = pinged}, {});
    }
  }
  // Acknowledges all that A sends, `took` after what it has acknowledged before.
  void Acknowledge(absl::Duration took) {
    while (a.meters.Progress()) continue;
    most_under_way = std::max(most_under_way, bulk_sent - acknowledged);
    acknowledged = bulk_sent;
    clock.AdvanceTo(clock.Now() + took);
    peer_time += took;
    a.meters.OnMessage(kB, MeterAck{.query = 7, .bytes = acknowledged, .at_ns = absl::ToInt64Nanoseconds(peer_time)},
                       {});
  }

  // Until `until`, or both are done.
  void Run(absl::Duration duration = absl::Seconds(20)) {
    const absl::Time end = clock.Now() + duration;
    while (!a.meters.empty() || !b.meters.empty()) {
      const bool a_sent = a.meters.Progress();
      const bool b_sent = b.meters.Progress();
      if (a_sent || b_sent) continue;
      absl::Time next = std::min(a.meters.NextDeadline(), b.meters.NextDeadline());
      if (!under_way_.empty()) next = std::min(next, under_way_.begin()->first);
      // A full pipe is tried again soon, as a daemon's loop does.
      next = std::min(std::max(next, clock.Now() + absl::Microseconds(1)), clock.Now() + absl::Milliseconds(1));
      if (next > end) return;
      clock.AdvanceTo(next);
      while (!under_way_.empty() && under_way_.begin()->first <= clock.Now()) {
        const Carried carried = under_way_.begin()->second;
        under_way_.erase(under_way_.begin());
        Side& to = carried.from == kA ? b : a;
        to.meters.OnMessage(carried.from, carried.message, absl::Nanoseconds(1'500));
      }
    }
  }

  MeasureQuery Query(bool active) const {
    MeasureQuery query;
    query.query = 7;
    query.peer = active ? schedule::TeamNode{"b", kB, "b's"} : schedule::TeamNode{"a", kA, "a's"};
    query.active = active;
    query.pings = 10;
    query.ping_ns_max = 400'000'000;
    query.bulk_bytes_max = 32u << 20;
    query.bulk_ns_max = 2'000'000'000;
    query.timeout_ns = 10'000'000'000;
    return query;
  }
  void StartBoth() {
    b.meters.Start(Query(false));
    a.meters.Start(Query(true));
  }
  MeasureReply TheReply() {
    EXPECT_EQ(a.replies.size(), 1u);
    EXPECT_TRUE(b.replies.empty());
    EXPECT_EQ(a.connections[kB], 0);
    EXPECT_EQ(b.connections[kA], 0);
    return a.replies.empty() ? MeasureReply{} : a.replies[0];
  }

  FakeClock clock;
  absl::Duration latency = absl::Microseconds(100);
  double rate = 125e6;
  absl::Duration queue = absl::Milliseconds(5);
  bool cut = false;
  uint32_t pinged = 0;     // the newest
  uint64_t bulk_sent = 0;  // bytes
  uint64_t acknowledged = 0, most_under_way = 0;
  absl::Duration peer_time;
  std::map<Incarnation, absl::Time> free_;
  std::multimap<absl::Time, Carried> under_way_;
  Side a{this, kA}, b{this, kB};
};

TEST_F(PairMetersTest, FindsLatencyAndRateOfManyLinks) {
  for (const double mbit : {1.0, 10.0, 100.0, 1'000.0, 10'000.0}) {
    for (const int64_t us : {5, 100, 1'000, 10'000, 50'000}) {
      SCOPED_TRACE(::testing::Message() << mbit << " Mbit/s, " << us << " us");
      rate = mbit * 125'000;
      latency = absl::Microseconds(us);
      free_.clear();
      a.replies.clear();
      StartBoth();
      Run();
      const MeasureReply reply = TheReply();
      EXPECT_EQ(reply.why.failure, Failure::kNone) << reply.why.text;
      EXPECT_GE(reply.pings, 3u);
      // A ping's own bytes take a while on a slow link.
      const double expected_ns = 2 * (1'000.0 * static_cast<double>(us) + 1e9 * 20 / rate);
      EXPECT_NEAR(static_cast<double>(reply.round_trip_ns), expected_ns, 0.01 * expected_ns + 2'000);
      EXPECT_GE(reply.round_trip_median_ns, reply.round_trip_ns);
      EXPECT_EQ(reply.receive_ns, 1'500);
      EXPECT_EQ(reply.peer_receive_ns, 1'500);
      ASSERT_GT(reply.bulk_ns, 0);
      // More than the pipe holds is needed to fill it: 50 ms at 10 Gbit/s are 125 MB.
      if (rate * absl::ToDoubleSeconds(2 * latency) > 4e6) continue;
      EXPECT_NEAR(static_cast<double>(reply.bulk_bytes) * 1e9 / static_cast<double>(reply.bulk_ns), rate, 0.1 * rate);
    }
  }
}

TEST_F(PairMetersTest, QueuesOnTheWayHoldLittle) {
  rate = 12.5e6;  // 100 Mbit/s
  latency = absl::Milliseconds(10);
  queue = absl::Seconds(10);  // takes whatever comes
  StartBoth();
  absl::Duration longest;
  while (!a.meters.empty()) {
    Run(absl::Milliseconds(2));
    longest = std::max<absl::Duration>(longest, free_[kA] - clock.Now());
  }
  Run();
  EXPECT_TRUE(TheReply().bulk_steady);
  // The pipe holds 20 ms; the window is found by overrunning it.
  EXPECT_LT(longest, absl::Milliseconds(100));
}

TEST_F(PairMetersTest, IsOverOnlyWhenAllHasArrived) {
  for (const double mbit : {10.0, 100.0, 1'000.0}) {
    for (const int64_t us : {100, 20'000}) {
      SCOPED_TRACE(::testing::Message() << mbit << " Mbit/s, " << us << " us");
      rate = mbit * 125'000;
      latency = absl::Microseconds(us);
      queue = absl::Seconds(10);
      a.replies.clear();
      StartBoth();
      Run();
      // What is measured next may share links with this.
      EXPECT_EQ(a.bulk_left, 0u);
      EXPECT_GT(TheReply().bulk_bytes, 0u);
    }
  }
}

TEST_F(PairMetersTest, WhatIsNotToldAtOnceIsToldSoon) {
  b.meters.Start(Query(false));
  const MeterBulk bulk = {.query = 7, .bytes = kMeterBulkBytes, .ack_every = 1'000'000};
  b.meters.OnMessage(kA, bulk, {});
  EXPECT_EQ(AcksUnderWay().size(), 1u);
  clock.AdvanceTo(clock.Now() + absl::Microseconds(500));
  const absl::Time arrived = clock.Now();
  b.meters.OnMessage(kA, bulk, {});
  EXPECT_FALSE(b.meters.Progress());
  EXPECT_EQ(AcksUnderWay().size(), 1u) << "more may come";
  EXPECT_EQ(b.meters.NextDeadline(), arrived + absl::Milliseconds(1));
  clock.AdvanceTo(b.meters.NextDeadline());
  b.send_status = absl::ResourceExhaustedError("full");
  EXPECT_FALSE(b.meters.Progress());
  b.send_status = absl::OkStatus();
  EXPECT_TRUE(b.meters.Progress());
  ASSERT_EQ(AcksUnderWay().size(), 2u);
  EXPECT_EQ(AcksUnderWay()[1].bytes, 2u * kMeterBulkBytes);
  EXPECT_EQ(AcksUnderWay()[1].at_ns, 500'000) << "when it came, not when it was told";
  EXPECT_FALSE(b.meters.Progress());
}

TEST_F(PairMetersTest, ALargeWindowThatLiesInQueuesDoesNotDouble) {
  constexpr absl::Duration kRoundTrip = absl::Milliseconds(50);
  StartAlone(kRoundTrip);
  // The rate doubles with the window, as with a carrier that takes its time.
  while (a.replies.empty()) Acknowledge(1.8 * kRoundTrip);
  EXPECT_TRUE(TheReply().bulk_steady);
  EXPECT_GT(most_under_way, 480u * 1024);
  EXPECT_LE(most_under_way, 512u * 1024);
}

TEST_F(PairMetersTest, ALargeWindowThatPassesSoonerDoubles) {
  constexpr absl::Duration kRoundTrip = absl::Milliseconds(50);
  StartAlone(kRoundTrip);
  while (a.replies.empty()) Acknowledge(1.6 * kRoundTrip);
  EXPECT_GT(most_under_way, 1'000u * 1024);
}

TEST_F(PairMetersTest, AWindowThatWaitsNowhereIsNotTheRate) {
  constexpr absl::Duration kRoundTrip = absl::Milliseconds(50);
  StartAlone(kRoundTrip);
  // What had waited for somebody came at once, and looks twice as fast as it is: later rounds seem not to grow.
  for (int i = 0; i < 3; ++i) Acknowledge(0.55 * kRoundTrip);
  constexpr double kRate = 12.5e6;
  while (a.replies.empty()) {
    while (a.meters.Progress()) continue;
    const double passes_s = static_cast<double>(bulk_sent - acknowledged) / kRate;
    Acknowledge(std::max(1.1 * kRoundTrip, absl::Seconds(passes_s)));
  }
  const MeasureReply reply = TheReply();
  EXPECT_TRUE(reply.bulk_steady);
  EXPECT_NEAR(static_cast<double>(reply.bulk_bytes) * 1e9 / static_cast<double>(reply.bulk_ns), kRate, 0.05 * kRate);
}

TEST_F(PairMetersTest, WhoStandsStillForAMomentIsForgiven) {
  constexpr double kRate = 12.5e6;
  for (const int64_t still_ms : {0, 20, 100}) {
    SCOPED_TRACE(::testing::Message() << still_ms << " ms");
    a.replies.clear();
    bulk_sent = acknowledged = 0;
    peer_time = absl::ZeroDuration();
    StartAlone(absl::Milliseconds(1));
    bool stood = false;
    while (a.replies.empty()) {
      while (a.meters.Progress()) continue;
      absl::Duration took = absl::Seconds(static_cast<double>(bulk_sent - acknowledged) / kRate);
      if (!stood && peer_time > absl::Milliseconds(50)) {
        took += absl::Milliseconds(still_ms);
        stood = true;
      }
      Acknowledge(took);
    }
    EXPECT_TRUE(stood);
    const MeasureReply reply = TheReply();
    EXPECT_TRUE(reply.bulk_steady);
    EXPECT_NEAR(static_cast<double>(reply.bulk_bytes) * 1e9 / static_cast<double>(reply.bulk_ns), kRate, 0.02 * kRate);
  }
}

TEST_F(PairMetersTest, BytesAndTimeAreBounded) {
  rate = 125e3;  // 1 Mbit/s
  b.meters.Start(Query(false));
  MeasureQuery query = Query(true);
  query.bulk_bytes_max = 100'000;
  a.meters.Start(query);
  Run();
  MeasureReply reply = TheReply();
  EXPECT_FALSE(reply.bulk_steady);
  EXPECT_LE(reply.bulk_bytes, 100'000u);
  EXPECT_NEAR(static_cast<double>(reply.bulk_bytes) * 1e9 / static_cast<double>(reply.bulk_ns), rate, 0.2 * rate);

  a.replies.clear();
  free_.clear();
  b.meters.Start(Query(false));
  query = Query(true);
  query.bulk_ns_max = 500'000'000;
  a.meters.Start(query);
  const absl::Time began = clock.Now();
  Run();
  reply = TheReply();
  // The end may not reach the other side, which lets go of its own accord.
  EXPECT_LT(clock.Now() - began, absl::Milliseconds(3'000));
  EXPECT_GT(reply.bulk_bytes, 0u);
}

TEST_F(PairMetersTest, WithoutBulkOnlyPings) {
  b.meters.Start(Query(false));
  MeasureQuery query = Query(true);
  query.bulk_bytes_max = 0;
  a.meters.Start(query);
  Run();
  const MeasureReply reply = TheReply();
  EXPECT_EQ(reply.pings, 10u);
  EXPECT_EQ(reply.bulk_bytes, 0u);
}

TEST_F(PairMetersTest, ThePassiveSideMayBeToldLater) {
  a.meters.Start(Query(true));
  Run(absl::Milliseconds(350));
  EXPECT_TRUE(a.replies.empty());
  b.meters.Start(Query(false));
  Run();
  EXPECT_EQ(TheReply().why.failure, Failure::kNone);
}

TEST_F(PairMetersTest, SilenceEndsByTheTimeout) {
  cut = true;
  StartBoth();
  const absl::Time began = clock.Now();
  Run();
  EXPECT_EQ(TheReply().why.failure, Failure::kTimedOut);
  EXPECT_EQ(TheReply().pings, 0u);
  EXPECT_THAT(a.replies[0].why.text, Names("2s"));
  EXPECT_LE(clock.Now() - began, absl::Seconds(10.1));
  EXPECT_TRUE(b.meters.empty()) << "nobody told it that it is over";
}

TEST_F(PairMetersTest, ThePassiveSideEndsSoonAfterTheLastMessage) {
  b.meters.Start(Query(false));
  b.meters.OnMessage(kA, MeterPing{.query = 7, .number = 0}, {});
  Run(absl::Seconds(1.9));
  EXPECT_FALSE(b.meters.empty());
  Run(absl::Seconds(0.2));
  EXPECT_TRUE(b.meters.empty());
}

TEST_F(PairMetersTest, ACutInTheMiddleOfTheBulkEndsItToo) {
  rate = 1.25e6;
  StartBoth();
  Run(absl::Milliseconds(200));
  cut = true;
  Run();
  EXPECT_TRUE(a.meters.empty() && b.meters.empty());
  EXPECT_GE(TheReply().pings, 3u);
  EXPECT_GT(TheReply().bulk_bytes, 0u) << "what came before the cut counts";
}

TEST_F(PairMetersTest, WhatIsNotAcknowledgedIsAwaitedUntilThePeerIsSilent) {
  StartAlone(absl::Milliseconds(1), /*bulk_max=*/absl::Milliseconds(100));
  const absl::Time heard = clock.Now();
  while (a.meters.Progress()) continue;
  clock.AdvanceTo(a.meters.NextDeadline());
  EXPECT_EQ(clock.Now(), heard + absl::Milliseconds(100));
  a.meters.Progress();
  EXPECT_TRUE(a.replies.empty());
  clock.AdvanceTo(a.meters.NextDeadline());
  EXPECT_EQ(clock.Now(), heard + absl::Seconds(2));
  a.meters.Progress();
  EXPECT_EQ(TheReply().why.failure, Failure::kNone);
}

TEST_F(PairMetersTest, APeerThatIsGoneEndsIt) {
  StartBoth();
  a.meters.OnPeerDown(Incarnation(3), "not meant");
  EXPECT_FALSE(a.meters.empty());
  a.meters.OnPeerDown(kB, "connection reset");
  EXPECT_EQ(a.replies.at(0).why.failure, Failure::kMemberLost);
  EXPECT_EQ(a.replies.at(0).why.text, "connection reset");
  b.meters.OnPeerDown(kA, "connection reset");
  EXPECT_TRUE(b.replies.empty());
  EXPECT_EQ(b.connections[kA], 0);
}

TEST_F(PairMetersTest, ErrorsOfTheNetworkAreTold) {
  a.connect_status = absl::InvalidArgumentError("worker address of 3 bytes is damaged");
  a.meters.Start(Query(true));
  EXPECT_EQ(a.replies.at(0).why.text, "worker address of 3 bytes is damaged");
  a.replies.clear();
  a.connect_status = absl::OkStatus();
  a.send_status = absl::UnavailableError("no connection");
  a.meters.Start(Query(true));
  EXPECT_EQ(TheReply().why.text, "no connection");
}

TEST_F(PairMetersTest, TooManyAreRefusedAndOneTwiceIsOne) {
  MeasureQuery query = Query(true);
  for (uint64_t i = 0; i < PairMeters::kMetersMax; ++i) {
    query.query = 100 + i;
    a.meters.Start(query);
    a.meters.Start(query);
  }
  EXPECT_TRUE(a.replies.empty());
  EXPECT_EQ(a.connections[kB], static_cast<int>(PairMeters::kMetersMax));
  query.query = 99;
  a.meters.Start(query);
  EXPECT_EQ(a.replies.at(0).why.failure, Failure::kNoResource);
  EXPECT_THAT(a.replies.at(0).why.text, Names("limit=16"));
}

TEST_F(PairMetersTest, AnAcknowledgmentThatGoesBackInTimeDoesNotCount) {
  StartAlone(absl::Milliseconds(1));
  for (int i = 0; i < 5; ++i) Acknowledge(absl::Milliseconds(10));
  while (a.meters.Progress()) continue;
  for (const int64_t at_ns : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{1}}) {
    const uint64_t before = bulk_sent;
    a.meters.OnMessage(kB, MeterAck{.query = 7, .bytes = before, .at_ns = at_ns}, {});
    EXPECT_EQ(bulk_sent, before) << at_ns;
  }
  const uint64_t before = bulk_sent;
  Acknowledge(absl::Milliseconds(10));
  EXPECT_GT(bulk_sent, before);
}

TEST_F(PairMetersTest, NobodyElseMayAnswerOrEndIt) {
  StartBoth();
  b.meters.OnMessage(Incarnation(3), MeterEnd{.query = 7}, {});
  b.meters.OnMessage(kA, MeterEnd{.query = 8}, {});
  EXPECT_FALSE(b.meters.empty());
  a.meters.OnMessage(kB, MeterEnd{.query = 7}, {});  // the active side ends it itself
  a.meters.OnMessage(kB, MeterPong{.query = 7, .number = 1'000}, {});
  a.meters.OnMessage(kB, MeterAck{.query = 7, .bytes = ~uint64_t{0}}, {});
  EXPECT_FALSE(a.meters.empty());
  Run();
  EXPECT_EQ(TheReply().why.failure, Failure::kNone);
}

}  // namespace
}  // namespace copse::daemon
