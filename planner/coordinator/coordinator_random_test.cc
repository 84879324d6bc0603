// SPDX-License-Identifier: Apache-2.0
//
// Random steps against daemons that follow the protocol: streams that end with messages on the way, daemons that
// restart, a planner that dies between any two of its messages, and a store that fails or is lost. Several planners may
// share a store of which one is elected leader, while former leaders are paused, or go on for a while. The test checks
// after each step, and after all faults are healed, that an epoch is decided the same way everywhere.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/prng.h"
#include "base/testing/fake_clock.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/testing/fake_plan_maker.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using NodeKey = std::pair<std::string, Incarnation>;

// Returns an iterator to a random element. Precondition: `all` is not empty.
template <typename Map>
auto SomeOf(Map& all, Prng& prng) {
  return std::next(all.begin(), static_cast<ptrdiff_t>(prng.Below(all.size())));
}

// EpochHistory records the daemons' reactions to an epoch.
struct EpochHistory {
  std::string team;  // its name: no two teams have one
  std::set<NodeKey> committed, aborted;
  std::set<uint64_t> first_calls, plan_hashes;
  // labels[a][b] is the label that a issued for b
  std::map<NodeKey, std::map<uint32_t, uint32_t>> labels;
};

// Totals counts the events of runs, to show that they were not idle.
struct Totals {
  uint64_t formed = 0, replanned = 0, crashes = 0, lost_stores = 0, derived = 0, elections = 0, deposed = 0, drains = 0;
};

struct WorldOptions {
  int daemons = 4;
  size_t planners = 1;  // more than one: they share the store, and one leads
};

// DerivedTeamKey names the derived team of a team for a collective class.
using DerivedTeamKey = std::pair<TeamId, Family>;

struct World;
struct Planner;

// FakeDaemon follows control.h, and remembers the messages it received.
class FakeDaemon {
 public:
  struct Team {
    schedule::TeamLayout layout;
    uint32_t self = 0;
    EpochId epoch{0};
    std::vector<std::string> plans;
    bool broken = false;
    std::optional<schedule::Prepare> prepared;
    std::vector<uint64_t> requests;
    uint64_t started = 0, frozen_at = 0;
    CallSeq first_call{0};
  };
  // A Derived is what the daemon knows of a derived team; docs/reference/control.md says which attempts count as
  // failed.
  struct Derived {
    TeamId id{0};          // the attempt that is prepared or committed; 0: none
    uint64_t failed = 0;   // attempts that have failed
    uint64_t request = 0;  // the join that was sent; 0: none
    bool wanted = false;   // calls wait for it
  };

  FakeDaemon(World* world, std::string name, uint64_t incarnation)
      : world_(world), key_(std::move(name), Incarnation{incarnation}) {}

  schedule::Register Registration() const;
  void OnMessage(const schedule::ToDaemon& message);
  void Join(const schedule::JoinTeam& join);
  void CancelSomeJoin(Prng& prng);
  // The message about it may be lost: TeamsHeld shows it.
  void LeaveSomeTeam(Prng& prng);
  void ListTeams();
  void BreakSomeTeam(Prng& prng);
  void AskAboutPrepared();
  void StartCalls(Prng& prng);
  void CallDerived(Prng& prng);
  // Ends the daemon's side of its stream.
  void LoseStream();
  // Handles the reset of the connection to another daemon.
  void NoticeDeath(const NodeKey& dead);

  const NodeKey& key() const { return key_; }
  std::map<TeamId, Team> teams;
  std::map<DerivedTeamKey, Derived> derived;
  std::map<uint64_t, schedule::JoinTeam> joins;  // not yet answered
  uint64_t session = 0;                          // 0: not connected
  bool registered = false;
  bool draining = false;
  absl::Time last_seen = absl::InfinitePast();  // the last time with a connection

 private:
  void Send(const schedule::FromDaemon& message);
  void Resolve(uint64_t request);
  void Break(TeamId id, const schedule::FailureReport& why);
  void Ask(const DerivedTeamKey& key);
  void AttemptFailed(const DerivedTeamKey& key, uint64_t failed);
  // Returns whether the daemon may prepare this attempt at a derived team.
  bool AcceptsAttempt(const schedule::TeamLayout& layout);
  DerivedTeamKey KeyOf(const schedule::TeamLayout& layout) const { return {layout.parent, layout.identity.family}; }

  World* world_;
  NodeKey key_;
  uint64_t term_ = 0;
};

// A Planner is a coordinator, with its view of the shared store and its side of the streams.
struct Planner : SessionSink, Store {
  Planner(World* world, uint64_t fence);

  // --- Store ---
  // A commit is made in the store at once or later, and answered at once or later. It may fail, with the changes made
  // or not, and the planner may die right after one: no message sent afterwards leaves it.
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override;
  absl::StatusOr<Snapshot> Load() override;
  // Makes the commit in flight, if this planner leads.
  void Make();
  // Answers the commit that was made or refused.
  void Answer();

  // --- SessionSink ---
  void Send(SessionId session, const schedule::ToDaemon& message) override;
  void Close(SessionId session, const std::string& why) override;

  struct InFlight {
    std::vector<StoreChange> changes;
    std::function<void(const absl::Status&)> done;
    std::optional<absl::Status> outcome;  // nullopt: not made yet
  };

