// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/requests.h"

#include <time.h>

#include <chrono>
#include <optional>
#include <system_error>
#include <unordered_set>

#include "client/mpi/api/quiet_thread.h"
#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/pending_memory.h"
#include "client/tnbc/pages/held_signals.h"

namespace copse::mpi {
namespace {

// The MPI standard allows no lower upper bound of tags than this. MPIs have millions.
constexpr int kLeastTagMax = 32767;
// The poster thread tries to post queued calls at this interval.
constexpr std::chrono::microseconds kPostEvery{200};

Requests* the_requests = nullptr;

int TagMax() {
  const int* bound = nullptr;
  int is_set = 0;
  const int result = Mpi().Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &is_set);
  return result == MPI_SUCCESS && is_set != 0 ? *bound : kLeastTagMax;
}

}  // namespace

Requests* TheRequests() { return TheSession() == nullptr ? nullptr : the_requests; }

void StartRequests(Session* session) {
  the_requests = new Requests(session);
  session->progress.SetPoll([] {
    if (the_requests->HasAny()) the_requests->Poll();
  });
}

CollectiveRequest::CollectiveRequest(Session* session, Entry entry, Communicator* communicator)
    : entry(entry), communicator(communicator), offload(session->offload_options(), /*outlives_call=*/true) {
  communicator->Retain();
}

CollectiveRequest::~CollectiveRequest() {
  const tnbc::HeldSignals held;
  if (persistent && team != nullptr && TheSession() != nullptr) copse_team_destroy(team);
  communicator->Release();
}

Requests::Requests(Session* session) : session_(session), tags_(TagMax()) {}

void Requests::Post(CollectiveRequest* call) {
  const copse_status_t status = call->offload.Post();
  if (status == COPSE_ERR_NO_RESOURCE && !session_->settings.IsOver(call->since_)) return;
  --queued_;
  call->communicator->failures().NoteNotPosted(status);
  call->state_ = status == COPSE_OK ? CollectiveRequest::State::kPosted : CollectiveRequest::State::kEnded;
  call->status_ = status;
}

// Starts a call: packs its buffers and posts it, or queues it behind calls of its team that have found no room.
void Requests::Activate(const std::shared_ptr<CollectiveRequest>& call) {
  call->since_ = NowSeconds();
  active_.push_back(call);
  waitable_.fetch_add(1, std::memory_order_relaxed);
  call->status_ =
      AwaitBuffers(*call->communicator, call->offload) ? call->offload.Pack() : call->offload.Lose(kLostData);
  call->state_ = call->status_ == COPSE_OK ? CollectiveRequest::State::kQueued : CollectiveRequest::State::kEnded;
  if (call->status_ != COPSE_OK) return call->communicator->failures().SetOutOfStep();
  ++queued_;
  Advance();
  if (call->state_ == CollectiveRequest::State::kQueued) StartPoster();
}

template <typename Receive>
int Requests::Make(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request, Receive receive) {
  const std::optional<int> tag = tags_.Take();
  if (!tag.has_value()) return MPI_ERR_OTHER;
  call->tag_ = *tag;
  const int result = receive(nullptr, 0, MPI_BYTE, 0, call->tag_, session_->progress.own(), &call->handle_);
  if (result != MPI_SUCCESS) {
    tags_.Return(call->tag_);
    return result;
  }
  *request = call->handle_;
  by_handle_[Key(call->handle_)] = call;
  return result;
}

int Requests::Start(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request) {
  const std::lock_guard lock(mutex_);
  const int result = Make(call, request, Mpi().Irecv);
  if (result == MPI_SUCCESS) {
    Activate(call);
  } else {
    call->communicator->failures().SetOutOfStep();  // other ranks may have posted the call
  }
  return result;
}

int Requests::MakePersistent(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request) {
  const std::lock_guard lock(mutex_);
  return Make(call, request, Mpi().Recv_init);
}

void Requests::Restart(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  const auto found = by_handle_.find(Key(request));
  if (found != by_handle_.end() && found->second->state_ == CollectiveRequest::State::kIdle) Activate(found->second);
}

// Posts queued calls in the order of their starts, and tests posted ones. Calls no MPI, so the poster thread may use
// it.
void Requests::Advance() {
  using State = CollectiveRequest::State;
  std::unordered_set<copse_team_t*> full;
  for (const std::shared_ptr<CollectiveRequest>& call : active_) {
    if (call->state_ == State::kQueued && full.count(call->team) == 0) Post(call.get());
    if (call->state_ == State::kQueued) full.insert(call->team);
    if (call->state_ != State::kPosted) continue;
    call->status_ = call->offload.Test();
    if (call->status_ == COPSE_INPROGRESS && session_->settings.IsOver(call->since_)) {
      call->status_ = call->offload.GiveUp(session_->settings.TimeIsOverText().c_str());
    }
    if (call->status_ != COPSE_INPROGRESS) call->state_ = State::kEnded;
  }
}

