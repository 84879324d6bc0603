// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "cli/sim/barrier_model.h"
#include "cli/sim/call_sim.h"
#include "cli/sim/sim.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace copse::simcli {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using testing::Names;

Answer Call(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "barrier");
  return CallSim(arguments);
}
Json JsonOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-w", "json"});
  const Answer answer = Call(arguments);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  return Json::parse(answer.out, nullptr, false);
}

const CallArguments kBarrier = {.collective = Collective::kBarrier};

TEST(TriggerModelTest, AddsUpThePatentsExampleByHand) {
  // The tree is 4-nomial over 16 nodes: 0 is the root; 4, 8, 12 are below it with three leaves each; 1, 2, 3 are leaves
  // of the root. Up: a leaf's packet leaves after `send` and arrives `transfer` later; its parent takes three, one
  // after the other.
  const TriggerOverheads overheads = {.send_ns = 10, .transfer_ns = 1'000, .receive_ns = 30};
  const int64_t at_inner = 10 + 1'000 + 3 * 30;
  // The root has taken its leaves' packets long before those of 4, 8 and 12 arrive together.
  const int64_t at_root = at_inner + 10 + 1'000 + 3 * 30;
  const auto time = TimeOnTriggers("knomial-4", 16, kBarrier, overheads);
  ASSERT_TRUE(time.ok()) << time.status();
  // Down: the root sends to 4, 8, 12 and then to its leaves; 12 is the third, and its third leaf the last of all,
  // unless the root's sixth receiver is.
  const int64_t last_inner = at_root + 3 * 10 + 1'000 + 30;
  EXPECT_EQ(*time, last_inner + 3 * 10 + 1'000 + 30);
}

TEST(TriggerModelTest, WhatItSaysOfTheReceiverIsWhatItCharges) {
  const Json json = JsonOf({"--send", "10ns", "--transfer", "1us", "--nodes", "16"});
  EXPECT_EQ(json["overheads"]["receive_ns"], 10);
  EXPECT_EQ(json["trees"],
            JsonOf({"--send", "10ns", "--transfer", "1us", "--receive", "10ns", "--nodes", "16"})["trees"]);
}

TEST(TriggerModelTest, ArmingAndWakingCost) {
  const TriggerOverheads plain = {.send_ns = 10, .transfer_ns = 1'000, .receive_ns = 30};
  for (const auto member : {&TriggerOverheads::arm_ns, &TriggerOverheads::wake_ns, &TriggerOverheads::client_hop_ns}) {
    TriggerOverheads dear = plain;
    dear.*member = 100;
    EXPECT_GT(*TimeOnTriggers("kary-2", 30, kBarrier, dear), *TimeOnTriggers("kary-2", 30, kBarrier, plain) + 100);
  }
}

TEST(TriggerModelTest, SlowTransfersWantWideTreesAndBusyUnitsNarrowOnes) {
  const auto best = [](const TriggerOverheads& overheads) {
    int64_t least = INT64_MAX;
    int best_k = 0;
    for (const int k : {2, 4, 8, 16}) {
      const int64_t ns = *TimeOnTriggers(absl::StrCat("kary-", k), 256, kBarrier, overheads);
      if (ns < least) {
        least = ns;
        best_k = k;
      }
    }
    return best_k;
  };
  EXPECT_GE(best({.send_ns = 10, .transfer_ns = 10'000, .receive_ns = 10}), 8);
  EXPECT_LE(best({.send_ns = 1'000, .transfer_ns = 100, .receive_ns = 1'000}), 4);
}

TEST(TriggerModelTest, TheFitComesNearTheFiguresItIsMadeOf) {
  const auto fit = FitToPublished({.send_ns = 300, .transfer_ns = 1'000, .receive_ns = 300});
  ASSERT_TRUE(fit.ok()) << fit.status();
  for (const PublishedFigure& figure : PublishedFigures()) {
    if (figure.collective != Collective::kAllreduce) continue;
    CallArguments call = {.collective = figure.collective, .type = ElementType::kDouble, .count = 6};
    const auto ns = static_cast<double>(*TimeOnTriggers(figure.algorithm, figure.nodes, call, *fit));
    EXPECT_NEAR(ns / static_cast<double>(figure.ns), 1, 0.2) << figure.nodes;
  }
}

TEST(TriggerModelTest, OrderingsCompareWhatTheySay) {
  for (const PublishedOrdering& ordering : PublishedOrderings()) {
    EXPECT_FALSE(ordering.comparisons.empty());
    const auto holding = CountHolding(ordering, {.send_ns = 300, .transfer_ns = 1'000, .receive_ns = 300});
    ASSERT_TRUE(holding.ok()) << holding.status();
    const size_t count = ordering.comparisons.size();
    PublishedOrdering reversed = ordering;
    for (auto& comparison : reversed.comparisons) std::swap(comparison.faster, comparison.slower);
    const auto other = CountHolding(reversed, {.send_ns = 300, .transfer_ns = 1'000, .receive_ns = 300});
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(other->equal, holding->equal);
    EXPECT_EQ(holding->holding + holding->equal + other->holding, count);
  }
}

TEST(BarrierVerbTest, PicksTheBestForEachNumberOfNodes) {
  const Json json =
      JsonOf({"--send", "1us", "--transfer", "2us", "--receive", "1us", "--nodes", "16,64", "--fanouts", "2,4"});
  EXPECT_EQ(json["overheads"]["transfer_ns"], 2'000);
  EXPECT_EQ(json["overheads"]["wake_ns"], 0);
  ASSERT_EQ(json["trees"].size(), 8u);
  for (const int nodes : {16, 64}) {
    int64_t best = -1, least = INT64_MAX;
    for (const Json& tree : json["trees"]) {
      if (tree["nodes"] != nodes) continue;
      least = std::min(least, tree["ns"].get<int64_t>());
      if (tree["best"].get<bool>()) best = tree["ns"];
    }
    EXPECT_EQ(best, least);
  }
  EXPECT_THAT(Call({"--nodes", "16"}).out, HasSubstr("NODES  BEST"));
}

TEST(BarrierVerbTest, PricesAnyTree) {
  const std::string file = (std::filesystem::path(::testing::TempDir()) / "barrier.json").string();
  std::ofstream(file) << R"({"edges": [["r", "a"], ["r", "b"]]})";
  const Json json = JsonOf({"--send", "10ns", "--transfer", "1us", "--receive", "30ns", "--plan", file});
  EXPECT_EQ(json["plan"]["ns"], 10 + 1'000 + 2 * 30 + 2 * 10 + 1'000 + 30);
  EXPECT_EQ(json["plan"]["ranks_ns"].size(), 3u);
}

TEST(BarrierVerbTest, SaysWhereItFails) {
  const Answer answer = Call({"--published", "--fit", "--nodes", "16"});
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("fitted to the published allreduce figures"));
  EXPECT_THAT(answer.out, HasSubstr("allreduce knomial-4"));
  EXPECT_THAT(answer.out, HasSubstr("24.94 us"));
  EXPECT_THAT(answer.out, HasSubstr("Where the model fails:\n- "));
}

TEST(BarrierVerbTest, BadUsageIsOneLineAndTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--send", "0ns"}, "ns=0, least=1"},
      {{"--send", "1us"}, "ns=0, least=2"},
      {{"--send", "-1us"}, "send: "},
      {{"--send", "2s"}, "ns=2000000000"},
      {{"--fanouts", "1"}, "value=1"},
      {{"--nodes", "0"}, "value=0"},
      {{"--nodes", "10000000"}, "value=10000000"},
      {{"--collective", "dance"}, "name=dance"},
      {{"--collective", "reduce", "--bytes", "1MiB"}, "bytes=1048576, limit=65536"},
      {{"--plan", "/nonexistent"}, "file=/nonexistent"},
  };
  for (const auto& [arguments, thing] : cases) {
    const Answer answer = Call(arguments);
    EXPECT_EQ(answer.exit_code, 2) << answer.err;
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err.rfind("copse-sim: barrier: ", 0), 0u) << answer.err;
    EXPECT_THAT(answer.err, Names(thing));
    EXPECT_EQ(answer.err.find('\n'), answer.err.size() - 1) << answer.err;
  }
}

}  // namespace
}  // namespace copse::simcli
