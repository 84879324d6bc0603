// SPDX-License-Identifier: Apache-2.0
#include "planner/rules.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Rule Bcast(uint64_t bytes_min, uint64_t bytes_max, const std::string& algorithm) {
  return {.collective = Collective::kBcast, .bytes_min = bytes_min, .bytes_max = bytes_max, .algorithm = algorithm};
}

TEST(CheckRuleTest, RefusesWhatCannotBe) {
  const auto error = [](const Rule& rule) { return CheckRule(rule); };
  EXPECT_EQ(error(Bcast(0, 65'536, "best")), absl::OkStatus());
  EXPECT_THAT(error({.collective = Collective::kBcast}), FailsWith(kInvalid, "segment_bytes"));
  EXPECT_EQ(error(Bcast(65'537, schedule::kCallBytesMax, "ring")), absl::OkStatus());
  EXPECT_THAT(error(Bcast(0, schedule::kCallBytesMax + 1, "best")),
              FailsWith(kInvalid, "bytes", "bytes_min=0", "bytes_max=70368744177665"));
  EXPECT_THAT(error(Bcast(7, 6, "best")), FailsWith(kInvalid, "bytes", "bytes_min=7", "bytes_max=6"));
  EXPECT_THAT(error(Bcast(0, 8, "bush")), FailsWith(kInvalid, "algorithm", "name=bush"));
  EXPECT_THAT(error({.ranks_min = 0, .algorithm = "flat"}),
              FailsWith(kInvalid, "ranks", "ranks_min=0", "ranks_max=1048576"));
  EXPECT_THAT(error({.ranks_min = 3, .ranks_max = 2, .algorithm = "flat"}),
              FailsWith(kInvalid, "ranks", "ranks_min=3", "ranks_max=2"));
  EXPECT_THAT(error({.bytes_min = 1, .algorithm = "flat"}), FailsWith(kInvalid, "collective=barrier"));
  EXPECT_THAT(error({.algorithm = "flat", .segment_bytes = 8}), FailsWith(kInvalid, "collective=barrier"));
  EXPECT_THAT(error({.collective = Collective::kGatherv, .algorithm = "flat"}),
              FailsWith(kInvalid, "collective=gatherv", "of=gather"));
  EXPECT_THAT(error({.collective = Collective::kAlltoall, .algorithm = "mgo"}),
              FailsWith(kInvalid, "collective=alltoall"));
  EXPECT_EQ(error({.collective = Collective::kAllgather, .algorithm = "bruck"}), absl::OkStatus());
  Rule cut = Bcast(0, 8192, "");
  cut.segment_bytes = 512;
  EXPECT_EQ(error(cut), absl::OkStatus());
  cut.segment_bytes = 0;
  EXPECT_EQ(error(cut), absl::OkStatus());
  cut.segment_bytes = 504;
  EXPECT_THAT(error(cut), FailsWith(kInvalid, "segment_bytes=504"));
  cut.segment_bytes = 496;
  EXPECT_THAT(error(cut), FailsWith(kInvalid, "segment_bytes", "bytes_max=8192", "segment_bytes=496"));
  cut.bytes_max = schedule::kSegmentBytesMax + 1;
  cut.segment_bytes = 0;
  EXPECT_THAT(error(cut), FailsWith(kInvalid, "segment_bytes", "bytes_max=61441", "limit=61440"));
}

TEST(ContradictTest, OnlyIfSomeCallIsForBoth) {
  const Rule a = Bcast(0, 100, "best");
  EXPECT_TRUE(Contradict(a, Bcast(100, 200, "bt")));
  EXPECT_FALSE(Contradict(a, Bcast(101, 200, "bt")));
  EXPECT_FALSE(Contradict(a, Bcast(50, 200, "best")));
  Rule other = Bcast(0, 100, "bt");
  other.collective = Collective::kReduce;
  EXPECT_FALSE(Contradict(a, other));
  Rule small = Bcast(0, 100, "bt"), large = Bcast(0, 100, "best");
  small.ranks_max = 8;
  large.ranks_min = 9;
  EXPECT_FALSE(Contradict(small, large));
  large.ranks_min = 8;
  EXPECT_TRUE(Contradict(small, large));
  Rule cut = Bcast(0, 100, "");
  cut.segment_bytes = 8;
  EXPECT_FALSE(Contradict(a, cut)) << "they say different things of different matters";
  Rule uncut = cut;
  uncut.segment_bytes = 0;
  EXPECT_TRUE(Contradict(cut, uncut));
}

TEST(CutBySizesTest, ARuleIsForAllOfAClassOrForNothing) {
  const std::vector<SizeClass> classes = {{0, 120}, {121, 8192}, {8193, 65'536}};
  Rules rules = {Bcast(1'000, 8'999, "bt"), Bcast(9'000, 65'536, "mgo")};
  rules[1].ranks_max = 4;
  const auto cut = CutBySizes(classes, rules, Collective::kBcast, 8);
  EXPECT_THAT(cut, ElementsAre(SizeClass{0, 120}, SizeClass{121, 999}, SizeClass{1'000, 8'192}, SizeClass{8'193, 8'999},
                               SizeClass{9'000, 65'536}));
  EXPECT_THAT(CutBySizes(classes, rules, Collective::kReduce, 8), ElementsAre(classes[0], classes[1], classes[2]));
  EXPECT_EQ(RulingFor(rules, Collective::kBcast, cut[1], 8).algorithm, "");
  EXPECT_EQ(RulingFor(rules, Collective::kBcast, cut[2], 8).algorithm, "bt");
  EXPECT_EQ(RulingFor(rules, Collective::kBcast, cut[3], 8).rules.size(), 1u);
  EXPECT_EQ(RulingFor(rules, Collective::kBcast, cut[4], 8).algorithm, "");
  EXPECT_EQ(RulingFor(rules, Collective::kBcast, cut[4], 4).algorithm, "mgo");
}

TEST(DescribeRuleTest, LeavesOutWhatIsTheDefault) {
  EXPECT_EQ(DescribeRule({.ranks_max = 7, .algorithm = "flat"}),
            "{collective: barrier, ranks_max: 7, algorithm: flat}");
  EXPECT_EQ(DescribeRule(Bcast(8, schedule::kCallBytesMax, "best")),
            "{collective: bcast, bytes_min: 8, algorithm: best}");
}

}  // namespace
}  // namespace copse::planner
