// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/team_id_pool.h"

#include <set>

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

TEST(TeamIdPoolTest, GivesEachIdOnce) {
  TeamIdPool pool;
  EXPECT_FALSE(pool.Take());
  std::set<TeamId> taken;
  uint64_t issued = 0;
  const auto refill = [&] {
    if (!pool.WantsMore()) return;
    pool.Requested();
    EXPECT_FALSE(pool.WantsMore());  // one request at a time
    pool.Add({TeamId(1'000'000 + issued), 1024});
    issued += 1024;
  };
  for (int i = 0; i < 5000; ++i) {
    refill();
    const std::optional<TeamId> id = pool.Take();
    ASSERT_TRUE(id && taken.insert(*id).second) << i;
  }
  EXPECT_LT(issued, 5000u + 2048u);
}

TEST(TeamIdPoolTest, RequestIsRepeatedOnTheNextStream) {
  TeamIdPool pool;
  EXPECT_TRUE(pool.WantsMore());
  pool.Requested();
  pool.DropRequest();
  EXPECT_TRUE(pool.WantsMore());
  pool.Add({TeamId(5), 1});
  EXPECT_EQ(pool.Take(), TeamId(5));
  EXPECT_FALSE(pool.Take());
}

TEST(TeamIdPoolTest, IdsOfAnotherClusterAreForgotten) {
  TeamIdPool pool;
  pool.OnRegistered("a");
  pool.Add({TeamId(5), 2});
  pool.OnRegistered("a");
  EXPECT_EQ(pool.Take(), TeamId(5));
  pool.OnRegistered("b");
  EXPECT_FALSE(pool.Take());
  EXPECT_TRUE(pool.WantsMore());
}

}  // namespace
}  // namespace copse::daemon
