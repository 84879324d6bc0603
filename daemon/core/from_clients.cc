// SPDX-License-Identifier: Apache-2.0
//
// What clients ask: to join teams and leave them, to take part in calls; and what it means when one is gone.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/string_view.h"
#include "daemon/core/daemon_core_impl.h"
#include "schedule/folds.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

void DaemonCore::Impl::Detach(ClientId id, bool died, const std::string& how) {
  Client* client = clients_.Find(id);
  if (client == nullptr) return;
  for (auto it = joins_.begin(); it != joins_.end();) {
    if (it->second.client != id) {
      ++it;
      continue;
    }
    SendToPlanner(schedule::CancelJoin{
        .request = it->first,
        .why = {Failure::kMemberLost,
                absl::StrCat("rank ", it->second.request.rank.value(), " on node ", options_.node.name, " lost: ", how),
                FailureCause::kProcessDied, options_.node.name, it->second.request.rank}});
    it = joins_.erase(it);
  }
  const std::map<uint32_t, Membership> memberships = client->memberships;
  for (const auto& [handle, membership] : memberships) {
    Team* team = FindTeam(membership.team);
    if (team == nullptr) continue;
    // A member that goes while calls of it run has not taken leave, whatever it says.
    if (died || HasCallInFlight(*team, membership.rank)) {
      team->Break({Failure::kMemberLost,
                   absl::StrCat("rank ", membership.rank.value(), " on node ", options_.node.name, " lost: ", how),
                   died ? FailureCause::kProcessDied : FailureCause::kMemberLeft, options_.node.name, membership.rank});
    }
    Leave(team, membership.rank);
  }
  clients_.Remove(id);
}

void DaemonCore::Impl::CreateTeam(ClientId id, const TeamRequest& request) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  Join join{.client = id, .request = request};
  join.identity = {.uid = client->hello.uid, .job = client->hello.job, .nonce = request.nonce, .name = request.name};
  if (request.size == 0 || request.rank.value() >= request.size) {
    return client->sink->OnTeamFailed(
        request.request, {Failure::kInvalidArgument, absl::StrCat("team ", DescribeTeam(join.identity), ": rank (rank=",
                                                                  request.rank.value(), ", size=", request.size, ")")});
  }
  if (const std::string_view reason = DrainReason(); !reason.empty()) {
    FailureReport why = {Failure::kNoDaemon,
                         absl::StrCat("node ", options_.node.name, " takes no new teams: ", AbslView(reason)),
                         FailureCause::kNodeDraining, options_.node.name};
    if (registered_) RefuseJoin(join, why);
    why.text = absl::StrCat("team ", DescribeTeam(join.identity), ": ", why.text);
    return client->sink->OnTeamFailed(request.request, why);
  }
  if (teams_.size() + joins_.size() >= options_.teams_max) {
    return client->sink->OnTeamFailed(
        request.request,
        {Failure::kNoResource,
         absl::StrCat("team ", DescribeTeam(join.identity), ": too many teams on node ", options_.node.name,
                      " (teams=", teams_.size() + joins_.size() + 1, ", limit=", options_.teams_max, ")"),
         FailureCause::kQuota, options_.node.name, std::nullopt, options_.teams_max});
  }
  if (request.parent != 0) {
    const Membership* parent = client->FindMembership(request.parent);
    if (parent == nullptr) {
      return client->sink->OnTeamFailed(
          request.request, {Failure::kInvalidArgument, absl::StrCat("team ", DescribeTeam(join.identity),
                                                                    ": unknown parent (handle=", request.parent, ")")});
    }
    join.parent = parent->team;
    const Team* const team = FindTeam(join.parent);
    if (team != nullptr && team->broken()) {
      return client->sink->OnTeamFailed(request.request, ParentBroken(join, *team->broken()));
    }
  }
  std::erase_if(given_up_, [&](const Join& before) {
    return before.identity == join.identity && before.request.rank == request.rank;
  });
  if (LacksPlanner()) return FailWithoutPlanner(std::move(join));
  if (registered_) SendJoinOf(next_join_, join);
  joins_.emplace(next_join_++, std::move(join));
}

void DaemonCore::Impl::CancelCreateTeam(ClientId id, uint64_t request, const std::string& why) {
  for (auto it = joins_.begin(); it != joins_.end(); ++it) {
    if (it->second.client != id || it->second.request.request != request) continue;
    SendToPlanner(
        schedule::CancelJoin{.request = it->first, .why = {Failure::kTimedOut, why, FailureCause::kNotFormedInTime}});
    joins_.erase(it);
    return;
  }
}

