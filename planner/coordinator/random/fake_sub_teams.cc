// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/fake_sub_teams.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "planner/coordinator/random/fake_daemon.h"
#include "planner/coordinator/random/world.h"
#include "schedule/plan.h"
#include "schedule/positional_plans.h"

namespace copse::coordinator {
namespace {

NodeKey KeyOf(const schedule::TeamNode& node) { return {node.name, node.incarnation}; }

}  // namespace

// --- The root ---

std::vector<TeamId> FakeSubTeams::Parents() const {
  std::vector<TeamId> parents;
  for (const auto& [id, team] : daemon_->teams) {
    const bool is_derived = schedule::IsDerivedTeam(team.layout.identity);
    if (team.has_sub_teams && team.self == 0 && team.is_running() && !is_derived) parents.push_back(id);
  }
  return parents;
}

schedule::TeamLayout FakeSubTeams::PartOf(const schedule::TeamLayout& parent, Prng& prng) const {
  schedule::TeamLayout part = parent;
  part.nodes.clear();
  part.shape = {};
  for (const schedule::TeamNode& node : parent.nodes) {
    if (prng.Chance(0.5)) continue;
    part.shape.node_of_rank.push_back(NodeIndex{static_cast<uint32_t>(part.nodes.size())});
    part.nodes.push_back(node);
  }
  part.shape.node_count = static_cast<uint32_t>(part.nodes.size());
  return part;
}

// A real daemon may also have plans of an earlier sub-team with the same nodes and ranks, with their ids.
std::vector<std::string> FakeSubTeams::PlansFor(const schedule::TeamLayout& layout, TeamId id) {
  std::vector<uint32_t> order(layout.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::string> encoded;
  for (const schedule::Plan& plan : schedule::MakePositionalPlans(order, id)) {
    encoded.push_back(schedule::EncodePlan(plan));
  }
  return encoded;
}

void FakeSubTeams::Begin(Prng& prng) {
  const std::vector<TeamId> parents = Parents();
  if (parents.empty() || ids_.empty()) return;
  const FakeDaemon::Team& parent = daemon_->teams.at(parents[prng.Below(parents.size())]);
  SubTeamMessage prepare{.kind = Kind::kPrepare, .id = ids_.front(), .layout = parent.layout};
  if (prng.Chance(0.5)) {
    prepare.parent_epoch = parent.epoch;
  } else {
    prepare.layout = PartOf(parent.layout, prng);
  }
  const std::vector<schedule::TeamNode>& nodes = prepare.layout.nodes;
  const bool some_died = std::any_of(nodes.begin(), nodes.end(), [this](const schedule::TeamNode& node) {
    return world_->history.dead.contains(KeyOf(node));
  });
  if (nodes.empty() || some_died) return;  // ranks of the dead do not join
  ids_.pop_front();
  if (prepare.parent_epoch == EpochId{0}) prepare.plans = PlansFor(prepare.layout, prepare.id);
  prepare.layout.id = prepare.id;
  prepare.layout.parent = parent.layout.id;
  prepare.layout.identity.name = absl::StrCat("sub-team ", ++world_->names);
  Rooted& rooted = rooted_[prepare.id];
  rooted.layout = prepare.layout;
  world_->NoteIssued(prepare.layout, daemon_->cluster());
  for (const schedule::TeamNode& node : nodes) {
    rooted.unanswered.insert(KeyOf(node));
    world_->peers.Send(daemon_->key(), node, prepare);
  }
}

void FakeSubTeams::Answer(const NodeKey& from, const SubTeamMessage& answer) {
  const auto it = rooted_.find(answer.id);
  if (it == rooted_.end()) return;
  if (answer.kind == Kind::kRefuse) return Decide(answer.id, Kind::kDrop);
  it->second.unanswered.erase(from);
  if (it->second.unanswered.empty()) Decide(answer.id, Kind::kForm);
}

void FakeSubTeams::Decide(TeamId id, Kind decision) {
  const Rooted rooted = std::move(rooted_.extract(id).mapped());
  for (const schedule::TeamNode& node : rooted.layout.nodes) SendTo(KeyOf(node), decision, id);
}

// --- Members ---

void FakeSubTeams::SendTo(const NodeKey& to, Kind kind, TeamId id) {
  world_->peers.Send(daemon_->key(), {.name = to.first, .incarnation = to.second}, {.kind = kind, .id = id});
}

void FakeSubTeams::SendToOthers(const schedule::TeamLayout& layout, Kind kind) {
  for (const schedule::TeamNode& node : layout.nodes) {
    if (KeyOf(node) != daemon_->key()) SendTo(KeyOf(node), kind, layout.id);
  }
}

void FakeSubTeams::On(const NodeKey& from, const SubTeamMessage& message) {
  switch (message.kind) {
    case Kind::kPrepare:
      return Prepare(from, message);
    case Kind::kAccept:
    case Kind::kRefuse:
      return Answer(from, message);
    case Kind::kForm:
      return Commit(message.id);
    case Kind::kDrop:
      return Drop(message.id);
    case Kind::kBreak:
      broken_.insert(message.id);
      return daemon_->BreakIfHeld(message.id, {schedule::Failure::kMemberLost, "a neighbor's"});
  }
}

bool FakeSubTeams::Accepts(const SubTeamMessage& prepare) const {
  const auto it = daemon_->teams.find(prepare.layout.parent);
  if (it == daemon_->teams.end() || !it->second.is_running() || daemon_->draining) return false;
  const FakeDaemon::Team& parent = it->second;
  if (broken_.contains(prepare.id)) return false;
  const bool is_duplicate = prepare.parent_epoch != EpochId{0};
  if (is_duplicate && (parent.epoch != prepare.parent_epoch || parent.prepared.has_value())) return false;
  return !(world_->faults && world_->prng.Chance(0.05));
}

void FakeSubTeams::Prepare(const NodeKey& root, const SubTeamMessage& message) {
  if (const auto team = daemon_->teams.find(message.id); team != daemon_->teams.end()) {
    EXPECT_TRUE(team->second.broken && world_->history.AreOfTwoClusters(team->second.layout, message.layout))
        << "another team has the id " << message.id.value();
    return SendTo(root, Kind::kRefuse, message.id);
  }
  if (!Accepts(message)) return SendTo(root, Kind::kRefuse, message.id);
  world_->history.sub_teams.insert(message.id);
  forming_[message.id] = root;
  const bool is_duplicate = message.parent_epoch != EpochId{0};
  schedule::Prepare prepare{.layout = message.layout, .epoch = EpochId{1}, .has_sub_teams = true};
  prepare.plans = is_duplicate ? daemon_->teams.at(message.layout.parent).plans : message.plans;
  prepare.hash = schedule::PlanHash(absl::StrJoin(prepare.plans, ""));
  daemon_->AddSubTeam(prepare);
  SendTo(root, Kind::kAccept, message.id);
}

void FakeSubTeams::Commit(TeamId id) {
  if (forming_.erase(id) == 0) return;
  ++world_->totals->sub_teams;
  unreported_.push_back(id);
  daemon_->CommitSubTeam(id);
}

void FakeSubTeams::Drop(TeamId id) {
  if (forming_.erase(id) != 0) daemon_->teams.erase(id);
}

void FakeSubTeams::Broken(TeamId id) {
  // Members that have had the decision run the team, and the root may not know that this daemon does not.
  SendToOthers(daemon_->teams.at(id).layout, Kind::kBreak);
  SendTo(forming_.at(id), Kind::kRefuse, id);
  Drop(id);
}

std::vector<TeamId> FakeSubTeams::FormingFrom(TeamId parent) const {
  std::vector<TeamId> found;
  for (const auto& [id, root] : forming_) {
    if (daemon_->teams.at(id).layout.parent == parent) found.push_back(id);
  }
  return found;
}

bool FakeSubTeams::IsFormingFrom(TeamId parent) const {
  const bool is_rooted = std::any_of(rooted_.begin(), rooted_.end(),
                                     [&](const auto& entry) { return entry.second.layout.parent == parent; });
  return is_rooted || !FormingFrom(parent).empty();
}

void FakeSubTeams::OnBroken(const schedule::TeamLayout& layout) {
  std::erase(unreported_, layout.id);
  for (const TeamId id : FormingFrom(layout.id)) Broken(id);
  std::vector<TeamId> rooted;
  for (const auto& [id, its] : rooted_) {
    if (its.layout.parent == layout.id) rooted.push_back(id);
  }
  for (const TeamId id : rooted) Decide(id, Kind::kDrop);
  if (schedule::IsSubTeam(layout)) SendToOthers(layout, Kind::kBreak);
}

void FakeSubTeams::NoticeDeath(const NodeKey& dead) {
  std::vector<TeamId> broken;
  for (const auto& [id, root] : forming_) {
    const std::vector<schedule::TeamNode>& nodes = daemon_->teams.at(id).layout.nodes;
    const bool is_member =
        std::any_of(nodes.begin(), nodes.end(), [&](const schedule::TeamNode& node) { return KeyOf(node) == dead; });
    if (root == dead || is_member) broken.push_back(id);
  }
  for (const TeamId id : broken) Broken(id);
  // A member that had left the parent has not broken it. Real roots wait for its answer for a while.
  std::vector<TeamId> unanswered;
  for (const auto& [id, its] : rooted_) {
    if (its.unanswered.contains(dead)) unanswered.push_back(id);
  }
  for (const TeamId id : unanswered) Decide(id, Kind::kDrop);
}

// --- The planner ---

bool FakeSubTeams::IsUnreported(TeamId id) const {
  return daemon_->registered && std::find(unreported_.begin(), unreported_.end(), id) != unreported_.end();
}

void FakeSubTeams::ReportFormed(TeamId id) {
  if (IsUnreported(id)) Report();
}

schedule::TeamFormed FakeSubTeams::ReportOf(TeamId id) const {
  const FakeDaemon::Team& team = daemon_->teams.at(id);
  schedule::TeamFormed formed{.layout = team.layout};
  const auto it = daemon_->teams.find(team.layout.parent);
  const bool is_parents = it != daemon_->teams.end() && it->second.plans == team.plans &&
                          it->second.layout.nodes == team.layout.nodes && it->second.layout.shape == team.layout.shape;
  if (is_parents) {
    formed.parent_epoch = it->second.epoch;
    formed.layout.nodes.clear();
    formed.layout.shape = {};
  } else if (team.self == 0) {
    formed.plans = team.plans;
  }
  return formed;
}

void FakeSubTeams::Report() {
  if (!daemon_->registered) return;
  for (const TeamId id : std::exchange(unreported_, {})) {
    if (!daemon_->teams.contains(id)) continue;
    daemon_->Send(ReportOf(id));
    if (world_->faults && world_->prng.Chance(0.05)) unreported_.push_back(id);  // it is said again
  }
}

void FakeSubTeams::AskForIds() {
  const bool is_root = std::any_of(daemon_->teams.begin(), daemon_->teams.end(),
                                   [](const auto& entry) { return entry.second.self == 0; });
  const bool wants = world_->options.sub_teams && is_root && ids_.empty();
  if (is_asked_ || !daemon_->registered || !wants) return;
  is_asked_ = true;
  daemon_->Send(schedule::TeamIdsRequest{});
}

// The daemon uses a few ids of each block, so that a run comes to the end of a term.
void FakeSubTeams::OnIds(const schedule::TeamIds& ids) {
  is_asked_ = false;
  const uint64_t used = 1 + world_->prng.Below(4);
  for (uint64_t i = 0; i < std::min<uint64_t>(used, ids.count); ++i) ids_.push_back(TeamId{ids.first.value() + i});
}

void FakeSubTeams::OnRegistered() {
  is_asked_ = false;
  AskForIds();
  Report();
}

void FakeSubTeams::Tick() {
  AskForIds();
  Report();
}

}  // namespace copse::coordinator
