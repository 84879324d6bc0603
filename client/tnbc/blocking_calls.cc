// SPDX-License-Identifier: Apache-2.0
//
// The C API's blocking calls, returning early: linked into libcopse, and started by copse_init if that is asked for.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/hash.h"
#include "client/arguments.h"
#include "client/attach_protocol.h"
#include "client/context.h"
#include "client/copse.h"
#include "client/deadline.h"
#include "client/early_blocking.h"
#include "client/error.h"
#include "client/log.h"
#include "client/team.h"
#include "client/tnbc/early_return.h"
#include "client/tnbc/late_failure.h"
#include "client/tnbc/monotonic_clock.h"
#include "client/tnbc/page_guard.h"
#include "client/tnbc/team_calls.h"
#include "client/user_op.h"

namespace copse::tnbc {
namespace {

using client::CallPlan;
using client::Clock;
using client::Deadline;
using client::Fail;

// Of copies of buffers under way; a call that finds no room does not return early.
constexpr uint64_t kCopyBytesMax = uint64_t{1} << 30;
// How often who waits looks whether its time is over.
constexpr double kSliceSeconds = 0.1;
// For how long, once a team has failed, its calls under way are given to find that out.
constexpr double kFailureSeconds = 1;

// In the handler of a thread that has touched what never comes. The call that failed has returned long ago, and there
// is nothing right that the thread could be given: it dies as of a fault of its own.
[[noreturn]] void OnLost(uintptr_t) {
  char text[768];
  const int bytes =
      snprintf(text, sizeof(text), "copse: memory was touched whose data is lost, after %s\n", DescribeLateFailure());
  if (write(STDERR_FILENO, text, static_cast<size_t>(bytes)) > 0) {
    struct sigaction none {};
    none.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &none, nullptr);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV);
  }
  __builtin_trap();
}

// Nobody else depends on turns of this thread.
void OnWait() {}

// The child would have pages that nothing opens.
void BeforeFork() {
  if (PageGuard* const guard = PageGuard::Get(); guard != nullptr) guard->AwaitAll(OnWait);
}

void InForkedChild() {
  if (PageGuard* const guard = PageGuard::Get(); guard != nullptr) guard->OnForked();
}

// Lengths that are of one kind, up to so many bytes, as far as all ranks know them.
constexpr uint64_t kShortBytesMax = 256 << 10;

// Whether all ranks give the same count.
bool HasOneLength(copse_collective_t collective) {
  switch (collective) {
    case COPSE_COLL_ALLGATHERV:
    case COPSE_COLL_GATHERV:
    case COPSE_COLL_SCATTERV:
    case COPSE_COLL_ALLTOALLV:
    case COPSE_COLL_REDUCE_SCATTERV:
      return false;
    default:
      return true;
  }
}

// Of calls that are measured together.
uint64_t KindOf(const copse_coll_args_t& args) {
  const bool is_long = HasOneLength(args.collective) && args.count * client::DatatypeBytes(args.type) > kShortBytesMax;
  return 2 * static_cast<uint64_t>(args.collective) + (is_long ? 1 : 0);
}

// Null, and a line in the log, where the system does not allow it.
PageGuard* StartGuard() {
  const char* why = "";
  PageGuard* const guard = PageGuard::Start({OnLost, OnWait}, &why);
  if (guard == nullptr) {
    client::Log(client::LogLevel::kWarning, "no call returns early: %s", why);
    return nullptr;
  }
  static const int registered = pthread_atfork(BeforeFork, nullptr, InForkedChild);
  static_cast<void>(registered);
  return guard;
}

// As NowNs() counts, which has the same clock.
uint64_t NanosecondsOf(Deadline deadline) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(deadline.time_since_epoch()).count());
}

