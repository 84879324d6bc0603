// SPDX-License-Identifier: Apache-2.0
//
// Random steps against daemons that follow the protocol: streams that end with messages on the way, daemons that
// restart, a planner that dies between any two of its messages, and a store that fails or is lost. The test checks
// after each step, and after all faults are healed, that an epoch is decided the same way everywhere.
#include <algorithm>
#include <cstdlib>
#include <deque>
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
  uint64_t formed = 0, replanned = 0, crashes = 0, lost_stores = 0;
};

struct World;

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

  FakeDaemon(World* world, std::string name, uint64_t incarnation)
      : world_(world), key_(std::move(name), Incarnation{incarnation}) {}

  schedule::Register Registration() const;
  void OnMessage(const schedule::ToDaemon& message);
  void Join(const schedule::JoinTeam& join);
  void CancelSomeJoin(Prng& prng);
  void LeaveSomeTeam(Prng& prng);
  void BreakSomeTeam(Prng& prng);
  void AskAboutPrepared();
  void StartCalls(Prng& prng);
  // Handles the reset of the connection to another daemon.
  void NoticeDeath(const NodeKey& dead);

  const NodeKey& key() const { return key_; }
  std::map<TeamId, Team> teams;
  std::map<uint64_t, schedule::JoinTeam> joins;  // not yet answered
  uint64_t session = 0;                          // 0: not connected
  bool registered = false;
  absl::Time last_seen = absl::InfinitePast();  // the last time with a connection

 private:
  void Send(const schedule::FromDaemon& message);
  void Resolve(uint64_t request);

  World* world_;
  NodeKey key_;
  uint64_t term_ = 0;
};

struct World : SessionSink {
  World(uint64_t seed, Totals* totals) : prng(seed), totals(totals) {
    SetLogLevel(std::getenv("COORDINATOR_LOG") == nullptr ? LogLevel::kError : LogLevel::kInfo);
    options.team_formation_timeout = absl::Seconds(30);
    StartPlanner();
    for (int i = 1; i <= 4; ++i) AddDaemon(absl::StrCat("n", i));
  }

  // --- Planner ---

  // Ends commits at once or later. They fail, with the changes made or not, and the planner dies right after one: no
  // message sent afterwards leaves it.
  struct CrashingStore : Store {
    explicit CrashingStore(World* world) : world(world) {}
    void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override {
      ASSERT_FALSE(held.has_value()) << "two commits in flight";
      held.emplace(std::move(changes), std::move(done));
      if (!world->commits_later) Finish();
    }
    void Finish() {
      if (!held.has_value()) return;
      auto [changes, done] = *std::exchange(held, std::nullopt);
      const double dice = world->faults ? world->prng.Unit() : 1;
      if (dice < 0.01) return done(absl::ResourceExhaustedError("disk full"));
      if (dice < 0.02) return done(absl::UnavailableError("no answer"));
      for (const StoreChange& change : changes) Apply(change, snapshot);
      if (dice < 0.03) return done(absl::UnavailableError("the answer is lost"));
      if (dice < 0.08) world->planner_dead = true;
      done(absl::OkStatus());
    }
    absl::StatusOr<Snapshot> Load() override { return snapshot; }

    World* world;
    Snapshot snapshot;
    std::optional<std::pair<std::vector<StoreChange>, std::function<void(const absl::Status&)>>> held;
  };

  void StartPlanner() {
    planner_dead = false;
    for (auto& [name, daemon] : daemons) Cut(*daemon);
    links.clear();
    plan_maker.Drop();
    // The commit that the planner was waiting for is made or not.
    if (store.held.has_value() && prng.Chance(0.5)) {
      for (const StoreChange& change : store.held->first) Apply(change, store.snapshot);
    }
    store.held.reset();
    coordinator = std::make_unique<Coordinator>(&clock, &store, &plan_maker, this, options);
    EXPECT_TRUE(coordinator->Start().ok());
  }

  void Send(SessionId session, const schedule::ToDaemon& message) override {
    if (planner_dead) return;
    const auto link = links.find(session);
    if (link != links.end()) link->second.to_daemon.push_back(message);
    // The planner dies in the middle of a round of messages.
    if (faults && prng.Chance(0.002)) planner_dead = true;
  }
  void Close(SessionId session, const std::string& why) override {
    if (planner_dead) return;
    const auto link = links.find(session);
    if (link != links.end()) link->second.closed = why;
  }

  // --- Daemons and streams ---

  struct Link {
    std::string daemon;
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
    daemon.session = ++sessions;
    links[daemon.session].daemon = daemon.key().first;
    coordinator->OnConnected(daemon.session);
    links[daemon.session].to_planner.push_back(daemon.Registration());
  }

