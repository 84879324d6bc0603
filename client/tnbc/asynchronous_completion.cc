// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/asynchronous_completion.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "client/context/context.h"
#include "client/port/port.h"
#include "client/port/user_op.h"
#include "client/tnbc/pages/access_log.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/pages/memory_end.h"
#include "client/tnbc/pages/monotonic_clock.h"
#include "protocol/ring_layout.h"

namespace copse::tnbc {
namespace {

// Limits the calls that are in flight, or have ended and are not yet reaped; the next call waits.
constexpr size_t kCallsMax = 256;
// After these times the completion thread stops waiting for the daemon and checks its calls again: usually, and while a
// fragment waits for room in the daemon's queue.
constexpr double kSliceSeconds = 0.1;
constexpr double kRetrySeconds = 1e-3;
// The completion thread keeps waiting for the daemon for this time after the latest asynchronous call has ended.
constexpr std::chrono::milliseconds kLingers(5);

}  // namespace

bool WantsStatistics() {
  const char* text = getenv("COPSE_TNBC_STATS");
  return text != nullptr && *text != '\0' && strcmp(text, "0") != 0;
}

AsynchronousCompletion::AsynchronousCompletion(copse_context_t* context, PageGuard* guard, const Options& options)
    : context_(context),
      guard_(guard),
      way_(options.way),
      memory_(context, options.copy_bytes_max),
      remapped_(options.remaps ? new RemappedMemory(&memory_, guard, options.copy_bytes_max / 2, options.on_wait)
                               : nullptr) {
  under_way_.reserve(kCallsMax);
  over_.reserve(kCallsMax);
  lost_.reserve(kCallsMax);
  blocked_.reserve(kCallsMax);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    completion_thread_ = std::thread([this] { RunCompletionThread(); });
    copier_ = std::thread([this] { RunCopier(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    Stop();
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

AsynchronousCompletion::~AsynchronousCompletion() {
  Stop();
  for (Calls* calls : {&under_way_, &lost_}) {
    for (const auto& call : *calls) call->Abandon();
    calls->clear();
  }
  over_.clear();
  if (remapped_ != nullptr) remapped_->Release(nullptr, UINTPTR_MAX, MemoryEnd::kStays);
}

void AsynchronousCompletion::Stop() {
  {
    const HeldSignals held;
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    completion_wanted_.notify_all();
    copies_wanted_.notify_all();
    constexpr auto kAgain = std::chrono::milliseconds(1);
    while (completion_thread_.joinable() && !completion_is_over_) {
      context_->completion().InterruptAwaitEnd();
      changed_.wait_for(lock, kAgain);
    }
  }
  if (completion_thread_.joinable()) completion_thread_.join();
  if (copier_.joinable()) copier_.join();
}

// Calls in flight may need MPI progress by this thread to end (Caller::Turn).
bool AsynchronousCompletion::Enlist(const std::shared_ptr<PendingCall>& call, Caller* caller) {
  for (;;) {
    {
      const HeldSignals held;
      std::unique_lock lock(mutex_);
      const auto has_room = [this] { return under_way_.size() + over_.size() + lost_.size() < kCallsMax; };
      if (changed_.wait_for(lock, std::chrono::duration<double>(caller->slice()), has_room)) {
        under_way_.push_back(call);
        return true;
      }
    }
    Reap();
    if (!caller->Turn()) return false;
  }
}

copse_status_t AsynchronousCompletion::Call(const Work& work, const std::shared_ptr<Caller>& caller,
                                            bool* returned_early) {
  const uint64_t since = NowNs();
  Reap();
  const auto call = std::make_shared<PendingCall>(CallMeans{context_, &memory_, remapped_, guard_, &counters_, way_},
                                                  work.stream, work.args, work.fragmentation, work.record, caller);
  if (work.has_messages) call->LeaveRestOfPages();
  std::optional<HeldSignals> held(std::in_place);  // once here, not in each function below
  const bool is_early = call->Prepare(work.may_return);
  *returned_early = false;
  if (!Enlist(call, caller.get())) {
    caller->OnNotPosted(COPSE_ERR_TIMED_OUT);
    return COPSE_ERR_TIMED_OUT;
  }
  copse_status_t status = call->Start(work.team);
  if (status != COPSE_OK) caller->OnNotPosted(status);
  Advance();
  *returned_early =
      status == COPSE_OK && is_early && !work.waits_idly && call->MayReturnBeforeEdges() && call->ReturnBeforeEdges();
  held.reset();
  if (!*returned_early) {
    while (status == COPSE_OK && call->CopyMeanwhile()) Advance();
    if (status == COPSE_OK) status = call->AwaitEdges();
    if (status == COPSE_OK && is_early && work.waits_idly) status = call->AwaitAnnouncement();
    *returned_early = status == COPSE_OK && is_early && call->Return();
  }
  lingers_.store(*returned_early, std::memory_order_relaxed);
  if (*returned_early) {
    call->NoteReturn(NowNs() - since);
    counters_.early.fetch_add(1, std::memory_order_relaxed);
    counters_.pending_bytes.fetch_add(call->pending_bytes(), std::memory_order_relaxed);
    Advance();
    completion_wanted_.notify_one();
    if (call->wants_copies()) {
      const std::lock_guard lock(mutex_);
      copies_wanted_.notify_one();
    }
    counters_.inside_ns.fetch_add(NowNs() - since, std::memory_order_relaxed);
    return COPSE_OK;
  }
  if (status == COPSE_OK) status = AwaitEnd(call.get(), caller.get());
  counters_.waited.fetch_add(1, std::memory_order_relaxed);
  call->Abandon();
  Advance();
  return status;
}

copse_status_t AsynchronousCompletion::AwaitEnd(PendingCall* call, Caller* caller) {
  call->Await();
  Advance();
  completion_wanted_.notify_one();
  while (IsUnderWay(call->state())) {
    {
      const HeldSignals held;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::duration<double>(caller->slice()),
                        [call] { return !IsUnderWay(call->state()); });
    }
    if (IsUnderWay(call->state()) && !caller->Turn()) return COPSE_ERR_TIMED_OUT;
  }
  if (call->state() == CallState::kFailed) return call->status();
  call->CopyOut();
  return COPSE_OK;
}

bool AsynchronousCompletion::Advance() {
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
  Publish();
  if (under_way_.size() < before) changed_.notify_all();
  return wants_room;
}

const char* AsynchronousCompletion::CheckInvariants() {
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

std::string AsynchronousCompletion::Describe() const {
  constexpr double kMebibyte = 1 << 20, kSecond = 1e9;
  const FaultCounters& faults = guard_->counters();
  char line[512];
  const auto count = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  const auto of = [&](const std::atomic<uint64_t>& counter, double unit) {
    return static_cast<double>(count(counter)) / unit;
  };
  snprintf(line, sizeof(line),
           "early returns: %" PRIu64 " calls, %" PRIu64
           " more waited; pending at return %.3f MiB; in the calls %.6f s, until the data was there %.6f s; %" PRIu64
           " touches waited %.6f s; %" PRIu64 " writes copied; %" PRIu64 " fuses blown; %" PRIu64 " buffers adopted",
           count(counters_.early), count(counters_.waited), of(counters_.pending_bytes, kMebibyte),
           of(counters_.inside_ns, kSecond), of(counters_.behind_ns, kSecond), count(faults.faults),
           of(faults.wait_ns, kSecond), count(faults.copies), count(counters_.breaker_trips),
           remapped_ == nullptr ? 0 : remapped_->remappings());
  return line;
}

void AsynchronousCompletion::Publish() {
  client::Port& counts = context_->completion().early_counts();
  const auto set = [&](ring::EarlyCount count, const std::atomic<uint64_t>& value) {
    counts.SetEarly(count, value.load(std::memory_order_relaxed));
  };
  set(ring::EarlyCount::kCalls, counters_.early);
  set(ring::EarlyCount::kCallsWaited, counters_.waited);
  set(ring::EarlyCount::kPendingBytes, counters_.pending_bytes);
  set(ring::EarlyCount::kInsideNs, counters_.inside_ns);
  set(ring::EarlyCount::kBehindNs, counters_.behind_ns);
  set(ring::EarlyCount::kFusesBlown, counters_.breaker_trips);
  // These counters are the process's, not the context's: each increase is published once.
  counts.AddEarly(ring::EarlyCount::kTouches, guard_->accesses().TakeFaults());
  counts.AddEarly(ring::EarlyCount::kTouchesNs, guard_->accesses().TakeWaitNs());
}

// While the thread lingers (kLingers), the daemon wakes it when a call ends, so the next caller need not: waking a
// thread is the most expensive step of a short call. But meanwhile threads that wait for the daemon learn of
// completions only through this thread.
void AsynchronousCompletion::RunCompletionThread() {
  pthread_setname_np(pthread_self(), "copse-complete");
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  Clock::time_point idle_since = Clock::now();
  for (;;) {
    if (!under_way_.empty()) idle_since = Clock::now();
    const bool lingers = lingers_.load(std::memory_order_relaxed) && Clock::now() - idle_since < kLingers;
    if (under_way_.empty() && !lingers) {
      completion_wanted_.wait(lock, [this] { return stopping_ || !under_way_.empty(); });
      idle_since = Clock::now();
    }
    if (stopping_) break;
    const bool is_idle = under_way_.empty();
    lock.unlock();
    const uint64_t seen = context_->completion().ends();
    const double slice = Advance() ? kRetrySeconds : kSliceSeconds;
    context_->completion().AwaitEnd(
        seen, client::DeadlineAfter(is_idle ? std::chrono::duration<double>(kLingers).count() : slice));
    lock.lock();
  }
  completion_is_over_ = true;
  changed_.notify_all();
}

PendingCall* AsynchronousCompletion::NextToCopy() {
  for (const auto& call : under_way_) {
    if (call->wants_copies()) return call.get();
  }
  return nullptr;
}

void AsynchronousCompletion::RunCopier() {
  pthread_setname_np(pthread_self(), "copse-copier");
  std::unique_lock lock(mutex_);
  for (;;) {
    copies_wanted_.wait(lock, [this] { return stopping_ || NextToCopy() != nullptr; });
    if (stopping_) return;
    copying_ = NextToCopy();
    lock.unlock();
    copying_->CopyNext();
    Advance();
    lock.lock();
    copying_ = nullptr;
    copied_.notify_all();
  }
}

void AsynchronousCompletion::AwaitCopier(std::unique_lock<std::mutex>& lock, const Calls& calls) {
  copied_.wait(lock, [&] {
    return std::none_of(calls.begin(), calls.end(), [this](const auto& call) { return call.get() == copying_; });
  });
}

bool AsynchronousCompletion::AwaitBuffers(const copse_coll_args_t& args, uint32_t rank, uint32_t size,
                                          PageGuard::OnWait on_wait, bool* is_there) {
  client::CallPlan plan;
  if (client::PlanAnyCall(args, rank, size, context_->message_bytes_max(), &plan) != COPSE_OK) return false;
  *is_there = true;
  const auto has_data = [](const client::BufferPlan& buffer) { return buffer.address != nullptr && buffer.bytes > 0; };
  if (has_data(plan.send) && !guard_->Await(plan.send.address, plan.send.span, on_wait)) *is_there = false;
  if (has_data(plan.receive) && !guard_->AwaitUnused(plan.receive.address, plan.receive.span, on_wait)) {
    *is_there = false;
  }
  return true;
}

bool AsynchronousCompletion::Reaches(const void* memory, uint64_t bytes) {
  return context_->memory().ReachesPages(memory, bytes);
}

bool AsynchronousCompletion::Drain(double seconds) {
  {
    const HeldSignals held;
    std::unique_lock lock(mutex_);
    const auto patience = std::chrono::duration<double>(seconds);
    if (!changed_.wait_for(lock, patience, [this] { return under_way_.empty(); })) return false;
    Publish();
  }
  Reap();
  return true;
}

bool AsynchronousCompletion::ForgetLost() {
  Calls lost;
  {
    const HeldSignals held;
    std::unique_lock lock(mutex_);
    AwaitCopier(lock, lost_);
    lost.swap(lost_);
    lost_.reserve(kCallsMax);
    changed_.notify_all();
  }
  for (const auto& call : lost) call->Abandon();
  return !lost.empty();
}

void AsynchronousCompletion::Reap() {
  Calls over;
  {
    const HeldSignals held;
    std::unique_lock lock(mutex_);
    if (over_.empty()) return;
    AwaitCopier(lock, over_);
    over.swap(over_);
    over_.reserve(kCallsMax);
    changed_.notify_all();
  }
  for (const auto& call : over) call->Report();
}

}  // namespace copse::tnbc
