// SPDX-License-Identifier: Apache-2.0

#include "client/context/completion.h"

#include <chrono>
#include <utility>

#include "client/context/regions.h"
#include "client/port/error.h"
#include "client/port/log.h"
#include "client/port/on_exit.h"
#include "client/port/user_op.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::client {
namespace {

constexpr std::chrono::milliseconds kCheckInterval{50};  // longest time until a waiting thread detects a dead daemon
constexpr std::chrono::milliseconds kRetryInterval{1};   // time between the attempts of a post without room

// Returns "allreduce on team NAME", or "team NAME" inside copse_allreduce, whose errors begin with its name.
std::string CallOf(const char* what, const std::string& team) {
  return (IsCurrentCall(what) ? "team " : std::string(what) + " on team ") + team;
}

}  // namespace

void Completion::Start(std::unique_ptr<Port> port) {
  queue_ = std::make_unique<CallQueue>(std::move(port));
  if (attachment_.copies_bytes() > 0) queue_->staging().set_bounce_bytes_max(attachment_.copies_bytes());
  next_check_ = Clock::now() + kCheckInterval;
}

std::vector<uint32_t> Completion::EndAll() {
  const std::lock_guard lock(mutex_);
  queue_->EndAll(COPSE_ERR_CANCELED, "", UsualFacts(COPSE_ERR_CANCELED));
  return std::exchange(leaving_, {});
}

// --- Waiting ---

void Completion::AwaitNews(std::unique_lock<std::mutex>& lock, Deadline until) {
  const Deadline slice = Slice(until, kCheckInterval);
  if (polling_) {
    news_.wait_until(lock, slice);
    return;
  }
  Port& port = queue_->port();
  const uint64_t seen = port.events_seen();
  polling_ = true;
  lock.unlock();
  // The thread may be canceled in Wait, and must take the lock and end the poller's role in that case, too.
  const OnExit give_back([&] {
    lock.lock();
    polling_ = false;
    news_.notify_all();
  });
  port.Wait(seen, slice);
}

void Completion::Progress() {
  if (queue_->Drain() > 0) {
    // Release: pairs with ends(). A thread that reads the new count also reads the states of the ended rounds.
    ends_.fetch_add(1, std::memory_order_release);
    news_.notify_all();
    DeregisterDropped();
    LeaveTeams();
  }
  if (death_.status != COPSE_OK) return;
  if (queue_->broken()) {
    Die(COPSE_ERR_INTERNAL, "the event queue's indices make no sense");
  } else if (queue_->port().closed() || Clock::now() >= next_check_) {
    CheckDaemon();
  }
}

void Completion::CheckDaemon() {
  next_check_ = Clock::now() + kCheckInterval;
  if (attachment_.channel().Poll() && !queue_->port().closed()) return;
  queue_->Drain();  // the daemon may have posted events before it ended
  const std::string why = attachment_.channel().closing_text();
  Die(COPSE_ERR_NO_DAEMON, why.empty() ? "the daemon went away" : "the daemon closed: " + why);
}

void Completion::Die(copse_status_t status, const std::string& why) {
  death_.status = status;
  death_.text = why + " (node=" + attachment_.node() + ", calls_in_flight=" + std::to_string(queue_->in_flight()) + ")";
  death_.facts = FactsOfNode(UsualCause(static_cast<Failure>(-status)), attachment_.node());
  Log(LogLevel::kError, "%s", death_.text.c_str());
  queue_->EndAll(status, death_.text, death_.facts);
  ends_.fetch_add(1, std::memory_order_release);  // pairs with ends()
  news_.notify_all();
}

copse_status_t Completion::CheckAlive() const {
  if (death_.status == COPSE_OK) return COPSE_OK;
  return FailWith(death_.status, death_.facts, "%s", death_.text.c_str());
}

void Completion::AwaitEnd(uint64_t seen, Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (true) {
    Progress();
    if (ends() != seen || death_.status != COPSE_OK || Clock::now() >= deadline) return;
    AwaitNews(lock, deadline);
  }
}

void Completion::InterruptAwaitEnd() {
  const std::lock_guard lock(mutex_);
  ends_.fetch_add(1, std::memory_order_release);  // pairs with ends()
  news_.notify_all();
  queue_->port().Interrupt();
}

copse_status_t Completion::Wait(Lock& lock, const char* what, const std::string& team, Round* round,
                                Deadline deadline) {
  while (true) {
    Progress();
    if (round->state != Round::State::kInProgress) return Result(what, team, round);
    if (Clock::now() >= deadline) {
      return Fail(COPSE_ERR_TIMED_OUT, "%s is not complete in time (calls_in_flight=%u)", CallOf(what, team).c_str(),
                  queue_->in_flight());
    }
    AwaitNews(lock.lock_, deadline);
  }
}

copse_status_t Completion::Result(const char* what, const std::string& team, Round* round) {
  const std::shared_ptr<Fold> fold = std::move(round->fold);
  if (round->status == COPSE_OK) {
    if (fold != nullptr) fold->Run();
    return COPSE_OK;
  }
  const std::string text = round->text.empty() ? StatusString(round->status) : round->text;
  return FailWith(round->status, round->facts, "%s: %s", CallOf(what, team).c_str(), text.c_str());
}

// --- Calls ---

copse_status_t Completion::Post(Lock& lock, const Member& team, const CallPlan& plan, Round* round, Deadline patience) {
  return PostRound(lock, &team, plan, round, patience);
}

