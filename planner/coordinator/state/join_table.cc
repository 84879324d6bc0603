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

// Takes the joins, but leaves the numbers by which Erase finds them.
std::vector<Join> JoinsOf(std::map<Rank, Join>& joins) {
  std::vector<Join> out;
  out.reserve(joins.size());
  for (auto& [rank, join] : joins) out.push_back(std::move(join));
  return out;
}

// Returns the first ranges of ranks below `size` that have not joined, as many as are shown.
std::vector<schedule::RankRange> FirstMissing(const std::map<Rank, Join>& joins, uint32_t size) {
  std::vector<schedule::RankRange> missing;
  Rank next{0};
  const auto add_until = [&](uint32_t end) {
    if (next.value() < end) missing.push_back({next, Rank{end - 1}});
    next = Rank{end + 1};
  };
  for (const auto& [rank, join] : joins) {
    if (missing.size() == schedule::kRankRangesShown) return missing;
    add_until(rank.value());
  }
  add_until(size);
  return missing;
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

void JoinTable::Erase(Formations::iterator formation) {
  const auto user = by_user_.find(formation->first.first.uid);
  if (--user->second == 0) by_user_.erase(user);
  deadlines_.erase(DeadlineOf(formation->second));
  for (const auto& [rank, join] : formation->second.joins) senders_.erase(SenderOf(formation->second, join));
  formations_.erase(formation);
}

schedule::FailureReport JoinTable::MistakeOf(const std::vector<Join>& joins) const {
  const uint32_t size = joins.front().message.size;
  const auto mistake = [](const Join& join, const char* what, uint32_t value, const char* least, uint32_t limit) {
    return schedule::FailureReport{
        .failure = Failure::kInvalidArgument,
        .text = absl::StrCat(what, " of ", Claim(join), ": ", value, " (limit ", least, limit, ")"),
        .node = join.node,
        .rank = join.message.rank,
        .limit = limit};
  };
  if (size == 0 || size > team_size_max_) return mistake(joins.front(), "size", size, "1 to ", team_size_max_);
  for (const Join& join : joins) {
    if (const uint32_t rank = join.message.rank.value(); rank >= size) return mistake(join, "rank", rank, "", size - 1);
  }
  return {};
}

std::variant<JoinTable::Formations::iterator, schedule::FailureReport> JoinTable::Begin(const Key& key, uint32_t size,
                                                                                        absl::Time now,
                                                                                        absl::Duration timeout) {
  if (const auto it = formations_.find(key); it != formations_.end()) return it;
  const uint32_t user = key.first.uid;
  const uint32_t limit = LimitFor(user);
  if (formations_.size() >= limit) {
    return schedule::FailureReport{
        .failure = Failure::kNoResource,
        .text = absl::StrCat("too many teams are forming (user=", user, ", used=", UsedBy(user),
                             ", all=", formations_.size(), ", limit=", limit, ")"),
        .limit = limit};
  }
  const auto it = formations_.emplace(key, Formation{++formations_begun_, size, {}, {}, now + timeout, timeout}).first;
  deadlines_.emplace(DeadlineOf(it->second), it);
  ++by_user_[user];
  return it;
}

Gathered JoinTable::Add(std::vector<Join> joins, absl::Time now, absl::Duration timeout) {
  const Key key = KeyOf(joins.front());
  const uint32_t size = joins.front().message.size;
  schedule::FailureReport mistake = MistakeOf(joins);
  if (mistake.failure != Failure::kNone) return Fail(key, std::move(mistake), std::move(joins));
  auto begun = Begin(key, size, now, timeout);
  if (auto* why = std::get_if<schedule::FailureReport>(&begun)) return Fail(key, std::move(*why), std::move(joins));
  const Formations::iterator it = std::get<Formations::iterator>(begun);
  Formation& formation = it->second;
  if (formation.size != size) {
    const Join& join = joins.front();
    const Join& first = formation.joins.empty() ? join : formation.joins.begin()->second;
    return Fail(key,
                {Failure::kMismatch, absl::StrCat("sizes differ: ", formation.size, " says ", Claim(first), " as rank ",
                                                  first.message.rank.value(), ", ", size, " says ", Claim(join),
                                                  " as rank ", join.message.rank.value())},
                std::move(joins));
  }
  formation.away.erase(joins.front().node);
  for (auto join = joins.begin(); join != joins.end(); ++join) {
    const Rank rank = join->message.rank;
    const auto [claimed, is_new] = formation.joins.try_emplace(rank, *join);
    if (!is_new) {
      return Fail(key,
                  {.failure = Failure::kMismatch,
                   .text = absl::StrCat("rank ", rank.value(), " claimed twice: by ", Claim(claimed->second),
                                        " and by ", Claim(*join)),
                   .rank = rank},
                  {join, joins.end()});
    }
    senders_.emplace(SenderOf(formation, *join), it);
  }
  if (!formation.is_complete()) return {};
  deadlines_.erase(DeadlineOf(formation));
  if (holds_) return {};
  Gathered complete{Gathered::State::kComplete, JoinsOf(formation.joins), {}};
  Erase(it);
  return complete;
}

Gathered JoinTable::Refuse(std::vector<Join> joins, schedule::FailureReport why) {
  const Key key = KeyOf(joins.front());
  return Fail(key, std::move(why), std::move(joins));
}

Gathered JoinTable::Cancel(uint64_t session, uint64_t request, const schedule::FailureReport& why) {
  const auto it = senders_.lower_bound({session, request, 0, 0});
  if (it == senders_.end()) return {};
  const auto& [join_session, join_request, number, rank] = it->first;
  if (join_session != session || join_request != request) return {};
  const auto& [key, formation] = *it->second;
  return Fail(Key(key), WentAway(formation.joins.at(Rank{rank}), why));
}

void JoinTable::Drop(uint64_t session) {
  for (auto it = senders_.lower_bound({session, 0, 0, 0}); it != senders_.end() && std::get<0>(it->first) == session;) {
    const Formations::iterator place = it->second;
    Formation& formation = place->second;
    const auto join = formation.joins.find(Rank{std::get<3>(it->first)});
    it = senders_.erase(it);
    formation.away.insert(join->second.node);
    formation.joins.erase(join);
    if (formation.joins.empty()) {
      Erase(place);
    } else {
      deadlines_.emplace(DeadlineOf(formation), place);  // it may have been complete, and held
    }
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
  std::vector<Gathered> failed;
  size_t joins = 0;
  while (NextDeadline() <= now && failed.size() < kLateFormationsMax && joins < kLateJoinsMax) {
    const auto& [key, formation] = *deadlines_.begin()->second;
    const size_t count = formation.size - formation.joins.size();
    const std::vector<schedule::RankRange> missing = FirstMissing(formation.joins, formation.size);
    std::string text = absl::StrCat(count, " of ", formation.size, count == 1 ? " rank" : " ranks", " missing after ",
                                    absl::FormatDuration(formation.timeout), ": ", schedule::RankRangeList(missing));
    if (!formation.away.empty()) absl::StrAppend(&text, "; no contact with node ", absl::StrJoin(formation.away, ", "));
    failed.push_back(Fail(Key(key), {.failure = Failure::kTimedOut,
                                     .text = text,
                                     .cause = FailureCause::kNotFormedInTime,
                                     .node = formation.away.size() == 1 ? *formation.away.begin() : "",
                                     .rank = missing.front().first,
                                     .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(formation.timeout))}));
    joins += failed.back().joins.size();
  }
  return failed;
}

absl::Time JoinTable::NextDeadline() const {
  return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first.first;
}

std::optional<Forming> JoinTable::After(const schedule::TeamIdentity* identity, TeamId parent) const {
  const auto it = identity == nullptr ? formations_.begin() : formations_.upper_bound({*identity, parent});
  if (it == formations_.end()) return std::nullopt;
  return Forming{it->first.first, it->first.second, it->second.size};
}

}  // namespace copse::coordinator
