// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/granules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "client/copse.h"
#include "client/tnbc/fragmentation.h"
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

// Of a buffer that begins and ends with a page nothing is outside granules, if the edges have theirs.
TEST(EdgesFillPagesTest, WhereTheBufferHasWholePages) {
  constexpr uint64_t kPage = 4096, kPages = 256;
  const NodeLayout layout = NodeLayout::Of(std::vector<uint64_t>{1, 2});
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_BCAST;
  args.type = COPSE_DT_UINT8;
  args.count = kPages * kPage;
  Division division;
  ASSERT_TRUE(Divide(args, 1, layout, {}, &division));
  constexpr uintptr_t kAt = 5 * kPage;
  EXPECT_TRUE(EdgesFillPages(division, {kAt, kPage}));
  EXPECT_FALSE(EdgesFillPages(division, {kAt + 16, kPage}));
  EXPECT_FALSE(EdgesFillPages(division, {kAt + 16, kPage, 16, kPage - 17}));
  EXPECT_FALSE(EdgesFillPages(division, {kAt + 16, kPage, 15, kPage}));
  EXPECT_TRUE(EdgesFillPages(division, {kAt + 16, kPage, 16, kPage - 16}));
  const auto behind = static_cast<uint32_t>(division.calls.size());
  for (const uint64_t offset : {0, 16}) {
    const BufferPlace place = {kAt + offset, kPage, 16, kPage - 16};
    uintptr_t end = kAt;
    const std::vector<Granule> granules = GranulesOf(division, place, /*edges_too=*/true);
    for (const Granule& granule : granules) {
      EXPECT_EQ(granule.begin, end);
      end = granule.begin + granule.bytes;
    }
    EXPECT_EQ(end, kAt + args.count + (offset == 0 ? 0 : kPage));
    EXPECT_EQ(granules.front().calls, std::vector<uint32_t>{behind});
    EXPECT_EQ(granules.back().calls, std::vector<uint32_t>{behind});
    // Who waits for the edges has them there already.
    for (const Granule& granule : GranulesOf(division, place)) {
      EXPECT_GE(granule.begin, place.address);
      EXPECT_LE(granule.begin + granule.bytes, place.address + args.count);
    }
  }
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
