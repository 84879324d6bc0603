// SPDX-License-Identifier: Apache-2.0
#include "base/certificates/spiffe_id.h"

#include <gtest/gtest.h>

namespace copse {
namespace {

TEST(SpiffeIdTest, ThreePartsAreRead) {
  const std::optional<SpiffeId> id = ParseSpiffeId("spiffe://my.cluster/node/n-1.rack");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(*id, (SpiffeId{"my.cluster", "node", "n-1.rack"}));
  EXPECT_EQ(id->ToUri(), "spiffe://my.cluster/node/n-1.rack");
}

TEST(SpiffeIdTest, OthersAreNot) {
  for (const std::string uri :
       {"", "spiffe://", "spiffe://d", "spiffe://d/node", "spiffe://d/node/", "spiffe:///node/n", "spiffe://d//n",
        "spiffe://d/node/n/m", "https://d/node/n", "SPIFFE://d/node/n", "spiffe://d/node/n\n", "spiffe://d/no de/n"}) {
    EXPECT_FALSE(ParseSpiffeId(uri).has_value()) << uri;
  }
  EXPECT_FALSE(ParseSpiffeId(std::string_view("spiffe://d/node/n\0m", 19)).has_value());
}

}  // namespace
}  // namespace copse