  // Ends the stream; messages on the way are lost.
  void Cut(FakeDaemon& daemon) {
    if (daemon.session == 0) return;
    const SessionId session = std::exchange(daemon.session, 0);
    daemon.registered = false;
    links.erase(session);
    if (coordinator != nullptr && !planner_dead) coordinator->OnDisconnected(session);
  }

  // Moves one message. Returns false if there is none.
  bool Deliver() {
    std::vector<std::pair<SessionId, bool>> ready;
    for (auto& [session, link] : links) {
      if (!link.to_planner.empty()) ready.emplace_back(session, true);
      if (!link.to_daemon.empty() || link.closed.has_value()) ready.emplace_back(session, false);
    }
    if (ready.empty() || (store.held.has_value() && prng.Chance(0.1))) {
      const bool commits = store.held.has_value();
      store.Finish();
      return commits;
    }
    const auto [session, to_planner] = ready[prng.Below(ready.size())];
    Link& link = links[session];
    if (to_planner) {
      const schedule::FromDaemon message = link.to_planner.front();
      link.to_planner.pop_front();
      coordinator->OnMessage(session, message);
    } else if (!link.to_daemon.empty()) {
      const schedule::ToDaemon message = link.to_daemon.front();
      link.to_daemon.pop_front();
      daemons.at(link.daemon)->OnMessage(message);
    } else {
      FakeDaemon& daemon = *daemons.at(link.daemon);
      links.erase(session);
      coordinator->OnDisconnected(session);
      if (daemon.session == session) {
        daemon.session = 0;
        daemon.registered = false;
      }
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
    for (const TeamInfo& team : coordinator->Teams()) {
      if (team.state == "ready" && team.layout.parent == TeamId{0}) parents.push_back(team.layout.id);
    }
    std::vector<std::string> places;
    for (const auto& [name, daemon] : daemons) places.push_back(name);
    if (!parents.empty() && prng.Chance(0.4)) {
      join.parent = parents[prng.Below(parents.size())];
      places.clear();
      const TeamInfo parent = coordinator->FindTeam(join.parent).value();
      for (const schedule::TeamNode& node : parent.layout.nodes) places.push_back(node.name);
    }
    for (uint32_t rank = 0; rank < size; ++rank) {
      if (faults && prng.Chance(0.02)) continue;  // this rank never joins
      join.rank = Rank{faults && prng.Chance(0.01) ? 0 : rank};
      join.request = ++requests;
      daemons.at(places[prng.Below(places.size())])->Join(join);
    }
  }

  EpochHistory& HistoryOf(const schedule::TeamLayout& layout, EpochId epoch);
  // Returns the Commit of a daemon's prepared epoch, if a neighbor has it.
  std::optional<schedule::Commit> AskNeighbors(const FakeDaemon& asker, TeamId id);

  // If the planner had just recorded a first epoch, and the daemon that knew of it restarts too, no process can notify
  // the others.
  void LoseStore() {
    store.snapshot = Snapshot();
    store.held.reset();
    for (const auto& [epoch, history] : epochs) {
      if (epoch.second == EpochId{1}) sub_teams.insert(epoch.first);
    }
    ++totals->lost_stores;
  }

  void Replan() {
    const std::vector<TeamInfo> teams = coordinator->Teams();
    if (teams.empty()) return;
    const TeamInfo& team = teams[prng.Below(teams.size())];
    coordinator->ReplanTeam(team.layout.id, {},
                            [this](const absl::Status& status) { totals->replanned += status.ok(); });
  }

  void Pass(absl::Duration duration) {
    clock.Advance(duration);
    // Daemons try to connect at least every 5 s.
    for (auto& [name, daemon] : daemons) {
      if (daemon->session != 0) daemon->last_seen = clock.Now();
      if (clock.Now() - daemon->last_seen > absl::Seconds(5)) Connect(*daemon);
    }
    coordinator->Tick(clock.Now());
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
    } else if (dice < 85.8) {
      daemon.CancelSomeJoin(prng);
    } else if (dice < 86.5) {
      Cut(daemon);
    } else if (dice < 86.7) {  // the daemon dies and comes back as another incarnation
      Cut(daemon);
      AddDaemon(daemon.key().first);
    } else if (dice < 86.8) {
      planner_dead = true;
      if (prng.Chance(0.3)) LoseStore();
    } else if (dice < 95) {
      Pass(absl::Milliseconds(static_cast<int64_t>(prng.Below(500))));
    } else {
      plan_maker.Finish();
    }
    if (planner_dead) {
      ++totals->crashes;
      StartPlanner();
    }
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
  }

