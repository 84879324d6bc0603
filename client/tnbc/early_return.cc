// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/early_return.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/context.h"
#include "client/tnbc/memory_kind.h"
#include "client/tnbc/monotonic_clock.h"
#include "client/user_op.h"

namespace copse::tnbc {
namespace {

// Of calls under way at a time; the next one waits.
constexpr size_t kCallsMax = 256;
// How often the lander looks whether it is to end, and how soon again for room in the daemon's queue.
constexpr double kSliceSeconds = 0.1;
constexpr double kRetrySeconds = 1e-3;

uint64_t PageBytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

// A divided call from its start to its end. Its lock guards what has come; it is made by one thread, which gives it to
// the lander when its pages are protected.
class EarlyReturn::Pending {
 public:
  enum class State { kUnderWay, kOver, kLost };

  Pending(EarlyReturn* owner, const copse_coll_args_t& args, const Division& division, std::shared_ptr<Caller> caller)
      : owner_(owner), guard_(owner->guard_), division_(division), caller_(std::move(caller)) {
    user_receive_ = static_cast<uint8_t*>(args.recv);
    if (args.recv == COPSE_IN_PLACE) user_receive_ = nullptr;
    user_send_ = division.sends_received ? user_receive_ + division.send_at : static_cast<const uint8_t*>(args.send);
  }
  ~Pending() {
    bool complete = true;
    for (copse_request_t* request : requests_) {
      if (copse_finalize(request) == COPSE_OK) continue;
      complete = false;
      copse_cancel(request);
      copse_finalize(request);
    }
    // The daemon may still use what a call was given that has been given up.
    for (const CopyMemory::Block& block : {send_copy_, receive_copy_}) {
      if (complete) owner_->memory_.GiveBack(block);
      if (!complete) owner_->memory_.Drop(block);
    }
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  // Whether memory of this rank allows an early return; takes what it needs for that.
  bool Prepare();
  // Copies what is sent, posts the edges and makes the other calls, which are posted by Advance from now on.
  copse_status_t Start(copse_team_t* team, copse_team_t* stream);
  // Waits for the edges, and brings them to where they belong.
  copse_status_t Finish();
  // False if it has to be waited for after all.
  bool Protect();
  // From now on the caller waits for it; once it is over, CopyOut.
  void SetAwaited() {
    const std::lock_guard lock(mutex_);
    is_awaited_ = true;
  }
  void CopyOut();
  State state() {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  // Posts what may be, if `may_post`, and brings what has come to where it belongs.
  State Advance(bool may_post);
  // Whether calls of its stream that come behind it may be posted.
  bool is_posted() const { return is_posted_; }
  bool wants_room() const { return wants_room_; }
  copse_team_t* stream() const { return stream_; }
  copse_status_t status() const { return status_; }
  // Gives up: pages become accessible.
  void Forget();
  uint64_t pending_bytes() const { return pending_bytes_; }
  // Of a call that has returned early: when it does, and once it is over.
  void NoteReturn(uint64_t inside_ns) {
    inside_ns_ = inside_ns;
    waited_before_ns_ = guard_->counters().wait_ns;
    touches_before_ = guard_->touches();
  }
  void Report();

 private:
  copse_status_t Make(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive);
  void PostNext();
  void Lose(copse_status_t status);
  bool LandCall(uint32_t index);
  Range RangeOf(const Granule& granule) const {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(user_receive_) + granule.pages.offset;
    return {begin, begin + granule.pages.bytes};
  }

  EarlyReturn* const owner_;
  PageGuard* const guard_;
  const Division division_;
  const std::shared_ptr<Caller> caller_;
  const uint8_t* user_send_ = nullptr;
  uint8_t* user_receive_ = nullptr;
  // Where calls send from and receive to: copies, or the program's own.
  uint8_t *send_ = nullptr, *receive_ = nullptr;
  CopyMemory::Block send_copy_, receive_copy_;
  std::vector<uint8_t> kept_send_, edges_send_, edges_receive_;
  std::vector<copse_request_t*> requests_;  // the edges', then the calls'
  uint64_t pending_bytes_ = 0;
  uint64_t since_ns_ = 0;
  uint64_t inside_ns_ = 0, waited_before_ns_ = 0, touches_before_ = 0;

  copse_team_t* stream_ = nullptr;

  std::mutex mutex_;  // guards what follows; the lander's and the caller's
  bool is_started_ = false;
  bool is_protected_ = false;
  bool is_awaited_ = false;   // by the caller, to its end
  bool is_finished_ = false;  // as far as the caller's thread is concerned
  bool wants_room_ = false;
  std::atomic<bool> is_posted_{false};
  uint32_t posted_ = 0, complete_ = 0;  // calls
  State state_ = State::kUnderWay;
  copse_status_t status_ = COPSE_OK;  // of kLost
  struct Guarded {
    Range range;
    uint32_t missing;  // calls
  };
  std::vector<Guarded> guarded_;
  std::vector<std::vector<uint32_t>> guarded_of_call_;  // indices
  std::vector<bool> landed_;                            // by call: nothing more to do
  std::vector<uint64_t> landed_ns_;                     // by call
};

bool EarlyReturn::Pending::Prepare() {
  const auto address = reinterpret_cast<uintptr_t>(user_receive_);
  const bool receives = !division_.runs.empty();
  if (PageBytes() > division_.edge_bytes) return false;
  if (receives && !MayProtect({address, address + division_.receive_bytes})) return false;
  if (division_.send_bytes > 0) send_copy_ = owner_->memory_.Take(division_.send_bytes);
  if (division_.receive_bytes > 0) receive_copy_ = owner_->memory_.Take(division_.receive_bytes);
  return (division_.send_bytes == 0 || send_copy_.address != nullptr) &&
         (division_.receive_bytes == 0 || receive_copy_.address != nullptr);
}

copse_status_t EarlyReturn::Pending::Make(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive) {
  copse_coll_args_t args = sub.args;
  if (sub.sends) args.send = send;
  if (sub.receives) args.recv = receive;
  if (sub.keeps_own) args.recv = COPSE_IN_PLACE;
  const auto give = [&args](const std::vector<uint64_t>& values, uint64_t field, const uint64_t** where) {
    if (values.empty()) return;
    args.mask |= field;
    *where = values.data();
  };
  give(sub.send_counts, COPSE_COLL_ARGS_FIELD_SEND_COUNTS, &args.send_counts);
  give(sub.send_displacements, COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS, &args.send_displacements);
  give(sub.receive_counts, COPSE_COLL_ARGS_FIELD_RECV_COUNTS, &args.recv_counts);
  give(sub.receive_displacements, COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS, &args.recv_displacements);
  copse_request_t* request = nullptr;
  if (const auto status = copse_collective_init(team, &args, &request); status != COPSE_OK) return status;
  requests_.push_back(request);
  return COPSE_OK;
}

// The ends come first, and the rest follows while they are waited for.
copse_status_t EarlyReturn::Pending::Start(copse_team_t* team, copse_team_t* stream) {
  stream_ = stream;
  since_ns_ = NowNs();
  const bool is_early = send_copy_.address != nullptr || receive_copy_.address != nullptr;
  send_ = const_cast<uint8_t*>(user_send_);  // never written to
  receive_ = user_receive_;
  if (is_early) {
    send_ = send_copy_.address;
    receive_ = receive_copy_.address;
  } else if (division_.sends_received && division_.send_bytes > 0) {
    kept_send_.resize(division_.send_bytes);  // before calls overwrite it
    send_ = kept_send_.data();
  }
  if (send_ != user_send_ && division_.send_bytes > 0) memcpy(send_, user_send_, division_.send_bytes);
  if (is_early && division_.is_source) memcpy(receive_, user_receive_, division_.receive_bytes);

  const Edges& edges = division_.edges;
  edges_send_.resize(edges.send_bytes);
  edges_receive_.resize(edges.receive_bytes);
  // A broadcast's root has what it sends where others receive.
  uint8_t* const packed = division_.is_source ? edges_receive_.data() : edges_send_.data();
  const uint8_t* const whole = division_.is_source ? user_receive_ : send_;
  for (const Move& move : edges.pack) memcpy(packed + move.to, whole + move.from, move.bytes);
  const auto at = [](uint8_t* buffer, uint64_t offset) { return buffer == nullptr ? nullptr : buffer + offset; };
  copse_status_t status = Make(team, edges.call, edges_send_.data(), edges_receive_.data());
  if (status == COPSE_OK) status = caller_->Post(requests_[0]);
  for (const SubCall& sub : division_.calls) {
    if (status != COPSE_OK) return status;
    status = Make(stream, sub, at(send_, sub.send_offset), at(receive_, sub.receive_offset));
  }
  const std::lock_guard lock(mutex_);
  landed_.assign(division_.calls.size(), false);
  landed_ns_.resize(division_.calls.size());
  guarded_of_call_.resize(division_.calls.size());
  is_started_ = status == COPSE_OK;
  return status;
}

copse_status_t EarlyReturn::Pending::Finish() {
  if (const copse_status_t status = caller_->Await(requests_[0]); status != COPSE_OK) return status;
  for (const Move& move : division_.edges.unpack) {
    memcpy(user_receive_ + move.to, edges_receive_.data() + move.from, move.bytes);
  }
  const Move& own = division_.own;
  if (own.bytes > 0) memcpy(user_receive_ + own.to, send_ + own.from, own.bytes);
  return COPSE_OK;
}

bool EarlyReturn::Pending::Protect() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kUnderWay) return false;
  std::vector<Range> ranges;
  for (const Granule& granule : GranulesOf(division_, reinterpret_cast<uintptr_t>(user_receive_), PageBytes())) {
    for (const uint32_t call : granule.calls) guarded_of_call_[call].push_back(static_cast<uint32_t>(guarded_.size()));
    guarded_.push_back({RangeOf(granule), static_cast<uint32_t>(granule.calls.size())});
    ranges.push_back(guarded_.back().range);
    pending_bytes_ += granule.pages.bytes;
  }
  is_protected_ = is_finished_ = guard_->Protect(ranges);
  return is_protected_;
}

void EarlyReturn::Pending::CopyOut() {
  if (receive_ == user_receive_) return;
  for (const SubCall& sub : division_.calls) {
    for (const Part& part : sub.parts) memcpy(user_receive_ + part.offset, receive_ + part.offset, part.bytes);
  }
}

// False if memory is not there any more: the program has unmapped it behind our back.
bool EarlyReturn::Pending::LandCall(uint32_t index) {
  landed_[index] = true;
  landed_ns_[index] = NowNs();
  for (const Part& part : division_.calls[index].parts) {
    const uintptr_t to = reinterpret_cast<uintptr_t>(user_receive_) + part.offset;
    // What lies outside pages was brought before, and may be the program's again.
    if (!guard_->Write(to, receive_ + part.offset, part.bytes)) return false;
  }
  for (const uint32_t i : guarded_of_call_[index]) {
    if (--guarded_[i].missing == 0) guard_->Release(guarded_[i].range);
  }
  return true;
}

// In order, each as soon as what it waits for is complete.
void EarlyReturn::Pending::PostNext() {
  wants_room_ = false;
  while (posted_ < landed_.size() && division_.calls[posted_].after <= complete_) {
    const copse_status_t status = copse_post(requests_[1 + posted_]);
    wants_room_ = status == COPSE_ERR_NO_RESOURCE;
    if (wants_room_) return;
    if (status != COPSE_OK) return Lose(status);
    ++posted_;
  }
  is_posted_ = posted_ == landed_.size();
}

void EarlyReturn::Pending::Lose(copse_status_t status) {
  state_ = State::kLost;
  status_ = status;
  is_posted_ = true;  // nothing more comes
  for (const Guarded& guarded : guarded_) {
    if (guarded.missing > 0) guard_->MarkLost(guarded.range);
  }
  if (is_finished_) caller_->OnLate(status);
}

EarlyReturn::Pending::State EarlyReturn::Pending::Advance(bool may_post) {
  const std::lock_guard lock(mutex_);
  if (!is_started_ || state_ != State::kUnderWay) return state_;
  complete_ = 0;
  for (uint32_t i = 0; i < posted_; ++i) {
    if (landed_[i]) {
      ++complete_;
      continue;
    }
    const copse_status_t status = copse_test(requests_[1 + i]);
    if (status == COPSE_INPROGRESS) continue;
    if (status != COPSE_OK) {
      Lose(status);
      return state_;
    }
    ++complete_;
    if (!is_protected_ || LandCall(i)) continue;
    Lose(COPSE_ERR_INTERNAL);
    return state_;
  }
  if (may_post && !is_posted_) PostNext();
  if (state_ != State::kUnderWay) return state_;
  if (complete_ < landed_.size() || !(is_protected_ || is_awaited_)) return state_;
  state_ = State::kOver;
  owner_->counters_.behind_ns.fetch_add(NowNs() - since_ns_, std::memory_order_relaxed);
  return state_;
}

void EarlyReturn::Pending::Report() {
  if (!is_finished_) return;
  Caller::Cost cost = {inside_ns_, guard_->counters().wait_ns - waited_before_ns_, {}};
  const uint64_t end = guard_->touches();
  const uint64_t begin = std::max(touches_before_, end - std::min(end, PageGuard::kTouchesKept));
  for (uint64_t i = begin; i < end; ++i) {
    const PageGuard::Touch touch = guard_->TouchAt(i);
    const uint64_t offset = touch.address - reinterpret_cast<uintptr_t>(user_receive_);
    for (const SubCall& call : division_.calls) {
      const bool brings = std::any_of(call.parts.begin(), call.parts.end(),
                                      [&](const Part& part) { return offset - part.offset < part.bytes; });
      if (!brings) continue;
      const auto there =
          std::count_if(landed_ns_.begin(), landed_ns_.end(), [&](uint64_t ns) { return ns < touch.ns; });
      cost.touches.push_back({call.part, static_cast<uint32_t>(there)});
    }
  }
  caller_->OnEnd(cost);
}

void EarlyReturn::Pending::Forget() {
  const std::lock_guard lock(mutex_);
  for (Guarded& guarded : guarded_) {
    if (guarded.missing > 0) guard_->Release(guarded.range);
    guarded.missing = 0;
  }
  state_ = State::kOver;
  is_posted_ = true;
}

EarlyReturn::EarlyReturn(copse_context_t* context, PageGuard* guard, uint64_t copy_bytes_max)
    : context_(context), guard_(guard), memory_(context, copy_bytes_max) {
  under_way_.reserve(kCallsMax);
  over_.reserve(kCallsMax);
  lost_.reserve(kCallsMax);
  blocked_.reserve(kCallsMax);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  lander_ = std::thread([this] { RunLander(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EarlyReturn::~EarlyReturn() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  lander_.join();
  for (Calls* calls : {&under_way_, &lost_}) {
    for (const auto& call : *calls) call->Forget();
  }
}

void EarlyReturn::Enlist(const std::shared_ptr<Pending>& call) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return under_way_.size() + over_.size() + lost_.size() < kCallsMax; });
  under_way_.push_back(call);
  changed_.notify_all();
}

copse_status_t EarlyReturn::Call(const Work& work, const std::shared_ptr<Caller>& caller, bool* returned_early) {
  const uint64_t since = NowNs();
  Reap();
  const auto call = std::make_shared<Pending>(this, work.args, work.division, caller);
  const bool is_early = work.may_return && call->Prepare();
  Enlist(call);
  copse_status_t status = call->Start(work.team, work.stream);
  Advance();
  if (status == COPSE_OK) status = call->Finish();
  *returned_early = status == COPSE_OK && is_early && call->Protect();
  if (*returned_early) {
    call->NoteReturn(NowNs() - since);
    counters_.early.fetch_add(1, std::memory_order_relaxed);
    counters_.pending_bytes.fetch_add(call->pending_bytes(), std::memory_order_relaxed);
    Advance();
    counters_.inside_ns.fetch_add(NowNs() - since, std::memory_order_relaxed);
    return COPSE_OK;
  }
  if (status == COPSE_OK) status = AwaitEnd(call.get(), caller.get());
  counters_.waited.fetch_add(1, std::memory_order_relaxed);
  call->Forget();
  Advance();
  return status;
}

copse_status_t EarlyReturn::AwaitEnd(Pending* call, Caller* caller) {
  call->SetAwaited();
  Advance();
  while (call->state() == Pending::State::kUnderWay) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::duration<double>(caller->slice()),
                        [call] { return call->state() != Pending::State::kUnderWay; });
    }
    if (call->state() == Pending::State::kUnderWay && !caller->Turn()) return COPSE_ERR_TIMED_OUT;
  }
  if (call->state() == Pending::State::kLost) return call->status();
  call->CopyOut();
  return COPSE_OK;
}

