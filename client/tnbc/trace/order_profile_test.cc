// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/order_profile.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using copse::testing::Names;
using Order = std::vector<uint32_t>;

OrderProfile Example() {
  OrderProfile profile;
  profile.orders[{0xabc, "alltoall", 4, 2}] = {.order = {1, 0}, .slots = {}};
  profile.orders[{0xabc, "bcast", 4, 8}] = {.order = {7, 6, 5, 4, 3, 2, 1, 0}, .slots = {}};
  profile.orders[{1, "bcast", 3, 3}] = {.order = {0, 2, 1}, .first = 5, .slots = {{1, 0, 2}, {2, 1, 0}}};
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
  ASSERT_NE(profile.Find({0xabc, "alltoall", 4, 2}, 1), nullptr);
  EXPECT_EQ(*profile.Find({0xabc, "alltoall", 4, 2}, 1), (Order{1, 0}));
  EXPECT_EQ(profile.Find({0xabd, "alltoall", 4, 2}, 1), nullptr);
  EXPECT_EQ(profile.Find({0xabc, "bcast", 4, 2}, 1), nullptr);
  EXPECT_EQ(profile.Find({0xabc, "alltoall", 3, 2}, 1), nullptr);
  EXPECT_EQ(profile.Find({0xabc, "alltoall", 4, 3}, 1), nullptr);
}

TEST(OrderProfileTest, SlotsTakeTurnsFromTheirFirstCallOn) {
  const OrderProfile profile = Example();
  const ProfileKey key = {1, "bcast", 3, 3};
  for (const uint64_t call : {1, 2, 3, 4}) EXPECT_EQ(*profile.Find(key, call), (Order{0, 2, 1})) << call;
  for (const uint64_t call : {5, 7, 1'000'001}) EXPECT_EQ(*profile.Find(key, call), (Order{1, 0, 2})) << call;
  for (const uint64_t call : {6, 8, 1'000'002}) EXPECT_EQ(*profile.Find(key, call), (Order{2, 1, 0})) << call;
  for (const uint64_t call : {1, 2, 1'000}) EXPECT_EQ(*profile.Find({0xabc, "alltoall", 4, 2}, call), (Order{1, 0}));
}

// What was written before there were slots has them nowhere.
TEST(OrderProfileTest, SlotsAreOneLineWithTheirKind) {
  EXPECT_EQ(FormatProfile(Example()),
            "copse-profile 1\n"
            "order communicator=0000000000000001 collective=bcast length=3 parts=3 order=0,2,1 period=2 first=5 "
            "slot0=1,0,2 slot1=2,1,0\n"
            "order communicator=0000000000000abc collective=alltoall length=4 parts=2 order=1,0\n"
            "order communicator=0000000000000abc collective=bcast length=4 parts=8 order=7,6,5,4,3,2,1,0\n");
}

TEST(OrderProfileTest, ProfilesThatDifferHaveOtherHashes) {
  const ProfileKey key = {1, "bcast", 3, 3};
  std::vector<OrderProfile> profiles(6, Example());
  profiles[1].orders[key].order = {0, 1, 2};
  profiles[2].orders[key].slots[1] = {0, 1, 2};
  profiles[3].orders[key].first = 6;
  profiles[4].orders[key].slots.pop_back();
  profiles[5] = OrderProfile();
  std::set<uint64_t> hashes;
  for (const OrderProfile& profile : profiles) hashes.insert(profile.Hash());
  EXPECT_EQ(hashes.size(), profiles.size());
  for (const OrderProfile& profile : profiles) {
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
  EXPECT_THAT(ErrorOf(key + "1,x\n"), Names("line 2: order: order: ", "value=1,x"));
  for (const char* order : {"1", "1,1", "0,2", "0,1,2", "-"}) {
    EXPECT_THAT(ErrorOf(key + order), Names("line 2: order: order: ", std::string("value=") + order, "parts=2"));
  }
  EXPECT_THAT(ErrorOf(key + "1,0\n" + key + "0,1\n"), Names("line 3: order: ", "value=bcast"));
  EXPECT_THAT(ErrorOf("order communicator=1 collective=bcast length=4 parts=9999999999 order=-\n"),
              Names("line 2: order: parts: ", "value=9999999999", "limit=65536"));
  EXPECT_THAT(ErrorOf("other a=1\n"), Names("line 2: other: "));
  OrderProfile profile;
  EXPECT_THAT(ParseProfile("copse-profile 2\n", &profile), Names("line 1: ", "value=copse-profile%202"));
}

TEST(OrderProfileTest, WhatIsWrongWithSlotsIsSaidWithItsLine) {
  const std::string key = "order communicator=1 collective=bcast length=4 parts=2 order=0,1 ";
  const auto error = [&](const std::string& rest) { return ErrorOf(key + rest + "\n"); };
  EXPECT_EQ(error("period=2 first=3 slot0=1,0 slot1=0,1"), "");
  EXPECT_EQ(error("slot1=0,1 slot0=1,0 first=3 period=2"), "");
  EXPECT_THAT(error("period=0 first=3"), Names("line 2: order: period: ", "value=0", "limit=1"));
  EXPECT_THAT(error("period=17 first=3"), Names("line 2: order: period: ", "value=17", "limit=16"));
  EXPECT_THAT(error("period=x first=3"), Names("line 2: order: period: ", "value=x"));
  EXPECT_THAT(error("period=1 slot0=1,0"), Names("line 2: order: first: "));
  EXPECT_THAT(error("period=1 first=0 slot0=1,0"), Names("line 2: order: first: ", "value=0", "limit=1"));
  EXPECT_THAT(error("period=2 first=3 slot0=1,0"), Names("line 2: order: slot1: "));
  EXPECT_THAT(error("period=2 first=3 slot0=1,0 slot0=0,1"), Names("line 2: order: slot0: ", "value=0,1"));
  EXPECT_THAT(error("period=1 first=3 slot0=1,0 slot1=0,1"), Names("line 2: order: slot1: ", "value=0,1"));
  EXPECT_THAT(error("first=3"), Names("line 2: order: first: ", "value=3"));
  EXPECT_THAT(error("period=1 first=3 slot0=1,x"), Names("line 2: order: slot0: ", "value=1,x"));
  for (const char* order : {"1", "1,1", "0,2", "0,1,2", "-"}) {
    EXPECT_THAT(error(std::string("period=2 first=3 slot0=0,1 slot1=") + order),
                Names("line 2: order: slot1: ", std::string("value=") + order, "parts=2"));
  }
}

}  // namespace
}  // namespace copse::tnbc