  World* const world;
  const uint64_t fence;
  std::optional<InFlight> commit;
  FakePlanMaker plan_maker;
  std::unique_ptr<Coordinator> coordinator;
  bool dead = false;
  bool paused = false;
};

struct World {
  World(uint64_t seed, WorldOptions options, Totals* totals) : prng(seed), options(options), totals(totals) {
    SetLogLevel(std::getenv("COORDINATOR_LOG") == nullptr ? LogLevel::kError : LogLevel::kInfo);
    plans_later = seed % 2 == 0;
    commits_later = seed % 4 < 2;
    Elect();
    for (int i = 1; i <= options.daemons; ++i) AddDaemon(absl::StrCat("n", i));
  }

  // --- Planners ---

  // Makes a new planner the leader. A former one may go on, until it notices.
  void Elect() {
    if (!planners.empty()) {
      // The commit that the former leader waits for is made now, or never; one of many changes may be made in part.
      Planner& former = *planners.back();
      if (former.commit.has_value() && !former.commit->outcome.has_value()) {
        const double dice = prng.Unit();
        if (dice < 0.4) {
          former.Make();
        } else if (dice < 0.5) {
          std::vector<StoreChange>& changes = former.commit->changes;
          const size_t some = prng.Below(changes.size());
          for (size_t i = 0; i < some; ++i) Apply(changes[i], snapshot);
        }
      }
    }
    ++fence;
    planners.push_back(std::make_unique<Planner>(this, fence));
    if (planners.size() > 1) ++totals->elections;
    coordinator_options.team_formation_timeout = absl::Seconds(30);
    Planner& elected = *planners.back();
    elected.plan_maker.later = plans_later;
    elected.coordinator =
        std::make_unique<Coordinator>(&clock, &elected, &elected.plan_maker, &elected, coordinator_options);
    EXPECT_TRUE(elected.coordinator->Start().ok());
  }

  Planner& leader() { return *planners.back(); }
  Coordinator& coordinator() { return *leader().coordinator; }
  bool leads(const Planner& planner) const { return planner.fence == fence; }

  // Ends a planner's process. Daemons receive some of what it had sent.
  void End(const Planner& planner) {
    for (auto& [session, link] : links) {
      if (link.planner != &planner) continue;
      link.planner = nullptr;
      link.to_planner.clear();
      if (prng.Chance(0.7)) link.to_daemon.clear();
      while (!link.to_daemon.empty() && prng.Chance(0.3)) link.to_daemon.pop_back();
      link.closed = "the planner ended";
    }
  }

  // Removes planners that have died or were deposed, and elects another leader if there is none.
  void BuryPlanners() {
    for (auto it = planners.begin(); it != planners.end();) {
      Planner& planner = **it;
      const bool is_deposed = planner.coordinator->outbox().is_deposed();
      const bool is_leader = leads(planner);
      // A former leader notices that its lease is over, some time after it goes on.
      if (!is_leader && !planner.paused && (is_deposed || prng.Chance(0.02))) planner.dead = true;
      if (is_leader && is_deposed) ADD_FAILURE() << "the leader was deposed";
      if (planners.size() > options.planners + 1 && it == planners.begin()) planner.dead = true;
      if (!planner.dead) {
        ++it;
        continue;
      }
      totals->crashes += is_leader;
      totals->deposed += is_deposed;
      if (is_leader) {
        Elect();  // invalidates `it`
        it = std::find_if(planners.begin(), planners.end(), [&](const auto& other) { return other.get() == &planner; });
      }
      End(planner);
      it = planners.erase(it);
    }
  }

  // --- Daemons and streams ---

  struct Link {
    std::string daemon;
    Planner* planner = nullptr;  // null: it has ended
    bool is_cut = false;         // the daemon has lost the stream, and the planner is yet to notice
    std::deque<schedule::FromDaemon> to_planner;
    std::deque<schedule::ToDaemon> to_daemon;
    std::optional<std::string> closed;  // set when the planner closes, after to_daemon
  };

  void AddDaemon(const std::string& name) {
    std::unique_ptr<FakeDaemon>& daemon = daemons[name];
    std::optional<NodeKey> dead;
    if (daemon != nullptr) dead = daemon->key();
    daemon = std::make_unique<FakeDaemon>(this, name, ++incarnations);
    if (!dead.has_value()) return;
    this->dead.insert(*dead);
    for (auto& [other, neighbor] : daemons) neighbor->NoticeDeath(*dead);
  }

  void Connect(FakeDaemon& daemon) {
    if (daemon.session != 0) return;
    Planner& planner = prng.Chance(0.8) ? leader() : *planners[prng.Below(planners.size())];
    if (planner.paused) return;
    daemon.session = ++sessions;
    Link& link = links[daemon.session];
    link.daemon = daemon.key().first;
    link.planner = &planner;
    planner.coordinator->OnConnected(daemon.session);
    link.to_planner.push_back(daemon.Registration());
  }

  // Ends the stream; messages on the way are lost, or arrive before the planner notices.
  void Cut(FakeDaemon& daemon) {
    if (daemon.session == 0) return;
    const SessionId session = daemon.session;
    daemon.LoseStream();
    Link& link = links.at(session);
    while (!link.to_planner.empty() && prng.Chance(0.7)) link.to_planner.pop_back();
    link.to_daemon.clear();
    link.is_cut = true;
    if (link.planner == nullptr) {
      links.erase(session);
    } else if (!link.planner->paused && prng.Chance(0.5)) {
      Disconnect(session);
    }
  }

