// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/end_checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "planner/coordinator/random/world.h"

namespace copse::coordinator {
namespace {

// A Held is a team that daemons run, and that is not broken.
struct Held {
  std::set<std::string> nodes;
  std::set<EpochId> epochs;
  schedule::TeamLayout layout;
};

// Returns whether no member of the team has left it.
bool AllStay(const World& world, const schedule::TeamLayout& layout) {
  return std::none_of(layout.nodes.begin(), layout.nodes.end(), [&](const schedule::TeamNode& node) {
    return world.history.left.count({layout.id, {node.name, node.incarnation}}) != 0;
  });
}

void CheckDaemon(const World& world, const FakeDaemon& daemon) {
  const std::string& name = daemon.key().first;
  EXPECT_TRUE(daemon.registered) << name;
  EXPECT_TRUE(daemon.joins.empty()) << name << " waits for " << daemon.joins.size() << " joins";
  EXPECT_FALSE(daemon.draining) << name;
  for (const auto& [key, derived] : daemon.derived) {
    const FakeDaemon::Team& parent = daemon.teams.at(key.first);
    // Calls that a member left without making never end here; daemons find them by their neighbors' counts.
    EXPECT_TRUE(parent.broken || !derived.wanted || !AllStay(world, parent.layout))
        << name << ": calls wait for a derived team of " << key.first.value();
  }
  for (const auto& [id, team] : daemon.teams) {
    EXPECT_FALSE(team.prepared.has_value()) << name << ": team " << id.value() << " was never decided";
    EXPECT_TRUE(!schedule::IsDerivedTeam(team.layout.identity) || daemon.teams.contains(team.layout.parent))
        << name << ": team " << id.value() << " has outlived team " << team.layout.parent.value();
  }
}

// HeldTeams are teams by their ids and names, since two clusters may issue one id.
using HeldTeams = std::map<std::pair<TeamId, std::string>, Held>;

HeldTeams FindHeld(const World& world) {
  HeldTeams all;
  for (const auto& [name, daemon] : world.daemons) {
    for (const auto& [id, team] : daemon->teams) {
      if (team.broken) continue;
      Held& held = all[{id, team.layout.identity.name}];
      held.nodes.insert(name);
      held.epochs.insert(team.epoch);
      held.layout = team.layout;
    }
  }
  return all;
}

void CheckKnown(World& world, TeamId id, const Held& held) {
  const auto info = world.coordinator().view().FindTeam(id);
  ASSERT_TRUE(info.ok()) << "team " << id.value() << " runs and the planner does not know it";
  if (!schedule::IsSameTeam(info->layout, held.layout)) {
    EXPECT_TRUE(world.history.AreOfTwoClusters(info->layout, held.layout))
        << "team " << id.value() << " is another one";
    return;  // it is left alone
  }
  EXPECT_EQ(info->state, "ready") << "team " << id.value() << ": " << info->why;
  EXPECT_EQ(info->why, "") << "team " << id.value();
  EXPECT_EQ(info->epoch, *held.epochs.begin());
}

void CheckHeld(World& world, TeamId id, const Held& held) {
  EXPECT_EQ(held.epochs.size(), 1u) << "team " << id.value() << " runs in two epochs";
  CheckKnown(world, id, held);
  for (const schedule::TeamNode& node : held.layout.nodes) {
    if (held.nodes.count(node.name) != 0) continue;
    EXPECT_TRUE(world.history.left.count({id, {node.name, node.incarnation}}) != 0)
        << "team " << id.value() << " runs, but not on " << node.name;
  }
}

void CheckPlanner(World& world, const HeldTeams& held) {
  std::set<std::pair<TeamId, schedule::TeamIdentity>> known;
  for (const TeamInfo& team : world.coordinator().view().Teams()) {
    EXPECT_TRUE(known.insert({team.layout.parent, team.layout.identity}).second)
        << "team " << team.layout.id.value() << " is known twice";
    if (team.state == "ready") {
      EXPECT_TRUE(held.contains({team.layout.id, team.layout.identity.name}))
          << "team " << team.layout.id.value() << " is ready and nobody has it";
    } else {
      EXPECT_EQ(team.state, "broken") << team.layout.identity.name;
    }
  }
  for (const auto& [id, record] : world.snapshot.teams) {
    EXPECT_TRUE(world.coordinator().view().FindTeam(id).ok()) << "team " << id.value() << " is in the store alone";
  }
  EXPECT_TRUE(world.snapshot.draining.empty());
}

}  // namespace

void CheckEnd(World& world) {
  for (const auto& [name, daemon] : world.daemons) CheckDaemon(world, *daemon);
  const HeldTeams held = FindHeld(world);
  for (const auto& [key, team] : held) CheckHeld(world, key.first, team);
  CheckPlanner(world, held);
}

}  // namespace copse::coordinator
