// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/access_order.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using Fragments = std::vector<uint32_t>;

// A program that reads fragments in this order, each in `reading` of what bringing one takes, with a single rank.
void MakeCall(const Fragments& reads, double reading, AccessOrder* order, const void* site = nullptr) {
  if (order->BeginCall(site)) order->Adopt(order->Period(), order->Positions(order->Period()));
  const Fragments brought = order->order();
  std::vector<AccessOrder::Access> accesses;
  double now = 0;
  for (const uint32_t fragment : reads) {
    const double comes = static_cast<double>(std::find(brought.begin(), brought.end(), fragment) - brought.begin()) + 1;
    if (comes > now) {
      accesses.push_back({fragment, static_cast<uint32_t>(now)});
      now = comes;
    }
    now += reading;
  }
  order->Learn(site, brought, accesses);
}

TEST(AccessOrderTest, FindsTheOrderOfReads) {
  for (const double reading : {0.1, 1.0, 3.0}) {
    for (const Fragments& reads : {Fragments{0, 1, 2, 3}, Fragments{3, 2, 1, 0}, Fragments{2, 0, 3, 1}}) {
      AccessOrder order;
      order.SetFragments(4);
      for (int call = 0; call < 40; ++call) MakeCall(reads, reading, &order);
      // A slow reader is well served by any order that brings the next fragment in time.
      if (reading <= 1) {
        EXPECT_EQ(order.order(), reads) << reading;
      }
      EXPECT_EQ(order.order()[0], reads[0]) << reading;
    }
  }
}

TEST(AccessOrderTest, WhatServesWellStays) {
  AccessOrder order;
  order.SetFragments(4);
  for (int call = 0; call < 40; ++call) {
    MakeCall({0, 1, 2, 3}, 0.5, &order);
    EXPECT_EQ(order.order(), (Fragments{0, 1, 2, 3}));
  }
}

TEST(AccessOrderTest, RanksMeetInTheMiddle) {
  AccessOrder first, second;
  for (AccessOrder* order : {&first, &second}) order->SetFragments(3);
  const AccessOrder::Access accesses[] = {{2, 0}, {1, 0}};
  first.BeginCall(nullptr);
  second.BeginCall(nullptr);
  first.Learn(nullptr, first.order(), accesses);
  EXPECT_EQ(first.Positions(1), (std::vector<uint64_t>{2, 1, 0}));
  std::vector<uint64_t> sums = first.Positions(1);
  for (size_t i = 0; i < 3; ++i) sums[i] += 2 * second.Positions(1)[i];
  for (AccessOrder* order : {&first, &second}) order->Adopt(1, sums);
  EXPECT_EQ(first.order(), second.order());
  EXPECT_EQ(first.order(), (Fragments{0, 1, 2}));
}

TEST(AccessOrderTest, PlacesThatTakeTurnsHaveTheirOwn) {
  const char sites[3] = {};
  const Fragments reads[] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
  AccessOrder order;
  order.SetFragments(4);
  // A beginning that is of no period; then the first place twice, and the others.
  for (int call = 0; call < 3; ++call) MakeCall(reads[1], 0.1, &order, &sites[1]);
  for (int call = 0; call < 200; ++call) {
    const int place = call % 4 == 0 ? 0 : call % 4 - 1;
    MakeCall(reads[place], 0.1, &order, &sites[place]);
    if (call < 150) continue;
    EXPECT_EQ(order.order(), reads[place]) << call;
  }
}

// Ranks whose places come otherwise than all expected, and one that sees no period, have the same orders all the same.
TEST(AccessOrderTest, WhatIsUsedDependsOnWhatAllKnow) {
  const char sites[2] = {};
  AccessOrder ranks[2];
  for (AccessOrder& order : ranks) order.SetFragments(2);
  for (int call = 0; call < 100; ++call) {
    const bool agrees = ranks[0].BeginCall(&sites[call % 2]);
    EXPECT_EQ(ranks[1].BeginCall(&sites[call < 60 ? call % 2 : call % 7 / 4]), agrees);
    if (agrees) {
      const uint32_t period = ranks[0].Period() == ranks[1].Period() ? ranks[0].Period() : 1;
      std::vector<uint64_t> sums = ranks[0].Positions(period);
      const std::vector<uint64_t> others = ranks[1].Positions(period);
      ASSERT_EQ(sums.size(), others.size());
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
      for (AccessOrder& order : ranks) order.Adopt(period, sums);
    }
    EXPECT_EQ(ranks[0].order(), ranks[1].order()) << call;
    const AccessOrder::Access last[] = {{1, 0}};
    for (AccessOrder& order : ranks) {
      if (call % 2 == 1) order.Learn(&sites[1], order.order(), last);
    }
    if (call == 40) {
      EXPECT_EQ(ranks[0].order(), (Fragments{0, 1}));
    }
    if (call == 41) {
      EXPECT_EQ(ranks[0].order(), (Fragments{1, 0}));
    }
  }
}

TEST(AccessOrderTest, NoPeriodThatIsTooLongIsSeen) {
  const char sites[AccessOrder::kPeriodMax + 1] = {};
  for (const uint32_t period : {1U, 3U, AccessOrder::kPeriodMax, AccessOrder::kPeriodMax + 1}) {
    AccessOrder order;
    for (uint32_t call = 0; call < 5 * period; ++call) order.BeginCall(&sites[call % period]);
    EXPECT_EQ(order.Period(), period > AccessOrder::kPeriodMax ? 1 : period);
  }
}

TEST(AccessOrderTest, AgreementsBecomeSeldom) {
  AccessOrder order;
  std::vector<int> at;
  for (int call = 1; call <= 1000; ++call) {
    if (order.BeginCall(nullptr)) at.push_back(call);
  }
  EXPECT_EQ(at, (std::vector<int>{2, 4, 6, 8, 10, 12, 14, 16, 32, 64, 128, 256, 512, 768}));
}

}  // namespace
}  // namespace copse::tnbc