  void Disconnect(SessionId session) {
    Planner* const planner = links.at(session).planner;
    links.erase(session);
    if (planner != nullptr && !planner->dead) planner->coordinator->OnDisconnected(session);
  }

  // Moves one message. Returns false if there is none.
  bool Deliver() {
    std::vector<std::pair<SessionId, bool>> ready;
    for (auto& [session, link] : links) {
      const bool awake = link.planner != nullptr && !link.planner->paused;
      if (awake && (!link.to_planner.empty() || link.is_cut)) ready.emplace_back(session, true);
      if (!link.is_cut && (!link.to_daemon.empty() || link.closed.has_value())) ready.emplace_back(session, false);
    }
    if (ready.empty() || prng.Chance(0.1)) {
      bool commits = false;
      for (size_t i = 0; i < planners.size(); ++i) {
        Planner& planner = *planners[i];
        if (!planner.commit.has_value() || (planner.commit->outcome.has_value() && planner.paused)) continue;
        commits = true;
        if (!planner.commit->outcome.has_value()) {
          planner.Make();
        } else {
          planner.Answer();
        }
      }
      if (ready.empty() || commits) return commits;
    }
    const auto [session, to_planner] = ready[prng.Below(ready.size())];
    Link& link = links.at(session);
    if (to_planner && link.to_planner.empty()) {
      Disconnect(session);
    } else if (to_planner) {
      const schedule::FromDaemon message = link.to_planner.front();
      link.to_planner.pop_front();
      link.planner->coordinator->OnMessage(session, message);
    } else if (!link.to_daemon.empty()) {
      const schedule::ToDaemon message = link.to_daemon.front();
      link.to_daemon.pop_front();
      daemons.at(link.daemon)->OnMessage(message);
    } else {
      FakeDaemon& daemon = *daemons.at(link.daemon);
      if (daemon.session == session) daemon.LoseStream();
      Disconnect(session);
    }
    return true;
  }

