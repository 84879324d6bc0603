// SPDX-License-Identifier: Apache-2.0
#include "planner/server/rules_file.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/testing/status_matchers.h"
#include "collectives/call_arguments.h"
#include "gtest/gtest.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

TEST(ParseRulesTest, OneAlgorithmACollective) {
  const auto rules =
      ParseRules("version: 1\nrules:\n  - {collective: allreduce, algorithm: knomial-4}\n", "rules.yaml").value();
  EXPECT_EQ(rules, (Rules{{.collective = Collective::kAllreduce, .algorithm = "knomial-4"}}));
  EXPECT_EQ(rules.front().source, "rules.yaml:3");
  EXPECT_TRUE(ParseRules("", "rules.yaml")->empty());
}

struct BadRules {
  const char* text;
  const char* thing;
};
class BadRulesTest : public ::testing::TestWithParam<BadRules> {};
TEST_P(BadRulesTest, AreRefusedWithTheLine) {
  const auto refused = ParseRules(GetParam().text, "rules.yaml").status();
  EXPECT_THAT(refused, FailsWith(absl::StatusCode::kInvalidArgument, GetParam().thing));
  EXPECT_EQ(refused.message().find("rules.yaml:"), 0u) << refused;
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, BadRulesTest,
    ::testing::Values(
        BadRules{"- 1\n", "rules.yaml:1"}, BadRules{"rules: []\n", "limit=1"}, BadRules{"version: 2\n", "version=2"},
        BadRules{"version: 1\nrule: []\n", "key=rule"}, BadRules{"version: 1\nrules: 3\n", "rules"},
        BadRules{"version: 1\nrules: [3]\n", "rule"},
        BadRules{"version: 1\nrules:\n - {collective: bcast}\n", "segment_bytes"},
        BadRules{"version: 1\nrules:\n - {collective: x, algorithm: flat}\n", "collective=x"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: bush}\n", "name=bush"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: dissemination}\n", "algorithm dissemination"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: flat, size: 3}\n", "key=size"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: flat, algorithm: bt}\n", "key=algorithm"},
        BadRules{"version: 1\nrules:\n - {algorithm: flat}\n", "key=collective"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: [flat]}\n", "algorithm"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: flat, bytes_min: -1}\n", "bytes_min=-1"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, algorithm: flat, bytes_min: 9, bytes_max: 8}\n",
                 "bytes_min=9, bytes_max=8"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, segment_bytes: 1024}\n", "segment_bytes=1024, limit=16"},
        BadRules{"version: 1\nrules:\n - {collective: bcast, bytes_max: 9000, algorithm: flat}\n"
                 " - {collective: reduce, algorithm: bt}\n - {collective: bcast, bytes_min: 9000, algorithm: bt}\n",
                 "this={collective: bcast, bytes_min: 9000, algorithm: bt}, "
                 "other={collective: bcast, bytes_max: 9000, algorithm: flat}"},
        BadRules{"version: [1\n", "rules.yaml:2"}));

TEST(ParseRulesTest, RangesAndSegments) {
  const auto rules =
      ParseRules(
          "version: 1\nrules:\n"
          "  - {collective: bcast, bytes_min: 1024, bytes_max: 8192, ranks_min: 2, ranks_max: 64, algorithm: best}\n"
          "  - {collective: bcast, bytes_max: 8192, segment_bytes: 1024}\n"
          "  - {collective: bcast, bytes_min: 4096, bytes_max: 9000, ranks_max: 2, algorithm: best}\n",
          "r")
          .value();
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0], (Rule{.collective = Collective::kBcast,
                            .bytes_min = 1024,
                            .bytes_max = 8192,
                            .ranks_min = 2,
                            .ranks_max = 64,
                            .algorithm = "best"}));
  EXPECT_EQ(rules[1].segment_bytes, 1024u);
}

// The schema and the parser are two descriptions of one file.
TEST(RulesSchemaTest, SaysWhatTheParserTakes) {
  std::ifstream in("planner/server/rules.schema.json");
  const nlohmann::json schema = nlohmann::json::parse(in);
  EXPECT_EQ(schema["properties"]["version"]["const"], kRulesVersion);
  EXPECT_EQ(schema["properties"]["rules"]["maxItems"], kRulesMax);
  const nlohmann::json& rule = schema["properties"]["rules"]["items"];
  EXPECT_FALSE(rule["additionalProperties"].get<bool>());
  std::set<std::string> collectives;
  for (int f = 0; f < kFamilyCount; ++f) {
    for (const Collective c : CollectivesOf(static_cast<Family>(f))) {
      collectives.insert(std::string(CollectiveName(c)));
    }
  }
  EXPECT_EQ(rule["properties"]["collective"]["enum"].get<std::set<std::string>>(), collectives);
  // The schema's limits are accepted, values beyond are not, and it has all keys.
  std::set<std::string> keys;
  for (const auto& [key, value] : rule["properties"].items()) {
    keys.insert(key);
    if (!value.contains("maximum")) continue;
    for (const auto& [number, fits] :
         {std::pair(value["minimum"].get<int64_t>(), true), std::pair(value["minimum"].get<int64_t>() - 1, false),
          std::pair(value["maximum"].get<int64_t>(), true), std::pair(value["maximum"].get<int64_t>() + 1, false)}) {
      const std::string text = "version: 1\nrules: [{collective: bcast, algorithm: best, " + key + ": " +
                               std::to_string(number) +
                               (key == "segment_bytes" && number == 0 ? ", bytes_max: 99" : "") + "}]\n";
      EXPECT_EQ(ParseRules(text, "r").ok(), fits) << text;
    }
  }
  EXPECT_EQ(keys, (std::set<std::string>{"collective", "bytes_min", "bytes_max", "ranks_min", "ranks_max", "algorithm",
                                         "segment_bytes"}));
}

}  // namespace
}  // namespace copse::planner