// By one write, since many processes' lines go to one place.
void PrintLine(const std::string& text) {
  const std::string line = text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

// What is kept of a team. Calls that are under way keep it, too.
struct OfTeam {
  OfTeam(copse_team_t* of, uint64_t node) : team(of), calls(of->rank, of->size, node) {}

  copse_team_t* const team;
  copse_team_t* stream = nullptr;
  std::mutex mutex;  // of the thread that makes a call that may be divided
  TeamCalls calls;
  // Of a call that was divided. The stream's calls are then no longer the same on all ranks, so it is told ever after.
  std::atomic<int> failure{COPSE_OK};
  std::atomic<bool> is_told{false};
};

class BlockingCalls final : public client::EarlyBlocking {
 public:
  BlockingCalls(copse_context_t* context, copse_early_t mode, PageGuard* guard)
      : context_(context),
        mode_(guard == nullptr ? COPSE_EARLY_OFF : mode),
        guard_(guard),
        node_(Fnv1a64(context->attr().node)),
        // Nobody tells when the program frees what it sends, so that is copied before calls return.
        early_return_(context, guard, {.copy_bytes_max = kCopyBytesMax, .way = SendSnapshot::Way::kAtOnce}) {}

  copse_early_t mode() const override { return mode_; }
  copse_status_t Call(copse_team_t* team, const copse_coll_args_t& args, const CallPlan& plan, const void* site,
                      Deadline deadline) override;
  copse_status_t BeforePost(copse_team_t* team, const CallPlan& plan) override;
  copse_status_t Await(const void* memory, uint64_t bytes, Deadline deadline) override;
  copse_status_t Drain(Deadline deadline) override;
  copse_status_t Leave(copse_team_t* team) override;
  copse_status_t Finish(Deadline deadline) override;

 private:
  class Maker;
  class Waiter;

  std::shared_ptr<OfTeam> Of(copse_team_t* team);
  copse_status_t Divided(OfTeam* mine, const CallSite& site, const copse_coll_args_t& args, const Division& division,
                         const std::shared_ptr<Waiter>& waiter);
  void AwaitFailures(OfTeam* mine);
  copse_status_t Tell(OfTeam* mine);
  copse_status_t TellUntold();
  copse_status_t AwaitBuffers(const CallPlan& plan, Deadline deadline);

  copse_context_t* const context_;
  const copse_early_t mode_;
  PageGuard* const guard_;  // null: calls are divided, as other ranks' are, but none returns early
  const uint64_t node_;     // a hash of its name
  std::mutex mutex_;        // guards teams_
  std::map<copse_team_t*, std::shared_ptr<OfTeam>> teams_;
  EarlyReturn early_return_;  // ends first
};

// A team's calls of the library's own.
class BlockingCalls::Maker final : public TeamCalls::Team {
 public:
  Maker(OfTeam* mine, bool tries, Deadline deadline) : mine_(mine), tries_(tries), deadline_(deadline) {}

  bool tries() const override { return tries_; }

  copse_status_t Make(const copse_coll_args_t& args) override {
    copse_team_t* const team = mine_->team;
    CallPlan plan;
    const auto status = PlanAnyCall(args, team->rank, team->size, team->context->message_bytes_max(), &plan);
    return status != COPSE_OK ? status : team->context->Call(team, plan, deadline_);
  }

  // The team's id is used once in a cluster's life, so the nonce is the second team's alone.
  bool FormStream() override {
    copse_team_t* const team = mine_->team;
    client::TeamSpec spec;
    spec.name = "early " + team->name;
    spec.name.resize(std::min<size_t>(spec.name.size(), attach::kNameBytes - 1));
    spec.rank = team->rank;
    spec.size = team->size;
    spec.nonce = Mix64(team->id) | 1;
    spec.parent = team->handle;
    spec.timeout_s = team->context->timeout_s();
    return FormTeam(team->context, spec, &mine_->stream) == COPSE_OK;
  }

 private:
  OfTeam* const mine_;
  const bool tries_;
  const Deadline deadline_;
};

// A call of the program's.
class BlockingCalls::Waiter final : public Caller {
 public:
  Waiter(std::shared_ptr<OfTeam> mine, const CallSite& site, Deadline deadline)
      : mine_(std::move(mine)), site_(site), deadline_(deadline) {}

  copse_status_t Post(copse_request_t* request) override {
    for (;;) {
      const copse_status_t status = Note(copse_post(request));
      if (status != COPSE_ERR_NO_RESOURCE || IsOver()) return status;
    }
  }

  copse_status_t Await(copse_request_t* request) override {
    for (;;) {
      copse_wait(request, kSliceSeconds);
      const copse_status_t status = Note(copse_test(request));
      if (status != COPSE_INPROGRESS) return status;
      if (!IsOver()) continue;
      copse_cancel(request);
      return COPSE_ERR_TIMED_OUT;
    }
  }

  double slice() const override { return kSliceSeconds; }
  bool Turn() override { return !IsOver(); }

  void OnEnd(const Cost& cost) override { site_.Learn(cost); }
  void OnLate(copse_status_t status, const char* why) override {
    NoteLateFailure(nullptr, why);
    mine_->failure.store(status, std::memory_order_relaxed);
  }

  // Whether this thread's last error says why the call has failed.
  bool has_error() const { return has_error_; }

 private:
  bool IsOver() const { return Clock::now() >= deadline_; }
  copse_status_t Note(copse_status_t status) {
    has_error_ = status < 0;
    return status;
  }

  const std::shared_ptr<OfTeam> mine_;
  const CallSite site_;  // mine_'s
  const Deadline deadline_;
  bool has_error_ = false;
};

std::shared_ptr<OfTeam> BlockingCalls::Of(copse_team_t* team) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<OfTeam>& mine = teams_[team];
  if (mine == nullptr) mine = std::make_shared<OfTeam>(team, node_);
  return mine;
}