  // Starts ranks of a new team on random nodes; sometimes with a mistake.
  void StartTeam() {
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

  EpochHistory& HistoryOf(const schedule::TeamLayout& layout, EpochId epoch);
  // Returns the Commit of a daemon's prepared epoch, if a neighbor has it.
  std::optional<schedule::Commit> AskNeighbors(const FakeDaemon& asker, TeamId id);

  // If the planner had just recorded a first epoch, and the daemon that knew of it restarts too, no process can notify
  // the others.
  void LoseStore() {
    snapshot = Snapshot();
    leader().commit.reset();
    for (const auto& [epoch, history] : epochs) {
      if (epoch.second == EpochId{1}) sub_teams.insert(epoch.first);
    }
    ++totals->lost_stores;
  }

  void Replan() {
    const std::vector<TeamInfo> teams = coordinator().view().Teams();
    if (teams.empty()) return;
    const TeamInfo& team = teams[prng.Below(teams.size())];
    coordinator().ReplanTeam(team.layout.id, {},
                             [this](const absl::Status& status) { totals->replanned += status.ok(); });
  }

  void Pass(absl::Duration duration) {
    clock.Advance(duration);
    // Daemons try to connect at least every 5 s.
    for (auto& [name, daemon] : daemons) {
      if (daemon->session != 0) daemon->last_seen = clock.Now();
      if (clock.Now() - daemon->last_seen > absl::Seconds(5)) Connect(*daemon);
    }
    for (size_t i = 0; i < planners.size(); ++i) {
      if (!planners[i]->paused) planners[i]->coordinator->Tick(clock.Now());
    }
  }

  void Drain(const std::string& node, bool on) {
    coordinator().SetDraining(node, on ? std::optional<std::string>("why") : std::nullopt,
                              [this](const absl::Status& status) { totals->drains += status.ok(); });
  }

  // Elects, pauses and resumes planners of several.
  void StepPlanners() {
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

  void Step() {
    FakeDaemon& daemon = *SomeOf(daemons, prng)->second;
    const double dice = prng.Unit() * 100;
    if (dice < 70) {
      Deliver();
    } else if (dice < 74) {
      Connect(daemon);
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
    } else if (dice < 85.8) {
      daemon.ListTeams();
    } else if (dice < 86.5) {
      Cut(daemon);
    } else if (dice < 86.7) {  // the daemon dies and comes back as another incarnation
      Cut(daemon);
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
      for (size_t i = 0; i < planners.size(); ++i) {
        if (!planners[i]->paused) planners[i]->plan_maker.Finish();
      }
    }
    if (options.planners > 1) StepPlanners();
    BuryPlanners();
    Check();
  }

  // Checks the invariants.
  void Check() {
    for (const auto& [epoch, history] : epochs) {
      const bool sub_team = sub_teams.count(epoch.first) != 0;
      // A sub-team is not recorded: when the planner dies while it forms, it ends broken for the daemons that received
      // their Commit.
      if (!sub_team && !history.committed.empty() && !history.aborted.empty()) {
        ADD_FAILURE() << "team " << epoch.first.value() << " epoch " << epoch.second.value()
                      << " is committed and aborted";
      }
      if (history.first_calls.size() > 1 || history.plan_hashes.size() > 1) {
        ADD_FAILURE() << "team " << epoch.first.value() << ": nodes differ in first call or plans";
      }
    }
    for (const auto& [attempt, team] : formed_attempts) {
      if (failed_attempts.count(attempt) != 0) {
        ADD_FAILURE() << "derived team " << team.value() << " of team " << attempt.first.first.value() << ", attempt "
                      << attempt.second << ", was formed at a node, and failed at another one";
      }
    }
  }

  // Heals all faults, lets everything finish, and checks the result.
  void Finish() {
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
      for (auto& [name, daemon] : daemons) Connect(*daemon);
      while (Deliver()) {
      }
      for (auto& [name, daemon] : daemons) daemon->AskAboutPrepared();
      Pass(absl::Milliseconds(500));
    }
    while (Deliver()) {
    }
    // Waits for the records of teams that died as a whole while there was no planner.
    for (int minute = 0; minute < 130; ++minute) {
      for (auto& [name, daemon] : daemons) {
        Connect(*daemon);
        daemon->ListTeams();
      }
      Pass(absl::Minutes(1));
      while (Deliver()) {
      }
    }
    Check();
    std::map<TeamId, std::set<std::string>> holders;
    std::map<TeamId, std::set<EpochId>> held;
    std::map<TeamId, schedule::TeamLayout> layouts;
    for (const auto& [name, daemon] : daemons) {
      EXPECT_TRUE(daemon->registered) << name;
      EXPECT_TRUE(daemon->joins.empty()) << name << " waits for " << daemon->joins.size() << " joins";
      EXPECT_FALSE(daemon->draining) << name;
      for (const auto& [key, derived] : daemon->derived) {
        const FakeDaemon::Team& parent = daemon->teams.at(key.first);
        // Calls that a member left without making never end here; daemons find them by their neighbors' counts.
        const bool all_stay = std::none_of(parent.layout.nodes.begin(), parent.layout.nodes.end(),
                                           [&, team = key.first](const auto& node) {
                                             return left.count({team, {node.name, node.incarnation}}) != 0;
                                           });
        EXPECT_TRUE(parent.broken || !derived.wanted || !all_stay)
            << name << ": calls wait for a derived team of " << key.first.value();
      }
      for (const auto& [id, team] : daemon->teams) {
        EXPECT_FALSE(team.prepared.has_value()) << name << ": team " << id.value() << " was never decided";
        if (team.broken) continue;
        holders[id].insert(name);
        held[id].insert(team.epoch);
        layouts[id] = team.layout;
      }
    }
    for (const auto& [id, nodes] : holders) {
      EXPECT_EQ(held[id].size(), 1u) << "team " << id.value() << " runs in two epochs";
      const auto info = coordinator().view().FindTeam(id);
      ASSERT_TRUE(info.ok()) << "team " << id.value() << " runs and the planner does not know it";
      EXPECT_EQ(info->state, "ready") << "team " << id.value() << ": " << info->why;
      EXPECT_EQ(info->epoch, *held[id].begin());
      for (const schedule::TeamNode& node : layouts[id].nodes) {
        if (nodes.count(node.name) != 0) continue;
        EXPECT_TRUE(left.count({id, {node.name, node.incarnation}}) != 0)
            << "team " << id.value() << " runs, but not on " << node.name;
      }
    }
    for (const TeamInfo& team : coordinator().view().Teams()) {
      if (team.state == "ready") {
        EXPECT_TRUE(holders.count(team.layout.id) != 0)
            << "team " << team.layout.id.value() << " is ready and nobody has it";
      } else {
        EXPECT_EQ(team.state, "broken") << team.layout.identity.name;
      }
    }
    for (const auto& [id, record] : snapshot.teams) {
      EXPECT_TRUE(coordinator().view().FindTeam(id).ok()) << "team " << id.value() << " is in the store alone";
    }
    EXPECT_TRUE(snapshot.draining.empty());
  }

  Prng prng;
  FakeClock clock;
  const WorldOptions options;
  CoordinatorOptions coordinator_options;
  Snapshot snapshot;                               // the content of the store
  uint64_t fence = 0;                              // the leader's
  std::vector<std::unique_ptr<Planner>> planners;  // the leader is the last one
  bool faults = true;
  bool commits_later = false, plans_later = false;
  std::map<std::string, std::unique_ptr<FakeDaemon>> daemons;
  std::map<SessionId, Link> links;
  uint64_t sessions = 0, incarnations = 0, requests = 0, names = 0, labels = 0;
  Totals* const totals;
  std::map<std::pair<TeamId, EpochId>, EpochHistory> epochs;
  // Attempts at derived teams, by the number of those that failed before.
  using Attempt = std::pair<DerivedTeamKey, uint64_t>;
  std::map<Attempt, TeamId> formed_attempts;
  std::set<Attempt> failed_attempts;
  std::set<TeamId> sub_teams;
  std::set<NodeKey> dead;
  std::set<std::pair<TeamId, NodeKey>> left;
};

// --- Planner ---

Planner::Planner(World* world, uint64_t fence) : world(world), fence(fence) {}

void Planner::Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) {
  ASSERT_FALSE(commit.has_value()) << "two commits in flight";
  commit.emplace(InFlight{std::move(changes), std::move(done), std::nullopt});
  if (world->commits_later) return;
  Make();
  Answer();
}

absl::StatusOr<Snapshot> Planner::Load() { return world->snapshot; }

