// SPDX-License-Identifier: Apache-2.0

#include "base/hostlist.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"

namespace copse {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;
using ::testing::IsEmpty;
using testing::Names;
using ::testing::SizeIs;

std::vector<std::string> Expand(std::string_view text) { return ExpandHostlist(text).value(); }

std::string ErrorOf(std::string_view text) {
  const absl::Status status = ExpandHostlist(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(ExpandHostlistTest, PlainNames) {
  EXPECT_THAT(Expand("login"), ElementsAre("login"));
  EXPECT_THAT(Expand("b,a.example.org,c-1_x"), ElementsAre("b", "a.example.org", "c-1_x"));
}

TEST(ExpandHostlistTest, BlankIsNoHosts) {
  EXPECT_THAT(Expand(""), IsEmpty());
  EXPECT_THAT(Expand("  "), IsEmpty());
}

TEST(ExpandHostlistTest, Ranges) {
  EXPECT_THAT(Expand("n[1-3]"), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(Expand("n[5]"), ElementsAre("n5"));
  EXPECT_THAT(Expand("n[1-2,07-09],login"), ElementsAre("n1", "n2", "n07", "n08", "n09", "login"));
  EXPECT_THAT(Expand("[1-2]"), ElementsAre("1", "2"));
  EXPECT_THAT(Expand("n[0-1]-ib"), ElementsAre("n0-ib", "n1-ib"));
}

TEST(ExpandHostlistTest, ZerosPadToTheWidthOfTheLowEnd) {
  EXPECT_THAT(Expand("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(Expand("n[8-011]"), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_THAT(Expand("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(Expand("n[000]"), ElementsAre("n000"));
}

TEST(ExpandHostlistTest, LastBracketVariesFastest) {
  EXPECT_THAT(Expand("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
  EXPECT_THAT(Expand("r[1-2][3-4]"), ElementsAre("r13", "r14", "r23", "r24"));
}

TEST(ExpandHostlistTest, OrderAndDuplicatesAreKept) {
  EXPECT_THAT(Expand("b,a,b,n[2,1,2]"), ElementsAre("b", "a", "b", "n2", "n1", "n2"));
}

TEST(ExpandHostlistTest, BlanksAroundCommasAreIgnored) {
  EXPECT_THAT(Expand(" a , n[1-2] ,b\n"), ElementsAre("a", "n1", "n2", "b"));
}

TEST(ExpandHostlistTest, ErrorsNameTextAndPosition) {
  const std::pair<std::string, int> errors[] = {
      {"a,,b", 3},   {"a,", 3},    {",a", 1},    {"n[1-4", 2},  {"n[", 2},      {"n[1-", 2},
      {"n]", 2},     {"n[]", 3},   {"n[1,]", 5}, {"n[a-b]", 3}, {"n[1[2]]", 4}, {"n[1-2-3]", 6},
      {"n[4-1]", 3}, {"n[-1]", 3}, {"a b", 3},   {"a/b", 2},    {"/", 1}};
  for (const auto& [text, position] : errors) {
    EXPECT_THAT(ErrorOf(text), Names(absl::StrCat("'", text, "'"), absl::StrCat("position ", position)));
  }
  EXPECT_THAT(ErrorOf("n[1234567890123456789]"), Names("position 3", "limit 18"));
}

TEST(ExpandHostlistTest, LongTextIsQuotedInPart) {
  std::string text;
  while (text.size() < 5000) text += "aaa,";
  const std::string message = ErrorOf(text + "]");
  EXPECT_LT(message.size(), 300u);
  EXPECT_THAT(message, Names("position 5001"));
}

TEST(ExpandHostlistTest, LimitIsCheckedBeforeExpansion) {
  EXPECT_THAT(*ExpandHostlist("n[1-4]", 4), SizeIs(4));
  EXPECT_THAT(ExpandHostlist("n[1-4],a", 4), FailsWith(absl::StatusCode::kResourceExhausted, "'n[1-4],a'", "limit 4"));
  EXPECT_EQ(ExpandHostlist("n[1-1000001]").status().code(), absl::StatusCode::kResourceExhausted);
  // The products overflow 64 bits.
  EXPECT_EQ(ExpandHostlist("n[0-99999999999999999][0-99999999999999999][0-99999999999999999]").status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ExpandHostlistTest, NamesAreBoundedBeforeExpansion) {
  EXPECT_EQ(Expand(std::string(255, 'a')).front().size(), 255u);
  EXPECT_THAT(ErrorOf(std::string(256, 'a')), Names("position 1", "bytes 256", "limit 255"));
  EXPECT_THAT(ErrorOf("b, n" + std::string(252, 'a') + "[1-100]"), Names("position 4", "bytes 256", "limit 255"));
  EXPECT_THAT(ErrorOf("n[001-1]" + std::string(253, 'a')), Names("bytes 257"));
  std::string brackets = "n";
  for (int i = 0; i < 64; ++i) brackets += "[0]";
  EXPECT_EQ(Expand(brackets).front(), "n" + std::string(64, '0'));
  EXPECT_THAT(ErrorOf(brackets + "[0]"), Names("position 194", "limit 64"));
}

TEST(CompressHostlistTest, NeighborsShareABracket) {
  EXPECT_EQ(CompressHostlist({}), "");
  EXPECT_EQ(CompressHostlist({"login"}), "login");
  EXPECT_EQ(CompressHostlist({"n7"}), "n7");
  EXPECT_EQ(CompressHostlist({"n1", "n2", "n3", "n4", "n07", "n08", "n09", "login"}), "n[1-4,07-09],login");
  EXPECT_EQ(CompressHostlist({"n08", "n09", "n10", "n100"}), "n[08-10,100]");
  EXPECT_EQ(CompressHostlist({"a", "a", "n2", "n1", "n1", "m1"}), "a,a,n[2,1,1],m1");
  EXPECT_EQ(CompressHostlist({"1", "2"}), "[1-2]");
}

TEST(CompressHostlistTest, LongNumbersStayText) {
  const std::vector<std::string> hosts = {"n99999999999999999998", "n99999999999999999999"};
  EXPECT_EQ(Expand(CompressHostlist(hosts)), hosts);
}

// Compressing and expanding returns any hosts unchanged.
TEST(CompressHostlistTest, ExpandsToTheSameHosts) {
  Prng prng(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> hosts;
    const uint64_t count = 1 + prng.Below(12);
    while (hosts.size() < count) {
      std::string host(1, static_cast<char>('a' + prng.Below(2)));
      const uint64_t digits = prng.Below(4);
      for (uint64_t i = 0; i < digits; ++i) host.push_back("0189"[prng.Below(4)]);
      hosts.push_back(host);
      // Runs of neighbors are frequent.
      if (prng.Chance(0.5)) {
        const uint64_t low = 8 + prng.Below(90);
        for (uint64_t i = 0; i < prng.Below(5); ++i) hosts.push_back("a" + std::to_string(low + i));
      }
    }
    const std::string list = CompressHostlist(hosts);
    ASSERT_EQ(Expand(list), hosts) << list;
  }
}

}  // namespace
}  // namespace copse
