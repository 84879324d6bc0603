// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/world.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "planner/coordinator/random/end_checks.h"

namespace copse::coordinator {

World::World(uint64_t seed, WorldOptions options, Totals* totals) : prng(seed), options(options), totals(totals) {
  SetLogLevel(std::getenv("COORDINATOR_LOG") == nullptr ? LogLevel::kError : LogLevel::kInfo);
  plans_later = seed % 2 == 0;
  if (seed % 7 == 1) coordinator_options.nodes_at_once = 1;
  commits_later = seed % 4 < 2;
  coordinator_options.team_formation_timeout = absl::Seconds(30);
  Elect();
  for (int i = 1; i <= options.daemons; ++i) AddDaemon(absl::StrCat("n", i));
}

// --- Planners ---

void World::Elect() {
  if (!planners.empty()) leader().LoseLead();
  ++fence;
  planners.push_back(std::make_unique<Planner>(this, fence));
  if (planners.size() > 1) ++totals->elections;
  EXPECT_TRUE(coordinator().Start().ok());
}

bool World::HasEnded(Planner& planner) {
  const bool is_deposed = planner.coordinator->outbox().commits().is_deposed();
  const bool is_leader = leads(planner);
  // A former leader notices that its lease is over, some time after it goes on.
  if (!is_leader && !planner.paused && (is_deposed || prng.Chance(0.02))) planner.dead = true;
  if (is_leader && is_deposed) ADD_FAILURE() << "the leader was deposed";
  if (planners.size() > options.planners + 1 && &planner == planners.front().get()) planner.dead = true;
  if (!planner.dead) return false;
  totals->crashes += is_leader;
  totals->deposed += is_deposed;
  return true;
}

void World::BuryPlanners() {
  for (size_t i = 0; i < planners.size();) {
    Planner& planner = *planners[i];
    if (!HasEnded(planner)) {
      ++i;
      continue;
    }
    if (leads(planner)) Elect();
    streams.PlannerEnded(planner);
    planners.erase(planners.begin() + static_cast<ptrdiff_t>(i));
  }
}

Planner& World::SomePlanner() { return prng.Chance(0.8) ? leader() : *planners[prng.Below(planners.size())]; }

bool World::ProceedCommits() {
  bool any = false;
  for (size_t i = 0; i < planners.size(); ++i) any |= planners[i]->ProceedCommit();
  return any;
}

void World::StepPlanners() {
  const double dice = prng.Unit() * 100;
  if (dice < 0.2) {  // the lease of the leader ends while it is paused or cut off from the store
    if (prng.Chance(0.5)) leader().paused = true;
    Elect();
  } else if (dice < 0.5) {
    leader().paused = true;
  } else if (dice < 3) {
    for (const auto& planner : planners) {
      if (prng.Chance(0.5)) planner->paused = false;
    }
  }
}

void World::LoseStore() {
  snapshot = Snapshot();
  leader().commit.reset();
  for (const auto& [key, decided] : history.epochs) {
    if (std::get<EpochId>(key) == EpochId{1}) history.sub_teams.insert(std::get<TeamId>(key));
  }
  ++totals->lost_stores;
}

void World::Replan() {
  const std::vector<TeamInfo> teams = coordinator().view().Teams();
  if (teams.empty()) return;
  const TeamInfo& team = teams[prng.Below(teams.size())];
  coordinator().ReplanTeam(team.layout.id, {},
                           [this](const absl::Status& status) { totals->replanned += status.ok(); });
}

void World::Drain(const std::string& node, bool on) {
  coordinator().SetDraining(node, on ? std::optional<std::string>("why") : std::nullopt,
                            [this](const absl::Status& status) { totals->drains += status.ok(); });
}

void World::FinishPlans() {
  for (size_t i = 0; i < planners.size(); ++i) {
    if (!planners[i]->paused) planners[i]->plan_maker.Finish();
  }
}

// --- Daemons ---

void World::AddDaemon(const std::string& name) {
  std::unique_ptr<FakeDaemon>& daemon = daemons[name];
  std::optional<NodeKey> dead;
  if (daemon != nullptr) dead = daemon->key();
  daemon = std::make_unique<FakeDaemon>(this, name, ++incarnations);
  if (!dead.has_value()) return;
  history.dead.insert(*dead);
  peers.Drop(*dead);
  for (auto& [other, neighbor] : daemons) neighbor->NoticeDeath(*dead);
}

void World::StartTeam() {
  const uint32_t size = 1 + prng.Below(5);
  schedule::JoinTeam join;
  join.identity = {1000, "job", 0, absl::StrCat("team ", ++names)};
  join.size = size;
  std::vector<TeamId> parents;
  for (const TeamInfo& team : coordinator().view().Teams()) {
    if (team.state == "ready" && team.layout.parent == TeamId{0}) parents.push_back(team.layout.id);
  }
  std::vector<std::string> places;
  for (const auto& [name, daemon] : daemons) places.push_back(name);
  if (!parents.empty() && prng.Chance(0.4)) {
    join.parent = parents[prng.Below(parents.size())];
    places.clear();
    const TeamInfo parent = coordinator().view().FindTeam(join.parent).value();
    for (const schedule::TeamNode& node : parent.layout.nodes) places.push_back(node.name);
  }
  const bool by_node = prng.Chance(0.5);
  std::map<std::string, schedule::JoinTeam> joins;  // by node
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (faults && prng.Chance(0.02)) continue;  // this rank never joins
    join.rank = Rank{faults && prng.Chance(0.01) ? 0 : rank};
    join.request = ++requests;
    const std::string& place = places[prng.Below(places.size())];
    if (!by_node) {
      daemons.at(place)->Join(join);
    } else if (const auto [first, is_new] = joins.emplace(place, join); !is_new) {
      first->second.more.emplace_back(join.request, join.rank);
    }
  }
  for (const auto& [place, of_node] : joins) daemons.at(place)->Join(of_node);
}

