// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/join_table.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;

// One formation in so many is kept for users with few, and a user has few with less than one in so many.
constexpr uint32_t kKeptShare = 8;
constexpr uint32_t kFewShare = 1024;

std::string Claim(const Join& join) {
  return absl::StrCat("node ", join.node, " (request=", join.message.request, ")");
}

std::vector<Join> JoinsOf(const std::map<Rank, Join>& joins) {
  std::vector<Join> out;
  for (const auto& [rank, join] : joins) out.push_back(join);
  return out;
}

}  // namespace

schedule::FailureReport WentAway(const Join& join, schedule::FailureReport why) {
  if (why.failure == Failure::kNone) why.failure = Failure::kMemberLost;
  why.text = absl::StrCat("rank ", join.message.rank.value(), " on node ", join.node, " went away: ", why.text);
  if (!why.node.empty()) return why;  // `why` has its cause already
  why.node = join.node;
  why.rank = join.message.rank;
  return why;
}

std::vector<Rank> JoinTable::Missing(const Formation& formation) {
  std::vector<Rank> missing;
  for (Rank rank{0}; rank.value() < formation.size; ++rank) {
    if (formation.joins.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

Gathered JoinTable::Fail(const Key& key, schedule::FailureReport why, std::vector<Join> more) {
  Gathered gathered;
  gathered.state = Gathered::State::kFailed;
  gathered.why = std::move(why);
  absl::StrAppend(&gathered.why.text, " (team=", schedule::DescribeTeam(key.first), ")");
  const auto it = formations_.find(key);
  if (it != formations_.end()) {
    gathered.joins = JoinsOf(it->second.joins);
    Erase(it);
  }
  for (Join& join : more) gathered.joins.push_back(std::move(join));
  return gathered;
}

uint32_t JoinTable::UsedBy(uint32_t user) const {
  const auto it = by_user_.find(user);
  return it == by_user_.end() ? 0 : it->second;
}

uint32_t JoinTable::LimitFor(uint32_t user) const {
  const bool has_few = UsedBy(user) < std::max(1u, formations_max_ / kFewShare);
  return has_few ? formations_max_ : formations_max_ - formations_max_ / kKeptShare;
}

JoinTable::Formations::iterator JoinTable::Erase(Formations::iterator formation) {
  const auto user = by_user_.find(formation->first.first.uid);
  if (--user->second == 0) by_user_.erase(user);
  return formations_.erase(formation);
}

Gathered JoinTable::Add(Join join, absl::Time now, absl::Duration timeout) {
  const Key key{join.message.identity, join.message.parent};
  const uint32_t size = join.message.size;
  const Rank rank = join.message.rank;
  if (size == 0 || size > team_size_max_) {
    return Fail(key,
                {.failure = Failure::kInvalidArgument,
                 .text = absl::StrCat("size of ", Claim(join), ": ", size, " (limit 1 to ", team_size_max_, ")"),
                 .node = join.node,
                 .rank = rank,
                 .limit = team_size_max_},
                {join});
  }
  if (rank.value() >= size) {
    return Fail(key,
                {.failure = Failure::kInvalidArgument,
                 .text = absl::StrCat("rank of ", Claim(join), ": ", rank.value(), " (limit ", size - 1, ")"),
                 .node = join.node,
                 .rank = rank,
                 .limit = size - 1},
                {join});
  }
  auto it = formations_.find(key);
  if (it == formations_.end()) {
    const uint32_t user = key.first.uid;
    const uint32_t limit = LimitFor(user);
    if (formations_.size() >= limit) {
      return Fail(key,
                  {.failure = Failure::kNoResource,
                   .text = absl::StrCat("too many teams are forming (user=", user, ", used=", UsedBy(user),
                                        ", all=", formations_.size(), ", limit=", limit, ")"),
                   .limit = limit},
                  {join});
    }
    it = formations_.emplace(key, Formation{size, {}, {}, now + timeout, timeout}).first;
    ++by_user_[user];
  }
  Formation& formation = it->second;
  if (formation.size != size) {
    const Join& first = formation.joins.empty() ? join : formation.joins.begin()->second;
    return Fail(key,
                {Failure::kMismatch, absl::StrCat("sizes differ: ", formation.size, " says ", Claim(first), " as rank ",
                                                  first.message.rank.value(), ", ", size, " says ", Claim(join),
                                                  " as rank ", rank.value())},
                {join});
  }
  formation.away.erase(join.node);
  const auto [claimed, is_new] = formation.joins.emplace(rank, join);
  if (!is_new) {
    const Join& other = claimed->second;
    return Fail(
        key,
        {.failure = Failure::kMismatch,
         .text = absl::StrCat("rank ", rank.value(), " claimed twice: by ", Claim(other), " and by ", Claim(join)),
         .rank = rank},
        {join});
  }
  if (holds_ || !formation.is_complete()) return {};
  Gathered complete{Gathered::State::kComplete, JoinsOf(formation.joins), {}};
  Erase(it);
  return complete;
}

Gathered JoinTable::Refuse(Join join, schedule::FailureReport why) {
  const Key key{join.message.identity, join.message.parent};
  return Fail(key, std::move(why), {std::move(join)});
}

Gathered JoinTable::Cancel(uint64_t session, uint64_t request, const schedule::FailureReport& why) {
  for (const auto& [key, formation] : formations_) {
    for (const auto& [rank, join] : formation.joins) {
      if (join.session != session || join.message.request != request) continue;
      return Fail(Key(key), WentAway(join, why));
    }
  }
  return {};
}

void JoinTable::Drop(uint64_t session) {
  for (auto it = formations_.begin(); it != formations_.end();) {
    Formation& formation = it->second;
    for (auto join = formation.joins.begin(); join != formation.joins.end();) {
      if (join->second.session == session) {
        formation.away.insert(join->second.node);
        join = formation.joins.erase(join);
      } else {
        ++join;
      }
    }
    it = formation.joins.empty() ? Erase(it) : std::next(it);
  }
}

std::vector<Gathered> JoinTable::Release() {
  std::vector<Gathered> complete;
  if (!std::exchange(holds_, false)) return complete;
  for (auto it = formations_.begin(); it != formations_.end();) {
    const auto current = it++;
    if (!current->second.is_complete()) continue;
    complete.push_back({Gathered::State::kComplete, JoinsOf(current->second.joins), {}});
    Erase(current);
  }
  return complete;
}

std::vector<Gathered> JoinTable::TakeLate(absl::Time now) {
  std::vector<Key> late;
  for (const auto& [key, formation] : formations_) {
    if (formation.deadline <= now && !formation.is_complete()) late.push_back(key);
  }
  std::vector<Gathered> failed;
  for (const Key& key : late) {
    const Formation& formation = formations_.at(key);
    const std::vector<Rank> missing = Missing(formation);
    std::string text =
        absl::StrCat(missing.size(), " of ", formation.size, missing.size() == 1 ? " rank" : " ranks",
                     " missing after ", absl::FormatDuration(formation.timeout), ": ", schedule::RankList(missing));
    if (!formation.away.empty()) absl::StrAppend(&text, "; no contact with node ", absl::StrJoin(formation.away, ", "));
    failed.push_back(Fail(key, {.failure = Failure::kTimedOut,
                                .text = text,
                                .cause = FailureCause::kNotFormedInTime,
                                .node = formation.away.size() == 1 ? *formation.away.begin() : "",
                                .rank = missing.front(),
                                .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(formation.timeout))}));
  }
  return failed;
}

absl::Time JoinTable::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [key, formation] : formations_) {
    if (!formation.is_complete()) next = std::min(next, formation.deadline);
  }
  return next;
}

std::vector<Forming> JoinTable::List() const {
  std::vector<Forming> out;
  for (const auto& [key, formation] : formations_) {
    out.push_back({key.first, key.second, formation.size, JoinsOf(formation.joins), Missing(formation)});
  }
  return out;
}

std::optional<Forming> JoinTable::After(const schedule::TeamIdentity* identity, TeamId parent) const {
  const auto it = identity == nullptr ? formations_.begin() : formations_.upper_bound({*identity, parent});
  if (it == formations_.end()) return std::nullopt;
  return Forming{it->first.first, it->first.second, it->second.size, JoinsOf(it->second.joins), Missing(it->second)};
}

}  // namespace copse::coordinator
