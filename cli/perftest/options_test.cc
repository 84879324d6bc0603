// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/options.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/testing/status_matchers.h"

namespace copse::perftest {
namespace {

using testing::FailsWith;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments, const Variables& variables = {}) {
  return ParseCommandLine(arguments, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

Options Good(std::vector<std::string> arguments, const Variables& variables = {}) {
  if (variables.empty()) arguments.insert(arguments.end(), {"--rank", "1", "--ranks", "4"});
  const auto line = Parse(arguments, variables);
  EXPECT_TRUE(line.ok()) << line.status();
  return line.ok() ? line->options : Options{};
}

TEST(OptionsTest, SizesAreElementsOrBytes) {
  EXPECT_EQ(Good({"-b", "2", "-e", "16"}).counts, (std::vector<uint64_t>{2, 4, 8, 16}));
  EXPECT_EQ(Good({"-b", "8B", "-e", "1KiB", "-f", "8"}).counts, (std::vector<uint64_t>{2, 16, 128}));
  EXPECT_EQ(Good({"-b", "0", "-e", "2"}).counts, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(Good({"-d", "double"}).counts.back(), 8192u);
}

TEST(OptionsTest, TheOperationMattersWhereThereIsOne) {
  EXPECT_EQ(Good({"-c", "gather,bcast", "-d", "byte"}).collectives.size(), 2u);
  EXPECT_EQ(Good({"-c", "all", "-d", "byte", "-o", "bor"}).collectives.size(), size_t{kCollectiveCount});
}

TEST(OptionsTest, CountsOfIrregularCollectives) {
  EXPECT_EQ(Good({}).counts_kind, CountsKind::kEqual);
  const Options options = Good({"-c", "gatherv", "--counts", "empty", "--counts-known"});
  EXPECT_EQ(options.counts_kind, CountsKind::kEmpty);
  EXPECT_TRUE(options.counts_known);
}

// The values of COPSE_TIMEOUT are those that libcopse takes.
TEST(OptionsTest, TheTimeOutIsTheEnvironmentsUnlessItIsGiven) {
  const auto with = [](const std::string& text, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--rank", "1", "--ranks", "4"});
    return Parse(arguments, {{"COPSE_TIMEOUT", text}});
  };
  EXPECT_EQ(with("2.5")->options.member.timeout_s, 2.5);
  EXPECT_EQ(with("2.5", {"--timeout", "7"})->options.member.timeout_s, 7);
  for (const char* none : {"", "0", "-1", "inf"}) {
    const auto line = with(none);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->options.member.timeout_s, std::nullopt) << none;
  }
  EXPECT_THAT(with("soon"), FailsWith(absl::StatusCode::kInvalidArgument, "COPSE_TIMEOUT", "value=soon"));
}

TEST(OptionsTest, IterationsOfLargeSizesFollow) {
  EXPECT_EQ(Good({}).RepetitionsOf(1 << 14).iterations, 200u);
  EXPECT_EQ(Good({"-n", "7"}).RepetitionsOf(1 << 14).iterations, 7u);
  EXPECT_EQ(Good({"-n", "7", "-N", "3"}).RepetitionsOf(1 << 14).iterations, 3u);
  EXPECT_EQ(Good({"-n", "7", "-N", "3"}).RepetitionsOf(1).iterations, 7u);
}

TEST(OptionsTest, LaunchersSayTheRank) {
  for (const Variables& variables : {Variables{{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}},
                                     {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}},
                                     {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}, {"SLURM_JOB_ID", "9"}}}) {
    const Options options = Good({}, variables);
    EXPECT_EQ(options.member.rank, 2u);
    EXPECT_EQ(options.member.ranks, 3u);
    EXPECT_EQ(options.member.team, variables.count("SLURM_JOB_ID") != 0 ? "perftest-9" : "perftest");
  }
}

TEST(OptionsTest, PersistentAloneMeansRequests) {
  EXPECT_EQ(Good({"-p"}).mode, Mode::kNonblocking);
  EXPECT_EQ(Good({"-p", "-M", "overlap"}).mode, Mode::kOverlap);
}

TEST(OptionsTest, BadUsageIsOneLineThatNamesTheOption) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"-c", "alltoallw"}, "value=alltoallw"},
      {{"-d", "int3"}, "value=int3"},
      {{"-o", "avg"}, "value=avg"},
      {{"-o", "band"}, "value=band, type=float32"},
      {{"-d", "2int"}, "value=sum, type=2int"},
      {{"--counts", "odd"}, "value=odd, known=equal, heavy, random, empty"},
      {{"-m", "cuda"}, "value=cuda"},
      {{"-b", "10B"}, "bytes=10"},
      {{"-b", "8", "-e", "4"}, "elements=8, limit=4"},
      {{"-f", "1"}, "value=1, limit=2"},
      {{"-n", "0"}, "-n"},
      {{"-N", "0"}, "-N"},
      {{"-n", "10000001"}, "value=10000001"},
      {{"-r", "4"}, "root=4"},
      {{"-M", "fast"}, "value=fast"},
      {{"-p", "-M", "blocking"}, "mode=blocking"},
      {{"-t", "3"}, "wanted=overlap"},
      {{"--format", "xml"}, "value=xml"},
      {{"--completion", "poll"}, "value=poll"},
      {{"--timeout", "0"}, "--timeout"},
      {{"--local", "2"}, "--local"},
      {{"--frobnicate"}, "--frobnicate"},
      {{"-n", "x"}, "--iterations"},
  };
  for (auto [arguments, thing] : cases) {
    arguments.insert(arguments.end(), {"--rank", "1", "--ranks", "4"});
    const auto line = Parse(arguments);
    EXPECT_THAT(line, FailsWith(absl::StatusCode::kInvalidArgument, "usage", thing));
    EXPECT_EQ(line.status().message().find('\n'), absl::string_view::npos) << line.status();
  }
  EXPECT_FALSE(Parse({"--rank", "4", "--ranks", "4"}).ok());
  EXPECT_FALSE(Parse({"--rank", "0"}).ok());
  EXPECT_FALSE(Parse({}).ok());
  EXPECT_FALSE(Parse({"--local", "257"}).ok());
}

}  // namespace
}  // namespace copse::perftest