void Planner::Make() {
  if (!world->leads(*this)) {
    commit->outcome = absl::AbortedError("another planner leads");
    return;
  }
  const double dice = world->faults ? world->prng.Unit() : 1;
  commit->outcome = absl::OkStatus();
  if (dice < 0.01) commit->outcome = absl::ResourceExhaustedError("disk full");
  if (dice >= 0.01 && dice < 0.02) commit->outcome = absl::UnavailableError("no answer");
  if (dice >= 0.02 && dice < 0.03) commit->outcome = absl::UnavailableError("the answer is lost");
  if (dice >= 0.03 && dice < 0.08) dead = true;
  if (dice < 0.02) return;
  for (const StoreChange& change : commit->changes) Apply(change, world->snapshot);
}

void Planner::Answer() {
  const InFlight answered = *std::exchange(commit, std::nullopt);
  answered.done(*answered.outcome);
}

void Planner::Send(SessionId session, const schedule::ToDaemon& message) {
  if (dead) return;
  const auto link = world->links.find(session);
  if (link != world->links.end() && !link->second.is_cut) link->second.to_daemon.push_back(message);
  // The planner dies in the middle of a round of messages.
  if (world->faults && world->prng.Chance(0.002)) dead = true;
}

void Planner::Close(SessionId session, const std::string& why) {
  if (dead) return;
  const auto link = world->links.find(session);
  if (link != world->links.end()) link->second.closed = why;
}

// --- FakeDaemon ---

void FakeDaemon::Send(const schedule::FromDaemon& message) {
  if (session != 0) world_->links.at(session).to_planner.push_back(message);
}

schedule::Register FakeDaemon::Registration() const {
  schedule::Register message;
  message.node.name = key_.first;
  message.node.incarnation = key_.second;
  message.node.machine = key_.first;
  message.term = term_;
  message.node.features = {schedule::Feature::kDerivedTeams};
  message.node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
  for (const auto& [id, team] : teams) {
    message.teams.push_back({.layout = team.layout,
                             .epoch = team.epoch,
                             .plans = team.plans,
                             .broken = team.broken,
                             .prepared_epoch = team.prepared.has_value() ? team.prepared->epoch : EpochId{0}});
  }
  return message;
}

void FakeDaemon::Join(const schedule::JoinTeam& join) {
  schedule::JoinTeam one = join;
  one.more.clear();
  joins[one.request] = one;
  for (const auto& [request, rank] : join.more) {
    one.request = request;
    one.rank = rank;
    joins[request] = one;
  }
  Send(join);
}

void FakeDaemon::Resolve(uint64_t request) {
  EXPECT_EQ(joins.erase(request), 1u) << "request " << request << " was answered twice";
}

void FakeDaemon::CancelSomeJoin(Prng& prng) {
  if (joins.empty() || session == 0) return;  // a client that dies meanwhile is not modeled
  const auto it = SomeOf(joins, prng);
  Send(schedule::CancelJoin{it->first, {Failure::kCanceled, "gave up"}});
}

void FakeDaemon::LeaveSomeTeam(Prng& prng) {
  if (teams.empty()) return;
  const auto it = SomeOf(teams, prng);
  const TeamId id = it->first;
  if (it->second.epoch == EpochId{0} || it->second.prepared.has_value()) return;
  if (schedule::IsDerivedTeam(it->second.layout.identity)) return;  // it is left with its parent
  world_->left.insert({id, key_});
  if (!world_->faults || !prng.Chance(0.05)) Send(schedule::LeaveTeam{id});
  teams.erase(it);
  for (auto other = teams.begin(); other != teams.end();) {
    const bool is_derived = KeyOf(other->second.layout).first == id && IsDerivedTeam(other->second.layout.identity);
    if (is_derived) world_->left.insert({other->first, key_});
    other = is_derived ? teams.erase(other) : std::next(other);
  }
  while (!derived.empty() && derived.lower_bound({id, Family::kCommon}) != derived.end() &&
         derived.lower_bound({id, Family::kCommon})->first.first == id) {
    derived.erase(derived.lower_bound({id, Family::kCommon}));
  }
}

void FakeDaemon::ListTeams() {
  if (!registered) return;
  schedule::TeamsHeld held;
  for (const auto& [id, team] : teams) held.teams.push_back(id);
  Send(held);
}

void FakeDaemon::Break(TeamId id, const schedule::FailureReport& why) {
  Team& team = teams.at(id);
  if (team.broken) return;
  team.broken = true;
  team.prepared.reset();
  Send(schedule::TeamBroken{id, why});
  if (schedule::IsDerivedTeam(team.layout.identity)) {
    if (teams.count(team.layout.parent) != 0) Break(team.layout.parent, why);
    return;
  }
  for (const auto& [other, derived_team] : teams) {
    const schedule::TeamLayout& layout = derived_team.layout;
    if (layout.parent == id && schedule::IsDerivedTeam(layout.identity)) Break(other, why);
  }
}

// --- Derived teams ---

void FakeDaemon::CallDerived(Prng& prng) {
  if (teams.empty()) return;
  const auto& [id, team] = *SomeOf(teams, prng);
  if (team.epoch == EpochId{0} || team.broken || schedule::IsDerivedTeam(team.layout.identity)) return;
  const DerivedTeamKey key{id, prng.Chance(0.5) ? Family::kRooted : Family::kSpread};
  Derived& attempt = derived[key];
  const auto its = teams.find(attempt.id);
  if (its != teams.end() && its->second.epoch != EpochId{0}) return;
  attempt.wanted = true;
  Ask(key);
}

