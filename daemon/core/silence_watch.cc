// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/silence_watch.h"

#include <algorithm>
#include <cstdint>

namespace copse::daemon {
namespace {

// Both are numbers of heartbeats: the time until all neighbors of a silent node have noticed the silence (the last
// heartbeat may have reached some of them only, and daemons check twice a heartbeat), and the wait for the verdict.
constexpr int kOthersNotice = 2;
constexpr int kVerdictWait = 4;

}  // namespace

void SilenceWatch::AllowFor(absl::Duration gap, absl::Time now) {
  neighbors_->AllowFor(gap, now);
  stood_still_ = gap;
  went_on_ = now;
}

absl::Duration SilenceWatch::GivenUpAfter(absl::Time now, const Timeouts& timeouts) const {
  const bool lately = now - went_on_ < timeouts.node_timeout / 2;
  return lately && stood_still_ >= timeouts.node_timeout ? stood_still_ : absl::ZeroDuration();
}

std::vector<Incarnation> SilenceWatch::Weigh(absl::Time now, const Timeouts& timeouts,
                                             absl::FunctionRef<void(Incarnation)> lose) {
  std::vector<Incarnation> given_up;
  const std::vector<schedule::TeamNode> silent = neighbors_->Silent(now, timeouts.node_timeout);
  for (auto it = accused_.begin(); it != accused_.end();) {
    const Incarnation peer = it->first;
    const bool still = std::any_of(silent.begin(), silent.end(),
                                   [&](const schedule::TeamNode& node) { return node.incarnation == peer; });
    if (still) {
      ++it;
      continue;
    }
    if (planner_->registered()) planner_->Send(schedule::NeighborSilent{.neighbor = peer, .silent = false});
    if (!neighbors_->InUse(peer)) given_up.push_back(peer);
    it = accused_.erase(it);
  }
  const bool weighed = planner_->Has(schedule::Feature::kSilence);
  for (const schedule::TeamNode& node : silent) {
    const auto [it, is_new] = accused_.try_emplace(node.incarnation, now);
    if (weighed && is_new) {
      Accuse(node.incarnation, now, timeouts);
    } else if (!weighed || now - it->second >= kVerdictWait * timeouts.heartbeat) {
      accused_.erase(it);
      lose(node.incarnation);
    }
  }
  return given_up;
}

void SilenceWatch::Accuse(Incarnation peer, absl::Time now, const Timeouts& timeouts) {
  // A neighbor without a frame in this time may be silent as well, and is not counted as living.
  const absl::Duration lately = std::max(timeouts.node_timeout / 2, kOthersNotice * timeouts.heartbeat);
  schedule::NeighborSilent message{.neighbor = peer, .living = neighbors_->ReceivedSince(now - lately)};
  message.silent_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(timeouts.node_timeout));
  message.others_due_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(kOthersNotice * timeouts.heartbeat));
  for (const auto& [id, team] : *teams_) {
    if (team->HasEdgeTo(peer)) message.teams.push_back(id);
  }
  planner_->Send(message);
}

}  // namespace copse::daemon
