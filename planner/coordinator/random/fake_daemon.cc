// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/fake_daemon.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <type_traits>
#include <variant>

#include "absl/strings/str_join.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/coordinator/random/world.h"
#include "schedule/plan.h"

namespace copse::coordinator {

using schedule::Failure;

void FakeDaemon::Send(const schedule::FromDaemon& message) {
  if (session != 0) world_->streams.SendToPlanner(session, message);
}

schedule::Register FakeDaemon::Registration() const {
  schedule::Register message;
  message.node.name = key_.first;
  message.node.incarnation = key_.second;
  message.node.machine = key_.first;
  message.term = term_;
  message.cluster = cluster_;
  message.node.features = {schedule::Feature::kDerivedTeams, schedule::Feature::kTeamPlans,
                           schedule::Feature::kCluster};
  if (world_->options.sub_teams) message.node.features.insert(schedule::Feature::kSubTeams);
  message.node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
  for (const auto& [id, team] : teams) {
    if (sub_teams.IsForming(id)) continue;  // it is not the planner's to decide
    message.teams.push_back({.layout = team.layout,
                             .epoch = team.epoch,
                             .plans = team.plans,
                             .broken = team.broken,
                             .prepared_epoch = team.prepared.has_value() ? team.prepared->epoch : EpochId{0}});
  }
  return message;
}

// --- Joins and teams ---

void FakeDaemon::Join(const schedule::JoinTeam& join) {
  schedule::JoinTeam one = join;
  one.more.clear();
  joins[one.request] = one;
  for (const auto& [request, rank] : join.more) {
    one.request = request;
    one.rank = rank;
    joins[request] = one;
  }
  sub_teams.ReportFormed(join.parent);
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

void FakeDaemon::SendJoins(const std::vector<uint64_t>& requests) {
  for (const uint64_t request : requests) {
    if (joins.count(request) != 0) Send(joins.at(request));
  }
}

void FakeDaemon::SendJoinsAgain() {
  std::set<uint64_t> answered;
  for (const auto& [id, team] : teams) {
    if (team.epoch == EpochId{0}) answered.insert(team.requests.begin(), team.requests.end());
  }
  for (const auto& [request, join] : joins) {
    if (answered.count(request) == 0) Send(join);
  }
}

void FakeDaemon::LeaveSomeTeam(Prng& prng) {
  if (teams.empty()) return;
  const auto it = SomeOf(teams, prng);
  const TeamId id = it->first;
  if (it->second.epoch == EpochId{0} || it->second.prepared.has_value()) return;
  if (schedule::IsDerivedTeam(it->second.layout.identity)) return;  // it is left with its parent
  if (sub_teams.IsFormingFrom(id)) return;
  world_->history.left.insert({id, key_});
  const bool is_told = !sub_teams.IsUnreported(id) && (!world_->faults || !prng.Chance(0.05));
  if (is_told) Send(schedule::LeaveTeam{id});
  sub_teams.OnLeft(id);
  teams.erase(it);
  for (auto other = teams.begin(); other != teams.end();) {
    const bool is_derived = KeyOf(other->second.layout).first == id && IsDerivedTeam(other->second.layout.identity);
    if (is_derived) world_->history.left.insert({other->first, key_});
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

void FakeDaemon::StartCalls(Prng& prng) {
  for (auto& [id, team] : teams) {
    if (team.epoch == EpochId{0} || team.broken) continue;
    uint64_t more = prng.Below(10);
    // While a switch is prepared, no call beyond S + W starts.
    if (team.prepared.has_value()) more = std::min(more, team.frozen_at + team.layout.window - team.started);
    team.started += more;
  }
}

void FakeDaemon::LoseStream() {
  session = 0;
  registered = false;
  sub_teams.OnStreamLost();
  for (auto& [key, attempt] : derived) attempt.request = 0;
}

// --- Breaks ---

void FakeDaemon::Break(TeamId id, const schedule::FailureReport& why) {
  Team& team = teams.at(id);
  if (team.broken) return;
  if (sub_teams.IsForming(id)) return sub_teams.Broken(id);
  const schedule::TeamLayout& layout = team.layout;
  sub_teams.ReportFormed(schedule::IsDerivedTeam(layout.identity) ? layout.parent : id);
  team.broken = true;
  team.prepared.reset();
  Send(schedule::TeamBroken{id, why});
  sub_teams.OnBroken(layout);
  if (schedule::IsDerivedTeam(layout.identity)) return BreakIfHeld(layout.parent, why);
  for (const auto& [other, its] : teams) {
    if (its.layout.parent == id && schedule::IsDerivedTeam(its.layout.identity)) Break(other, why);
  }
}

void FakeDaemon::BreakSomeTeam(Prng& prng) {
  if (teams.empty()) return;
  const auto it = SomeOf(teams, prng);
  if (it->second.epoch == EpochId{0} || it->second.broken) return;
  Break(it->first, {Failure::kMemberLost, "a process died"});
}

std::vector<TeamId> FakeDaemon::TeamsWith(const NodeKey& other) const {
  std::vector<TeamId> found;
  for (const auto& [id, team] : teams) {
    const std::vector<schedule::TeamNode>& nodes = team.layout.nodes;
    const bool is_member = std::any_of(nodes.begin(), nodes.end(), [&](const schedule::TeamNode& node) {
      return node.name == other.first && node.incarnation == other.second;
    });
    if (is_member && world_->history.left.count({id, other}) == 0) found.push_back(id);
  }
  return found;
}

void FakeDaemon::NoticeDeath(const NodeKey& dead) {
  const schedule::FailureReport why{Failure::kMemberLost, "reset", FailureCause::kConnectionLost, dead.first};
  for (const TeamId id : TeamsWith(dead)) {
    const auto it = teams.find(id);
    // Runs without sub-teams keep the steps with which they failed once: there a team that is prepared went on.
    if (it == teams.end() || (it->second.epoch == EpochId{0} && !world_->options.sub_teams)) continue;
    BreakIfHeld(id, why);
  }
  sub_teams.NoticeDeath(dead);
}

void FakeDaemon::NoticeDeaths() {
  const std::set<NodeKey> dead = world_->history.dead;
  for (const NodeKey& key : dead) NoticeDeath(key);
}

void FakeDaemon::BreakIfHeld(TeamId id, const schedule::FailureReport& why) {
  const auto it = teams.find(id);
  if (it == teams.end()) return;
  const bool is_derived = schedule::IsDerivedTeam(it->second.layout.identity);
  if (it->second.epoch != EpochId{0} || is_derived || sub_teams.IsForming(id)) return Break(id, why);
  // The team's Commit never arrived.
  for (const uint64_t request : it->second.requests) Resolve(request);
  world_->history.left.insert({id, key_});
  teams.erase(it);
  Send(schedule::LeaveTeam{id});
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
  sub_teams.ReportFormed(key.first);
  Send(join);
}

// Each failed attempt fails one of the calls that wait; here they all end, or another one makes the next attempt.
void FakeDaemon::AttemptFailed(const DerivedTeamKey& key, uint64_t failed) {
  Derived& attempt = derived.at(key);
  if (failed <= attempt.failed) return;
  for (uint64_t number = attempt.failed; number < failed; ++number) {
    world_->history.failed_attempts.insert({key, number});
  }
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

void FakeDaemon::AttemptRefused(const schedule::TeamLayout& layout) {
  const auto attempt = derived.find(KeyOf(layout));
  if (attempt == derived.end()) return;
  if (attempt->second.id != TeamId{0} && attempt->second.id != layout.id) return;
  AttemptFailed(attempt->first, layout.identity.nonce + 1);
  Ask(attempt->first);
}

void FakeDaemon::AttemptDropped(const schedule::TeamLayout& layout) {
  const auto attempt = derived.find(KeyOf(layout));
  if (attempt == derived.end() || attempt->second.id != layout.id) return;
  attempt->second.id = TeamId{0};
  attempt->second.request = 0;
  Ask(attempt->first);
}

// --- The planner's messages ---

void FakeDaemon::OnMessage(const schedule::ToDaemon& message) {
  std::visit(
      [this](const auto& m) {
        if constexpr (requires { this->On(m); }) On(m);
      },
      message);
}

void FakeDaemon::On(const schedule::Registered& m) {
  if (!m.accepted) return;  // the stream ends
  registered = true;
  draining = m.draining;
  term_ = schedule::IsOtherCluster(m.cluster, cluster_) ? m.term : std::max(term_, m.term);
  SetCluster(m.cluster);
  for (const TeamId id : m.forgotten) {
    if (teams.count(id) != 0) Break(id, {Failure::kMemberLost, "forgotten"});
  }
  sub_teams.OnRegistered();
  SendJoinsAgain();
  for (auto& [key, attempt] : derived) {
    attempt.request = 0;
    Ask(key);
  }
}

void FakeDaemon::SetCluster(const std::string& uuid) {
  if (schedule::IsOtherCluster(uuid, cluster_)) sub_teams.ForgetIds();
  cluster_ = uuid;
}

void FakeDaemon::On(const schedule::PlansQuery& m) {
  const auto team = teams.find(m.team);
  if (team == teams.end() || team->second.epoch == EpochId{0}) return;
  Send(schedule::TeamPlans{m.team, team->second.epoch, team->second.plans});
}

uint32_t FakeDaemon::IndexIn(const schedule::TeamLayout& layout) const {
  uint32_t self = 0;
  while (layout.nodes[self].name != key_.first) ++self;
  EXPECT_EQ(layout.nodes[self].incarnation, key_.second);
  return self;
}

const char* FakeDaemon::RefusalOf(const schedule::Prepare& m) {
  const bool is_derived = schedule::IsDerivedTeam(m.layout.identity);
  const bool is_first = m.epoch == EpochId{1};
  // A repeated join may be answered twice, once with an Abort.
  const bool gone = !is_derived && std::any_of(m.requests.begin(), m.requests.end(),
                                               [this](const auto& request) { return joins.count(request.first) == 0; });
  const bool fits = !is_first || (is_derived ? AcceptsAttempt(m.layout) : !draining);
  // A switch may have been sent before this daemon's LeaveTeam arrived.
  if (!is_first && teams.count(m.layout.id) == 0) return "left";
  if (gone) return "gone";
  return !fits || (world_->faults && world_->prng.Chance(0.05)) ? "full" : nullptr;
}

void FakeDaemon::Refuse(const schedule::Prepare& m, const std::string& why) {
  world_->HistoryOf(m.layout, m.epoch).aborted.insert(key_);
  schedule::PrepareReply reply{.team = m.layout.id, .epoch = m.epoch};
  reply.why = {Failure::kNoMemory, why};
  Send(reply);
  if (m.epoch == EpochId{1} && schedule::IsDerivedTeam(m.layout.identity)) AttemptRefused(m.layout);
}

std::vector<schedule::EdgeLabel> FakeDaemon::IssueLabels(const schedule::TeamLayout& layout, uint32_t self,
                                                         EpochHistory& history) {
  std::vector<schedule::EdgeLabel> labels;
  for (uint32_t v = 0; v < layout.nodes.size(); ++v) {
    if (v == self) continue;
    history.labels[key_][v] = static_cast<uint32_t>(++world_->labels);
    labels.push_back({NodeIndex{v}, history.labels[key_][v]});
  }
  return labels;
}

void FakeDaemon::On(const schedule::Prepare& m) {
  const TeamId id = m.layout.id;
  EXPECT_EQ(m.hash, schedule::PlanHash(absl::StrJoin(m.plans, "")));
  world_->NoteIssued(m.layout, cluster_);
  if (schedule::IsSubTeam(m.layout)) world_->history.sub_teams.insert(id);
  const bool is_derived = schedule::IsDerivedTeam(m.layout.identity);
  const uint32_t self = IndexIn(m.layout);
  EpochHistory& history = world_->HistoryOf(m.layout, m.epoch);
  if (const char* const why = RefusalOf(m)) return Refuse(m, why);
  if (m.epoch == EpochId{1} && is_derived) derived.at(KeyOf(m.layout)).id = id;
  const auto [known, is_new] = teams.try_emplace(id);
  Team& team = known->second;
  EXPECT_TRUE(is_new || schedule::IsSameTeam(team.layout, m.layout)) << "another team has the id " << id.value();
  team.layout = m.layout;
  team.self = self;
  team.prepared = m;
  team.has_sub_teams |= m.has_sub_teams;
  team.frozen_at = team.started;
  for (const auto& [request, rank] : m.requests) {
    if (!is_derived) team.requests.push_back(request);
  }
  Send(schedule::PrepareReply{.team = id,
                              .epoch = m.epoch,
                              .accepted = true,
                              .incoming = IssueLabels(m.layout, self, history),
                              .started = CallSeq{team.started}});
}

void FakeDaemon::AddSubTeam(const schedule::Prepare& m) {
  Team& team = teams[m.layout.id];
  team.layout = m.layout;
  team.self = IndexIn(m.layout);
  team.prepared = m;
  team.has_sub_teams = m.has_sub_teams;
}

void FakeDaemon::CommitSubTeam(TeamId id) {
  Enter(teams.at(id), CallSeq{0});
  NoticeDeaths();
}

void FakeDaemon::CheckLabels(const Team& team, const schedule::Commit& m, EpochHistory& history) const {
  for (const schedule::EdgeLabel& label : m.outgoing) {
    const schedule::TeamNode& peer = team.layout.nodes[label.neighbor.value()];
    EXPECT_EQ(label.label, (history.labels[{peer.name, peer.incarnation}][team.self]));
  }
  EXPECT_EQ(m.outgoing.size(), team.layout.nodes.size() - 1);
}

void FakeDaemon::Formed(Team& team) {
  for (const uint64_t request : team.requests) Resolve(request);
  team.requests.clear();
  ++world_->totals->formed;
  if (!schedule::IsDerivedTeam(team.layout.identity)) return;
  ++world_->totals->derived;
  Derived& attempt = derived.at(KeyOf(team.layout));
  attempt.request = 0;
  attempt.wanted = false;
  world_->history.formed_attempts[{KeyOf(team.layout), team.layout.identity.nonce}] = team.layout.id;
}

void FakeDaemon::Enter(Team& team, CallSeq first_call) {
  EpochHistory& history = world_->HistoryOf(team.layout, team.prepared->epoch);
  history.committed.insert(key_);
  history.first_calls.insert(first_call.value());
  history.plan_hashes.insert(team.prepared->hash);
  if (team.epoch == EpochId{0}) Formed(team);
  team.epoch = team.prepared->epoch;
  team.first_call = first_call;
  team.plans = team.prepared->plans;
  team.prepared.reset();
}

void FakeDaemon::On(const schedule::Commit& m) {
  if (sub_teams.IsForming(m.team)) return sub_teams.CommittedByNeighbor(m.team);
  const auto it = teams.find(m.team);
  if (it == teams.end()) return;
  Team& team = it->second;
  if (team.broken) return;
  if (team.epoch >= m.epoch) return Send(schedule::CommitReply{m.team, m.epoch});
  ASSERT_TRUE(team.prepared.has_value() && team.prepared->epoch == m.epoch)
      << key_.first << ": Commit of team " << m.team.value() << " epoch " << m.epoch.value() << " was not prepared";
  EXPECT_LE(team.started, std::max<uint64_t>(m.first_call.value(), 0))
      << "a call of the old epoch is beyond the switch";
  CheckLabels(team, m, world_->HistoryOf(team.layout, m.epoch));
  Enter(team, m.first_call);
  Send(schedule::CommitReply{m.team, m.epoch});
  NoticeDeaths();
}

void FakeDaemon::EndJoins(const schedule::Abort& m) {
  for (const uint64_t request : m.requests) {
    const auto attempt = std::find_if(derived.begin(), derived.end(),
                                      [&](const auto& entry) { return entry.second.request == request; });
    if (attempt == derived.end()) {
      if (!m.again) joins.erase(request);
      SendJoins({request});
    } else if (!m.again) {
      AttemptFailed(attempt->first, attempt->second.failed + 1);
      Ask(attempt->first);
    }
  }
}

void FakeDaemon::DropPrepared(TeamId id) {
  const auto it = teams.find(id);
  const std::vector<uint64_t> unanswered = it->second.requests;
  const schedule::TeamLayout layout = it->second.layout;
  teams.erase(it);
  if (schedule::IsDerivedTeam(layout.identity)) AttemptDropped(layout);
  SendJoins(unanswered);
}

void FakeDaemon::On(const schedule::Abort& m) {
  EndJoins(m);
  const auto it = teams.find(m.team);
  if (it == teams.end() || !it->second.prepared.has_value() || it->second.prepared->epoch != m.epoch) return;
  // A node that was given up before its Commit reached it receives the end of the team: nothing is left to commit.
  EpochHistory& history = world_->HistoryOf(it->second.layout, m.epoch);
  const auto info = world_->coordinator().view().FindTeam(m.team);
  if (history.committed.empty() || (info.ok() && info->state == "ready")) history.aborted.insert(key_);
  if (it->second.epoch != EpochId{0}) return it->second.prepared.reset();
  DropPrepared(m.team);
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

}  // namespace copse::coordinator
