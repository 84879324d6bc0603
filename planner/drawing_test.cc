// SPDX-License-Identifier: Apache-2.0
#include "planner/drawing.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/candidates.h"
#include "planner/structure.h"
#include "schedule/testing/sample_plans.h"

namespace copse::planner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Drawn {
  std::string text;
  std::string dot;
};

Drawn Draw(const std::string& algorithm, Collective collective, uint32_t nodes, uint32_t ranks_per_node,
           uint32_t root = 0) {
  std::vector<std::string> names;
  NodeOrder order;
  for (uint32_t v = 0; v < nodes; ++v) {
    names.push_back(absl::StrCat("host", v));
    order.push_back(v);
  }
  const schedule::TeamShape shape = schedule::BlockShape(nodes, ranks_per_node);
  const auto topology = topology::FlatTopology(names);
  const auto costs = TeamCosts::Create(names, *topology, {});
  const uint64_t bytes = collective == Collective::kBarrier ? 0 : 8;
  const schedule::Plan plan = PlanOf(*BuildStructure(algorithm, order), collective, 0, bytes, 0);
  const CallArguments arguments = {.collective = collective, .count = bytes, .root = root};
  const auto prediction = Price(plan, shape, *costs, arguments).value();
  const Drawing drawing(plan, shape, *costs, arguments, prediction);
  return {drawing.Text(), drawing.Dot()};
}

TEST(DrawingTest, DrawsATree) {
  const std::string text = Draw("binomial", Collective::kBarrier, 4, 1).text;
  EXPECT_THAT(text, HasSubstr("plan 0: barrier, 0 to 0 B, binomial\ncall: barrier; predicted "));
  EXPECT_THAT(text, HasSubstr("\nhost0  rank 0: "));
  EXPECT_THAT(text, HasSubstr("\n├─ host2  rank 2: "));
  EXPECT_THAT(text, HasSubstr("\n│  └─ host3  rank 3: "));
  EXPECT_THAT(text, HasSubstr("\n└─ host1  rank 1: "));
  EXPECT_THAT(text, HasSubstr(" us *\n")) << "critical nodes are marked";
  EXPECT_THAT(text, HasSubstr("critical path:\n  0.000 us to 1.000 us  host3 rank 3: post\n"));
  EXPECT_THAT(text, HasSubstr(": send to host2\n"));
  EXPECT_THAT(text, HasSubstr("host2: receive from host3\n"));
}

TEST(DrawingTest, DirectsTheTreeFromTheCallsRoot) {
  const std::string text = Draw("flat", Collective::kBcast, 3, 2, /*root=*/5).text;
  EXPECT_THAT(text, HasSubstr("\nhost2  rank 4: "));
  EXPECT_THAT(text, HasSubstr("\n└─ host0  rank 0: "));
  EXPECT_THAT(text, HasSubstr("\n   └─ host1  rank 2: "));
  EXPECT_THAT(text, HasSubstr(", rank 3: "));
}

TEST(DrawingTest, SumsUpManyRanksAndManyNodes) {
  EXPECT_THAT(Draw("flat", Collective::kBarrier, 2, 9).text, HasSubstr("host1  9 ranks, 9 to 17: "));
  const std::string tree = Draw("chain", Collective::kBarrier, 300, 1).text;
  EXPECT_THAT(tree, HasSubstr("… and 44 more nodes\n"));
  EXPECT_THAT(tree, HasSubstr(" more steps\n"));
  EXPECT_THAT(Draw("dissemination", Collective::kBarrier, 300, 1).text, HasSubstr("… and 44 more nodes\n"));
}

TEST(DrawingTest, FoldsWhatTheCriticalPathOfALargeTreeDoesNotPass) {
  const auto lines_of_tree = [](const std::string& text) {
    size_t lines = 0, nodes = 0;
    for (const absl::string_view line : absl::StrSplit(text.substr(0, text.find("critical path:")), '\n')) {
      if (!absl::StrContains(line, "host")) continue;
      ++lines;
      uint64_t folded = 1;
      if (const size_t at = line.find(" nodes in "); at != line.npos) {
        EXPECT_TRUE(absl::SimpleAtoi(line.substr(line.rfind(' ', at - 1), at - line.rfind(' ', at - 1)), &folded))
            << line;
        EXPECT_FALSE(absl::EndsWith(line, "*")) << line;
      }
      nodes += folded;
    }
    return std::pair(lines, nodes);
  };
  for (const char* algorithm : {"flat", "binomial", "kary-4"}) {
    const auto [lines, nodes] = lines_of_tree(Draw(algorithm, Collective::kBarrier, 250, 1).text);
    EXPECT_LE(lines, 40u) << algorithm;
    EXPECT_EQ(nodes, 250u) << algorithm;
    EXPECT_EQ(lines_of_tree(Draw(algorithm, Collective::kBarrier, kUnfoldedNodesMax, 1).text).first, kUnfoldedNodesMax);
  }
}

TEST(DrawingTest, ListsTheRoundsOfAnExchange) {
  const std::string text = Draw("recursive-doubling", Collective::kAllreduce, 3, 1).text;
  EXPECT_THAT(text, HasSubstr("├─ round 1, to host1\n└─ round 3, from host1\n"));
  EXPECT_THAT(text, HasSubstr("├─ round 2, to host2, from host2\n"));
}

TEST(DrawingTest, WritesDot) {
  const std::string dot = Draw("flat", Collective::kBarrier, 3, 1).dot;
  EXPECT_THAT(dot, HasSubstr("digraph plan {"));
  EXPECT_THAT(dot, HasSubstr("  n0 [label=\"host0  rank 0: "));
  EXPECT_THAT(dot, HasSubstr("  n0 -> n1"));
  EXPECT_THAT(dot, HasSubstr("  n0 -> n2 [color=red];\n")) << "the last one served is the slowest";
  const std::string exchange = Draw("dissemination", Collective::kBarrier, 2, 1).dot;
  EXPECT_THAT(exchange, HasSubstr("  n0 -> n1"));
  EXPECT_THAT(exchange, HasSubstr("  n1 -> n0"));
}

TEST(FormatMicrosecondsTest, KeepsNanoseconds) {
  EXPECT_EQ(FormatMicroseconds(0), "0.000 us");
  EXPECT_EQ(FormatMicroseconds(1'234'005), "1234.005 us");
}

}  // namespace
}  // namespace copse::planner
