// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/instruments.h"

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using schedule::CallPart;

const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

TEST(CallLatenciesTest, SizeClassesArePowersOfTwo) {
  EXPECT_EQ(CallLatencies::ClassOf(0), 0u);
  EXPECT_EQ(CallLatencies::ClassOf(1), 1u);
  EXPECT_EQ(CallLatencies::ClassOf(63), 6u);
  EXPECT_EQ(CallLatencies::ClassOf(64), 7u);
  EXPECT_EQ(CallLatencies::ClassOf(~uint64_t{0}), CallLatencies::kSizeClasses - 1);
}

TEST(CallLatenciesTest, EachCallIsWithinItsClass) {
  for (const uint64_t bytes :
       {uint64_t{1} << 30, (uint64_t{1} << 31) - 1, uint64_t{1} << 31, schedule::kCallBytesMax}) {
    CallLatencies latencies;
    latencies.Record(Collective::kBcast, bytes, CallPart::kCall, absl::Seconds(1));
    const std::vector<schedule::LatencyStatus> rows = latencies.Rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_LE(rows[0].bytes_min, bytes);
    EXPECT_GE(rows[0].bytes_max, bytes);
  }
}

TEST(CallLatenciesTest, RowsNameClassAndPart) {
  CallLatencies latencies;
  EXPECT_TRUE(latencies.Rows().empty());
  latencies.Record(Collective::kAllreduce, 48, CallPart::kCall, absl::Microseconds(3));
  latencies.Record(Collective::kAllreduce, 63, CallPart::kCall, absl::Microseconds(3));
  latencies.Record(Collective::kAllreduce, 48, CallPart::kNetwork, -absl::Microseconds(3));  // no clock does this
  latencies.Record(Collective::kBarrier, 99, CallPart::kRanks, absl::Hours(2));
  const std::vector<schedule::LatencyStatus> rows = latencies.Rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].collective, Collective::kBarrier);
  EXPECT_EQ(rows[0].bytes_max, 0u);
  EXPECT_EQ(rows[0].max_ns, uint64_t{7200} * 1'000'000'000);
  EXPECT_EQ(rows[1].collective, Collective::kAllreduce);
  EXPECT_EQ(rows[1].part, CallPart::kCall);
  EXPECT_EQ(rows[1].bytes_min, 32u);
  EXPECT_EQ(rows[1].bytes_max, 63u);
  EXPECT_EQ(rows[1].sum_ns, 6000u);
  EXPECT_EQ(rows[1].buckets, (std::vector<std::pair<uint32_t, uint64_t>>{{Histogram::BucketOf(3000), 2}}));
  EXPECT_EQ(rows[2].part, CallPart::kNetwork);
  EXPECT_EQ(rows[2].max_ns, 0u);
}

TEST(InstrumentsTest, CallsAreCountedByCollectiveAndOutcome) {
  FakeClock clock;
  Instruments instruments(&clock, 0);
  EXPECT_EQ(instruments.trace(), nullptr);
  for (int i = 0; i < 3; ++i) {
    instruments.CallEnded(TeamId(1), CallSeq(i), Rank(0), 1, kSum, schedule::Failure::kNone);
  }
  instruments.CallEnded(TeamId(1), CallSeq(3), Rank(0), 1, kSum, schedule::Failure::kMemberLost);
  instruments.PostRefused();
  instruments.ClientWoken(1);
  std::map<std::string, uint64_t> counters;
  instruments.AppendCounters(&counters);
  EXPECT_EQ(counters, (std::map<std::string, uint64_t>{{"calls.allreduce.member_lost", 1},
                                                       {"calls.allreduce.ok", 3},
                                                       {"calls.barrier.ok", 0},
                                                       {"calls.bcast.ok", 0},
                                                       {"calls.reduce.ok", 0},
                                                       {"calls.refused", 1},
                                                       {"clients.woken", 1}}));
}

