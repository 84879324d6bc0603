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

// Bytes as a picture: those of the extents are '#'.
std::string Draw(const std::vector<Extent>& extents, uint64_t bytes) {
  std::string drawn(bytes, '.');
  for (const Extent& fragment : extents) {
    EXPECT_GT(fragment.bytes, 0u);
    for (uint64_t i = fragment.offset; i < fragment.offset + fragment.bytes; ++i) {
      EXPECT_EQ(drawn.at(i), '.') << i;
      drawn.at(i) = '#';
    }
  }
  return drawn;
}

Fragmentation DivisionOf(const std::vector<std::vector<Extent>>& extents, const std::vector<Extent>& edges) {
  Fragmentation fragmentation;
  for (const std::vector<Extent>& of_call : extents) {
    SubCall call;
    call.extents = of_call;
    fragmentation.calls.push_back(call);
  }
  for (const Extent& edge : edges) fragmentation.edges.unpack.push_back({0, edge.offset, edge.bytes});
  return fragmentation;
}

// A buffer that begins and ends with a page has nothing outside granules, if the edges have theirs.
TEST(EdgesFillPagesTest, WhereTheBufferHasWholePages) {
  constexpr uint64_t kPage = 4096, kPages = 256;
  const NodeLayout layout = NodeLayout::Of(std::vector<uint64_t>{1, 2});
  copse_coll_args_t args{.collective = COPSE_COLL_BCAST, .type = COPSE_DT_UINT8, .count = kPages * kPage};
  Fragmentation fragmentation;
  ASSERT_TRUE(FragmentCall(args, 1, layout, {}, &fragmentation));
  constexpr uintptr_t kAt = 5 * kPage;
  EXPECT_TRUE(EdgesFillPages(fragmentation, {kAt, kPage}));
  EXPECT_FALSE(EdgesFillPages(fragmentation, {kAt + 16, kPage}));
  EXPECT_FALSE(EdgesFillPages(fragmentation, {kAt + 16, kPage, 16, kPage - 17}));
  EXPECT_FALSE(EdgesFillPages(fragmentation, {kAt + 16, kPage, 15, kPage}));
  EXPECT_TRUE(EdgesFillPages(fragmentation, {kAt + 16, kPage, 16, kPage - 16}));
  const auto behind = static_cast<uint32_t>(fragmentation.calls.size());
  for (const uint64_t offset : {0, 16}) {
    const BufferPlace place = {kAt + offset, kPage, 16, kPage - 16};
    uintptr_t end = kAt;
    const std::vector<Granule> granules = GranulesOf(fragmentation, place, /*edges_too=*/true);
    for (const Granule& granule : granules) {
      EXPECT_EQ(granule.begin, end);
      end = granule.begin + granule.bytes;
    }
    EXPECT_EQ(end, kAt + args.count + (offset == 0 ? 0 : kPage));
    EXPECT_EQ(granules.front().calls, std::vector<uint32_t>{behind});
    EXPECT_EQ(granules.back().calls, std::vector<uint32_t>{behind});
    // A call that waits for the edges has them there already.
    for (const Granule& granule : GranulesOf(fragmentation, place)) {
      EXPECT_GE(granule.begin, place.address);
      EXPECT_LE(granule.begin + granule.bytes, place.address + args.count);
    }
  }
}

TEST(UnbroughtTest, TheEdgesAndOnesOwn) {
  const Fragmentation fragmentation = DivisionOf({{{8, 8}}, {{4, 4}, {24, 4}}}, {{0, 4}, {28, 4}});
  const std::vector<Extent> pages = {{0, 8}, {8, 8}, {16, 16}};
  EXPECT_EQ(Draw(UnbroughtOf(fragmentation, false, pages), 32), "####............########....####");
  EXPECT_EQ(Draw(UnbroughtOf(fragmentation, true, pages), 32), "................########........");
}

TEST(UnbroughtTest, OnThePagesOnly) {
  const Fragmentation fragmentation = DivisionOf({{{2, 20}}}, {});
  const std::vector<Extent> pages = {{4, 4}, {12, 4}, {20, 4}, {28, 4}};
  EXPECT_EQ(Draw(UnbroughtOf(fragmentation, false, pages), 32), "......................##....####");
  EXPECT_TRUE(UnbroughtOf(fragmentation, false, {}).empty());
}

TEST(UnbroughtTest, OfAnyDivision) {
  constexpr uint64_t kBytes = 64;
  Prng prng(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<Extent>> calls(prng.Below(4));
    std::vector<Extent> edges, pages;
    const auto random_part = [&] {
      const uint64_t offset = prng.Below(kBytes);
      return Extent{offset, prng.Below(std::min<uint64_t>(kBytes - offset, 20) + 1)};
    };
    for (std::vector<Extent>& extents : calls) {
      for (uint64_t i = prng.Below(4); i > 0; --i) extents.push_back(random_part());
    }
    for (uint64_t i = prng.Below(3); i > 0; --i) edges.push_back(random_part());
    for (uint64_t at = 0; at < kBytes; at += 8) {
      if (prng.Below(2) == 1) pages.push_back({at, 8});
    }
    const Fragmentation fragmentation = DivisionOf(calls, edges);
    for (const bool edges_too : {false, true}) {
      std::string expected = Draw(pages, kBytes);
      const auto take_away = [&](const Extent& fragment) {
        expected.replace(fragment.offset, fragment.bytes, fragment.bytes, '.');
      };
      for (const std::vector<Extent>& extents : calls) {
        for (const Extent& fragment : extents) take_away(fragment);
      }
      for (const Extent& edge : edges) {
        if (edges_too) take_away(edge);
      }
      ASSERT_EQ(Draw(UnbroughtOf(fragmentation, edges_too, pages), kBytes), expected) << round;
    }
  }
}

}  // namespace
}  // namespace copse::tnbc
