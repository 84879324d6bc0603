// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/verb_parser.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ParsedVerb> Parse(const std::vector<std::string>& arguments) {
  VerbParser parser({.name = "tool", .description = "Does things.", .footer = "Exit codes: 0."});
  parser.AddVerb({.family = "node", .name = "list", .help = "all", .positionals = {}, .options = {{"all", "", "a"}}});
  parser.AddVerb({.family = "node",
                  .name = "show",
                  .help = "one",
                  .positionals = {{"node", "", "its name"}, {"part", "", "of it", false, true}},
                  .options = {}});
  parser.AddVerb({.family = "",
                  .name = "run",
                  .help = "runs",
                  .positionals = {{"file", "", "files", true}},
                  .options = {{"size", "N", "size"}, {"name", "TEXT", "names", true}}});
  return parser.Parse(arguments);
}
std::string Mistake(const std::vector<std::string>& arguments) {
  const auto parsed = Parse(arguments);
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

TEST(VerbParserTest, VerbsAndWhatWasGiven) {
  auto parsed = Parse({"node", "list", "--all"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->verb, 0u);
  EXPECT_THAT(parsed->values["all"], ElementsAre("true"));
  parsed = Parse({"node", "show", "n1"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->verb, 1u);
  EXPECT_THAT(parsed->values["node"], ElementsAre("n1"));
  EXPECT_EQ(parsed->values.count("part"), 0u);
  parsed = Parse({"node", "show", "n1", "cores"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->values["part"], ElementsAre("cores"));
}

TEST(VerbParserTest, OfAnOptionThatIsNotRepeatedTheLastCounts) {
  auto parsed = Parse({"run", "a", "b", "--size", "1", "--name", "x", "--size=2", "--name", "y"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->verb, 2u);
  EXPECT_THAT(parsed->values["file"], ElementsAre("a", "b"));
  EXPECT_THAT(parsed->values["size"], ElementsAre("2"));
  EXPECT_THAT(parsed->values["name"], ElementsAre("x", "y"));
}

TEST(VerbParserTest, MistakesAreOneLineThatNamesThem) {
  EXPECT_EQ(Mistake({"nodes", "list"}), "usage: no such verb (argument=nodes); try --help");
  EXPECT_EQ(Mistake({"node", "lst"}), "usage: no such verb (argument=lst); try --help");
  EXPECT_EQ(Mistake({"--loud"}), "usage: no such option (argument=--loud); try --help");
  EXPECT_THAT(Mistake({}), HasSubstr("a VERB"));
  EXPECT_THAT(Mistake({"run"}), HasSubstr("FILE is required"));
  EXPECT_THAT(Mistake({"run", "a", "--size"}), HasSubstr("--size"));
  EXPECT_EQ(Mistake({"node", "show", "n1", "cores", "extra"}),
            "usage: unexpected argument (argument=extra); try --help");
  EXPECT_EQ(Mistake({"--siez", "3", "node", "list"}), "usage: no such option (argument=--siez); try --help");
  EXPECT_EQ(Mistake({"node", "list", "--frobnicate"}), "usage: no such option (argument=--frobnicate); try --help");
}

TEST(VerbParserTest, HelpAndVersionAreAnswers) {
  EXPECT_THAT(Parse({"--help"})->answer.value_or(""), HasSubstr("Exit codes: 0."));
  EXPECT_THAT(Parse({"node", "--help"})->answer.value_or(""), HasSubstr("show"));
  EXPECT_THAT(Parse({"run", "--help"})->answer.value_or(""), HasSubstr("--size N"));
  EXPECT_THAT(Parse({"--version"})->answer.value_or(""), HasSubstr("tool 0."));
}

}  // namespace
}  // namespace copse::cli