  // Heals all faults, lets everything finish, and checks the result.
  void Finish() {
    faults = false;
    commits_later = false;
    store.Finish();
    plan_maker.later = false;
    plan_maker.Finish();
    if (planner_dead) StartPlanner();
    const absl::Time end = clock.Now() + absl::Seconds(120);
    while (clock.Now() < end) {
      for (auto& [name, daemon] : daemons) Connect(*daemon);
      while (Deliver()) {
      }
      for (auto& [name, daemon] : daemons) daemon->AskAboutPrepared();
      if (planner_dead) StartPlanner();
      Pass(absl::Milliseconds(500));
    }
    while (Deliver()) {
    }
    // Waits for the records of teams that died as a whole while there was no planner.
    for (int minute = 0; minute < 130; ++minute) {
      for (auto& [name, daemon] : daemons) Connect(*daemon);
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
      const auto info = coordinator->FindTeam(id);
      ASSERT_TRUE(info.ok()) << "team " << id.value() << " runs and the planner does not know it";
      EXPECT_EQ(info->state, "ready") << "team " << id.value() << ": " << info->why;
      EXPECT_EQ(info->epoch, *held[id].begin());
      for (const schedule::TeamNode& node : layouts[id].nodes) {
        if (nodes.count(node.name) != 0) continue;
        EXPECT_TRUE(left.count({id, {node.name, node.incarnation}}) != 0)
            << "team " << id.value() << " runs, but not on " << node.name;
      }
    }
    for (const TeamInfo& team : coordinator->Teams()) {
      if (team.state == "ready") {
        EXPECT_TRUE(holders.count(team.layout.id) != 0)
            << "team " << team.layout.id.value() << " is ready and nobody has it";
      } else {
        EXPECT_EQ(team.state, "broken") << team.layout.identity.name;
      }
    }
    const Snapshot snapshot = store.Load().value();
    for (const auto& [id, record] : snapshot.teams) EXPECT_TRUE(coordinator->FindTeam(id).ok());
  }

  Prng prng;
  FakeClock clock;
  FakePlanMaker plan_maker;
  CrashingStore store{this};
  CoordinatorOptions options;
  std::unique_ptr<Coordinator> coordinator;
  bool planner_dead = false;
  bool faults = true;
  bool commits_later = false;
  std::map<std::string, std::unique_ptr<FakeDaemon>> daemons;
  std::map<SessionId, Link> links;
  uint64_t sessions = 0, incarnations = 0, requests = 0, names = 0, labels = 0;
  Totals* const totals;
  std::map<std::pair<TeamId, EpochId>, EpochHistory> epochs;
  std::set<TeamId> sub_teams;
  std::set<NodeKey> dead;
  std::set<std::pair<TeamId, NodeKey>> left;
};

void FakeDaemon::Send(const schedule::FromDaemon& message) {
  if (session != 0) world_->links.at(session).to_planner.push_back(message);
}

schedule::Register FakeDaemon::Registration() const {
  schedule::Register message;
  message.node.name = key_.first;
  message.node.incarnation = key_.second;
  message.node.machine = key_.first;
  message.term = term_;
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
  joins[join.request] = join;
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
  if (it->second.epoch == EpochId{0} || it->second.prepared.has_value()) return;
  world_->left.insert({it->first, key_});
  Send(schedule::LeaveTeam{it->first});
  teams.erase(it);
}

void FakeDaemon::BreakSomeTeam(Prng& prng) {
  if (teams.empty()) return;
  const auto it = SomeOf(teams, prng);
  if (it->second.epoch == EpochId{0} || it->second.broken) return;
  it->second.broken = true;
  it->second.prepared.reset();
  Send(schedule::TeamBroken{it->first, {Failure::kMemberLost, "a process died"}});
}

