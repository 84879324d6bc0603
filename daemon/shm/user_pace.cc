// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/user_pace.h"

#include <algorithm>
#include <utility>

namespace copse::daemon {
namespace {

// Beyond so many users those whose pauses are over are forgotten.
constexpr size_t kUsersUsual = 64;
// At most so many errands of a user are run at once, so that calls are looked at in between.
constexpr int kErrandsPerTurn = 16;

}  // namespace

UserPace::Errand::Errand(UserPace* pace, uint32_t uid) : pace_(pace), uid_(uid), begin_(pace->clock_->Now()) {}

UserPace::Errand::~Errand() { pace_->Charge(uid_, begin_, pace_->clock_->Now()); }

void UserPace::NotePosts(uint32_t uid, absl::Time now) {
  if (uid != last_uid_) {
    last_of_others_ = last_post_;
    last_uid_ = uid;
  }
  last_post_ = now;
}

bool UserPace::MustPause(uint32_t uid, const Errands& user, absl::Time now) const {
  const absl::Time beside = uid == last_uid_ ? last_of_others_ : last_post_;
  return now < user.pause_end && now - beside < kRecent;
}

bool UserPace::MayBegin(uint32_t uid) const {
  const auto user = users_.find(uid);
  if (user == users_.end()) return true;
  return user->second.waiting.empty() && !MustPause(uid, user->second, clock_->Now());
}

void UserPace::Keep(uint32_t uid, const void* owner, absl::AnyInvocable<void()> errand) {
  users_[uid].waiting.push_back({owner, std::move(errand)});
  ++waiting_;
  ++kept_;
}

void UserPace::Forget(uint32_t uid, const void* owner) {
  if (waiting_ == 0) return;
  const auto user = users_.find(uid);
  if (user == users_.end()) return;
  waiting_ -= std::erase_if(user->second.waiting, [&](const Waiting& waiting) { return waiting.owner == owner; });
}

void UserPace::Clear() {
  users_.clear();
  waiting_ = 0;
}

bool UserPace::RunDue() {
  if (waiting_ == 0) return false;
  bool did = false;
  for (auto& [uid, user] : users_) {
    for (int i = 0; i < kErrandsPerTurn && !user.waiting.empty() && !MustPause(uid, user, clock_->Now()); ++i) {
      absl::AnyInvocable<void()> errand = std::move(user.waiting.front().errand);
      user.waiting.pop_front();
      --waiting_;
      errand();
      did = true;
    }
  }
  return did;
}

absl::Time UserPace::NextDue() const {
  absl::Time next = absl::InfiniteFuture();
  if (waiting_ == 0) return next;
  for (const auto& [uid, user] : users_) {
    if (!user.waiting.empty()) next = std::min(next, user.pause_end);
  }
  return next;
}

size_t UserPace::waiting(uint32_t uid) const {
  const auto user = users_.find(uid);
  return user == users_.end() ? 0 : user->second.waiting.size();
}

void UserPace::Charge(uint32_t uid, absl::Time begin, absl::Time end) {
  if (users_.size() >= kUsersUsual && !users_.contains(uid)) {
    std::erase_if(users_,
                  [&](const auto& user) { return user.second.waiting.empty() && user.second.pause_end <= begin; });
  }
  absl::Time& pause_end = users_[uid].pause_end;
  pause_end = std::min(std::max(pause_end, end) + kPausePerErrand * (end - begin), end + kPauseMax);
}

}  // namespace copse::daemon
