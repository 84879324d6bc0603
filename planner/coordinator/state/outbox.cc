// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/outbox.h"

#include <utility>

namespace copse::coordinator {

Outbox::Outbox(const Clock* clock, TimerQueue* timers, Store* store, SessionSink* sink)
    : clock_(clock),
      timers_(timers),
      sink_(sink),
      held_(&changes_, sink),
      commits_(clock, timers, store, &changes_, this) {}

void Outbox::Send(SessionId session, const schedule::ToDaemon& message) {
  if (!commits_.is_deposed()) held_.Send(session, message);
}

void Outbox::SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare) {
  if (!commits_.is_deposed() && held_.SendPrepare(members, std::move(prepare))) ReleaseLater();
}

void Outbox::Close(SessionId session, const std::string& why) {
  Drop(session);
  if (!commits_.is_deposed()) sink_->Close(session, why);
}

void Outbox::OnSettled() {
  if (held_.Release()) ReleaseLater();
}

void Outbox::ReleaseLater() {
  if (std::exchange(releases_later_, true)) return;
  timers_->Set(clock_->Now(), [this] {
    releases_later_ = false;
    if (!commits_.is_deposed()) OnSettled();
  });
}

}  // namespace copse::coordinator
