// SPDX-License-Identifier: Apache-2.0
#include "planner/store/store_address.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;

TEST(StoreAddressTest, HasThreeForms) {
  const auto memory = ParseStoreAddress("");
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(memory->file.empty() && memory->etcd.empty());
  EXPECT_EQ(ParseStoreAddress("sqlite:/var/lib/copse/state.db")->file, "/var/lib/copse/state.db");
  const auto etcd = ParseStoreAddress("etcds://a:2379,[::1]:2379/copse/lab/");
  ASSERT_TRUE(etcd.ok()) << etcd.status();
  EXPECT_THAT(etcd->etcd, ElementsAre("a:2379", "[::1]:2379"));
  EXPECT_EQ(etcd->prefix, "/copse/lab");
  EXPECT_TRUE(etcd->is_encrypted);
  EXPECT_FALSE(ParseStoreAddress("etcd://a:2379/x")->is_encrypted);
}

TEST(StoreAddressTest, OtherFormsAreRefusedWithTheirText) {
  for (const char* text : {"/var/lib/state.db", "sqlite:", "etcds://a:2379", "etcds://a:2379/", "etcds://a/x",
                           "etcds:///x", "etcd://a:2379/x y", "http://a:2379/x"}) {
    EXPECT_THAT(ParseStoreAddress(text),
                copse::testing::FailsWith(absl::StatusCode::kInvalidArgument, absl::StrCat("store=", text)));
  }
}

}  // namespace
}  // namespace copse::planner
