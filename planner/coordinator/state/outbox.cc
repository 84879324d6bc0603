// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/outbox.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/string_view.h"
#include "base/units.h"

namespace copse::coordinator {
namespace {

constexpr absl::Duration kCommitAgain = absl::Seconds(1);
constexpr absl::Duration kComplainEvery = absl::Minutes(1);

// Returns the team that a change concerns, or 0.
TeamId TeamOf(const StoreChange& change) {
  if (const auto* put = std::get_if<PutTeam>(&change)) return put->record->layout.id;
  if (const auto* drop = std::get_if<DropTeam>(&change)) return drop->team;
  if (const auto* aborted = std::get_if<PutAborted>(&change)) return aborted->team;
  return TeamId{0};
}

// Returns whether a change leaves nothing of an earlier record of `team`.
bool Replaces(const StoreChange& change, TeamId team) {
  return TeamOf(change) == team && !std::holds_alternative<PutAborted>(change);
}

bool IsOfCluster(const StoreChange& change) {
  return std::holds_alternative<PutDraining>(change) || std::holds_alternative<PutTerm>(change) ||
         std::holds_alternative<PutCluster>(change) || std::holds_alternative<PutAborted>(change);
}

// Returns the team that a message concerns, or 0.
TeamId TeamOf(const schedule::ToDaemon& message) {
  return std::visit(
      [](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, schedule::Prepare>) return m.layout.id;
        if constexpr (std::is_same_v<T, schedule::Commit> || std::is_same_v<T, schedule::Abort> ||
                      std::is_same_v<T, schedule::BreakTeam> || std::is_same_v<T, schedule::EndTeam>) {
          return m.team;
        }
        return TeamId{0};
      },
      message);
}

bool TellsOfCluster(const schedule::ToDaemon& message) {
  return std::holds_alternative<schedule::Registered>(message) || std::holds_alternative<schedule::Drain>(message) ||
         std::holds_alternative<schedule::Cluster>(message) ||
         std::holds_alternative<schedule::Prepare>(message) ||  // its ids are of the term
         std::holds_alternative<schedule::TeamIds>(message);
}

}  // namespace

Outbox::Outbox(const Clock* clock, TimerQueue* timers, Store* store, SessionSink* sink)
    : clock_(clock), timers_(timers), store_(store), sink_(sink) {}

// --- Changes ---

void Outbox::Record(StoreChange change, Done done) {
  ++last_;
  const TeamId team = TeamOf(change);
  if (team != TeamId{0}) of_teams_[team] = last_;
  if (IsOfCluster(change)) of_cluster_ = last_;
  const bool now = done != nullptr;
  pending_.push_back({last_, std::move(change), std::move(done)});
  if (now || !waits_) StartCommit();
}

void Outbox::StartCommit() {
  if (commits_ || is_deposed_ || pending_.empty()) return;
  commits_ = true;
  if (std::exchange(waits_, false)) timers_->Cancel(again_);
  began_ = clock_->Now();
  in_flight_ = std::exchange(pending_, {});
  std::vector<StoreChange> changes;
  for (size_t i = 0; i < in_flight_.size(); ++i) {
    // A team's record replaces those before it.
    const TeamId team = TeamOf(in_flight_[i].change);
    const bool is_replaced = std::holds_alternative<PutTeam>(in_flight_[i].change) &&
                             LastOf(team) > in_flight_[i].number &&
                             std::any_of(in_flight_.begin() + static_cast<ptrdiff_t>(i) + 1, in_flight_.end(),
                                         [&](const Item& later) { return Replaces(later.change, team); });
    if (!is_replaced) changes.push_back(in_flight_[i].change);
  }
  store_->Commit(std::move(changes), [this](const absl::Status& status) { OnCommitted(status); });
}

void Outbox::OnCommitted(const absl::Status& status) {
  if (status.ok()) {
    commits_ns_.Record(static_cast<uint64_t>(std::max<int64_t>(absl::ToInt64Nanoseconds(clock_->Now() - began_), 0)));
    if (!error_.ok()) COPSE_LOG(kInfo, "the planner's decisions are stored again (changes=", in_flight_.size(), ")");
    error_ = absl::OkStatus();
    fails_since_ = absl::InfiniteFuture();
    const std::vector<Item> stored = std::exchange(in_flight_, {});
    stored_ = pending_.empty() ? last_ : stored.back().number;
    for (const Item& item : stored) {
      const auto it = of_teams_.find(TeamOf(item.change));
      if (it != of_teams_.end() && it->second == item.number) of_teams_.erase(it);
    }
    for (const Item& item : stored) {
      if (item.done) item.done(absl::OkStatus());
    }
    commits_ = false;
    Release();
    return StartCommit();
  }
  NoteFailure(status);
  if (absl::IsAborted(status)) {
    is_deposed_ = true;
    return;
  }
  if (absl::IsResourceExhausted(status)) {
    Withdraw(status);
  } else {
    for (Item& item : in_flight_) item.may_be_stored = true;
  }
  in_flight_.insert(in_flight_.end(), std::make_move_iterator(pending_.begin()),
                    std::make_move_iterator(pending_.end()));
  pending_ = std::exchange(in_flight_, {});
  commits_ = false;
  if (pending_.empty()) {
    stored_ = last_;
    return Release();
  }
  waits_ = true;
  again_ = timers_->Set(clock_->Now() + kCommitAgain, [this] { StartCommit(); });
}