void FakeDaemon::NoticeDeath(const NodeKey& dead) {
  for (auto& [id, team] : teams) {
    if (team.epoch == EpochId{0} || team.broken) continue;
    for (const schedule::TeamNode& node : team.layout.nodes) {
      if (node.name != dead.first || node.incarnation != dead.second || world_->left.count({id, dead}) != 0) continue;
      team.broken = true;
      team.prepared.reset();
      Send(schedule::TeamBroken{id, {Failure::kMemberLost, "reset", FailureCause::kConnectionLost, dead.first}});
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
    term_ = std::max(term_, m->term);
    for (const TeamId id : m->forgotten) {
      if (teams.count(id) == 0) continue;
      teams.at(id).broken = true;
      teams.at(id).prepared.reset();
    }
    std::set<uint64_t> answered;
    for (const auto& [id, team] : teams) {
      if (team.epoch == EpochId{0}) answered.insert(team.requests.begin(), team.requests.end());
    }
    for (const auto& [request, join] : joins) {
      if (answered.count(request) == 0) Send(join);
    }
  } else if (const auto* m = std::get_if<schedule::Prepare>(&message)) {
    const TeamId id = m->layout.id;
    EXPECT_EQ(m->hash, schedule::PlanHash(absl::StrJoin(m->plans, "")));
    if (m->layout.parent != TeamId{0}) world_->sub_teams.insert(id);
    schedule::PrepareReply reply;
    reply.team = id;
    reply.epoch = m->epoch;
    uint32_t self = 0;
    while (m->layout.nodes[self].name != key_.first) ++self;
    EXPECT_EQ(m->layout.nodes[self].incarnation, key_.second);
    EpochHistory& history = world_->HistoryOf(m->layout, m->epoch);
    // A repeated join may be answered twice, once with an Abort.
    const bool gone = std::any_of(m->requests.begin(), m->requests.end(),
                                  [this](const auto& request) { return joins.count(request.first) == 0; });
    // A switch may have been sent before this daemon's LeaveTeam arrived.
    const bool has_left = m->epoch != EpochId{1} && teams.count(id) == 0;
    if (gone || has_left || (world_->faults && world_->prng.Chance(0.05))) {
      reply.why = {Failure::kNoMemory, has_left ? "left" : gone ? "gone" : "full"};
      history.aborted.insert(key_);
      return Send(reply);
    }
    Team& team = teams[id];
    team.layout = m->layout;
    team.self = self;
    team.prepared = *m;
    team.frozen_at = team.started;
    for (const auto& [request, rank] : m->requests) team.requests.push_back(request);
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
      if (!m->again) {
        joins.erase(request);
      } else if (joins.count(request) != 0) {
        Send(joins.at(request));
      }
    }
    const auto it = teams.find(m->team);
    if (it == teams.end() || !it->second.prepared.has_value() || it->second.prepared->epoch != m->epoch) return;
    // A node that was given up before its Commit reached it receives the end of the team: nothing is left to commit.
    EpochHistory& history = world_->epochs[{m->team, m->epoch}];
    const auto info = world_->coordinator->FindTeam(m->team);
    if (history.committed.empty() || (info.ok() && info->state == "ready")) history.aborted.insert(key_);
    if (it->second.epoch != EpochId{0}) return it->second.prepared.reset();
    const std::vector<uint64_t> unanswered = it->second.requests;
    teams.erase(it);
    for (const uint64_t request : unanswered) {
      if (joins.count(request) != 0) Send(joins.at(request));
    }
  } else if (const auto* m = std::get_if<schedule::BreakTeam>(&message)) {
    const auto it = teams.find(m->team);
    if (it == teams.end()) return;
    it->second.broken = true;
    if (it->second.epoch != EpochId{0}) return it->second.prepared.reset();
    // The team's Commit never arrived.
    for (const uint64_t request : it->second.requests) Resolve(request);
    world_->left.insert({m->team, key_});
    teams.erase(it);
    Send(schedule::LeaveTeam{m->team});
  }
}

void RunSeed(uint64_t seed, int steps, Totals* totals) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  World world(seed, totals);
  world.plan_maker.later = seed % 2 == 0;
  world.commits_later = seed % 4 < 2;
  for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) world.Step();
  if (!testing::Test::HasFailure()) world.Finish();
}

// COORDINATOR_SEED=N runs only that seed, COORDINATOR_LOG=1 logs the coordinator's actions.
TEST(CoordinatorRandomTest, EpochsAreDecidedAlikeEverywhere) {
  uint64_t seed = 0;
  Totals totals;
  if (const char* text = std::getenv("COORDINATOR_SEED"); text != nullptr && absl::SimpleAtoi(text, &seed)) {
    return RunSeed(seed, 10000, &totals);
  }
  for (seed = 1; seed <= 100 && !HasFailure(); ++seed) RunSeed(seed, 10000, &totals);
  EXPECT_GT(totals.formed, 1000u);
  EXPECT_GT(totals.replanned, 200u);
  EXPECT_GT(totals.crashes, 100u);
  EXPECT_GT(totals.lost_stores, 100u);
  RecordProperty("formed", static_cast<int>(totals.formed));
  RecordProperty("replanned", static_cast<int>(totals.replanned));
  RecordProperty("crashes", static_cast<int>(totals.crashes));
}

}  // namespace
}  // namespace copse::coordinator
