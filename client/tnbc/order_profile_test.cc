// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/order_profile.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

OrderProfile Example() {
  OrderProfile profile;
  profile.orders[{0xabc, "alltoall", 4, 2}] = {1, 0};
  profile.orders[{0xabc, "bcast", 4, 8}] = {7, 6, 5, 4, 3, 2, 1, 0};
  profile.orders[{1, "bcast", 3, 3}] = {0, 2, 1};
  return profile;
}

TEST(OrderProfileTest, WhatIsWrittenIsRead) {
  const OrderProfile profile = Example();
  OrderProfile read;
  EXPECT_EQ(ParseProfile(FormatProfile(profile), &read), "");
  EXPECT_EQ(read.orders, profile.orders);
  EXPECT_EQ(read.Hash(), profile.Hash());
}

TEST(OrderProfileTest, FindsByAllOfTheKey) {
  const OrderProfile profile = Example();
  ASSERT_NE(profile.Find({0xabc, "alltoall", 4, 2}), nullptr);
  EXPECT_EQ(*profile.Find({0xabc, "alltoall", 4, 2}), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(profile.Find({0xabd, "alltoall", 4, 2}), nullptr);
  EXPECT_EQ(profile.Find({0xabc, "bcast", 4, 2}), nullptr);
  EXPECT_EQ(profile.Find({0xabc, "alltoall", 3, 2}), nullptr);
  EXPECT_EQ(profile.Find({0xabc, "alltoall", 4, 3}), nullptr);
}

TEST(OrderProfileTest, ProfilesThatDifferHaveOtherHashes) {
  OrderProfile other = Example();
  other.orders[{1, "bcast", 3, 3}] = {0, 1, 2};
  EXPECT_NE(other.Hash(), Example().Hash());
  for (const OrderProfile& profile : {Example(), other, OrderProfile()}) {
    EXPECT_NE(profile.Hash(), 0u);
    EXPECT_LT(profile.Hash(), uint64_t{1} << 62);
  }
  EXPECT_NE(HashOf({0, 1}), HashOf({1, 0}));
}

std::string ErrorOf(const std::string& keys) {
  OrderProfile profile;
  return ParseProfile("copse-profile 1\n" + keys, &profile);
}

TEST(OrderProfileTest, WhatIsWrongIsSaidWithItsLine) {
  const std::string key = "order communicator=1 collective=bcast length=4 parts=2 order=";
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_EQ(ErrorOf(key + "1,0\n"), "");
  EXPECT_EQ(ErrorOf(key + "1,x\n"), "line 2: order: order: not numbers (value=1,x)");
  for (const char* order : {"1", "1,1", "0,2", "0,1,2", "-"}) {
    EXPECT_EQ(ErrorOf(key + order), std::string("line 2: order: order: not each part once (value=") + order + ")");
  }
  EXPECT_EQ(ErrorOf(key + "1,0\n" + key + "0,1\n"), "line 3: order: such calls have one before (value=bcast)");
  EXPECT_EQ(ErrorOf("order communicator=1 collective=bcast length=4 parts=9999999999 order=-\n"),
            "line 2: order: parts: too large (value=9999999999, limit=65536)");
  EXPECT_EQ(ErrorOf("other a=1\n"), "line 2: other: no such record");
  OrderProfile profile;
  EXPECT_EQ(ParseProfile("copse-profile 2\n", &profile),
            "line 1: not what it should begin with, \"copse-profile 1\" (value=copse-profile%202)");
}

}  // namespace
}  // namespace copse::tnbc
