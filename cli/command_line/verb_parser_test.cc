// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/verb_parser.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::cli {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::StatusOr<ParsedVerb> Parse(const std::vector<std::string>& arguments) {
  VerbParser parser({.name = "tool", .description = "Does things.", .footer = "Exit codes: 0."});
  parser.AddVerbs(
      std::vector<Verb<void()>>{{.family = "node", .name = "list", .help = "all", .options = {{"all", "", "a"}}},
                                {.family = "node",
                                 .name = "show",
                                 .help = "one",
                                 .positionals = {{"node", "", "its name"}, {"part", "", "of it", false, true}}},
                                {.name = "run",
                                 .help = "runs",
                                 .positionals = {{"file", "", "files", true}},
                                 .options = {{"size", "N", "size"}, {"name", "TEXT", "names", true}}}});
  return parser.Parse(arguments);
}

TEST(VerbParserTest, VerbsAndWhatWasGiven) {
  auto parsed = Parse({"node", "list", "--all"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->verb, 0u);
  EXPECT_THAT(parsed->arguments.values["all"], ElementsAre("true"));
  parsed = Parse({"node", "show", "n1"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->verb, 1u);
  EXPECT_THAT(parsed->arguments.values["node"], ElementsAre("n1"));
  EXPECT_EQ(parsed->arguments.values.count("part"), 0u);
  parsed = Parse({"node", "show", "n1", "cores"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->arguments.values["part"], ElementsAre("cores"));
}

TEST(VerbParserTest, OfAnOptionThatIsNotRepeatedTheLastCounts) {
  auto parsed = Parse({"run", "a", "b", "--size", "1", "--name", "x", "--size=2", "--name", "y"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->verb, 2u);
  EXPECT_THAT(parsed->arguments.values["file"], ElementsAre("a", "b"));
  EXPECT_THAT(parsed->arguments.values["size"], ElementsAre("2"));
  EXPECT_THAT(parsed->arguments.values["name"], ElementsAre("x", "y"));
}

TEST(VerbParserTest, MistakesAreOneLineThatNamesThem) {
  EXPECT_THAT(Parse({"nodes", "list"}), FailsWith(kInvalid, "usage", "argument=nodes", "known=node,run"));
  EXPECT_THAT(Parse({"node", "lst"}), FailsWith(kInvalid, "usage", "argument=lst", "known=list,show"));
  EXPECT_THAT(Parse({"--loud"}), FailsWith(kInvalid, "usage", "argument=--loud"));
  EXPECT_THAT(Parse({}), FailsWith(kInvalid, "VERB"));
  EXPECT_THAT(Parse({"run"}), FailsWith(kInvalid, "FILE"));
  EXPECT_THAT(Parse({"run", "a", "--size"}), FailsWith(kInvalid, "--size"));
  EXPECT_THAT(Parse({"node", "show", "n1", "cores", "extra"}), FailsWith(kInvalid, "usage", "argument=extra"));
  EXPECT_THAT(Parse({"--siez", "3", "node", "list"}), FailsWith(kInvalid, "usage", "argument=--siez"));
  EXPECT_THAT(Parse({"node", "list", "--frobnicate"}), FailsWith(kInvalid, "usage", "argument=--frobnicate"));
  EXPECT_THAT(Parse({"node", "list", "--all=3"}), FailsWith(kInvalid, "usage", "argument=--all"));
}

TEST(VerbParserTest, HelpAndVersionAreAnswers) {
  EXPECT_THAT(Parse({"--help"})->answer.value_or(""), HasSubstr("Exit codes: 0."));
  EXPECT_THAT(Parse({"node", "--help"})->answer.value_or(""), HasSubstr("show"));
  EXPECT_THAT(Parse({"run", "--help"})->answer.value_or(""), HasSubstr("--size N"));
  EXPECT_THAT(Parse({"--version"})->answer.value_or(""), HasSubstr("tool 0."));
}

}  // namespace
}  // namespace copse::cli
