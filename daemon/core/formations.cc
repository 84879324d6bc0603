// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/formations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/string_view.h"
#include "daemon/accounts/accounts.h"

namespace copse::daemon {
using schedule::Failure;
using schedule::FailureReport;

void Formations::Fail(const Join& join, const FailureReport& why) {
  if (Client* client = parts_->clients->Find(join.client)) client->sink->OnTeamFailed(join.request.request, why);
}

// --- Clients ---

void Formations::Create(Client* client, const TeamRequest& request, std::string_view drained) {
  Join join{.client = client->id, .request = request};
  join.identity = {.uid = client->hello.uid, .job = client->hello.job, .nonce = request.nonce, .name = request.name};
  const std::string team = absl::StrCat("team ", DescribeTeam(join.identity));
  const std::string& node = parts_->options->node.name;
  if (request.size == 0 || request.rank.value() >= request.size) {
    return Fail(join, {Failure::kInvalidArgument,
                       absl::StrCat(team, ": rank (rank=", request.rank.value(), ", size=", request.size, ")")});
  }
  const Membership* const parent = request.parent == 0 ? nullptr : client->FindMembership(request.parent);
  if (parent != nullptr) join.parent = parent->team;
  if (!drained.empty()) {
    FailureReport why = {Failure::kNoDaemon, absl::StrCat("node ", node, " takes no new teams: ", AbslView(drained)),
                         FailureCause::kNodeDraining, node};
    if (sub_teams_->Takes(join.parent)) {
      sub_teams_->Refuse(join.parent, join.identity, request.rank, request.size, why);
    } else if (parts_->planner->registered()) {
      Refuse(join, why);
    }
    why.text = absl::StrCat(team, ": ", why.text);
    return Fail(join, why);
  }
  absl::StatusOr<Account::Holding> held = client->account->Take(Resource::kTeams);
  if (!held.ok()) {
    return Fail(join, {Failure::kNoResource, absl::StrCat(team, ": node ", node, ": ", held.status().message()),
                       FailureCause::kQuota, node, std::nullopt, static_cast<uint32_t>(parts_->options->teams_max)});
  }
  join.held = *std::move(held);
  if (request.parent != 0) {
    if (parent == nullptr) {
      return Fail(join,
                  {Failure::kInvalidArgument, absl::StrCat(team, ": unknown parent (handle=", request.parent, ")")});
    }
    const Team* const of = teams_->Find(join.parent);
    if (of != nullptr && of->broken()) return Fail(join, ParentBroken(join, *of->broken()));
  }
  std::erase_if(given_up_, [&](const Join& before) {
    return before.identity == join.identity && before.request.rank == request.rank;
  });
  const uint64_t number = next_join_++;
  if (join.parent != TeamId(0) && sub_teams_->Takes(join.parent)) {
    join.is_with_daemons = true;
    const Join& held = joins_.emplace(number, std::move(join)).first->second;
    const schedule::TeamIdentity identity = held.identity;  // Join may end `held`
    return sub_teams_->Join(number, held.parent, identity, request.rank, request.size);
  }
  if (LacksPlanner()) return GiveUp(std::move(join));
  if (parts_->planner->registered()) SendJoinOf(number, join);
  joins_.emplace(number, std::move(join));
}

void Formations::Cancel(ClientId client, uint64_t request, const std::string& why) {
  for (auto it = joins_.begin(); it != joins_.end(); ++it) {
    if (it->second.client != client || it->second.request.request != request) continue;
    const auto join = joins_.extract(it);
    return Withdraw(join.key(), join.mapped(), {Failure::kTimedOut, why, FailureCause::kNotFormedInTime});
  }
}

void Formations::CancelAll(ClientId client, const std::string& how) {
  std::erase_if(given_up_, [client](const Join& join) { return join.client == client; });
  const std::string& node = parts_->options->node.name;
  std::vector<uint64_t> requests;
  for (const auto& [request, join] : joins_) {
    if (join.client == client) requests.push_back(request);
  }
  for (const uint64_t request : requests) {
    const auto join = joins_.extract(request);
    if (join.empty()) continue;  // it has failed with one before
    const Rank rank = join.mapped().request.rank;
    Withdraw(join.key(), join.mapped(),
             {Failure::kMemberLost, absl::StrCat("rank ", rank.value(), " on node ", node, " lost: ", how),
              FailureCause::kProcessDied, node, rank});
  }
}

void Formations::Withdraw(uint64_t request, const Join& join, FailureReport why) {
  if (join.is_with_daemons) return sub_teams_->Withdraw(request, std::move(why));
  parts_->planner->Send(schedule::CancelJoin{.request = request, .why = std::move(why)});
}

// --- The planner ---

uint64_t Formations::SendJoin(schedule::JoinTeam join) {
  join.request = next_join_++;
  sub_teams_->ReportFormed(join.parent);
  parts_->planner->Send(join);
  return join.request;
}

void Formations::SendJoinOf(uint64_t request, const Join& join) {
  sub_teams_->ReportFormed(join.parent);
  parts_->planner->Send(schedule::JoinTeam{.request = request,
                                           .identity = join.identity,
                                           .parent = join.parent,
                                           .rank = join.request.rank,
                                           .size = join.request.size});
}

void Formations::Refuse(const Join& join, FailureReport why) {
  why.failure = Failure::kNoResource;
  SendJoinOf(next_join_, join);
  parts_->planner->Send(schedule::CancelJoin{.request = next_join_++, .why = std::move(why)});
}

std::set<uint64_t> Formations::PreparedJoins() const {
  std::set<uint64_t> prepared;
  for (const auto& [id, requests] : forming_) {
    for (const auto& [request, rank] : requests) prepared.insert(request);
  }
  return prepared;
}

void Formations::OnRegistered() {
  // Members on nodes that registered earlier may wait for these joins.
  for (const Join& join : std::exchange(given_up_, {})) {
    if (parts_->clock->Now() - join.given_up < parts_->options->formation_timeout) {
      Refuse(join, parts_->planner->MissingReport(parts_->options->node.name));
    }
  }
  const std::set<uint64_t> prepared = PreparedJoins();
  for (const auto& [request, join] : joins_) {
    if (!prepared.contains(request) && !join.is_with_daemons) SendJoinOf(request, join);
  }
}

void Formations::PassToPlanner(uint64_t request) {
  const auto it = joins_.find(request);
  if (it == joins_.end()) return;
  it->second.is_with_daemons = false;
  it->second.passed = parts_->clock->Now();
  if (parts_->planner->registered()) SendJoinOf(request, it->second);
}

void Formations::GiveUp(Join join) {
  join.given_up = parts_->clock->Now();
  join.held = Account::Holding();
  FailureReport why = parts_->planner->MissingReport(parts_->options->node.name);
  why.text = absl::StrCat("team ", DescribeTeam(join.identity), ": ", why.text);
  Fail(join, why);
  if (join.request.size == 1) return;  // no other member waits
  if (given_up_.size() >= parts_->options->teams_max) given_up_.erase(given_up_.begin());
  given_up_.push_back(std::move(join));
}

void Formations::FailWithoutPlanner() {
  if (joins_.empty() || !LacksPlanner()) return;
  const std::set<uint64_t> prepared = PreparedJoins();
  const absl::Time passed_until = parts_->clock->Now() - parts_->options->planner_patience;
  for (auto it = joins_.begin(); it != joins_.end();) {
    const auto current = it++;
    const Join& join = current->second;
    if (prepared.contains(current->first) || join.is_with_daemons || join.passed > passed_until) continue;
    GiveUp(std::move(joins_.extract(current).mapped()));
  }
}

// --- Teams that are formed ---

absl::Status Formations::Check(const std::vector<std::pair<uint64_t, Rank>>& requests, const schedule::TeamShape& shape,
                               NodeIndex self) const {
  std::set<Rank> ranks;
  for (const auto& [request, rank] : requests) {
    const auto join = joins_.find(request);
    if (join == joins_.end()) {
      return absl::NotFoundError(absl::StrCat("the process of rank ", rank.value(), " is gone"));
    }
    if (join->second.request.rank != rank || !ranks.insert(rank).second) {
      return absl::InvalidArgumentError(absl::StrCat("a join is answered twice, or for another rank (request=", request,
                                                     ", rank=", rank.value(), ")"));
    }
    if (rank.value() >= shape.size() || shape.node_of_rank[rank.value()] != self) {
      return absl::InvalidArgumentError(absl::StrCat("team layout: rank ", rank.value(), " is not on this node"));
    }
  }
  return absl::OkStatus();
}

Account* Formations::AccountOf(const std::vector<std::pair<uint64_t, Rank>>& requests) const {
  return requests.empty() ? nullptr : joins_.at(requests.front().first).held.account();
}

std::optional<Rank> Formations::Committed(Team* team) {
  const auto forming = forming_.extract(team->id());
  if (forming.empty()) return std::nullopt;
  std::optional<Rank> gone;
  for (const auto& [request, rank] : forming.mapped()) {
    const auto join = joins_.extract(request);
    Client* client = join.empty() ? nullptr : parts_->clients->Find(join.mapped().client);
    if (client == nullptr) {
      if (!gone) gone = rank;
      continue;
    }
    const uint32_t handle = next_handle_++;
    client->memberships[handle] = {.team = team->id(), .rank = rank};
    team->Join(rank, client->id);
    client->sink->OnTeamReady(join.mapped().request.request, handle, team->layout());
  }
  return gone;
}

std::set<uint64_t> Formations::TakeJoinsOf(TeamId team) {
  std::set<uint64_t> joins;
  const auto forming = forming_.extract(team);
  if (forming.empty()) return joins;
  for (const auto& [request, rank] : forming.mapped()) joins.insert(request);
  return joins;
}

void Formations::FailJoin(uint64_t request, const FailureReport& why) {
  if (const auto join = joins_.extract(request); !join.empty()) Fail(join.mapped(), why);
}

void Formations::SendAgain(const std::set<uint64_t>& requests) {
  for (const uint64_t request : requests) {
    if (const auto join = joins_.find(request); join != joins_.end()) SendJoinOf(request, join->second);
  }
}

FailureReport Formations::ParentBroken(const Join& join, const FailureReport& why) {
  FailureReport broken = why;
  broken.text = absl::StrCat("team ", DescribeTeam(join.identity), ": parent team ", join.parent.value(),
                             " is broken: ", why.text);
  return broken;
}

// A planner that has lost the parent team could not send its reason to the members, so each node fails its own joins.
void Formations::FailJoinsOf(TeamId parent, const FailureReport& why) {
  const std::set<uint64_t> prepared = PreparedJoins();
  for (auto it = joins_.begin(); it != joins_.end();) {
    const auto current = it++;
    if (current->second.parent != parent || prepared.contains(current->first)) continue;
    const auto join = joins_.extract(current);
    const FailureReport broken = ParentBroken(join.mapped(), why);
    // The other daemons of the sub-team know that its parent is broken.
    if (!join.mapped().is_with_daemons) {
      parts_->planner->Send(schedule::CancelJoin{.request = join.key(), .why = broken});
    }
    Fail(join.mapped(), broken);
  }
}

std::vector<TeamId> Formations::FailBroken() {
  std::vector<TeamId> broken;
  for (const auto& [id, requests] : forming_) {
    const Team* const team = teams_->Find(id);
    CHECK(team != nullptr);
    if (!team->broken()) continue;
    broken.push_back(id);
    for (const auto& [request, rank] : requests) {
      if (const auto join = joins_.extract(request); !join.empty()) Fail(join.mapped(), *team->broken());
    }
  }
  for (const TeamId id : broken) forming_.erase(id);
  return broken;
}

void Formations::CheckInvariants() const {
  for (const auto& [id, requests] : forming_) {
    const Team* const team = teams_->Find(id);
    CHECK(team != nullptr && !team->ready());
  }
  for (const auto& [request, join] : joins_) {
    CHECK_LT(request, next_join_);
    CHECK(parts_->clients->Find(join.client) != nullptr);
  }
}

}  // namespace copse::daemon
