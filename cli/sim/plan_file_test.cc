// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/plan_file.h"

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::simcli {
namespace {

using testing::Names;

std::string ErrorOf(const std::string& text) {
  const auto plan = ParsePlanFile(text, "p.json");
  if (plan.ok()) return "no error";
  EXPECT_TRUE(absl::IsInvalidArgument(plan.status())) << plan.status();
  return std::string(plan.status().message());
}
std::string Edges(const std::string& edges) { return absl::StrCat(R"({"edges": )", edges, "}"); }

TEST(PlanFileTest, ReadsWhatItWrites) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  schedule::Plan plan{.id = PlanId(7),
                      .collective = Collective::kAllreduce,
                      .bytes_min = 8,
                      .bytes_max = 120,
                      .algorithm = "best",
                      .node_count = 4};
  plan.neighbors = {{2, 1}, {0}, {0, 3}, {2}};
  const auto read = ParsePlanFile(FormatPlanFile(plan, names), "p.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->node_names, (std::vector<std::string>{"a", "c", "d", "b"}));  // depth first
  EXPECT_EQ(read->plan.neighbors, (std::vector<std::vector<uint32_t>>{{1, 3}, {0, 2}, {1}, {0}}));
  EXPECT_EQ(read->plan.collective, plan.collective);
  EXPECT_EQ(read->plan.bytes_max, 120u);
  EXPECT_EQ(read->plan.algorithm, "best");
  EXPECT_EQ(read->plan.id, PlanId(7));
}

TEST(PlanFileTest, ASingleNodeNeedsItsName) {
  schedule::Plan plan{.id = PlanId(1), .algorithm = "flat", .node_count = 1};
  plan.neighbors.resize(1);
  const auto read = ParsePlanFile(FormatPlanFile(plan, std::vector<std::string>{"only"}), "p.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->node_names, std::vector<std::string>{"only"});
  EXPECT_EQ(read->plan.neighbors.size(), 1u);
  EXPECT_THAT(ErrorOf(Edges("[]")), Names("p.json", "nodes=0", "least=1"));
}

TEST(PlanFileTest, TellsWhatIsNoTree) {
  EXPECT_THAT(ErrorOf(Edges(R"([["a", "a"]])")), Names("p.json", "node a"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a", "b"], ["a", "b"]])")), Names("p.json", "node b", "node a"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a", "c"], ["a", "b"], ["b", "c"]])")),
              Names("p.json", "node c", "first=a", "second=b"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a", "b"], ["c", "d"]])")), Names("p.json", "first=a", "second=c"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a", "b"], ["b", "a"]])")), Names("p.json", "nodes=2"));
  EXPECT_THAT(ErrorOf(Edges(R"([["r", "x"], ["a", "b"], ["b", "a"]])")), Names("p.json", "node=a"));
}

TEST(PlanFileTest, TellsWhatIsNoPlan) {
  EXPECT_THAT(ErrorOf(""), Names("p.json"));
  EXPECT_THAT(ErrorOf("[1]"), Names("p.json"));
  EXPECT_THAT(ErrorOf("{}"), Names("edges"));
  EXPECT_THAT(ErrorOf(Edges("[1]")), Names("edges"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a"]])")), Names("edges"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a", 1]])")), Names("edges"));
  EXPECT_THAT(ErrorOf(Edges(R"([["a", ""]])")), Names("edges"));
  EXPECT_THAT(ErrorOf(R"({"edges": [], "nodes": ["a", "b"]})"), Names("nodes"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a", "b"]], "collective": "dance"})"), Names("collective", "name=dance"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a", "b"]], "collective": 1})"), Names("collective"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a", "b"]], "bytes_max": -1})"), Names("bytes_max"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a", "b"]], "bytes_min": 200, "bytes_max": 100})"),
              Names("bytes_min", "value=200", "limit=100"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a", "b"]], "bytes_max": 70000})"),
              Names("bytes_max", "value=70000", "limit=65536"));
  EXPECT_THAT(ErrorOf(R"({"edges": [["a", "b"]], "algorithm": "dissemination"})"), Names("algorithm=dissemination"));
}

TEST(PlanFileTest, RandomBytesAreRefusedOrATree) {
  const std::string whole = R"({"collective": "reduce", "edges": [["a", "b"], ["b", "c"], ["a", "d"]]})";
  Prng prng(4);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (uint64_t i = prng.Below(4) + 1; i > 0; --i) {
      const size_t at = prng.Below(text.size());
      switch (prng.Below(3)) {
        case 0:
          text[at] = static_cast<char>(prng.Below(256));
          break;
        case 1:
          text.erase(at, 1 + prng.Below(5));
          break;
        default:
          text.insert(at, 1, "\"[]{},:abcd0123456789"[prng.Below(21)]);
      }
      if (text.empty()) text = "{";
    }
    const auto plan = ParsePlanFile(text, "p.json");
    if (!plan.ok()) continue;
    ++accepted;
    size_t ends = 0;
    for (const auto& neighbors : plan->plan.neighbors) ends += neighbors.size();
    EXPECT_EQ(ends, 2 * (size_t{plan->plan.node_count} - 1)) << text;
    EXPECT_EQ(plan->node_names.size(), plan->plan.node_count);
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace copse::simcli