void FakeDaemon::Ask(const DerivedTeamKey& key) {
  Derived& attempt = derived.at(key);
  if (attempt.id != TeamId{0} || attempt.request != 0 || !attempt.wanted || !registered) return;
  const Team& parent = teams.at(key.first);
  schedule::JoinTeam join;
  join.identity = parent.layout.identity;
  join.identity.family = key.second;
  join.identity.nonce = attempt.failed;
  join.parent = key.first;
  join.size = static_cast<uint32_t>(parent.layout.shape.node_of_rank.size());
  while (parent.layout.shape.node_of_rank[join.rank.value()] != NodeIndex{parent.self}) {
    join.rank = Rank{join.rank.value() + 1};
  }
  attempt.request = join.request = ++world_->requests;
  Send(join);
}

// Each failed attempt fails one of the calls that wait; here they all end, or another one makes the next attempt.
void FakeDaemon::AttemptFailed(const DerivedTeamKey& key, uint64_t failed) {
  Derived& attempt = derived.at(key);
  if (failed <= attempt.failed) return;
  for (uint64_t number = attempt.failed; number < failed; ++number) world_->failed_attempts.insert({key, number});
  attempt = Derived{.failed = failed, .wanted = attempt.wanted && world_->prng.Chance(0.7)};
}

bool FakeDaemon::AcceptsAttempt(const schedule::TeamLayout& layout) {
  const auto parent = teams.find(layout.parent);
  if (parent == teams.end() || parent->second.epoch == EpochId{0} || parent->second.broken) return false;
  const DerivedTeamKey key = KeyOf(layout);
  Derived& attempt = derived[key];
  if (attempt.id != TeamId{0} && attempt.id != layout.id) return false;
  if (layout.identity.nonce < attempt.failed) return false;
  AttemptFailed(key, layout.identity.nonce);
  return true;
}

void FakeDaemon::LoseStream() {
  session = 0;
  registered = false;
  for (auto& [key, attempt] : derived) attempt.request = 0;
}

void FakeDaemon::BreakSomeTeam(Prng& prng) {
  if (teams.empty()) return;
  const auto it = SomeOf(teams, prng);
  if (it->second.epoch == EpochId{0} || it->second.broken) return;
  Break(it->first, {Failure::kMemberLost, "a process died"});
}

void FakeDaemon::NoticeDeath(const NodeKey& dead) {
  for (auto& [id, team] : teams) {
    if (team.epoch == EpochId{0} || team.broken) continue;
    for (const schedule::TeamNode& node : team.layout.nodes) {
      if (node.name != dead.first || node.incarnation != dead.second || world_->left.count({id, dead}) != 0) continue;
      Break(id, {Failure::kMemberLost, "reset", FailureCause::kConnectionLost, dead.first});
    }
  }
}

void FakeDaemon::AskAboutPrepared() {
  std::vector<schedule::Commit> told;
  for (const auto& [id, team] : teams) {
    if (!team.prepared.has_value()) continue;
    if (const std::optional<schedule::Commit> commit = world_->AskNeighbors(*this, id)) {
      told.push_back(*commit);
    } else if (team.epoch != EpochId{0}) {
      Send(schedule::EpochQuery{id, team.prepared->epoch});
    }
  }
  for (const schedule::Commit& commit : told) OnMessage(commit);
}

// A lost store may issue ids again, but only those of teams that no daemon runs any more.
EpochHistory& World::HistoryOf(const schedule::TeamLayout& layout, EpochId epoch) {
  EpochHistory& history = epochs[{layout.id, epoch}];
  if (history.team == layout.identity.name) return history;
  for (const auto& [name, daemon] : daemons) {
    const auto team = daemon->teams.find(layout.id);
    if (team == daemon->teams.end()) continue;
    EXPECT_EQ(team->second.layout.identity.name, layout.identity.name) << name;
  }
  history = {};
  history.team = layout.identity.name;
  return history;
}

std::optional<schedule::Commit> World::AskNeighbors(const FakeDaemon& asker, TeamId id) {
  const FakeDaemon::Team& mine = asker.teams.at(id);
  const EpochId epoch = mine.prepared->epoch;
  schedule::Commit commit{id, epoch, CallSeq{0}, {}};
  bool is_committed = false;
  for (uint32_t v = 0; v < mine.layout.nodes.size(); ++v) {
    const schedule::TeamNode& node = mine.layout.nodes[v];
    if (v == mine.self) continue;
    commit.outgoing.push_back({NodeIndex{v}, epochs[{id, epoch}].labels[{node.name, node.incarnation}][mine.self]});
    const auto daemon = daemons.find(node.name);
    if (daemon == daemons.end() || daemon->second->key().second != node.incarnation) continue;
    const auto team = daemon->second->teams.find(id);
    if (team == daemon->second->teams.end() || team->second.epoch != epoch) continue;
    is_committed = true;
    commit.first_call = team->second.first_call;
  }
  if (!is_committed) return std::nullopt;
  return commit;
}