TEST(InstrumentsTest, ACallIsTracedFromPostToEnd) {
  FakeClock clock(absl::FromUnixSeconds(1));
  Instruments instruments(&clock, 16);
  instruments.CallPosted(TeamId(7), CallSeq(41), Rank(3), 9, kSum, clock.Now());
  instruments.CallJoined(TeamId(7), CallSeq(41), true, false, kSum);
  instruments.CallJoined(TeamId(7), CallSeq(41), false, true, kSum);
  instruments.CallEnded(TeamId(7), CallSeq(41), Rank(3), 9, kSum, schedule::Failure::kInternal);
  instruments.CallOver(TeamId(7), CallSeq(41));
  std::vector<emu::TraceRecord> records;
  instruments.trace()->Read(0, 100, &records);
  ASSERT_EQ(records.size(), 5u);
  const emu::TraceKind kinds[] = {emu::TraceKind::kCallPosted, emu::TraceKind::kCallArmed,
                                  emu::TraceKind::kRanksArrived, emu::TraceKind::kCallCompleted,
                                  emu::TraceKind::kCallOver};
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].kind, kinds[i]);
    EXPECT_EQ(records[i].team, 7u);
    EXPECT_EQ(records[i].call, 41u);
    EXPECT_EQ(records[i].time_ns, 1'000'000'000 + static_cast<int64_t>(i));
  }
  EXPECT_EQ(records[0].subject, 9u);
  EXPECT_EQ(records[0].peer, 3u);
  EXPECT_EQ(records[0].bytes, 48u);
  EXPECT_EQ(records[0].phase, 3u);
  EXPECT_EQ(records[3].flags, emu::kTraceFailed);
}

TEST(InstrumentsTest, AnOwnersPartOfATraceTellsNothingOfOthers) {
  FakeClock clock(absl::FromUnixSeconds(1));
  Instruments instruments(&clock, 16);
  instruments.CallOver(TeamId(7), CallSeq(1));  // of an earlier team with the same number
  instruments.CallOver(TeamId(7), CallSeq(2));
  instruments.CallOver(TeamId(8), CallSeq(3));
  instruments.ClientWoken(9);
  instruments.ClientWoken(10);
  for (const emu::TraceKind kind : {emu::TraceKind::kLoopSleep, emu::TraceKind::kLoopWake, emu::TraceKind::kFramesSent})
    instruments.trace()->Record({.kind = kind});
  instruments.CallOver(TeamId(7), CallSeq(4));
  const OwnRecords own{.teams = {{7, 1}}, .clients = {9}};
  const auto ask = [&](const OwnRecords* records, uint64_t from, uint32_t count) {
    return AnswerTrace({.from = from, .records = count}, records, &instruments, clock.Now());
  };
  const auto calls = [](const schedule::TraceReply& reply) {
    std::vector<uint32_t> made(reply.records.size() / sizeof(emu::TraceRecord));
    for (size_t i = 0; i < made.size(); ++i) {
      emu::TraceRecord record;
      std::memcpy(&record, &reply.records[i * sizeof(record)], sizeof(record));
      made[i] = record.kind == emu::TraceKind::kClientWoken ? 100 + record.subject : record.call;
    }
    return made;
  };
  const schedule::TraceReply all = ask(&own, 0, 100);
  EXPECT_EQ(calls(all), (std::vector<uint32_t>{2, 109, 4}));
  EXPECT_EQ(all.first, 0u);
  EXPECT_EQ(all.end, 9u);
  EXPECT_EQ(all.next, 9u);
  const schedule::TraceReply part = ask(&own, 4, 4);  // nothing of its own
  EXPECT_EQ(part.records, "");
  EXPECT_EQ(part.first, 4u);
  EXPECT_EQ(part.end, 8u);
  const OwnRecords nobodys;
  EXPECT_EQ(ask(&nobodys, 0, 100).records, "");
  EXPECT_EQ(calls(ask(nullptr, 0, 100)).size(), 9u);
  EXPECT_EQ(ask(nullptr, 0, 3).end, 3u);
}

TEST(InstrumentsTest, EveryFailureHasAName) {
  for (int f = 0; f <= static_cast<int>(schedule::Failure::kInternal); ++f) {
    EXPECT_NE(FailureName(static_cast<schedule::Failure>(f)), "unknown");
  }
  EXPECT_EQ(FailureName(schedule::Failure::kInternal), "internal");
}

}  // namespace
}  // namespace copse::daemon