void DaemonCore::Impl::DestroyTeam(ClientId id, uint64_t request, uint32_t handle) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  const Membership* membership = client->FindMembership(handle);
  if (membership == nullptr) {
    return client->sink->OnTeamDestroyed(
        request, {Failure::kInvalidArgument, absl::StrCat("destroy: unknown team (handle=", handle, ")")});
  }
  Team* team = FindTeam(membership->team);
  CHECK(team != nullptr);
  if (!team->broken() && HasCallInFlight(*team, membership->rank)) {
    return client->sink->OnTeamDestroyed(
        request, {Failure::kInvalidArgument, absl::StrCat("destroy: team ", DescribeTeam(team->layout().identity),
                                                          " has calls in flight at rank ", membership->rank.value())});
  }
  const Rank rank = membership->rank;
  client->memberships.erase(handle);
  Leave(team, rank);
  client->sink->OnTeamDestroyed(request, {});
}

void DaemonCore::Impl::Post(ClientId id, CallPost post) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  ++client->outstanding;
  const Membership* membership = client->FindMembership(post.team);
  if (membership == nullptr) {
    if (options_.instruments != nullptr) options_.instruments->PostRefused();
    return Notify(
        id, {.value = post.value,
             .failure = {Failure::kInvalidArgument, absl::StrCat("post: unknown team (handle=", post.team, ")")}});
  }
  Team* team = FindTeam(membership->team);
  CHECK(team != nullptr);
  // What is wrong with it, the clients' side has found (collectives/call_check.h).
  DCHECK(static_cast<int>(post.arguments.collective) < kCollectiveCount);
  const Family family = schedule::FamilyOfCall(post.arguments);
  const bool has_room = family == Family::kCommon
                            ? team->HasRoom(membership->rank, options_.pending_calls_max)
                            : companions_.HasRoom(*team, family, membership->rank, options_.pending_calls_max);
  if (!team->broken() && has_room) NoteCall(team, membership->rank, post.arguments);
  if (family == Family::kCommon || team->broken()) {
    team->Post(membership->rank, std::move(post), options_.pending_calls_max);
  } else {
    companions_.Post(team, membership->rank, std::move(post), options_.pending_calls_max);
  }
  PumpTeams();
}

void DaemonCore::Impl::PostNop(ClientId id, uint64_t value) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  ++client->outstanding;
  emu::Descriptor event{.op = emu::OpCode::kEvent};
  event.value = value;
  const absl::Status posted = engine_.Post(client->port, {}, {event});
  if (!posted.ok()) {
    Notify(id, {.value = value, .failure = {Failure::kNoResource, std::string(posted.message())}});
  }
}

uint32_t DaemonCore::Impl::PostRoom(ClientId id) const {
  const Client* client = clients_.Find(id);
  if (client == nullptr) return 0;
  return client->hello.eq_entries - std::min(client->hello.eq_entries, client->outstanding);
}

void DaemonCore::Impl::RefusePost(ClientId client, uint64_t value, const FailureReport& why) {
  if (options_.instruments != nullptr) options_.instruments->PostRefused();
  Notify(client, {.value = value, .failure = why});
}

void DaemonCore::Impl::NoteCall(Team* team, Rank rank, const CallArguments& arguments) {
  CallHistory& history = histories_[team->id()];
  const std::optional<RankArguments> other = history.Note(rank, arguments);
  // Within a family the call itself finds out.
  if (!other || schedule::FamilyOfCall(other->arguments) == schedule::FamilyOfCall(arguments)) return;
  const std::string& node = options_.node.name;
  team->Break(MismatchReport(history.noted(), *other, node, {rank, arguments}, node));
}

bool DaemonCore::Impl::HasCallInFlight(const Team& team, Rank rank) {
  if (team.HasCallInFlight(rank) || companions_.HasCallWaiting(team.id(), rank)) return true;
  const std::vector<TeamId> companions = companions_.Of(team.id());
  return std::any_of(companions.begin(), companions.end(),
                     [&](TeamId id) { return FindTeam(id)->HasCallInFlight(rank); });
}

void DaemonCore::Impl::Leave(Team* team, Rank rank) {
  companions_.MemberLeft(team->id(), rank);
  for (const TeamId id : companions_.Of(team->id())) FindTeam(id)->Leave(rank);
  if (!team->Leave(rank)) return;
  // The planner takes it for all companions, too.
  SayLeft(*team);
  for (const TeamId id : companions_.Of(team->id())) teams_.erase(id);
  companions_.Forget(team->id());
  histories_.erase(team->id());
  teams_.erase(team->id());
}

}  // namespace copse::daemon