void FakeDaemon::StartCalls(Prng& prng) {
  for (auto& [id, team] : teams) {
    if (team.epoch == EpochId{0} || team.broken) continue;
    uint64_t more = prng.Below(10);
    // While a switch is prepared, no call beyond S + W starts.
    if (team.prepared.has_value()) more = std::min(more, team.frozen_at + team.layout.window - team.started);
    team.started += more;
  }
}

void FakeDaemon::OnMessage(const schedule::ToDaemon& message) {
  if (const auto* m = std::get_if<schedule::Registered>(&message)) {
    if (!m->accepted) return;  // the stream ends
    registered = true;
    draining = m->draining;
    term_ = std::max(term_, m->term);
    for (const TeamId id : m->forgotten) {
      if (teams.count(id) != 0) Break(id, {Failure::kMemberLost, "forgotten"});
    }
    std::set<uint64_t> answered;
    for (const auto& [id, team] : teams) {
      if (team.epoch == EpochId{0}) answered.insert(team.requests.begin(), team.requests.end());
    }
    for (const auto& [request, join] : joins) {
      if (answered.count(request) == 0) Send(join);
    }
    for (auto& [key, attempt] : derived) {
      attempt.request = 0;
      Ask(key);
    }
  } else if (const auto* m = std::get_if<schedule::Drain>(&message)) {
    draining = m->on;
  } else if (const auto* m = std::get_if<schedule::Prepare>(&message)) {
    const TeamId id = m->layout.id;
    EXPECT_EQ(m->hash, schedule::PlanHash(absl::StrJoin(m->plans, "")));
    if (schedule::IsSubTeam(m->layout)) world_->sub_teams.insert(id);
    const bool is_derived = schedule::IsDerivedTeam(m->layout.identity);
    schedule::PrepareReply reply;
    reply.team = id;
    reply.epoch = m->epoch;
    uint32_t self = 0;
    while (m->layout.nodes[self].name != key_.first) ++self;
    EXPECT_EQ(m->layout.nodes[self].incarnation, key_.second);
    EpochHistory& history = world_->HistoryOf(m->layout, m->epoch);
    // A repeated join may be answered twice, once with an Abort.
    const bool gone = !is_derived && std::any_of(m->requests.begin(), m->requests.end(), [this](const auto& request) {
      return joins.count(request.first) == 0;
    });
    // A switch may have been sent before this daemon's LeaveTeam arrived.
    const bool has_left = m->epoch != EpochId{1} && teams.count(id) == 0;
    const bool is_first = m->epoch == EpochId{1};
    const bool fits = !is_first || (is_derived ? AcceptsAttempt(m->layout) : !draining);
    if (gone || has_left || !fits || (world_->faults && world_->prng.Chance(0.05))) {
      reply.why = {Failure::kNoMemory, has_left ? "left" : gone ? "gone" : "full"};
      history.aborted.insert(key_);
      Send(reply);
      const auto attempt = derived.find(KeyOf(m->layout));
      if (!is_first || !is_derived || attempt == derived.end()) return;
      if (attempt->second.id != TeamId{0} && attempt->second.id != id) return;
      AttemptFailed(attempt->first, m->layout.identity.nonce + 1);
      return Ask(attempt->first);
    }
    if (is_first && is_derived) derived.at(KeyOf(m->layout)).id = id;
    Team& team = teams[id];
    team.layout = m->layout;
    team.self = self;
    team.prepared = *m;
    team.frozen_at = team.started;
    for (const auto& [request, rank] : m->requests) {
      if (!is_derived) team.requests.push_back(request);
    }
    for (uint32_t v = 0; v < m->layout.nodes.size(); ++v) {
      if (v == self) continue;
      history.labels[key_][v] = static_cast<uint32_t>(++world_->labels);
      reply.incoming.push_back({NodeIndex{v}, history.labels[key_][v]});
    }
    reply.accepted = true;
    reply.started = CallSeq{team.started};
    Send(reply);
  } else if (const auto* m = std::get_if<schedule::Commit>(&message)) {
    const auto it = teams.find(m->team);
    if (it == teams.end()) return;
    Team& team = it->second;
    if (team.broken) return;
    if (team.epoch >= m->epoch) return Send(schedule::CommitReply{m->team, m->epoch});
    ASSERT_TRUE(team.prepared.has_value() && team.prepared->epoch == m->epoch)
        << key_.first << ": Commit of team " << m->team.value() << " epoch " << m->epoch.value() << " was not prepared";
    EXPECT_LE(team.started, std::max<uint64_t>(m->first_call.value(), 0))
        << "a call of the old epoch is beyond the switch";
    EpochHistory& history = world_->epochs[{m->team, m->epoch}];
    for (const schedule::EdgeLabel& label : m->outgoing) {
      const schedule::TeamNode& peer = team.layout.nodes[label.neighbor.value()];
      EXPECT_EQ(label.label, (history.labels[{peer.name, peer.incarnation}][team.self]));
    }
    EXPECT_EQ(m->outgoing.size(), team.layout.nodes.size() - 1);
    history.committed.insert(key_);
    history.first_calls.insert(m->first_call.value());
    history.plan_hashes.insert(team.prepared->hash);
    if (team.epoch == EpochId{0}) {
      for (const uint64_t request : team.requests) Resolve(request);
      team.requests.clear();
      ++world_->totals->formed;
      if (schedule::IsDerivedTeam(team.layout.identity)) {
        ++world_->totals->derived;
        Derived& attempt = derived.at(KeyOf(team.layout));
        attempt.request = 0;
        attempt.wanted = false;
        world_->formed_attempts[{KeyOf(team.layout), team.layout.identity.nonce}] = m->team;
      }
    }
    team.epoch = m->epoch;
    team.first_call = m->first_call;
    team.plans = team.prepared->plans;
    team.prepared.reset();
    Send(schedule::CommitReply{m->team, m->epoch});
    const std::set<NodeKey> dead = world_->dead;
    for (const NodeKey& key : dead) NoticeDeath(key);
  } else if (const auto* m = std::get_if<schedule::Abort>(&message)) {
    for (const uint64_t request : m->requests) {
      const auto attempt = std::find_if(derived.begin(), derived.end(),
                                        [&](const auto& entry) { return entry.second.request == request; });
      if (attempt != derived.end()) {
        if (m->again) continue;
        AttemptFailed(attempt->first, attempt->second.failed + 1);
        Ask(attempt->first);
      } else if (!m->again) {
        joins.erase(request);
      } else if (joins.count(request) != 0) {
        Send(joins.at(request));
      }
    }
    const auto it = teams.find(m->team);
    if (it == teams.end() || !it->second.prepared.has_value() || it->second.prepared->epoch != m->epoch) return;
    // A node that was given up before its Commit reached it receives the end of the team: nothing is left to commit.
    EpochHistory& history = world_->epochs[{m->team, m->epoch}];
    const auto info = world_->coordinator().view().FindTeam(m->team);
    if (history.committed.empty() || (info.ok() && info->state == "ready")) history.aborted.insert(key_);
    if (it->second.epoch != EpochId{0}) return it->second.prepared.reset();
    const std::vector<uint64_t> unanswered = it->second.requests;
    const schedule::TeamLayout layout = it->second.layout;
    teams.erase(it);
    if (schedule::IsDerivedTeam(layout.identity)) {
      const auto attempt = derived.find(KeyOf(layout));
      if (attempt != derived.end() && attempt->second.id == layout.id) {
        attempt->second.id = TeamId{0};
        attempt->second.request = 0;
        Ask(attempt->first);
      }
    }
    for (const uint64_t request : unanswered) {
      if (joins.count(request) != 0) Send(joins.at(request));
    }
  } else if (const auto* m = std::get_if<schedule::BreakTeam>(&message)) {
    const auto it = teams.find(m->team);
    if (it == teams.end()) return;
    if (it->second.epoch != EpochId{0} || schedule::IsDerivedTeam(it->second.layout.identity))
      return Break(m->team, m->why);
    // The team's Commit never arrived.
    for (const uint64_t request : it->second.requests) Resolve(request);
    world_->left.insert({m->team, key_});
    teams.erase(it);
    Send(schedule::LeaveTeam{m->team});
  }
}

