// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/traces.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::trace {
namespace {

using testing::FailsWith;
using tnbc::TraceCall;
using tnbc::TraceFile;
using tnbc::TracePiece;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
using Order = std::vector<uint32_t>;

constexpr uint64_t kMs = 1'000'000;

TracePiece PieceOf(Order parts, uint64_t there, std::optional<uint64_t> touch, uint64_t waited = 0) {
  TracePiece piece;
  piece.bytes = 4096;
  piece.parts = std::move(parts);
  piece.there = there;
  piece.touch = touch;
  piece.waited = waited;
  return piece;
}

TraceCall CallOf(uint64_t number, std::vector<TracePiece> pieces) {
  TraceCall call;
  call.number = number;
  call.early = true;
  call.inside = 2 * kMs;
  call.parts = 3;
  call.order = {0, 1, 2};
  call.pieces = std::move(pieces);
  return call;
}

// Makes a trace of a launch of two ranks, whose calls access fragment 2, then 1, then 0.
TraceFile FileOf(uint32_t rank) {
  TraceFile file;
  file.rank = rank;
  file.ranks = 2;
  file.launch = 5;
  file.sites = {{"app", 16, "main"}};
  file.kinds = {{77, 2, rank, "bcast", 4}};
  file.calls = {CallOf(1, {PieceOf({0}, 1 * kMs, 9 * kMs), PieceOf({1}, 2 * kMs, 6 * kMs),
                           PieceOf({2}, 3 * kMs, 1 * kMs, 2 * kMs)}),
                CallOf(2, {PieceOf({0}, 1 * kMs, 9 * kMs), PieceOf({1}, 2 * kMs, 6 * kMs),
                           PieceOf({2}, 3 * kMs, 1 * kMs, 2 * kMs)})};
  return file;
}
Traces Both() { return {2, {FileOf(0), FileOf(1)}}; }

TEST(FirstTouchesTest, PagesOfSeveralPartsCountWhereAPartHasNoOthers) {
  const TraceCall call = CallOf(1, {PieceOf({0}, 0, 50), PieceOf({0, 1}, 0, 10), PieceOf({2}, 0, std::nullopt)});
  EXPECT_EQ(FirstTouches(call), (std::vector<uint64_t>{50, 10, UINT64_MAX}));
}

TEST(SummarizeTest, TellsWhatWaitedAndWhatNeedNotHave) {
  const std::vector<SiteSummary> sites = Summarize(Both());
  ASSERT_EQ(sites.size(), 1u);
  const SiteSummary& site = sites[0];
  EXPECT_EQ(site.site, "app+0x10 (main)");
  EXPECT_EQ(site.ranks, 2u);
  EXPECT_EQ(site.calls, 4u);
  EXPECT_EQ(site.early, 4u);
  EXPECT_EQ(site.pieces, 12u);
  EXPECT_EQ(site.untouched, 0u);
  EXPECT_DOUBLE_EQ(site.inside, 2 * kMs);
  EXPECT_DOUBLE_EQ(site.there, 3 * kMs);
  EXPECT_DOUBLE_EQ(site.waited, 2 * kMs);
  EXPECT_DOUBLE_EQ(site.waited_at_best, 0);  // data accessed at 1 ms could have arrived then
  EXPECT_EQ(site.order, (Order{2, 1, 0}));
  ASSERT_EQ(site.parts.size(), 3u);
  EXPECT_DOUBLE_EQ(site.parts[2].there, 3 * kMs);
  EXPECT_DOUBLE_EQ(site.parts[2].touch, 1 * kMs);
  EXPECT_DOUBLE_EQ(site.parts[2].waited, 2 * kMs);
}

TEST(SummarizeTest, WhatIsWantedAtOnceWaitsInAnyOrder) {
  Traces traces = {1, {FileOf(0)}};
  traces.files[0].calls = {CallOf(1, {PieceOf({0}, 4 * kMs, 3 * kMs, 1 * kMs), PieceOf({1}, 3 * kMs, 0, 3 * kMs),
                                      PieceOf({2}, 9 * kMs, std::nullopt)})};
  const std::vector<SiteSummary> sites = Summarize(traces);
  EXPECT_DOUBLE_EQ(sites[0].waited, 4 * kMs);
  EXPECT_DOUBLE_EQ(sites[0].waited_at_best, 4 * kMs);
  EXPECT_EQ(sites[0].untouched, 1u);
}

TEST(WantedOrdersTest, IsWhatMostTouchFirst) {
  Traces traces = Both();
  // One call has another order, and one accesses nothing.
  traces.files[1].calls[0].pieces = {PieceOf({0}, 0, 1), PieceOf({1}, 0, 2), PieceOf({2}, 0, 3)};
  traces.files[1].calls[1].pieces.clear();
  const auto orders = WantedOrders(traces);
  ASSERT_EQ(orders.size(), 1u);
  const CommonOrder& wanted = orders.begin()->second.all;
  EXPECT_EQ(wanted.order, (Order{2, 1, 0}));
  EXPECT_EQ(wanted.calls, 3u);
  EXPECT_EQ(wanted.in_order, 2u);
}

// Two places of a program make calls of one kind, one of them more often.
TEST(WantedOrdersTest, IsTheOrderOfMostCallsAndNoMixture) {
  Traces traces = {1, {FileOf(0)}};
  const auto touched = [](const Order& order) {
    std::vector<TracePiece> pieces;
    for (uint32_t i = 0; i < order.size(); ++i) pieces.push_back(PieceOf({order[i]}, 0, i));
    return CallOf(1, pieces);
  };
  traces.files[0].calls = {touched({2, 0, 1}), touched({0, 1, 2}), touched({2, 0, 1}), touched({0, 1, 2}),
                           touched({2, 0, 1})};
  const CommonOrder wanted = WantedOrders(traces).begin()->second.all;
  EXPECT_EQ(wanted.order, (Order{2, 0, 1}));
  EXPECT_EQ(wanted.in_order, 3u);
}

// Makes a call at one of two places that accesses fragments in this order.
TraceCall CallAt(uint32_t site, uint64_t number, const Order& touched) {
  std::vector<TracePiece> pieces;
  for (uint32_t i = 0; i < touched.size(); ++i) pieces.push_back(PieceOf({touched[i]}, 0, i));
  TraceCall call = CallOf(number, std::move(pieces));
  call.site = site;
  return call;
}

const Order kForward = {0, 1, 2}, kBackward = {2, 1, 0};

// Makes traces of two ranks: `before` calls at a place of their own, then `calls` of which every other one is read
// backwards.
Traces InTurn(uint32_t before, uint32_t calls) {
  Traces traces = Both();
  for (TraceFile& file : traces.files) {
    file.sites = {{"app", 16, "main"}, {"app", 32, "main"}, {"app", 48, "warm_up"}};
    file.calls.clear();
    for (uint64_t number = 1; number <= before; ++number) file.calls.push_back(CallAt(2, number, kForward));
    for (uint32_t i = 0; i < calls; ++i) {
      file.calls.push_back(CallAt(i % 2, before + i + 1, i % 2 == 0 ? kForward : kBackward));
    }
  }
  return traces;
}

WantedOrder WantedOf(const Traces& traces) {
  const auto orders = WantedOrders(traces);
  EXPECT_EQ(orders.size(), 1u);
  return orders.begin()->second;
}

TEST(WantedOrdersTest, PlacesThatTakeTurnsHaveOrdersOfTheirOwn) {
  const WantedOrder wanted = WantedOf(InTurn(3, 8));
  EXPECT_EQ(wanted.all.order, kForward);
  EXPECT_EQ(wanted.all.calls, 22u);
  EXPECT_EQ(wanted.all.in_order, 14u);
  EXPECT_EQ(wanted.first, 4u);
  ASSERT_EQ(wanted.slots.size(), 2u);
  EXPECT_EQ(wanted.slots[0].site, "app+0x10 (main)");
  EXPECT_EQ(wanted.slots[0].common.order, kForward);
  EXPECT_EQ(wanted.slots[1].site, "app+0x20 (main)");
  EXPECT_EQ(wanted.slots[1].common.order, kBackward);
  EXPECT_EQ(wanted.slots[1].common.calls, 8u);
  EXPECT_EQ(wanted.slots[1].common.in_order, 8u);
  EXPECT_EQ(wanted.why_none, "");
}

TEST(WantedOrdersTest, RanksMayCallFromPlacesOfTheirOwn) {
  Traces traces = InTurn(0, 8);
  traces.files[1].sites[0].offset = 64;
  const WantedOrder wanted = WantedOf(traces);
  ASSERT_EQ(wanted.slots.size(), 2u);
  EXPECT_EQ(wanted.slots[0].site, "app+0x10 (main) or app+0x40 (main)");
  EXPECT_EQ(wanted.slots[0].common.calls, 8u);
}

// Calls with another number of fragments share the numbering of their kind.
TEST(WantedOrdersTest, TheTurnOfCallsOfOtherPartsHasTheOrderOfAll) {
  Traces traces = InTurn(0, 0);
  for (TraceFile& file : traces.files) {
    for (uint32_t i = 0; i < 9; ++i) file.calls.push_back(CallAt(i % 3, i + 1, i % 3 == 0 ? kForward : kBackward));
    for (uint32_t i = 2; i < 9; i += 3) {
      file.calls[i].parts = 2;
      file.calls[i].order = {0, 1};
      file.calls[i].pieces.erase(file.calls[i].pieces.begin());
    }
  }
  const auto orders = WantedOrders(traces);
  ASSERT_EQ(orders.size(), 2u);
  for (const auto& [key, wanted] : orders) {
    EXPECT_EQ(wanted.slots.size(), key.parts == 2 ? 0u : 3u);  // a single place's order is that of all its calls
    EXPECT_EQ(wanted.why_none, "");
    if (key.parts == 2) continue;
    EXPECT_EQ(wanted.slots[0].common.order, kForward);
    EXPECT_EQ(wanted.slots[1].common.order, kBackward);
    EXPECT_EQ(wanted.slots[2].common.order, wanted.all.order);
    EXPECT_EQ(wanted.slots[2].common.calls, 0u);
    EXPECT_EQ(wanted.slots[2].site, "app+0x30 (warm_up)");
  }
}

TEST(WantedOrdersTest, PlacesThatWantTheSameNeedNoTurns) {
  Traces traces = InTurn(0, 8);
  for (TraceFile& file : traces.files) {
    for (TraceCall& call : file.calls) call.pieces = CallAt(0, 1, kBackward).pieces;
  }
  EXPECT_EQ(WantedOf(traces).all.order, kBackward);
  EXPECT_TRUE(WantedOf(traces).slots.empty());
}

TEST(WantedOrdersTest, WhereRanksDifferThereIsOneOrder) {
  Traces traces = InTurn(0, 8);
  for (const uint32_t i : {1, 2, 5}) traces.files[1].calls[i].site = 1 - traces.files[1].calls[i].site;
  const WantedOrder wanted = WantedOf(traces);
  EXPECT_TRUE(wanted.slots.empty());
  EXPECT_EQ(wanted.why_none,
            "ranks differ: on rank 0 places take turns in a period of 2 from call 1, on rank 1 in no period of up to "
            "16");
  EXPECT_EQ(wanted.all.calls, 16u);
  EXPECT_TRUE(Disagreements(traces).empty());
}

TEST(ProfileOfTest, HasEveryKind) {
  const auto profile = ProfileOf(Both());
  ASSERT_TRUE(profile.ok());
  ASSERT_NE(profile->Find({77, "bcast", 4, 3}, 1), nullptr);
  EXPECT_EQ(*profile->Find({77, "bcast", 4, 3}, 1), (Order{2, 1, 0}));
  EXPECT_TRUE(absl::IsFailedPrecondition(ProfileOf({2, {FileOf(0)}}).status()));
}

TEST(ProfileOfTest, HasSlotsFromTheFirstCallThatTakesTurns) {
  const auto profile = ProfileOf(InTurn(3, 8));
  ASSERT_TRUE(profile.ok());
  const tnbc::ProfileKey key = {77, "bcast", 4, 3};
  for (const uint64_t call : {1, 2, 3, 4, 6, 100}) EXPECT_EQ(*profile->Find(key, call), kForward) << call;
  for (const uint64_t call : {5, 7, 101}) EXPECT_EQ(*profile->Find(key, call), kBackward) << call;
}

TEST(DisagreementsTest, NamesTheCallAndTheRanks) {
  EXPECT_TRUE(Disagreements(Both()).empty());
  Traces traces = Both();
  traces.files[1].calls[1].order = {2, 1, 0};
  EXPECT_EQ(Disagreements(traces),
            (std::vector<std::string>{"call 2 of bcast, over 256 KiB: rank 1 was brought 2,1,0, rank 0 0,1,2"}));
  traces = Both();
  traces.files[1].calls.pop_back();
  EXPECT_EQ(Disagreements(traces), (std::vector<std::string>{"call 2 of bcast, over 256 KiB: on 1 of 2 ranks"}));
  traces.files[1].left_out = 1;
  EXPECT_TRUE(Disagreements(traces).empty());
  traces.files.pop_back();
  EXPECT_EQ(Disagreements(traces), (std::vector<std::string>{"traces of 1 of 2 ranks are missing"}));
}

class ReadTracesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/traces";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ + "/" + name) << text; }
  absl::Status Error() { return ReadTraces(folder_).status(); }