// A cluster whose store was lost may issue ids again, but only those of teams that no daemon runs any more.
void World::NoteIssued(const schedule::TeamLayout& layout, const std::string& cluster) {
  if (!history.issuers.try_emplace({layout.id, layout.identity.name}, cluster).second) return;
  for (const auto& [name, daemon] : daemons) {
    const auto team = daemon->teams.find(layout.id);
    if (team == daemon->teams.end()) continue;
    EXPECT_TRUE(history.AreOfTwoClusters(team->second.layout, layout))
        << name << " runs another team " << layout.id.value() << " of cluster " << cluster;
  }
}

std::optional<schedule::Commit> World::AskNeighbors(const FakeDaemon& asker, TeamId id) {
  const FakeDaemon::Team& mine = asker.teams.at(id);
  const EpochId epoch = mine.prepared->epoch;
  schedule::Commit commit{id, epoch, CallSeq{0}, {}};
  bool is_committed = false;
  for (uint32_t v = 0; v < mine.layout.nodes.size(); ++v) {
    const schedule::TeamNode& node = mine.layout.nodes[v];
    if (v == mine.self) continue;
    auto& labels = HistoryOf(mine.layout, epoch).labels;
    commit.outgoing.push_back({NodeIndex{v}, labels[{node.name, node.incarnation}][mine.self]});
    const auto daemon = daemons.find(node.name);
    if (daemon == daemons.end() || daemon->second->key().second != node.incarnation) continue;
    const auto team = daemon->second->teams.find(id);
    if (team == daemon->second->teams.end() || team->second.epoch != epoch) continue;
    EXPECT_TRUE(schedule::IsSameTeam(mine.layout, team->second.layout)) << "of team " << id.value();
    is_committed = true;
    commit.first_call = team->second.first_call;
  }
  if (!is_committed) return std::nullopt;
  return commit;
}

// --- Steps ---

void World::Pass(absl::Duration duration) {
  clock.Advance(duration);
  // Daemons try to connect at least every 5 s.
  for (auto& [name, daemon] : daemons) {
    if (daemon->session != 0) daemon->last_seen = clock.Now();
    if (clock.Now() - daemon->last_seen > absl::Seconds(5)) streams.Connect(*daemon);
  }
  for (size_t i = 0; i < planners.size(); ++i) {
    if (!planners[i]->paused) planners[i]->coordinator->Tick(clock.Now());
  }
}