void RunSeed(uint64_t seed, int steps, const WorldOptions& options, Totals* totals) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  World world(seed, options, totals);
  for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) world.Step();
  if (!testing::Test::HasFailure()) world.Finish();
}

// Runs the seeds of the environment's COORDINATOR_SEED, which is a number or FIRST..LAST, or those from 1 to `last`.
// Returns false for seeds of the environment.
bool RunSeeds(uint64_t last, const WorldOptions& options, Totals* totals) {
  constexpr int kSteps = 10000;
  uint64_t first = 1;
  const char* const text = std::getenv("COORDINATOR_SEED");
  if (text != nullptr) {
    const std::vector<std::string> ends = absl::StrSplit(text, "..");
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) {
      ADD_FAILURE() << "no seed, nor FIRST..LAST (COORDINATOR_SEED=" << text << ")";
      return false;
    }
  }
  for (uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    RunSeed(seed, kSteps, options, totals);
    if (text != nullptr && seed % 100 == 0) std::cout << "seeds to " << seed << " passed" << std::endl;
  }
  std::cout << "formed=" << totals->formed << " derived=" << totals->derived << " replanned=" << totals->replanned
            << " crashes=" << totals->crashes << " elections=" << totals->elections << " deposed=" << totals->deposed
            << " drains=" << totals->drains << std::endl;
  return text == nullptr;
}

// COORDINATOR_SEED=N or FIRST..LAST runs only those seeds, COORDINATOR_LOG=1 logs the coordinators' actions.
TEST(CoordinatorRandomTest, EpochsAreDecidedAlikeEverywhere) {
  Totals totals;
  if (!RunSeeds(41, {}, &totals)) return;
  EXPECT_GT(totals.formed, 400u);
  EXPECT_GT(totals.replanned, 80u);
  EXPECT_GT(totals.crashes, 40u);
  EXPECT_GT(totals.lost_stores, 40u);
}

TEST(CoordinatorRandomTest, PlannersThatTakeOverDecideAlike) {
  Totals totals;
  if (!RunSeeds(30, {.daemons = 8, .planners = 2}, &totals)) return;
  EXPECT_GT(totals.formed, 1000u);
  EXPECT_GT(totals.derived, 100u);
  EXPECT_GT(totals.replanned, 100u);
  EXPECT_GT(totals.elections, 500u);
  EXPECT_GT(totals.deposed, 50u);
  EXPECT_GT(totals.drains, 50u);
}

}  // namespace
}  // namespace copse::coordinator
