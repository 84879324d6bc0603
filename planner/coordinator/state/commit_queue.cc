// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/commit_queue.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>

namespace copse::coordinator {
namespace {

constexpr absl::Duration kCommitAgain = absl::Seconds(1);

// Returns whether a change leaves nothing of an earlier record of `team`.
bool Replaces(const StoreChange& change, TeamId team) {
  return TeamOf(change) == team && !std::holds_alternative<PutAborted>(change);
}

}  // namespace

CommitQueue::CommitQueue(const Clock* clock, TimerQueue* timers, Store* store, UnstoredChanges* changes,
                         CommitEvents* events)
    : clock_(clock), timers_(timers), store_(store), changes_(changes), events_(events), outcomes_(clock) {}

void CommitQueue::Record(StoreChange change, Done done) {
  const uint64_t number = changes_->Add(change);
  const bool now = done != nullptr;
  pending_.push_back({number, std::move(change), std::move(done)});
  if (now || state_ != State::kWaiting) StartCommit();
}

void CommitQueue::StartCommit() {
  if (state_ == State::kCommitting || state_ == State::kDeposed || pending_.empty()) return;
  if (std::exchange(state_, State::kCommitting) == State::kWaiting) timers_->Cancel(again_);
  outcomes_.Begin();
  in_flight_ = std::exchange(pending_, {});
  std::vector<StoreChange> changes;
  for (size_t i = 0; i < in_flight_.size(); ++i) {
    // A team's record replaces those before it.
    const TeamId team = TeamOf(in_flight_[i].change);
    const bool is_replaced = std::holds_alternative<PutTeam>(in_flight_[i].change) &&
                             changes_->LastOf(team) > in_flight_[i].number &&
                             std::any_of(in_flight_.begin() + static_cast<ptrdiff_t>(i) + 1, in_flight_.end(),
                                         [&](const Item& later) { return Replaces(later.change, team); });
    if (!is_replaced) changes.push_back(in_flight_[i].change);
  }
  store_->Commit(std::move(changes), [this](const absl::Status& status) { OnCommitted(status); });
}

void CommitQueue::OnCommitted(const absl::Status& status) {
  if (status.ok()) return OnStored();
  outcomes_.Fail(status, waiting_changes());
  if (absl::IsAborted(status)) {
    state_ = State::kDeposed;
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
  if (pending_.empty()) {
    state_ = State::kIdle;
    changes_->SetStored(changes_->last());
    return events_->OnSettled();
  }
  state_ = State::kWaiting;
  again_ = timers_->Set(clock_->Now() + kCommitAgain, [this] { StartCommit(); });
}

void CommitQueue::OnStored() {
  outcomes_.Succeed(in_flight_.size());
  const std::vector<Item> stored = std::exchange(in_flight_, {});
  changes_->SetStored(pending_.empty() ? changes_->last() : stored.back().number);
  for (const Item& item : stored) changes_->Remove(item.number, item.change);
  for (const Item& item : stored) {
    if (item.done) item.done(absl::OkStatus());
  }
  state_ = State::kIdle;
  events_->OnSettled();
  StartCommit();
}

void CommitQueue::Withdraw(const absl::Status& status) {
  std::vector<Item> kept, withdrawn;
  for (Item& item : in_flight_) {
    const bool can_be = item.done != nullptr && !item.may_be_stored;
    (can_be ? withdrawn : kept).push_back(std::move(item));
  }
  in_flight_ = std::move(kept);
  for (const Item& item : withdrawn) {
    changes_->Remove(item.number, item.change);
    events_->OnWithdrawn(item.number, item.change);
  }
  events_->OnSettled();
  for (const Item& item : withdrawn) item.done(status);
}

}  // namespace copse::coordinator