// Unpacks the result of a call that has ended, and completes the program's request.
void Requests::End(const std::shared_ptr<CollectiveRequest>& call) {
  if (call->status_ == COPSE_OK) call->status_ = call->offload.Unpack();
  const bool failed = call->status_ != COPSE_OK;
  call->state_ = failed ? CollectiveRequest::State::kFailed : CollectiveRequest::State::kIdle;
  if (!call->persistent) {
    tags_.Return(call->tag_);
    if (!failed) by_handle_.erase(Key(call->handle_));
  }
  if (!failed) waitable_.fetch_sub(1, std::memory_order_relaxed);
  Mpi().Send(nullptr, 0, MPI_BYTE, 0, call->tag_, session_->progress.own());
}

void Requests::Poll() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread polls or uses the calls
  Advance();
  for (auto call = active_.begin(); call != active_.end();) {
    if ((*call)->state_ != CollectiveRequest::State::kEnded) {
      ++call;
      continue;
    }
    const std::shared_ptr<CollectiveRequest> ended = *call;
    call = active_.erase(call);
    End(ended);
  }
}

bool Requests::HasQueued(copse_team_t* team) {
  const std::lock_guard lock(mutex_);
  if (queued_ == 0) return false;
  for (const std::shared_ptr<CollectiveRequest>& call : active_) {
    if (call->team == team && call->state_ == CollectiveRequest::State::kQueued) return true;
  }
  return false;
}

std::shared_ptr<CollectiveRequest> Requests::Find(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  const auto found = by_handle_.find(Key(request));
  return found == by_handle_.end() ? nullptr : found->second;
}

bool Requests::IsActive(const CollectiveRequest& call) {
  const std::lock_guard lock(mutex_);
  return call.state_ != CollectiveRequest::State::kIdle && call.state_ != CollectiveRequest::State::kFailed;
}

void Requests::Await(const std::shared_ptr<CollectiveRequest>& call, double seconds) {
  {
    std::unique_lock lock(mutex_);
    if (call->state_ == CollectiveRequest::State::kQueued) {
      lock.unlock();
      std::this_thread::sleep_for(kPostEvery);
      return;
    }
    if (call->state_ != CollectiveRequest::State::kPosted) return;
  }
  call->offload.Wait(seconds);
}

std::shared_ptr<CollectiveRequest> Requests::TakeFailure(MPI_Request request, copse_status_t* status) {
  const std::lock_guard lock(mutex_);
  const auto found = by_handle_.find(Key(request));
  if (found == by_handle_.end() || found->second->state_ != CollectiveRequest::State::kFailed) return nullptr;
  std::shared_ptr<CollectiveRequest> call = found->second;
  call->state_ = CollectiveRequest::State::kIdle;
  *status = call->status_;
  if (!call->persistent) by_handle_.erase(found);
  waitable_.fetch_sub(1, std::memory_order_relaxed);
  return call;
}

void Requests::Forget(MPI_Request request) {
  std::shared_ptr<CollectiveRequest> call;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto found = by_handle_.find(Key(request));
  if (found == by_handle_.end()) return;
  call = found->second;
  if (call->state_ == CollectiveRequest::State::kFailed) waitable_.fetch_sub(1, std::memory_order_relaxed);
  tags_.Return(call->tag_);
  by_handle_.erase(found);
}

void Requests::StartPoster() {
  if (poster_.joinable()) {
    wake_poster_.notify_one();
    return;
  }
  try {
    poster_ = QuietThread([this] { PostQueued(); });
  } catch (const std::system_error&) {
    // Without the thread, the program's next MPI calls post the queued calls.
  }
}

// Runs the poster thread. It is needed since other ranks may wait for this rank's call while the program computes or
// waits for them outside of MPI.
void Requests::PostQueued() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_poster_.wait(lock, [this] { return stopping_ || queued_ != 0; });
    Advance();
    wake_poster_.wait_for(lock, kPostEvery, [this] { return stopping_; });
  }
}

void Requests::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_poster_.notify_one();
  }
  if (poster_.joinable()) poster_.join();
  for (const std::shared_ptr<CollectiveRequest>& call : active_) call->offload.GiveUp("MPI_Finalize");
  active_.clear();
  by_handle_.clear();
  waitable_ = 0;
}

}  // namespace copse::mpi