bool EarlyReturn::Advance() {
  const std::lock_guard lock(mutex_);
  bool wants_room = false;
  blocked_.clear();
  for (size_t i = 0; i < under_way_.size();) {
    Pending& call = *under_way_[i];
    const bool may_post = std::find(blocked_.begin(), blocked_.end(), call.stream()) == blocked_.end();
    const Pending::State state = call.Advance(may_post);
    wants_room = wants_room || call.wants_room();
    if (!call.is_posted()) blocked_.push_back(call.stream());
    if (state == Pending::State::kUnderWay) {
      ++i;
      continue;
    }
    (state == Pending::State::kOver ? over_ : lost_).push_back(std::move(under_way_[i]));
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  changed_.notify_all();
  return wants_room;
}

void EarlyReturn::RunLander() {
  pthread_setname_np(pthread_self(), "copse-lander");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !under_way_.empty(); });
    if (stopping_) return;
    lock.unlock();
    const uint64_t seen = context_->ends();
    const double slice = Advance() ? kRetrySeconds : kSliceSeconds;
    context_->AwaitEnd(seen, client::DeadlineAfter(slice));
    lock.lock();
  }
}

bool EarlyReturn::AwaitBuffers(copse_team_t* team, const copse_coll_args_t& args, PageGuard::OnWait on_wait) {
  client::CallPlan plan;
  if (client::PlanAnyCall(args, team->rank, team->size, context_->message_bytes_max(), &plan) != COPSE_OK) return false;
  for (const client::BufferPlan* buffer : {&plan.send, &plan.receive}) {
    if (buffer->address != nullptr && buffer->bytes > 0) guard_->Await(buffer->address, buffer->span, on_wait);
  }
  return true;
}

bool EarlyReturn::Drain(double seconds) {
  {
    std::unique_lock lock(mutex_);
    const auto patience = std::chrono::duration<double>(seconds);
    if (!changed_.wait_for(lock, patience, [this] { return under_way_.empty(); })) return false;
  }
  Reap();
  return true;
}

bool EarlyReturn::ForgetLost() {
  Calls lost;
  {
    const std::lock_guard lock(mutex_);
    lost.swap(lost_);
    lost_.reserve(kCallsMax);
    changed_.notify_all();
  }
  for (const auto& call : lost) call->Forget();
  return !lost.empty();
}

void EarlyReturn::Reap() {
  Calls over;
  {
    const std::lock_guard lock(mutex_);
    if (over_.empty()) return;
    over.swap(over_);
    over_.reserve(kCallsMax);
    changed_.notify_all();
  }
  for (const auto& call : over) call->Report();
}

}  // namespace copse::tnbc
