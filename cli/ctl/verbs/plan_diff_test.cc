// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/plan_diff.h"

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using testing::Names;

constexpr Style kTable = {.format = Format::kTable, .width = 0};
constexpr Style kJson = {.format = Format::kJson, .width = 0};

v1::PlanRow Plan(const std::string& text) {
  auto plan = ParsePlanRow(text, "p.json");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : v1::PlanRow();
}
std::string ErrorOf(const std::string& text) {
  const auto plan = ParsePlanRow(text, "p.json");
  EXPECT_TRUE(absl::IsInvalidArgument(plan.status()));
  return std::string(plan.status().message());
}

const char kBefore[] = R"({"id": 3, "collective": "bcast", "bytes_min": 0, "bytes_max": 120, "algorithm": "binomial",
    "predicted_us": 100.0, "segment_bytes": 0, "edges": [["a", "b"], ["a", "c"], ["b", "d"], ["c", "e"]]})";
const char kAfter[] = R"({"id": 9, "collective": "bcast", "bytes_min": 0, "bytes_max": 120, "algorithm": "best",
    "predicted_us": 75.5, "segment_bytes": 0, "edges": [["a", "c"], ["a", "b"], ["c", "d"], ["c", "e"]]})";

TEST(PlanDiffTest, TellsEdgesOrderAndTimes) {
  const PlanDifference difference = ComparePlans(Plan(kBefore), Plan(kAfter));
  EXPECT_EQ(RenderPlanDifference(difference, kTable),
            "~ algorithm: binomial -> best\n"
            "~ predicted: 100.000 us -> 75.500 us (-24.5 %)\n"
            "- b > d\n"
            "+ c > d\n"
            "~ a: serves the same nodes in another order\n");
  const Json json = Json::parse(RenderPlanDifference(difference, kJson));
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["edges_removed"], Json::parse(R"([["b", "d"]])"));
  EXPECT_EQ(json["edges_added"], Json::parse(R"([["c", "d"]])"));
  EXPECT_EQ(json["reordered"], Json::parse(R"(["a"])"));
  EXPECT_EQ(json["predicted_us_after"], 75.5);
}

TEST(PlanDiffTest, EqualPlansHaveNoDifference) {
  const PlanDifference difference = ComparePlans(Plan(kBefore), Plan(kBefore));
  EXPECT_EQ(RenderPlanDifference(difference, kTable), "no difference\n");
  EXPECT_EQ(Json::parse(RenderPlanDifference(difference, kJson))["same"], true);
}

TEST(PlanDiffTest, AnExchangeMayUseAnEdgeTwice) {
  const v1::PlanRow once = Plan(R"({"edges": [["a", "b"]]})"), twice = Plan(R"({"edges": [["a", "b"], ["a", "b"]]})");
  EXPECT_EQ(ComparePlans(once, twice).added.size(), 1u);
  EXPECT_EQ(ComparePlans(twice, once).removed.size(), 1u);
}

TEST(PlanDiffTest, SaysWhatIsNoPlan) {
  EXPECT_THAT(ErrorOf("nonsense"), Names("p.json", "plan"));
  EXPECT_THAT(ErrorOf("{}"), Names("p.json", "edges"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a"]]})"), Names("p.json", "edges"));
  EXPECT_THAT(ErrorOf(R"({"edges": [], "id": -1})"), Names("p.json", "id"));
  EXPECT_THAT(ErrorOf(R"({"edges": [], "algorithm": 1})"), Names("p.json", "algorithm"));
  EXPECT_THAT(ErrorOf(R"({"edges": [], "predicted_us": "1"})"), Names("p.json", "predicted_us"));
}

TEST(PlanDiffTest, RandomBytesDoNotHarm) {
  Prng prng(1);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = kBefore;
    for (uint64_t i = prng.Below(3) + 1; i > 0; --i) text[prng.Below(text.size())] = static_cast<char>(prng.Below(256));
    const auto plan = ParsePlanRow(text, "p.json");
    if (!plan.ok()) continue;
    ++accepted;
    EXPECT_EQ(ComparePlans(*plan, *plan).added.size(), 0u);
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace copse::ctl
