// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/access_order.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using Parts = std::vector<uint32_t>;

// A program that reads parts in this order, each in `reading` of what bringing one takes, with a single rank.
void MakeCall(const Parts& reads, double reading, AccessOrder* order) {
  if (order->CountCall()) order->Adopt(order->Positions());
  std::vector<AccessOrder::Touch> touches;
  double now = 0;
  for (const uint32_t part : reads) {
    const auto& brought = order->order();
    const double comes = static_cast<double>(std::find(brought.begin(), brought.end(), part) - brought.begin()) + 1;
    if (comes > now) {
      touches.push_back({part, static_cast<uint32_t>(now)});
      now = comes;
    }
    now += reading;
  }
  order->Learn(touches);
}

TEST(AccessOrderTest, FindsTheOrderOfReads) {
  for (const double reading : {0.1, 1.0, 3.0}) {
    for (const Parts& reads : {Parts{0, 1, 2, 3}, Parts{3, 2, 1, 0}, Parts{2, 0, 3, 1}}) {
      AccessOrder order;
      order.SetParts(4);
      for (int call = 0; call < 40; ++call) MakeCall(reads, reading, &order);
      // Who reads slowly is well served by any order that brings the next part in time.
      if (reading < 1) {
        EXPECT_EQ(order.order(), reads) << reading;
      }
      EXPECT_EQ(order.order()[0], reads[0]) << reading;
    }
  }
}

TEST(AccessOrderTest, WhatServesWellStays) {
  AccessOrder order;
  order.SetParts(4);
  for (int call = 0; call < 40; ++call) {
    MakeCall({0, 1, 2, 3}, 0.5, &order);
    EXPECT_EQ(order.order(), (Parts{0, 1, 2, 3}));
  }
}

TEST(AccessOrderTest, RanksMeetInTheMiddle) {
  AccessOrder first, second;
  for (AccessOrder* order : {&first, &second}) order->SetParts(3);
  const AccessOrder::Touch touches[] = {{2, 0}, {1, 0}};
  first.Learn(touches);
  EXPECT_EQ(first.Positions(), (std::vector<uint64_t>{2, 1, 0}));
  std::vector<uint64_t> sums = first.Positions();
  for (size_t i = 0; i < 3; ++i) sums[i] += 2 * second.Positions()[i];
  for (AccessOrder* order : {&first, &second}) order->Adopt(sums);
  EXPECT_EQ(first.order(), second.order());
  EXPECT_EQ(first.order(), (Parts{0, 1, 2}));
}

TEST(AccessOrderTest, AgreementsBecomeSeldom) {
  AccessOrder order;
  std::vector<int> at;
  for (int call = 1; call <= 1000; ++call) {
    if (order.CountCall()) at.push_back(call);
  }
  EXPECT_EQ(at, (std::vector<int>{2, 4, 8, 16, 32, 64, 128, 256, 512, 768}));
}

}  // namespace
}  // namespace copse::tnbc
