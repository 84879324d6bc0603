// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/rows.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using copse::testing::FailsWith;

constexpr char kRows[] = R"([
  {"name": "n1", "ranks": 10, "counters": {"eager.sent": 7}, "members": [0, 1]},
  {"name": "n2", "ranks": 9, "counters": {"eager.sent": 12}, "members": []}])";

std::string Written(const std::string& json, const RowOptions& options, Format format, size_t width = 0) {
  const auto text = FormatAnswer(Json::parse(json), options, {.format = format, .width = width});
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

TEST(RowsTest, AKeyLeadsIntoObjectsWhoseKeysHaveDots) {
  EXPECT_EQ(Written(kRows, {.columns = {"name", "counters.eager.sent", "members"}}, Format::kTable),
            "NAME  COUNTERS.EAGER.SENT  MEMBERS\nn1                      7  0,1\nn2                     12\n");
}

TEST(RowsTest, NumbersAreSortedAsNumbers) {
  EXPECT_EQ(Written(kRows, {.sort = "ranks"}, Format::kName), "n2\nn1\n");
  EXPECT_EQ(Written(kRows, {.sort = "-counters.eager.sent"}, Format::kName), "n2\nn1\n");
}

TEST(RowsTest, TheOnlyListOfAnObjectHoldsTheRows) {
  EXPECT_EQ(Written(R"({"ok": true, "links": [{"name": "b"}, {"name": "a"}]})", {.sort = "name"}, Format::kName),
            "a\nb\n");
  EXPECT_EQ(Written(R"({"ok": true, "version": "1.2"})", {}, Format::kWide), "OK    VERSION\ntrue  1.2\n");
}

TEST(RowsTest, RowsWithoutANameAreNotWrittenAsNothing) {
  EXPECT_EQ(Written(R"([{"team": 7, "sequence": 41}])", {}, Format::kName), "7\n");
  EXPECT_EQ(Written(R"([{"time": "now", "who": "node n1"}])", {}, Format::kName), "node n1\n");
  EXPECT_EQ(Written(R"([{"version": 3, "bytes": 10}])", {}, Format::kName), "3\n");
  EXPECT_EQ(Written("[]", {}, Format::kName), "");
  EXPECT_THAT(FormatAnswer(Json::parse(R"([{"kind": "added"}])"), {}, {.format = Format::kName, .width = 0}),
              FailsWith(absl::StatusCode::kInvalidArgument, "write-out=name", "keys=kind"));
}

TEST(RowsTest, TextThatYamlWouldReadAsSomethingElseIsQuoted) {
  EXPECT_EQ(Written(R"([{"a": "yes", "b": "1", "c": "plain", "d": 1, "e": [1, 2], "f": null, "g": "x: y", "h": true}])",
                    {}, Format::kYaml),
            "- a: \"yes\"\n  b: \"1\"\n  c: plain\n  d: 1\n  e: [1, 2]\n  f: ~\n  g: \"x: y\"\n  h: true\n");
  EXPECT_EQ(Written("[]", {}, Format::kYaml), "[]\n");
}

TEST(RowsTest, AWideTableIsNotCut) {
  EXPECT_EQ(Written(R"([{"name": "0123456789"}])", {}, Format::kWide, 5), "NAME\n0123456789\n");
}

TEST(RowsTest, AnUnknownKeyIsRefusedWithThoseThatThereAre) {
  const Style style{.format = Format::kTable, .width = 0};
  EXPECT_THAT(FormatAnswer(Json::parse(kRows), {.columns = {"rank"}}, style),
              FailsWith(absl::StatusCode::kInvalidArgument, "columns=rank", "known=name ranks"));
  EXPECT_THAT(FormatAnswer(Json::parse(kRows), {.sort = "-x"}, style),
              FailsWith(absl::StatusCode::kInvalidArgument, "sort=x"));
  EXPECT_EQ(Written("[]", {.columns = {"rank"}}, Format::kTable), "RANK\n");
}

}  // namespace
}  // namespace copse::ctl