void World::StepDaemon(FakeDaemon& daemon, double dice) {
  if (dice < 74) {
    streams.Connect(daemon);
  } else if (dice < 76) {
    StartTeam();
  } else if (dice < 79) {
    daemon.StartCalls(prng);
  } else if (dice < 81) {
    Replan();
  } else if (dice < 84) {
    daemon.LeaveSomeTeam(prng);
  } else if (dice < 84.5) {
    daemon.BreakSomeTeam(prng);
  } else if (dice < 85.5) {
    daemon.AskAboutPrepared();
  } else if (dice < 85.7) {
    daemon.CancelSomeJoin(prng);
  } else {
    daemon.ListTeams();
  }
}

void World::StepCluster(FakeDaemon& daemon, double dice) {
  if (dice < 86.5) {
    streams.Cut(daemon);
  } else if (dice < 86.7) {  // the daemon dies and comes back as another incarnation
    streams.Cut(daemon);
    AddDaemon(daemon.key().first);
  } else if (dice < 86.8) {
    leader().dead = true;
    if (options.planners == 1 && prng.Chance(0.3)) LoseStore();
  } else if (dice < 95) {
    Pass(absl::Milliseconds(static_cast<int64_t>(prng.Below(500))));
  } else if (options.planners > 1 && dice < 95.4) {
    Drain(daemon.key().first, prng.Chance(0.4));
  } else if (options.planners > 1 && dice < 97) {
    daemon.CallDerived(prng);
  } else {
    FinishPlans();
  }
}

void World::StepSubTeams() {
  FakeDaemon& daemon = *SomeOf(daemons, prng)->second;
  const double dice = prng.Unit() * 100;
  if (dice < 25) {
    peers.Deliver();
  } else if (dice < 28) {
    daemon.sub_teams.Begin(prng);
  } else if (dice < 35) {
    daemon.sub_teams.Tick();
  }
}

void World::Step() {
  FakeDaemon& daemon = *SomeOf(daemons, prng)->second;
  const double dice = prng.Unit() * 100;
  if (dice < 70) {
    streams.Deliver();
  } else if (dice < 85.8) {
    StepDaemon(daemon, dice);
  } else {
    StepCluster(daemon, dice);
  }
  if (options.planners > 1) StepPlanners();
  if (options.sub_teams) StepSubTeams();
  BuryPlanners();
  history.Check();
}

// --- The end ---

// A planner that has teams of its own refuses daemons of the cluster whose store was lost.
void World::AdoptForeign() {
  for (const ForeignTeams& teams : coordinator().cluster().foreign()) coordinator().adoption().Adopt(teams);
}

void World::DeliverAll() {
  while (streams.Deliver() || peers.Deliver()) {
  }
}

void World::Finish() {
  faults = false;
  commits_later = false;
  plans_later = false;
  for (const auto& planner : planners) planner->dead |= !leads(*planner);
  leader().paused = false;
  leader().plan_maker.later = false;
  leader().plan_maker.Finish();
  BuryPlanners();
  for (const auto& [name, daemon] : daemons) Drain(name, false);
  const absl::Time end = clock.Now() + absl::Seconds(120);
  while (clock.Now() < end) {
    for (auto& [name, daemon] : daemons) {
      streams.Connect(*daemon);
      daemon->sub_teams.Tick();
    }
    DeliverAll();
    for (auto& [name, daemon] : daemons) daemon->AskAboutPrepared();
    AdoptForeign();
    Pass(absl::Milliseconds(500));
  }
  DeliverAll();
  // Waits for the records of teams that died as a whole while there was no planner.
  for (int minute = 0; minute < 130; ++minute) {
    for (auto& [name, daemon] : daemons) {
      streams.Connect(*daemon);
      daemon->sub_teams.Tick();
      daemon->ListTeams();
    }
    AdoptForeign();
    Pass(absl::Minutes(1));
    DeliverAll();
  }
  history.Check();
  CheckEnd(*this);
}

}  // namespace copse::coordinator
