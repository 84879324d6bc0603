// SPDX-License-Identifier: Apache-2.0
#include "planner/candidates.h"
#include "planner/size_class.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schedule/testing/sample_plans.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;

TEST(CandidateAlgorithmsTest, LeavesOutWhatIsTheSame) {
  EXPECT_THAT(CandidateAlgorithms(1), ElementsAre("flat"));
  EXPECT_THAT(CandidateAlgorithms(2), ElementsAre("flat", "dissemination", "recursive-doubling"));
  EXPECT_THAT(CandidateAlgorithms(5), ElementsAre("flat", "binomial", "knomial-3", "knomial-4", "kary-2", "kary-3",
                                                  "dissemination", "recursive-doubling"));
  EXPECT_THAT(CandidateAlgorithms(5000),
              ElementsAre("flat", "binomial", "knomial-4", "knomial-16", "kary-2", "kary-4", "kary-16"));
}

TEST(SegmentSizesTest, KeepWithinTheBounds) {
  EXPECT_THAT(SegmentSizes(0), ElementsAre(0));
  EXPECT_THAT(SegmentSizes(120), ElementsAre(0));
  EXPECT_THAT(SegmentSizes(8192), ElementsAre(0, 4096, 2048));
  EXPECT_THAT(SegmentSizes(8193), ElementsAre(8192, 4096, 2048));
  EXPECT_THAT(SegmentSizes(65'536), ElementsAre(8192, 32768, 16384, 4096));
  EXPECT_THAT(SegmentSizes(schedule::kCallBytesMax), ElementsAre(61440));
  EXPECT_THAT(SegmentSizes(kLongMessages.bytes_max), ElementsAre(32768, 61440, 16384, 8192));
  for (uint64_t bytes = 0; bytes <= schedule::kMessageBytesMax; bytes += 97) {
    ASSERT_FALSE(SegmentSizes(bytes).empty());
    for (const uint32_t size : SegmentSizes(bytes)) {
      schedule::Plan plan;
      plan.segment_bytes = size;
      ASSERT_EQ(size % schedule::kSegmentUnitBytes, 0u);
      ASSERT_LE(size, schedule::kSegmentBytesMax);
      ASSERT_LE(schedule::SegmentCount(plan, bytes), schedule::kSegmentsMax);
      ASSERT_TRUE(size > 0 || bytes <= schedule::kSegmentBytesMax);
    }
  }
}

TEST(PriceCandidatesTest, FindsTheBestSegmentSizeOfTheCheapest) {
  const uint32_t n = 24;
  std::vector<std::string> names;
  NodeOrder order;
  for (uint32_t v = 0; v < n; ++v) {
    names.push_back(absl::StrCat("n", v));
    order.push_back(v);
  }
  const schedule::TeamShape shape = schedule::BlockShape(n, 1);
  const auto topology = topology::FlatTopology(names);
  const auto costs = TeamCosts::Create(names, *topology, {});
  std::vector<Structure> structures;
  for (const std::string& name : CandidateAlgorithms(n)) {
    structures.push_back(*BuildStructure(name, order));
  }
  const uint64_t bytes = schedule::kMessageBytesMax;
  const CallArguments arguments = {.collective = Collective::kBcast, .count = bytes};
  std::vector<uint32_t> which;
  for (uint32_t i = 0; i < structures.size(); ++i) {
    if (CanCarry(structures[i], Collective::kBcast)) which.push_back(i);
  }
  std::vector<Candidate> every;
  const auto best =
      PriceCandidates(structures, which, {shape, *costs, arguments, bytes, SegmentSizes(bytes)}, &every).value();
  EXPECT_EQ(best.size(), structures.size() - 2) << "exchanges carry no bcast";
  EXPECT_EQ(every.size(), best.size() + kRefined * (SegmentSizes(bytes).size() - 1));

  // The expected value tries every structure with every size.
  int64_t least = INT64_MAX;
  for (const Structure& structure : structures) {
    if (!CanCarry(structure, Collective::kBcast)) continue;
    for (const uint32_t size : SegmentSizes(bytes)) {
      const auto price = Price(PlanOf(structure, Collective::kBcast, 0, bytes, size), shape, *costs, arguments).value();
      least = std::min(least, price.total_ns);
    }
  }
  int64_t found = INT64_MAX;
  for (const Candidate& candidate : best) found = std::min(found, candidate.total_ns);
  EXPECT_EQ(found, least);
}

TEST(StillWorthPricingTest, LeavesOutWhatIsHopelessForShorterMessages) {
  const std::vector<uint32_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<Structure> structures;
  for (const char* name : {"flat", "binomial", "kary-2", "chain", "recursive-doubling", "ring"}) {
    structures.push_back(*BuildStructure(name, order));
  }
  // By price the order is binomial, recursive-doubling, flat, chain, kary-2; the ring has no price.
  const std::vector<Candidate> shorter = {{0, 0, 300}, {1, 0, 100}, {2, 0, 900}, {3, 0, 800}, {4, 0, 150}};
  EXPECT_THAT(StillWorthPricing(structures, {0, 1, 2, 3, 4, 5}, shorter), ElementsAre(1, 3, 4, 5))
      << "a chain has fewer neighbors than all that is cheaper";
  EXPECT_THAT(StillWorthPricing(structures, {5, 0}, shorter), ElementsAre(5));
  EXPECT_THAT(StillWorthPricing(structures, {0, 2}, {}), ElementsAre(0, 2));
}

TEST(PriceCandidatesTest, PassesErrorsOn) {
  const auto topology = topology::FlatTopology({"a"});
  const auto costs = TeamCosts::Create({"a"}, *topology, {});
  const std::vector<Structure> structures = {*BuildStructure("flat", {0})};
  const schedule::TeamShape shape = schedule::BlockShape(1, 1);
  const CallArguments arguments = {.collective = Collective::kBcast, .count = 200};
  const auto priced = PriceCandidates(structures, {0}, {shape, *costs, arguments, 100, {0}}, nullptr);
  EXPECT_THAT(priced, FailsWith(absl::StatusCode::kInvalidArgument, "bytes=200", "limit=0-100"));
}

}  // namespace
}  // namespace copse::planner
