// SPDX-License-Identifier: Apache-2.0
//
// Tests of ports, regions and edges: quotas, bounds, and the state after their removal.
#include <cstring>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/single_engine.h"

namespace copse::emu {
namespace {

using copse::testing::FailsWith;
using Events = std::vector<RecordedEvent>;

class OpenPortTest : public ::testing::Test {
 protected:
  absl::Status Open(const PortOptions& options) { return engine_.OpenPort(options, &sink_).status(); }

  FakeTransport transport_;
  RecordingControlSink control_;
  RecordingPortSink sink_;
  Engine engine_{&transport_,
                 &control_,
                 {.incarnation = Incarnation(1), .memory_limit_bytes = 1 << 20, .ports_max = 2, .sequences_max = 100}};
};

TEST_F(OpenPortTest, RefusesOptionsOutOfRange) {
  const PortOptions bad[] = {{.slots = 0},
                             {.slots = 3},
                             {.slots = 8192},
                             {.counters_per_slot = 0},
                             {.counters_per_slot = 1 << 20},
                             {.regions = 2 << 20},
                             {.edges = 4097},
                             {.mpq_entries = 1 << 20},
                             {.eq_entries = 1 << 20},
                             {.cell_bytes = uint64_t{1} << 40}};
  for (const PortOptions& options : bad) EXPECT_TRUE(absl::IsInvalidArgument(Open(options)));
  EXPECT_TRUE(Open({}).ok());
}

TEST_F(OpenPortTest, RefusesMoreThanTheQuota) {
  EXPECT_TRUE(absl::IsResourceExhausted(Open({.sequences = 101})));
  EXPECT_TRUE(absl::IsResourceExhausted(Open({.slots = 64, .cell_bytes = 1 << 20})));
  EXPECT_TRUE(Open({}).ok());
  EXPECT_TRUE(Open({}).ok());
  EXPECT_THAT(Open({}), FailsWith(absl::StatusCode::kResourceExhausted, "ports: 2", "limit 2"));
}

TEST_F(OpenPortTest, MemoryIsReservedForPortsAndEdgesAndGivenBack) {
  auto port = engine_.OpenPort({.slots = 4, .edges = 8, .cell_bytes = 100'000}, &sink_);
  ASSERT_TRUE(port.ok());  // 4 scratch regions of 128 KiB
  EXPECT_EQ(engine_.stats().memory_reserved_bytes, 512u * 1024);
  ASSERT_TRUE(engine_.AddEdge(*port, Incarnation(2)).ok());
  EXPECT_EQ(engine_.stats().memory_reserved_bytes, 1024u * 1024);
  EXPECT_TRUE(absl::IsResourceExhausted(engine_.AddEdge(*port, Incarnation(3)).status()));
  engine_.RemoveEdge(*port, 0);
  EXPECT_EQ(engine_.stats().memory_reserved_bytes, 512u * 1024);
  EXPECT_TRUE(engine_.AddEdge(*port, Incarnation(3)).ok());
  EXPECT_EQ(engine_.stats().memory_used_bytes, 0u);
  engine_.ClosePort(*port);
  EXPECT_EQ(engine_.stats().memory_reserved_bytes, 0u);
}

class BoundedOwner : public MemoryOwner {
 public:
  absl::Status Charge(uint64_t bytes) override {
    if (bytes > limit - charged) return absl::ResourceExhaustedError(absl::StrCat("charged=", charged));
    charged += bytes;
    return absl::OkStatus();
  }
  void Discharge(uint64_t bytes) override { charged -= bytes; }

  uint64_t limit = 512u * 1024, charged = 0;
};

TEST_F(OpenPortTest, MemoryIsChargedToThePortsOwner) {
  BoundedOwner owner;
  const PortOptions options{.slots = 2, .edges = 8, .cell_bytes = 100'000, .owner = &owner};
  const auto port = engine_.OpenPort(options, &sink_);  // 2 scratch regions of 128 KiB
  ASSERT_TRUE(port.ok());
  EXPECT_EQ(owner.charged, 256u * 1024);
  ASSERT_TRUE(engine_.AddEdge(*port, Incarnation(2)).ok());
  EXPECT_THAT(engine_.AddEdge(*port, Incarnation(3)).status(),
              FailsWith(absl::StatusCode::kResourceExhausted, "charged=524288"));
  EXPECT_TRUE(engine_.OpenPort({.slots = 4, .cell_bytes = 100'000}, &sink_).ok()) << "others may go on";
  EXPECT_EQ(engine_.stats().memory_reserved_bytes, 1024u * 1024);
  owner.limit *= 2;
  EXPECT_TRUE(absl::IsResourceExhausted(engine_.AddEdge(*port, Incarnation(3)).status())) << "the engine's own limit";
  EXPECT_EQ(owner.charged, 512u * 1024) << "what is refused is not charged";
  engine_.RemoveEdge(*port, 0);
  EXPECT_EQ(owner.charged, 256u * 1024);
  ASSERT_TRUE(engine_.AddEdge(*port, Incarnation(3)).ok());
  engine_.ClosePort(*port);
  EXPECT_EQ(owner.charged, 0u);
}

TEST_F(OpenPortTest, AClosedPortsNumberIsRefusedEverywhere) {
  const PortId port = *engine_.OpenPort({.edges = 1}, &sink_);
  engine_.ClosePort(port);
  engine_.ClosePort(port);
  const PortId next = *engine_.OpenPort({.edges = 1}, &sink_);
  EXPECT_FALSE(next == port);
  uint8_t byte = 0;
  EXPECT_TRUE(absl::IsNotFound(engine_.BindRegion(port, 0, &byte, 1, true)));
  EXPECT_TRUE(absl::IsNotFound(engine_.AddEdge(port, Incarnation(2)).status()));
  EXPECT_TRUE(absl::IsNotFound(engine_.SetRemoteLabel(port, 0, Label{1})));
  EXPECT_TRUE(absl::IsNotFound(engine_.Post(port, {}, {EventOf(1)})));
  EXPECT_TRUE(absl::IsNotFound(engine_.Count(port, 0, 1, 0)));
  EXPECT_TRUE(absl::IsNotFound(engine_.ExpectHash(port, CallSeq(0), 1)));
  EXPECT_TRUE(absl::IsNotFound(engine_.FinishCall(port, CallSeq(0))));
  EXPECT_EQ(engine_.Finished(port), CallSeq(0));
  EXPECT_EQ(engine_.CellRegion(port, 0, 0), kNoRegion);
  EXPECT_EQ(engine_.ScratchRegion(port, 0), kNoRegion);
  EXPECT_EQ(engine_.ReadCounter(port, 0), CounterValue{});
  MpPacket packet;
  uint32_t bytes;
  EXPECT_FALSE(engine_.PopPacket(port, &packet, &bytes));
  engine_.RemoveEdge(port, 0);
}

TEST(ClosePortTest, ArmedSequencesAndTheirEventsAreGone) {
  SingleEngine one({.slots = 2, .edges = 1});
  one.Arm({.counter = 0, .threshold = 1}, {EventOf(1)});
  one.Arm({}, {EventOf(2)});
  one.engine.ClosePort(one.port);
  one.Run();
  EXPECT_TRUE(one.sink.events.empty());
  one.Deliver(0, {one.From(0, RecordKind::kPacket, 0, 0)});
  EXPECT_EQ(one.engine.stats().dropped_label, 1u);
}

TEST(ClosePortTest, FromWithinItsOwnEvent) {
  SingleEngine one({.slots = 2});
  one.sink.on_event = [&](PortId port, uint64_t, bool) { one.engine.ClosePort(port); };
  one.Arm({}, {EventOf(1), EventOf(2), CountOf(0)});
  one.Arm({}, {EventOf(3)});
  one.Run();
  EXPECT_EQ(one.sink.events, (Events{{1, false}}));
  EXPECT_TRUE(one.engine.OpenPort({}, &one.sink).ok());
}

TEST(ClosePortTest, FromWithinItsOwnMismatch) {
  SingleEngine one({.slots = 2, .edges = 1});
  one.sink.on_mismatch = [&](PortId port) { one.engine.ClosePort(port); };
  one.Expect(0, 1);
  one.Deliver(0, {one.From(0, RecordKind::kPacket, 0, 0), one.From(0, RecordKind::kPacket, 0, 1)});
  EXPECT_EQ(one.sink.mismatches.size(), 1u);
  EXPECT_EQ(one.engine.stats().dropped_label, 1u);
}

// --- Regions ---

class RegionTest : public ::testing::Test {
 protected:
  // Whether a copy from one region reference to another succeeds.
  bool Copies(MemoryRef source, MemoryRef target, uint32_t bytes) {
    one_.PostAndRun({CopyOf(source, target, bytes), EventOf(0)});
    return !one_.sink.TakeEvents().back().failed;
  }

  SingleEngine one_{{.slots = 2, .regions = 4, .edges = 2, .cell_bytes = 1000}};
  std::vector<uint8_t> memory_ = std::vector<uint8_t>(100);
};

TEST_F(RegionTest, BoundsAndWritabilityAreCheckedWhenTheDescriptorRuns) {
  one_.Bind(0, memory_.data(), 50, false);
  one_.Bind(1, memory_.data() + 50, 50, true);
  memory_[3] = 42;
  EXPECT_TRUE(Copies({0, 0}, {1, 0}, 50));
  EXPECT_EQ(memory_[53], 42);
  EXPECT_FALSE(Copies({1, 0}, {0, 0}, 1));           // read-only
  EXPECT_FALSE(Copies({0, 0}, {1, 0}, 51));          // too long
  EXPECT_FALSE(Copies({0, 49}, {1, 0}, 2));          // over the end
  EXPECT_FALSE(Copies({0, UINT64_MAX}, {1, 0}, 2));  // wraps around
  EXPECT_FALSE(Copies({2, 0}, {1, 0}, 1));           // never bound
  EXPECT_TRUE(Copies({2, 0}, {1, 0}, 0));            // zero bytes access nothing
  one_.Bind(0, nullptr, 0, false);
  EXPECT_FALSE(Copies({0, 0}, {1, 0}, 1));  // unbound again
}

TEST_F(RegionTest, ARegionThatWasNeverBoundMayBeUnbound) {
  one_.Bind(0, nullptr, 0, false);
  EXPECT_FALSE(Copies({0, 0}, {0, 0}, 1));
}

TEST_F(RegionTest, CellsAndScratchAreMadeOnFirstUseAndReturned) {
  const RegionIndex cell = one_.engine.CellRegion(one_.port, 0, 1);
  const RegionIndex scratch = one_.engine.ScratchRegion(one_.port, 1);
  one_.Bind(0, memory_.data(), 100, true);
  memory_[0] = 7;
  one_.Finish(0);
  EXPECT_EQ(one_.engine.stats().memory_used_bytes, 0u);
  EXPECT_TRUE(Copies({0, 0}, {cell, 900}, 100));
  EXPECT_GE(one_.engine.stats().memory_used_bytes, 1000u);
  EXPECT_TRUE(Copies({cell, 900}, {scratch, 0}, 100));
  EXPECT_TRUE(Copies({scratch, 0}, {0, 50}, 1));
  EXPECT_EQ(memory_[50], 7);
  EXPECT_FALSE(Copies({0, 0}, {cell, 901}, 100));
  one_.engine.RemoveEdge(one_.port, 1);
  EXPECT_FALSE(Copies({one_.engine.CellRegion(one_.port, 1, 0), 0}, {0, 0}, 1));
  one_.Finish(1);
  EXPECT_EQ(one_.engine.stats().memory_used_bytes, 0u);
}

TEST_F(RegionTest, AnotherPortsDataIsNeverSeen) {
  std::memset(memory_.data(), 0xaa, 100);
  one_.Bind(0, memory_.data(), 100, true);
  EXPECT_TRUE(Copies({0, 0}, {one_.engine.ScratchRegion(one_.port, 0), 0}, 100));
  one_.engine.ClosePort(one_.port);
  one_.port = *one_.engine.OpenPort({.slots = 2, .cell_bytes = 1000}, &one_.sink);
  one_.Bind(0, memory_.data(), 100, true);
  EXPECT_TRUE(Copies({one_.engine.ScratchRegion(one_.port, 1), 0}, {0, 0}, 100));
  EXPECT_EQ(memory_, std::vector<uint8_t>(100, 0));
}

TEST_F(RegionTest, BindRefusesIndicesBeyondTheTable) {
  EXPECT_TRUE(absl::IsInvalidArgument(one_.engine.BindRegion(one_.port, 4, memory_.data(), 1, true)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      one_.engine.BindRegion(one_.port, one_.engine.CellRegion(one_.port, 0, 0), memory_.data(), 1, true)));
}

// --- Edges ---

TEST(EdgeTest, LabelsAreDistinctNonZeroAndFollowFromTheIncarnation) {
  std::set<uint32_t> seen;
  std::vector<Label> first;
  for (int run = 0; run < 2; ++run) {
    SingleEngine one({.edges = 100});
    if (run == 0) first = one.labels;
    EXPECT_EQ(one.labels, first);
    for (int i = 0; i < 1000; ++i) {
      one.engine.RemoveEdge(one.port, 0);
      const auto edge = one.engine.AddEdge(one.port, Incarnation(2));
      ASSERT_TRUE(edge.ok());
      EXPECT_EQ(edge->edge, 0u);
      EXPECT_EQ(seen.insert(static_cast<uint32_t>(edge->label)).second, run == 0);
    }
  }
  EXPECT_EQ(seen.count(0), 0u);
}

TEST(EdgeTest, LabelThatIsWantedIsIssuedOnce) {
  SingleEngine one({.edges = 3});
  one.engine.RemoveEdge(one.port, 0);
  one.engine.RemoveEdge(one.port, 1);
  const auto edge = one.engine.AddEdge(one.port, Incarnation(2), Label{77});
  ASSERT_TRUE(edge.ok());
  EXPECT_EQ(edge->label, Label{77});
  EXPECT_TRUE(absl::IsAlreadyExists(one.engine.AddEdge(one.port, Incarnation(2), Label{77}).status()));
  one.engine.RemoveEdge(one.port, edge->edge);
  EXPECT_TRUE(one.engine.AddEdge(one.port, Incarnation(2), Label{77}).ok());
}

TEST(EdgeTest, RefusesMoreThanThePortHas) {
  SingleEngine one({.edges = 1});
  EXPECT_TRUE(absl::IsInvalidArgument(one.engine.AddEdge(one.port, Incarnation(2)).status()));
  EXPECT_TRUE(absl::IsNotFound(one.engine.SetRemoteLabel(one.port, 1, Label{5})));
  EXPECT_TRUE(absl::IsInvalidArgument(one.engine.SetRemoteLabel(one.port, 0, kNoLabel)));
}

TEST(EdgeTest, SendsWaitForTheLabelInOrder) {
  SingleEngine one({.slots = 2, .edges = 2});
  one.engine.RemoveEdge(one.port, 1);
  const auto edge = *one.engine.AddEdge(one.port, Incarnation(70));
  one.Arm({}, {SendOf(edge.edge, 1, 0), EventOf(1)});
  one.Arm({}, {SendOf(edge.edge, 2, 0), EventOf(2)});
  one.Run();
  EXPECT_TRUE(one.sink.events.empty());
  EXPECT_TRUE(one.transport.sent.empty());
  ASSERT_TRUE(one.engine.SetRemoteLabel(one.port, edge.edge, Label{77}).ok());
  one.Run();
  EXPECT_EQ(one.sink.events, (Events{{1, false}, {2, false}}));
  ASSERT_EQ(one.transport.sent.size(), 1u);  // one frame
  EXPECT_EQ(one.transport.sent[0].first, Incarnation(70));
  const auto records = one.transport.TakeRecords();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].record.header.label, 77u);
  EXPECT_EQ(records[0].record.counter, 1u);
  EXPECT_EQ(records[1].record.counter, 2u);
}

TEST(EdgeTest, WhatWaitsForARemovedEdgeFails) {
  SingleEngine one({.slots = 2, .edges = 2});
  one.engine.RemoveEdge(one.port, 1);
  const auto edge = *one.engine.AddEdge(one.port, Incarnation(70));
  Descriptor get = GetOf(0, 0, 0, {0, 0}, 0, 1);
  one.Arm({}, {SendOf(edge.edge, 1, 0), EventOf(1)});
  one.Arm({}, {get});
  one.Run();
  one.engine.RemoveEdge(one.port, edge.edge);
  one.engine.RemoveEdge(one.port, 0);
  one.engine.RemoveEdge(one.port, 0);
  one.Run();
  EXPECT_EQ(one.sink.events, (Events{{1, true}}));
  EXPECT_EQ(one.Counter(1), (CounterValue{0, 1}));
}

}  // namespace
}  // namespace copse::emu