  std::string folder_;
};

TEST_F(ReadTracesTest, ReadsAllByRank) {
  Write("1.copse-trace", tnbc::FormatTrace(FileOf(1)));
  Write("0.copse-trace", tnbc::FormatTrace(FileOf(0)));
  Write("notes", "other");
  const auto traces = ReadTraces(folder_);
  ASSERT_TRUE(traces.ok()) << traces.status();
  EXPECT_EQ(traces->ranks, 2u);
  ASSERT_EQ(traces->files.size(), 2u);
  EXPECT_EQ(traces->files[0], FileOf(0));
  EXPECT_EQ(traces->files[1], FileOf(1));
}

TEST_F(ReadTracesTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error(), FailsWith(absl::StatusCode::kNotFound, folder_, "*.copse-trace"));
  Write("0.copse-trace", tnbc::FormatTrace(FileOf(0)));
  Write("1.copse-trace", tnbc::FormatTrace(FileOf(0)));
  EXPECT_THAT(Error(), FailsWith(kInvalid, folder_, "rank=0"));
  TraceFile other = FileOf(1);
  other.launch = 6;
  Write("1.copse-trace", tnbc::FormatTrace(other));
  EXPECT_THAT(Error(), FailsWith(kInvalid, folder_ + "/1.copse-trace"));
  Write("1.copse-trace", "copse-trace 1\nprocess rank=x\n");
  EXPECT_THAT(Error(), FailsWith(kInvalid, folder_ + "/1.copse-trace", "line 2", "process", "ranks"));
  EXPECT_TRUE(absl::IsNotFound(ReadTraces(folder_ + "/none").status()));
}

}  // namespace
}  // namespace copse::trace
