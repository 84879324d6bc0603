// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/turns.h"

#include "gtest/gtest.h"

namespace copse::trace {
namespace {

// Makes one place per letter.
std::vector<uint32_t> PlacesOf(const std::string& letters) { return {letters.begin(), letters.end()}; }

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

Turns Found(const std::string& letters) { return FindTurns(PlacesOf(letters)).value_or(Turns{0, 0, 0}); }

TEST(FindTurnsTest, FindsTheShortestPeriod) {
  EXPECT_EQ(Found("aaaa"), (Turns{1, 4, 1}));
  EXPECT_EQ(Found("abab"), (Turns{1, 4, 2}));
  EXPECT_EQ(Found("abababa"), (Turns{1, 7, 2}));
  EXPECT_EQ(Found("aabaab"), (Turns{1, 6, 3}));
  EXPECT_EQ(Found(Repeated("abcdefghijklmnop", 2)), (Turns{1, 32, 16}));
}

TEST(FindTurnsTest, ABeginningAndAnEndMayBeOtherwise) {
  EXPECT_EQ(Found("xyzzy" + Repeated("ab", 5)), (Turns{6, 10, 2}));
  EXPECT_EQ(Found("x" + Repeated("ab", 5) + "y"), (Turns{2, 10, 2}));
  EXPECT_EQ(Found("xxaaaaaa"), (Turns{3, 6, 1}));
  EXPECT_EQ(Found("b" + Repeated("ab", 5)), (Turns{1, 11, 2}));
}

TEST(FindTurnsTest, WhatIsSeenTooSeldomIsNone) {
  for (const char* letters : {"", "a", "ab", "aba", "aaa", "abcdef", "abcabd", "ababxcdefgh", "aaaabcdefg"}) {
    EXPECT_EQ(FindTurns(PlacesOf(letters)), std::nullopt) << letters;
  }
  EXPECT_EQ(FindTurns(PlacesOf(Repeated("abcdefghijklmnopq", 4))), std::nullopt);
  // Half of the calls suffice.
  EXPECT_EQ(Found("wxyzabab"), (Turns{5, 4, 2}));
  EXPECT_EQ(FindTurns(PlacesOf("vwxyzabab")), std::nullopt);
}

// Makes places by rank.
CallPlaces Called(const std::vector<std::string>& letters) {
  CallPlaces places;
  for (uint32_t rank = 0; rank < letters.size(); ++rank) {
    for (size_t i = 0; i < letters[rank].size(); ++i) {
      places.Add(rank, i + 1, static_cast<unsigned char>(letters[rank][i]));
    }
  }
  return places;
}

TEST(CallPlacesTest, RanksMayCallFromPlacesOfTheirOwn) {
  for (const char* others : {"ababab", "cdcdcd", "eeeeee"}) {
    const CallPlaces::InTurn found = Called({"ababab", others}).Find();
    EXPECT_EQ(found.turns, (Turns{1, 6, 2})) << others;
    EXPECT_EQ(found.why_none, "");
    ASSERT_EQ(found.places.size(), 6u);
    EXPECT_EQ(found.places[0], found.places[2]);
    EXPECT_NE(found.places[0], found.places[1]);
  }
  EXPECT_EQ(Called({Repeated("ab", 6), Repeated("cde", 4)}).Find().turns, (Turns{1, 12, 6}));
}

TEST(CallPlacesTest, OnePlaceHasNoTurns) {
  const CallPlaces::InTurn found = Called({"aaaaaa", "bbbbbb"}).Find();
  EXPECT_EQ(found.turns, std::nullopt);
  EXPECT_EQ(found.why_none, "");
  EXPECT_EQ(found.places, std::vector<uint32_t>(6, found.places[0]));
}

TEST(CallPlacesTest, SaysWhyThereAreNoTurns) {
  EXPECT_EQ(Called({"abcdef", "abcdef"}).Find().why_none, "places take turns in no period of up to 16");
  EXPECT_EQ(Called({"xababab", "abcdefg"}).Find().why_none,
            "ranks differ: on rank 0 places take turns in a period of 2 from call 2, on rank 1 in no period of up to "
            "16");
  CallPlaces twice = Called({"abab", "abab"});
  twice.Add(1, 3, 'a');
  EXPECT_EQ(twice.Find().turns, (Turns{1, 4, 2}));
  twice.Add(1, 3, 'b');
  EXPECT_EQ(twice.Find().turns, std::nullopt);
  EXPECT_EQ(twice.Find().why_none, "call 3 is made at several places, by communicators of the same members");
}

TEST(CallPlacesTest, CallsCountThatAllRanksHave) {
  EXPECT_EQ(Called({"ababxy", "abab"}).Find().turns, (Turns{1, 4, 2}));
  EXPECT_EQ(Called({"ababxy", "abab"}).Find().places.size(), 4u);
  CallPlaces gap = Called({"ababab", "abab"});
  gap.Add(1, 6, 'b');
  EXPECT_EQ(gap.Find().places.size(), 4u);
  EXPECT_TRUE(CallPlaces().Find().places.empty());
  CallPlaces none = Called({"abab"});
  none.Add(1, uint64_t{1} << 60, 'a');
  EXPECT_TRUE(none.Find().places.empty());
}

}  // namespace
}  // namespace copse::trace
