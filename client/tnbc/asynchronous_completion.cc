// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/asynchronous_completion.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/monotonic_ns.h"
#include "client/context/context.h"
#include "client/port/port.h"
#include "client/port/user_op.h"
#include "client/tnbc/pages/access_log.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/pages/memory_end.h"
#include "protocol/ring_layout.h"

namespace copse::tnbc {
namespace {

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
    : memory_(context, options.copy_bytes_max),
      means_{
          context,
          &memory_,
          options.remaps ? new RemappedMemory(&memory_, guard, options.copy_bytes_max / 2, options.on_wait) : nullptr,
          guard,
          &counters_,
          options.way},
      calls_([this] { Publish(); }) {
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
  for (const auto& call : calls_.TakeRest()) call->Abandon();
  for (const auto& call : calls_.TakeLost()) call->Abandon();
  calls_.TakeOver();
  if (means_.remapped != nullptr) means_.remapped->Release(nullptr, UINTPTR_MAX, MemoryEnd::kStays);
}

void AsynchronousCompletion::Stop() {
  calls_.Stop(completion_thread_.joinable(), [this] { means_.context->completion().InterruptAwaitEnd(); });
  if (completion_thread_.joinable()) completion_thread_.join();
  if (copier_.joinable()) copier_.join();
}

// Calls in flight may need MPI progress by this thread to end (Caller::Turn).
bool AsynchronousCompletion::Enlist(const std::shared_ptr<PendingCall>& call, Caller* caller) {
  while (!calls_.Add(call, caller->slice())) {
    Reap();
    if (!caller->Turn()) return false;
  }
  return true;
}

copse_status_t AsynchronousCompletion::Call(const Work& work, const std::shared_ptr<Caller>& caller,
                                            bool* returned_early) {
  const uint64_t since = MonotonicNs();
  Reap();
  const auto call =
      std::make_shared<PendingCall>(means_, work.stream, work.args, work.fragmentation, work.record, caller);
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
  calls_.Advance();
  *returned_early =
      status == COPSE_OK && is_early && !work.waits_idly && call->MayReturnBeforeEdges() && call->ReturnBeforeEdges();
  held.reset();
  if (!*returned_early) {
    while (status == COPSE_OK && call->CopyMeanwhile()) calls_.Advance();
    if (status == COPSE_OK) status = call->AwaitEdges();
    if (status == COPSE_OK && is_early && work.waits_idly) status = call->AwaitAnnouncement();
    *returned_early = status == COPSE_OK && is_early && call->Return();
  }
  lingers_.store(*returned_early, std::memory_order_relaxed);
  if (*returned_early) {
    call->NoteReturn(MonotonicNs() - since);
    counters_.early.fetch_add(1, std::memory_order_relaxed);
    counters_.pending_bytes.fetch_add(call->pending_bytes(), std::memory_order_relaxed);
    calls_.Advance();
    calls_.WakeCompletion();
    if (call->wants_copies()) calls_.WakeCopier();
    counters_.inside_ns.fetch_add(MonotonicNs() - since, std::memory_order_relaxed);
    return COPSE_OK;
  }
  if (status == COPSE_OK) status = AwaitEnd(call.get(), caller.get());
  counters_.waited.fetch_add(1, std::memory_order_relaxed);
  call->Abandon();
  calls_.Advance();
  return status;
}

copse_status_t AsynchronousCompletion::AwaitEnd(PendingCall* call, Caller* caller) {
  call->Await();
  calls_.Advance();
  calls_.WakeCompletion();
  while (IsUnderWay(call->state())) {
    calls_.AwaitEnd(*call, caller->slice());
    if (IsUnderWay(call->state()) && !caller->Turn()) return COPSE_ERR_TIMED_OUT;
  }
  if (call->state() == CallState::kFailed) return call->status();
  call->CopyOut();
  return COPSE_OK;
}

std::string AsynchronousCompletion::Describe() const {
  constexpr double kMebibyte = 1 << 20, kSecond = 1e9;
  const FaultCounters& faults = means_.guard->counters();
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
           means_.remapped == nullptr ? 0 : means_.remapped->remappings());
  return line;
}

void AsynchronousCompletion::Publish() {
  client::Port& counts = means_.context->completion().early_counts();
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
  counts.AddEarly(ring::EarlyCount::kTouches, means_.guard->accesses().TakeFaults());
  counts.AddEarly(ring::EarlyCount::kTouchesNs, means_.guard->accesses().TakeWaitNs());
}

// While the thread lingers (kLingers), the daemon wakes it when a call ends, so the next caller need not: waking a
// thread is the most expensive step of a short call. But meanwhile threads that wait for the daemon learn of
// completions only through this thread.
void AsynchronousCompletion::RunCompletionThread() {
  pthread_setname_np(pthread_self(), "copse-complete");
  using Clock = std::chrono::steady_clock;
  Clock::time_point idle_since = Clock::now();
  const auto lingers = [&] { return lingers_.load(std::memory_order_relaxed) && Clock::now() - idle_since < kLingers; };
  while (const std::optional<bool> any = calls_.AwaitCalls(lingers())) {
    if (*any) idle_since = Clock::now();
    const uint64_t seen = means_.context->completion().ends();
    const double slice = calls_.Advance() ? kRetrySeconds : kSliceSeconds;
    means_.context->completion().AwaitEnd(
        seen, client::DeadlineAfter(*any ? slice : std::chrono::duration<double>(kLingers).count()));
  }
  calls_.EndCompletion();
}

void AsynchronousCompletion::RunCopier() {
  pthread_setname_np(pthread_self(), "copse-copier");
  while (PendingCall* const call = calls_.AwaitCopy()) {
    call->CopyNext();
    calls_.Advance();
    calls_.EndCopy();
  }
}

bool AsynchronousCompletion::AwaitBuffers(const copse_coll_args_t& args, uint32_t rank, uint32_t size,
                                          PageGuard::OnWait on_wait, bool* is_there) {
  client::CallPlan plan;
  if (client::PlanAnyCall(args, rank, size, means_.context->message_bytes_max(), &plan) != COPSE_OK) return false;
  *is_there = true;
  const auto has_data = [](const client::BufferPlan& buffer) { return buffer.address != nullptr && buffer.bytes > 0; };
  if (has_data(plan.send) && !means_.guard->Await(plan.send.address, plan.send.span, on_wait)) *is_there = false;
  if (has_data(plan.receive) && !means_.guard->AwaitUnused(plan.receive.address, plan.receive.span, on_wait)) {
    *is_there = false;
  }
  return true;
}

bool AsynchronousCompletion::Reaches(const void* memory, uint64_t bytes) {
  return means_.context->memory().ReachesPages(memory, bytes);
}

bool AsynchronousCompletion::Drain(double seconds) {
  if (!calls_.AwaitNone(seconds)) return false;
  Reap();
  return true;
}

bool AsynchronousCompletion::ForgetLost() {
  const CallsInFlight::Calls lost = calls_.TakeLost();
  for (const auto& call : lost) call->Abandon();
  return !lost.empty();
}

void AsynchronousCompletion::Reap() {
  for (const auto& call : calls_.TakeOver()) call->Report();
}

}  // namespace copse::tnbc