copse_status_t BlockingCalls::Call(copse_team_t* team, const copse_coll_args_t& args, const CallPlan& plan,
                                   const void* site, Deadline deadline) {
  const std::shared_ptr<OfTeam> mine = Of(team);
  if (const auto status = Tell(mine.get()); status != COPSE_OK) return status;
  if (const auto status = AwaitBuffers(plan, deadline); status != COPSE_OK) {
    // From here on the ranks' calls are not the same.
    int none = COPSE_OK;
    if (mine->failure.compare_exchange_strong(none, status)) mine->is_told.store(true, std::memory_order_relaxed);
    return status;
  }
  CallKind* kind = nullptr;
  // An operation of the program's is not the team's.
  if (plan.fold == nullptr && MayDivide(args, team->size)) {
    const std::lock_guard lock(mine->mutex);
    early_return_.Reap();  // what the last call has taught
    Maker maker(mine.get(), mode_ == COPSE_EARLY_AUTO, deadline);
    Division division;
    kind = mine->calls.KindOf(KindOf(args));
    const bool was_whole = kind->trial.is_whole();
    const bool divides = mine->calls.Divide(args, kind, site, &maker, &division);
    if (!was_whole && kind->trial.is_whole()) early_return_.CountFuses(1);
    if (divides) {
      const CallSite at = kind->At(site);
      return Divided(mine.get(), at, args, division, std::make_shared<Waiter>(mine, at, deadline));
    }
  }
  const uint64_t since = NowNs();
  const auto status = context_->Call(team, plan, deadline);
  if (kind != nullptr) kind->CountWhole(NowNs() - since);
  if (status < 0 && mine->stream != nullptr) AwaitFailures(mine.get());
  return status;
}

// The team has failed: what is under way soon has, too, and is told with it.
void BlockingCalls::AwaitFailures(OfTeam* mine) {
  early_return_.Drain(kFailureSeconds);
  if (mine->failure.load(std::memory_order_relaxed) == COPSE_OK) return;
  mine->is_told.store(true, std::memory_order_relaxed);
  early_return_.ForgetLost();
}

copse_status_t BlockingCalls::Divided(OfTeam* mine, const CallSite& site, const copse_coll_args_t& args,
                                      const Division& division, const std::shared_ptr<Waiter>& waiter) {
  const uint64_t blown = site.fuse->blown();
  const bool pays = mode_ == COPSE_EARLY_ON || (mode_ == COPSE_EARLY_AUTO && site.fuse->MayReturnEarly());
  early_return_.CountFuses(site.fuse->blown() - blown);
  const uint64_t since = NowNs();
  bool returned_early = false;
  const auto status = early_return_.Call({mine->team, mine->stream, args, division, pays}, waiter, &returned_early);
  if (returned_early) site.CountEarlyReturn();
  if (!returned_early) site.CountBlocking(NowNs() - since);
  if (status == COPSE_OK) return COPSE_OK;
  mine->failure.store(status, std::memory_order_relaxed);
  mine->is_told.store(true, std::memory_order_relaxed);
  early_return_.ForgetLost();
  if (waiter->has_error()) return status;
  return Fail(status, "%s on team %s: a part of the call has failed: %s", client::CollectiveName(args.collective),
              mine->team->name.c_str(), client::StatusString(status));
}

