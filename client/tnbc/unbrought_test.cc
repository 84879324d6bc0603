// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/unbrought.h"

#include <string>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// Bytes as a picture: those of the parts are '#'.
std::string Draw(const std::vector<Part>& parts, uint64_t bytes) {
  std::string drawn(bytes, '.');
  for (const Part& part : parts) {
    EXPECT_GT(part.bytes, 0u);
    for (uint64_t i = part.offset; i < part.offset + part.bytes; ++i) {
      EXPECT_EQ(drawn.at(i), '.') << i;
      drawn.at(i) = '#';
    }
  }
  return drawn;
}

Division DivisionOf(const std::vector<std::vector<Part>>& parts, const std::vector<Part>& edges) {
  Division division;
  for (const std::vector<Part>& of_call : parts) {
    SubCall call;
    call.parts = of_call;
    division.calls.push_back(call);
  }
  for (const Part& edge : edges) division.edges.unpack.push_back({0, edge.offset, edge.bytes});
  return division;
}

TEST(UnbroughtTest, TheEdgesAndOnesOwn) {
  const Division division = DivisionOf({{{8, 8}}, {{4, 4}, {24, 4}}}, {{0, 4}, {28, 4}});
  const std::vector<Part> pages = {{0, 8}, {8, 8}, {16, 16}};
  EXPECT_EQ(Draw(UnbroughtOf(division, false, pages), 32), "####............########....####");
  EXPECT_EQ(Draw(UnbroughtOf(division, true, pages), 32), "................########........");
}

TEST(UnbroughtTest, OnThePagesOnly) {
  const Division division = DivisionOf({{{2, 20}}}, {});
  const std::vector<Part> pages = {{4, 4}, {12, 4}, {20, 4}, {28, 4}};
  EXPECT_EQ(Draw(UnbroughtOf(division, false, pages), 32), "......................##....####");
  EXPECT_TRUE(UnbroughtOf(division, false, {}).empty());
}

TEST(UnbroughtTest, OfAnyDivision) {
  constexpr uint64_t kBytes = 64;
  Prng prng(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<Part>> calls(prng.Below(4));
    std::vector<Part> edges, pages;
    const auto random_part = [&] {
      const uint64_t offset = prng.Below(kBytes);
      return Part{offset, prng.Below(std::min<uint64_t>(kBytes - offset, 20) + 1)};
    };
    for (std::vector<Part>& parts : calls) {
      for (uint64_t i = prng.Below(4); i > 0; --i) parts.push_back(random_part());
    }
    for (uint64_t i = prng.Below(3); i > 0; --i) edges.push_back(random_part());
    for (uint64_t at = 0; at < kBytes; at += 8) {
      if (prng.Below(2) == 1) pages.push_back({at, 8});
    }
    const Division division = DivisionOf(calls, edges);
    for (const bool edges_too : {false, true}) {
      std::string expected = Draw(pages, kBytes);
      const auto take_away = [&](const Part& part) { expected.replace(part.offset, part.bytes, part.bytes, '.'); };
      for (const std::vector<Part>& parts : calls) {
        for (const Part& part : parts) take_away(part);
      }
      for (const Part& edge : edges) {
        if (edges_too) take_away(edge);
      }
      ASSERT_EQ(Draw(UnbroughtOf(division, edges_too, pages), kBytes), expected) << round;
    }
  }
}

}  // namespace
}  // namespace copse::tnbc