copse_status_t Completion::PostRound(Lock& lock, const Member* team, const CallPlan& plan, Round* round,
                                     Deadline patience) {
  bool has_waited = false;
  while (true) {
    if (const auto status = CheckAlive(); status != COPSE_OK) return status;
    const auto result =
        team == nullptr ? queue_->PostNop(round) : queue_->Post(plan, team->handle, round, team->running);
    if (result == CallQueue::PostResult::kPosted) return COPSE_OK;
    // Calls that occupy the data area may wait for other ranks, which may wait for this call of another team. To avoid
    // that deadlock, a call that has waited gets a region, too. If the daemon refuses one, the call can only wait.
    const bool needs_bounce = result == CallQueue::PostResult::kBounceFull;
    bool added = false;
    if (needs_bounce || (result == CallQueue::PostResult::kDataFull && has_waited)) {
      const copse_status_t status = AddBounce(lock, queue_->staging_wanted(), &added);
      if (needs_bounce && status != COPSE_OK) return status;
    }
    if (!added) {
      const bool hopeless = result == CallQueue::PostResult::kDataFull && queue_->in_flight() == 0;
      if (hopeless || Clock::now() >= patience) return FailFull(result);
      queue_->port().Ring();
      AwaitNews(lock.lock_, Slice(patience, kRetryInterval));
      has_waited = true;
    }
    Progress();
  }
}

copse_status_t Completion::FailFull(CallQueue::PostResult result) const {
  const auto wanted = static_cast<unsigned long long>(queue_->staging_wanted());
  const copse_context_attr_t& attr = attachment_.attr();
  switch (result) {
    case CallQueue::PostResult::kQueueFull:
      return Fail(COPSE_ERR_NO_RESOURCE, "the submission queue stays full (calls_in_flight=%u, dq_entries=%u)",
                  queue_->in_flight(), attr.dq_entries);
    case CallQueue::PostResult::kEventsFull:
      return Fail(COPSE_ERR_NO_RESOURCE, "too many calls in flight (calls_in_flight=%u, eq_entries=%u)",
                  queue_->in_flight(), attr.eq_entries);
    case CallQueue::PostResult::kBounceFull:
      return Fail(COPSE_ERR_NO_RESOURCE, "the memory for copies stays full (bytes=%llu, used=%llu, limit=%llu)", wanted,
                  static_cast<unsigned long long>(queue_->staging().bounce_bytes()),
                  static_cast<unsigned long long>(queue_->staging().bounce_bytes_max()));
    default:
      return Fail(COPSE_ERR_NO_RESOURCE, "the data area has no room (bytes=%llu, free=%llu, data_bytes=%llu)", wanted,
                  static_cast<unsigned long long>(queue_->staging().data_area().bytes_free()),
                  static_cast<unsigned long long>(attr.data_bytes));
  }
}

copse_status_t Completion::AddBounce(Lock& lock, uint64_t bytes, bool* added) {
  *added = false;
  Staging& staging = queue_->staging();
  const uint64_t wanted = ring::RoundUp(bytes, Staging::kBounceUnitBytes);
  if (!staging.Reserve(wanted)) {
    queue_->DropIdleBounces();
    DeregisterDropped();
    if (!staging.Reserve(wanted)) return COPSE_OK;
  }
  Region region;
  lock.lock_.unlock();
  copse_status_t status = RegisterRegion(&attachment_, wanted, &region);
  lock.lock_.lock();
  if (status == COPSE_OK && region.id == 0) {
    status = Fail(COPSE_ERR_NO_RESOURCE, "the daemon registers no memory for copies: %s (bytes=%llu, data_bytes=%llu)",
                  region.why.c_str(), static_cast<unsigned long long>(wanted),
                  static_cast<unsigned long long>(attachment_.attr().data_bytes));
  }
  if (status == COPSE_OK) {
    staging.Add(std::move(region.mapping), wanted, region.id);
    *added = true;
  } else {
    staging.Unreserve(wanted);
  }
  return status;
}

copse_status_t Completion::Call(const Member& member, const std::string& team, const CallPlan& plan,
                                Deadline deadline) {
  Lock lock(this);
  Round round;
  // The round is on the stack, so no event may use it after the call has ended, also by an error or cancellation.
  const OnExit detach([&] {
    if (round.state == Round::State::kInProgress) queue_->Detach(&round);
  });
  if (const auto status = PostRound(lock, &member, plan, &round, deadline); status != COPSE_OK) return status;
  return Wait(lock, NameOf(plan), team, &round, deadline);
}

copse_status_t Completion::Ping(Deadline deadline) {
  Lock lock(this);
  Round round;
  const OnExit detach([&] {
    if (round.state == Round::State::kInProgress) queue_->Detach(&round);
  });
  if (const auto status = PostRound(lock, nullptr, CallPlan{}, &round, deadline); status != COPSE_OK) return status;
  return Wait(lock, "ping", "-", &round, deadline);
}

// --- Memory and teams that outlive their calls ---

void Completion::DeregisterDropped() {
  for (const uint32_t region : queue_->TakeDroppedRegions()) {
    attachment_.channel().Tell(attach::MessageType::kDeregisterMemory, attach::DeregisterMemory{{}, region, 0});
  }
}

void Completion::LeaveTeams() {
  for (auto team = leaving_.begin(); team != leaving_.end();) {
    if (queue_->InFlight(*team)) {
      ++team;
      continue;
    }
    attachment_.channel().Tell(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, *team, 0});
    team = leaving_.erase(team);
  }
}

bool Completion::LeaveLater(const Lock& /*lock*/, uint32_t team) {
  if (!queue_->InFlight(team)) return false;
  leaving_.push_back(team);
  return true;
}

}  // namespace copse::client