copse_status_t BlockingCalls::Tell(OfTeam* mine) {
  const auto failure = static_cast<copse_status_t>(mine->failure.load(std::memory_order_relaxed));
  if (failure == COPSE_OK) return COPSE_OK;
  if (!mine->is_told.exchange(true, std::memory_order_relaxed)) early_return_.ForgetLost();
  return Fail(failure, "team %s: an earlier call has failed, perhaps after it had returned: %s",
              mine->team->name.c_str(), client::StatusString(failure));
}

copse_status_t BlockingCalls::TellUntold() {
  const std::lock_guard lock(mutex_);
  for (const auto& [team, mine] : teams_) {
    if (mine->is_told.load(std::memory_order_relaxed)) continue;
    if (const auto status = Tell(mine.get()); status != COPSE_OK) return status;
  }
  return COPSE_OK;
}

copse_status_t BlockingCalls::AwaitBuffers(const CallPlan& plan, Deadline deadline) {
  for (const client::BufferPlan* buffer : {&plan.send, &plan.receive}) {
    if (buffer->address == nullptr || buffer->span == 0) continue;
    if (const auto status = Await(buffer->address, buffer->span, deadline); status != COPSE_OK) return status;
  }
  return COPSE_OK;
}

copse_status_t BlockingCalls::BeforePost(copse_team_t* team, const CallPlan& plan) {
  if (const auto status = Tell(Of(team).get()); status != COPSE_OK) return status;
  return AwaitBuffers(plan, client::kNever);
}

copse_status_t BlockingCalls::Await(const void* memory, uint64_t bytes, Deadline deadline) {
  if (guard_ == nullptr || guard_->pending().load(std::memory_order_relaxed) == 0) return COPSE_OK;
  if (memory == nullptr) bytes = UINTPTR_MAX;
  if (bytes == 0) return COPSE_OK;
  switch (guard_->AwaitUntil(NanosecondsOf(deadline), memory, bytes, OnWait)) {
    case PageGuard::Outcome::kThere:
      return COPSE_OK;
    case PageGuard::Outcome::kLate:
      return Fail(COPSE_ERR_TIMED_OUT, "the memory's data is not there in time (memory=%p)", memory);
    case PageGuard::Outcome::kLost:
      break;
  }
  early_return_.Reap();  // whose lock the thread that has lost it holds until it has told so
  if (const auto status = TellUntold(); status != COPSE_OK) return status;
  return Fail(COPSE_ERR_INTERNAL, "the memory's data is lost: a call that had returned early has failed (memory=%p)",
              memory);
}

copse_status_t BlockingCalls::Drain(Deadline deadline) {
  while (!early_return_.Drain(kSliceSeconds)) {
    if (Clock::now() < deadline) continue;
    return Fail(COPSE_ERR_TIMED_OUT, "calls that have returned early are not complete in time");
  }
  return COPSE_OK;
}

copse_status_t BlockingCalls::Leave(copse_team_t* team) {
  std::shared_ptr<OfTeam> mine;
  {
    const std::lock_guard lock(mutex_);
    const auto found = teams_.find(team);
    if (found == teams_.end()) return COPSE_OK;
    mine = std::move(found->second);
    teams_.erase(found);
  }
  copse_status_t told = COPSE_OK;
  if (!mine->is_told.load(std::memory_order_relaxed)) told = Tell(mine.get());
  if (mine->stream != nullptr) copse_team_destroy(mine->stream);
  return told;
}

copse_status_t BlockingCalls::Finish(Deadline deadline) {
  const copse_status_t drained = Drain(deadline);
  const copse_status_t told = TellUntold();
  early_return_.ForgetLost();
  if (WantsStatistics()) PrintLine("copse: process " + std::to_string(getpid()) + ": " + early_return_.Describe());
  return told != COPSE_OK ? told : drained;
}

std::unique_ptr<client::EarlyBlocking> Start(copse_context_t* context, copse_early_t mode) {
  if (mode == COPSE_EARLY_OFF) return nullptr;
  return std::make_unique<BlockingCalls>(context, mode, StartGuard());
}

const bool registered = (client::the_start_early_blocking = Start, true);

}  // namespace
}  // namespace copse::tnbc