absl::Duration Outbox::failing_for() const {
  return waiting_changes() == 0 ? absl::ZeroDuration() : std::max(clock_->Now() - fails_since_, absl::ZeroDuration());
}

void Outbox::NoteFailure(const absl::Status& status) {
  ++failed_commits_;
  const absl::Time now = clock_->Now();
  fails_since_ = std::min(fails_since_, now);
  const bool is_new = status.message() != error_.message();
  error_ = status;
  if (!is_new && now - complained_ < kComplainEvery) return;
  complained_ = now;
  COPSE_LOG(kError, "the planner's decisions cannot be stored, and wait (changes=", waiting_changes(),
            ", for=", FormatShortDuration(now - fails_since_), "): ", status.message());
}

void Outbox::Withdraw(const absl::Status& status) {
  std::vector<Item> kept, withdrawn;
  for (Item& item : in_flight_) {
    const bool can_be = item.done != nullptr && !item.may_be_stored;
    (can_be ? withdrawn : kept).push_back(std::move(item));
  }
  in_flight_ = std::move(kept);
  for (const Item& item : withdrawn) {
    const TeamId team = TeamOf(item.change);
    if (const auto it = of_teams_.find(team); it != of_teams_.end() && it->second == item.number) of_teams_.erase(it);
    const bool drains = std::holds_alternative<PutDraining>(item.change);
    for (auto& [session, queue] : held_) {
      queue.remove_if([&](const Held& held) {
        if (held.after != item.number) return false;
        const bool tells = drains && std::holds_alternative<schedule::Drain>(held.message);
        return tells || (team != TeamId{0} && held.team == team);
      });
    }
  }
  Release();
  for (const Item& item : withdrawn) item.done(status);
}

// --- Messages ---

uint64_t Outbox::LastOf(TeamId team) const {
  const auto it = of_teams_.find(team);
  return it == of_teams_.end() ? 0 : it->second;
}

uint64_t Outbox::ChangeBefore(const schedule::ToDaemon& message) const {
  return std::max(LastOf(TeamOf(message)), TellsOfCluster(message) ? of_cluster_ : 0);
}

bool Outbox::MustWait(SessionId session, uint64_t after) const { return after > stored_ || held_.count(session) != 0; }

bool Outbox::AwaitsRegistered(SessionId session) const {
  const auto it = held_.find(session);
  return it != held_.end() && std::holds_alternative<schedule::Registered>(it->second.front().message);
}

void Outbox::Send(SessionId session, const schedule::ToDaemon& message) {
  if (is_deposed_) return;
  const uint64_t after = ChangeBefore(message);
  const bool is_free = TeamOf(message) == TeamId{0} && !TellsOfCluster(message);
  if (is_free ? !AwaitsRegistered(session) : !MustWait(session, after)) return sink_->Send(session, message);
  held_[session].push_back({after, TeamOf(message), message, nullptr, {}});
}

void Outbox::SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare) {
  if (is_deposed_) return;
  const TeamId team = prepare.layout.id;
  const uint64_t after = std::max(LastOf(team), of_cluster_);
  const bool waits = std::any_of(members.begin(), members.end(),
                                 [&](const PrepareMember& member) { return MustWait(member.session, after); });
  if (!waits) return sink_->SendPrepare(members, std::move(prepare));
  const auto shared = std::make_shared<const schedule::Prepare>(std::move(prepare));
  for (const PrepareMember& member : members) held_[member.session].push_back({after, team, {}, shared, member});
  Release();
}

void Outbox::Close(SessionId session, const std::string& why) {
  Drop(session);
  if (!is_deposed_) sink_->Close(session, why);
}

void Outbox::Drop(SessionId session) { held_.erase(session); }

size_t Outbox::waiting_messages() const {
  size_t count = 0;
  for (const auto& [session, queue] : held_) count += queue.size();
  return count;
}

void Outbox::Release() {
  // The members of a Prepare are sent it together, as soon as nothing before it waits.
  size_t sent = 0;
  bool again = true;
  while (again && sent < kReleasedAtOnce) {
    std::vector<std::pair<std::shared_ptr<const schedule::Prepare>, std::vector<PrepareMember>>> prepares;
    for (auto it = held_.begin(); it != held_.end() && sent < kReleasedAtOnce;) {
      std::list<Held>& queue = it->second;
      for (; !queue.empty() && queue.front().after <= stored_ && queue.front().shared == nullptr; queue.pop_front()) {
        sink_->Send(it->first, queue.front().message);
        ++sent;
      }
      if (!queue.empty() && queue.front().after <= stored_) {
        const auto same = std::find_if(prepares.begin(), prepares.end(),
                                       [&](const auto& known) { return known.first == queue.front().shared; });
        auto& members =
            same == prepares.end() ? prepares.emplace_back(queue.front().shared, std::vector<PrepareMember>{}) : *same;
        members.second.push_back(std::move(queue.front().member));
        queue.pop_front();
      }
      it = queue.empty() ? held_.erase(it) : std::next(it);
    }
    for (const auto& [prepare, members] : prepares) sink_->SendPrepare(members, *prepare);
    again = !prepares.empty();
  }
  if (sent >= kReleasedAtOnce) ReleaseLater();
}

void Outbox::ReleaseLater() {
  if (std::exchange(releases_later_, true)) return;
  timers_->Set(clock_->Now(), [this] {
    releases_later_ = false;
    if (!is_deposed_) Release();
  });
}

}  // namespace copse::coordinator
