// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/team_history.h"

#include <gtest/gtest.h>

#include <vector>

namespace copse::coordinator {
namespace {

EndedTeam Ended(uint64_t id, size_t nodes = 1) {
  EndedTeam team;
  team.layout.id = TeamId{id};
  team.layout.nodes.resize(nodes, {.name = "n", .incarnation = Incarnation{1}, .worker_address = "address"});
  return team;
}

std::vector<uint64_t> Ids(const TeamHistory& history) {
  std::vector<uint64_t> ids;
  uint64_t last = 0;
  while (const EndedTeam* team = history.After(last)) {
    last = team->number;
    ids.push_back(team->layout.id.value());
  }
  return ids;
}

TEST(TeamHistoryTest, TellsTheLastInTheirOrder) {
  TeamHistory history;
  EXPECT_EQ(history.After(0), nullptr);
  for (const uint64_t id : {7, 3, 5}) history.Add(Ended(id));
  EXPECT_EQ(Ids(history), (std::vector<uint64_t>{7, 3, 5}));
  EXPECT_EQ(history.After(1)->layout.id, TeamId{3});
  EXPECT_EQ(history.After(3), nullptr);
  EXPECT_EQ(history.After(0)->layout.nodes[0].worker_address, "");
}

TEST(TeamHistoryTest, ForgetsTheFirstBeyondItsLimits) {
  TeamHistory history;
  for (uint64_t id = 1; id <= TeamHistory::kMax + 2; ++id) history.Add(Ended(id));
  EXPECT_EQ(Ids(history).size(), TeamHistory::kMax);
  EXPECT_EQ(history.After(0)->layout.id, TeamId{3});
  history.Add(Ended(9000, TeamHistory::kPlacesMax - 1));
  EXPECT_EQ(Ids(history), (std::vector<uint64_t>{TeamHistory::kMax + 2, 9000}));
  history.Add(Ended(9001, TeamHistory::kPlacesMax + 1));
  EXPECT_EQ(Ids(history), (std::vector<uint64_t>{9001}));
}

}  // namespace
}  // namespace copse::coordinator
