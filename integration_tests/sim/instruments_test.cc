// SPDX-License-Identifier: Apache-2.0
//
// Tests histograms and traces of a simulated cluster: they show the actual events, and are equal for equal seeds.
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "daemon/core/calls/instruments.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"
#include "integration_tests/sim/sim_cluster.h"
#include "offload_emu/trace_ring.h"

namespace copse::scenario {
namespace {

using emu::TraceKind;
using emu::TraceRecord;
using schedule::CallPart;
using schedule::LatencyStatus;

constexpr uint32_t kNodes = 4;
constexpr uint32_t kRanks = 7;
constexpr uint32_t kCalls = 40;

struct Seen {
  std::vector<std::vector<LatencyStatus>> latencies;  // by node
  std::vector<std::vector<TraceRecord>> traces;
};

Seen Watch(uint64_t seed) {
  const auto cluster = MakeSimCluster({.jitter_max = absl::Microseconds(50)});
  EXPECT_TRUE(cluster->Start({.nodes = kNodes, .seed = seed, .instruments = true}).ok());
  std::vector<CallArguments> calls;
  for (uint32_t i = 0; i < kCalls; ++i) calls.push_back(RandomCall(kRanks, seed * 1000 + i));
  ExpectAllSucceed(cluster.get(), TeamPrograms("seen", UnevenPlacement(kRanks, kNodes, 1), calls, seed),
                   absl::Minutes(10));
  Seen seen;
  for (uint32_t n = 0; n < kNodes; ++n) {
    seen.latencies.push_back(cluster->instruments(n)->latencies().Rows());
    seen.traces.emplace_back();
    cluster->instruments(n)->trace()->Read(0, ~0u, &seen.traces.back());
  }
  return seen;
}

bool Same(const std::vector<std::vector<TraceRecord>>& a, const std::vector<std::vector<TraceRecord>>& b) {
  for (size_t n = 0; n < a.size(); ++n) {
    if (a[n].size() != b[n].size()) return false;
    if (std::memcmp(a[n].data(), b[n].data(), a[n].size() * sizeof(TraceRecord)) != 0) return false;
  }
  return true;
}

TEST(SimInstrumentsTest, SameSeedSameHistogramsAndTrace) {
  const Seen first = Watch(5);
  const Seen second = Watch(5);
  const Seen other = Watch(6);
  EXPECT_EQ(first.latencies, second.latencies);
  EXPECT_TRUE(Same(first.traces, second.traces));
  EXPECT_NE(first.latencies, other.latencies);
  EXPECT_FALSE(Same(first.traces, other.traces));
}

TEST(SimInstrumentsTest, EachCallIsThereOnceARank) {
  const Seen seen = Watch(7);
  std::map<std::pair<uint32_t, uint32_t>, int> posted;  // by rank, call
  std::map<std::pair<uint32_t, uint32_t>, int> completed;
  uint64_t calls = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
  for (uint32_t n = 0; n < kNodes; ++n) {
    for (const TraceRecord& r : seen.traces[n]) {
      if (r.kind == TraceKind::kCallPosted) ++posted[{r.peer, r.call}];
      if (r.kind == TraceKind::kCallCompleted) ++completed[{r.peer, r.call}];
      sent += r.kind == TraceKind::kPacketSent;
      received += r.kind == TraceKind::kPacketReceived;
    }
    for (const LatencyStatus& row : seen.latencies[n]) {
      if (row.part != CallPart::kCall) continue;
      for (const auto& [bucket, count] : row.buckets) calls += count;
    }
  }
  EXPECT_EQ(posted.size(), kRanks * kCalls);
  EXPECT_EQ(posted, completed);
  EXPECT_EQ(calls, kRanks * kCalls);
  EXPECT_GT(sent, 0u);
  EXPECT_EQ(sent, received);
}

// One rank of node 0 is 3 s late: its neighbor there waits for it, the others for the network.
TEST(SimInstrumentsTest, TheLateRankIsFoundByItsParts) {
  const auto cluster = MakeSimCluster();
  ASSERT_TRUE(cluster->Start({.nodes = 2, .instruments = true}).ok());
  std::vector<Program> programs = TeamPrograms("late", {0, 0, 1}, {{.collective = Collective::kBarrier}}, 1);
  programs[1].script.insert(programs[1].script.begin() + 1, PauseStep(absl::Seconds(3)));
  ExpectAllSucceed(cluster.get(), programs, absl::Minutes(1));
  const auto max_s = [&](uint32_t node, CallPart part) {
    for (const LatencyStatus& row : cluster->instruments(node)->latencies().Rows()) {
      if (row.part == part) return static_cast<double>(row.max_ns) / 1e9;
    }
    return -1.0;
  };
  EXPECT_NEAR(max_s(0, CallPart::kCall), 3, 0.1);
  EXPECT_NEAR(max_s(0, CallPart::kRanks), 3, 0.1);
  EXPECT_LT(max_s(0, CallPart::kNetwork), 0.1);
  EXPECT_NEAR(max_s(1, CallPart::kCall), 3, 0.1);
  EXPECT_EQ(max_s(1, CallPart::kRanks), 0);
  EXPECT_NEAR(max_s(1, CallPart::kNetwork), 3, 0.1);
}

// A broken team and an epoch switch appear in the trace.
TEST(SimInstrumentsTest, EpochsAndLossesAreTraced) {
  const auto cluster = MakeSimCluster();
  ASSERT_TRUE(cluster->Start({.nodes = 2, .instruments = true}).ok());
  std::vector<Program> programs = TeamPrograms("ends", {0, 1}, {{.collective = Collective::kBarrier}}, 1);
  for (Program& program : programs) program.script.back() = PauseStep(absl::Hours(1));
  const uint32_t first = cluster->Launch(programs);
  for (uint32_t p = 0; p < 2; ++p) ASSERT_TRUE(cluster->AwaitOutcomes(first + p, 2, absl::Minutes(1)).ok());
  cluster->Pass(absl::Seconds(1));
  const absl::Status replanned = cluster->Replan("ends", "");
  ASSERT_TRUE(replanned.ok()) << replanned;
  cluster->KillProcess(first);
  cluster->Pass(absl::Seconds(2));
  std::vector<TraceRecord> records;
  cluster->instruments(1)->trace()->Read(0, ~0u, &records);
  std::vector<uint32_t> epochs;
  std::vector<uint32_t> failures;
  for (const TraceRecord& r : records) {
    if (r.kind == TraceKind::kEpochSwitch) epochs.push_back(r.subject);
    if (r.kind == TraceKind::kTeamBroken) failures.push_back(r.subject);
  }
  EXPECT_EQ(epochs, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(failures, (std::vector<uint32_t>{static_cast<uint32_t>(schedule::Failure::kMemberLost)}));
}

}  // namespace
}  // namespace copse::scenario
