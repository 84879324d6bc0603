// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/calls_in_flight.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/tnbc/call_state.h"
#include "client/tnbc/pages/held_signals.h"

namespace copse::tnbc {
namespace {

// Limits the calls that are in flight, or have ended and are not yet taken; the next call waits.
constexpr size_t kCallsMax = 256;

using Seconds = std::chrono::duration<double>;

}  // namespace

CallsInFlight::CallsInFlight(std::function<void()> publish) : publish_(std::move(publish)) {
  for (Calls* calls : {&under_way_, &over_, &lost_}) calls->reserve(kCallsMax);
  blocked_.reserve(kCallsMax);
}

bool CallsInFlight::Add(const std::shared_ptr<PendingCall>& call, double seconds) {
  const HeldSignals held;
  std::unique_lock lock(mutex_);
  const auto has_room = [this] { return under_way_.size() + over_.size() + lost_.size() < kCallsMax; };
  if (!changed_.wait_for(lock, Seconds(seconds), has_room)) return false;
  under_way_.push_back(call);
  return true;
}

bool CallsInFlight::Advance() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  const size_t before = under_way_.size();
  bool wants_room = false;
  blocked_.clear();
  for (size_t i = 0; i < under_way_.size();) {
    PendingCall& call = *under_way_[i];
    const bool may_post = std::find(blocked_.begin(), blocked_.end(), call.stream()) == blocked_.end();
    const PendingCall::AdvanceResult progress = call.Advance(may_post);
    wants_room = wants_room || progress.wants_room;
    if (call.wants_copies()) copies_wanted_.notify_one();
    if (!progress.lets_others_post) blocked_.push_back(call.stream());
    if (IsUnderWay(progress.state)) {
      ++i;
      continue;
    }
    (progress.state == CallState::kFailed ? lost_ : over_).push_back(std::move(under_way_[i]));
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  publish_();
  if (under_way_.size() < before) changed_.notify_all();
  return wants_room;
}

void CallsInFlight::AwaitEnd(const PendingCall& call, double seconds) {
  const HeldSignals held;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, Seconds(seconds), [&call] { return !IsUnderWay(call.state()); });
}

bool CallsInFlight::AwaitNone(double seconds) {
  const HeldSignals held;
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, Seconds(seconds), [this] { return under_way_.empty(); })) return false;
  publish_();
  return true;
}

CallsInFlight::Calls CallsInFlight::Take(Calls* calls) {
  Calls taken;
  const HeldSignals held;
  std::unique_lock lock(mutex_);
  if (calls->empty()) return taken;
  copied_.wait(lock, [&] {
    return std::none_of(calls->begin(), calls->end(), [this](const auto& call) { return call.get() == copying_; });
  });
  taken.swap(*calls);
  calls->reserve(kCallsMax);
  changed_.notify_all();
  return taken;
}

void CallsInFlight::WakeCopier() {
  const std::lock_guard lock(mutex_);
  copies_wanted_.notify_one();
}

std::optional<bool> CallsInFlight::AwaitCalls(bool lingers) {
  std::unique_lock lock(mutex_);
  completion_wanted_.wait(lock, [&] { return stopping_ || lingers || !under_way_.empty(); });
  return stopping_ ? std::nullopt : std::optional(!under_way_.empty());
}

void CallsInFlight::EndCompletion() {
  const std::lock_guard lock(mutex_);
  completion_is_over_ = true;
  changed_.notify_all();
}

PendingCall* CallsInFlight::NextToCopy() {
  for (const auto& call : under_way_) {
    if (call->wants_copies()) return call.get();
  }
  return nullptr;
}

PendingCall* CallsInFlight::AwaitCopy() {
  std::unique_lock lock(mutex_);
  copies_wanted_.wait(lock, [this] { return stopping_ || (copying_ = NextToCopy()) != nullptr; });
  return stopping_ ? nullptr : copying_;
}

void CallsInFlight::EndCopy() {
  const std::lock_guard lock(mutex_);
  copying_ = nullptr;
  copied_.notify_all();
}

void CallsInFlight::Stop(bool has_completion, const std::function<void()>& interrupt) {
  const HeldSignals held;
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  completion_wanted_.notify_all();
  copies_wanted_.notify_all();
  constexpr auto kAgain = std::chrono::milliseconds(1);
  while (has_completion && !completion_is_over_) {
    interrupt();
    changed_.wait_for(lock, kAgain);
  }
}

const char* CallsInFlight::BrokenInvariant() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  for (const auto& call : under_way_) {
    if (const char* const broken = call->BrokenInvariant(); broken != nullptr) return broken;
  }
  const auto is_of = [](const Calls& calls, auto... states) {
    return std::all_of(calls.begin(), calls.end(),
                       [&](const auto& call) { return ((call->state() == states) || ...); });
  };
  if (!is_of(over_, CallState::kDelivered, CallState::kComplete, CallState::kAbandoned)) return "a call is not over";
  if (!is_of(lost_, CallState::kFailed, CallState::kAbandoned)) return "a call is not lost";
  return under_way_.size() + over_.size() + lost_.size() > kCallsMax ? "there are too many calls" : nullptr;
}

}  // namespace copse::tnbc
