// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pending_call.h"

#include <assert.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "client/context/context.h"
#include "client/tnbc/pages/access_log.h"
#include "client/tnbc/pages/monotonic_clock.h"
#include "client/tnbc/pages/page_bytes.h"

namespace copse::tnbc {
namespace {

// At most this many edges may arrive after the return: to protect more of them would take longer than to wait for them.
constexpr size_t kEdgesLeftMax = 4;

constexpr char kUnmapped[] = "its buffer is not mapped any more";

}  // namespace

PendingCall::PendingCall(const CallMeans& means, copse_team_t* stream, const copse_coll_args_t& args,
                         const Fragmentation& fragmentation, RecordedCall* record, std::shared_ptr<Caller> caller)
    : means_(means),
      stream_(stream),
      fragmentation_(fragmentation),
      record_(record),
      caller_(std::move(caller)),
      pages_(means.guard, &fragmentation_, record) {
  user_receive_ = static_cast<uint8_t*>(args.recv);
  if (args.recv == COPSE_IN_PLACE) user_receive_ = nullptr;
  user_send_ =
      fragmentation.sends_received ? user_receive_ + fragmentation.send_at : static_cast<const uint8_t*>(args.send);
}

PendingCall::~PendingCall() {
  const HeldSignals held;
  bool complete = true;
  if (announcement_ != nullptr) requests_.push_back(announcement_);
  for (copse_request_t* request : requests_) {
    if (copse_finalize(request) == COPSE_OK) continue;
    complete = false;
    copse_cancel(request);
    copse_finalize(request);
  }
  // The daemon may still access the memory of requests that were canceled.
  if (!complete && receiver_ != nullptr) receiver_->Spoil();
  if (!complete && sender_ != nullptr) sender_->Spoil();
  receiver_.reset();
  sender_.reset();
}

bool PendingCall::Prepare(bool may_return) {
  const HeldSignals held;
  if (may_return && PageBytes() <= fragmentation_.edge_bytes) {
    receiver_ = MakeReceiver(means_, fragmentation_, user_receive_, /*may_return=*/true);
    if (receiver_ != nullptr)
      sender_ = MakeSender(means_, fragmentation_, user_send_, user_receive_, /*may_return=*/true);
  }
  may_return_ = sender_ != nullptr;
  if (!may_return_) {
    receiver_ = MakeReceiver(means_, fragmentation_, user_receive_, /*may_return=*/false);
    sender_ = MakeSender(means_, fragmentation_, user_send_, user_receive_, /*may_return=*/false);
  }
  return may_return_;
}

copse_status_t PendingCall::Make(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive) {
  const HeldSignals held;
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
  request->plan.under_way_max = sub.under_way_max;
  if (sub.pair_count_max > 0) {
    request->plan.pairs_bounded = true;
    request->plan.count = sub.pair_count_max;
  }
  requests_.push_back(request);
  return COPSE_OK;
}

copse_status_t PendingCall::Announce(copse_team_t* team) {
  const HeldSignals held;
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_BARRIER;
  return copse_collective_init(team, &args, &announcement_);
}

// The edges are posted here, and the fragments by Advance once the edges have arrived.
copse_status_t PendingCall::Start(copse_team_t* team) {
  times_.start_ns = NowNs();
  uint8_t* const send = sender_->address();
  // A broadcast's root sends from the receive buffer.
  uint8_t* const receive = fragmentation_.is_source ? send : receiver_->address();
  edge_buffers_.Pack(fragmentation_, fragmentation_.is_source ? user_receive_ : user_send_);
  const auto at = [](uint8_t* buffer, uint64_t offset) { return buffer == nullptr ? nullptr : buffer + offset; };
  copse_status_t status = Make(team, fragmentation_.edges.call, edge_buffers_.send(), edge_buffers_.receive());
  if (status == COPSE_OK) status = caller_->Post(requests_[0]);
  if (status == COPSE_OK && fragmentation_.announces) status = Announce(team);
  if (status == COPSE_OK && fragmentation_.announces) status = caller_->Post(announcement_);
  if (status != COPSE_OK) return status;
  sender_->Fill();  // while the edges are in flight
  for (const SubCall& sub : fragmentation_.calls) {
    status = Make(stream_, sub, at(send, sub.send_offset), at(receive, sub.receive_offset));
    if (status != COPSE_OK) return status;
  }
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  fragments_.resize(fragmentation_.calls.size());
  Take(CallEvent::kPost);
  return COPSE_OK;
}

bool PendingCall::CopyMeanwhile() {
  return !sender_->HasAll() && copse_test(requests_[0]) == COPSE_INPROGRESS && sender_->CopyNext();
}

copse_status_t PendingCall::AwaitEdges() {
  if (const copse_status_t status = caller_->Await(requests_[0]); status != COPSE_OK) return status;
  edge_buffers_.Unpack(fragmentation_, user_receive_);
  CopyOwn();
  const std::lock_guard lock(mutex_);
  Take(CallEvent::kReceiveEdges);
  return COPSE_OK;
}

copse_status_t PendingCall::AwaitAnnouncement() { return caller_->Await(announcement_); }

// Returns whether all members have begun the call, or none announces that. Fails the call if the barrier has failed.
bool PendingCall::IsAnnounced() {
  const copse_status_t status = announcement_ == nullptr ? COPSE_OK : copse_test(announcement_);
  if (status == COPSE_OK) return true;
  if (status != COPSE_INPROGRESS) Fail(status, copse_last_error());
  return false;
}

void PendingCall::CopyOwn() {
  const Move& own = fragmentation_.own;
  if (own.bytes > 0) memcpy(user_receive_ + own.to, user_send_ + own.from, own.bytes);
}

// Calls whose first accesses are recorded wait for the edges, since only accesses to fragments are recorded.
bool PendingCall::MayReturnBeforeEdges() const {
  return may_return_ && record_ == nullptr && fragmentation_.edges.unpack.size() <= kEdgesLeftMax &&
         EdgesFillPages(fragmentation_, receiver_->PlaceOf(leaves_rest_));
}

// No fragment is posted before the edges have arrived, and waking the copier thread would take the caller longer than
// everything else here. So copying begins when the edges have arrived (wants_copies).
bool PendingCall::ReturnBeforeEdges() {
  CopyOwn();
  if (receiver_->PrepareEdges() && CloseAll(CallEvent::kReturnBeforeEdges)) return true;
  receiver_->DropEdges();
  CopyRest();
  return false;
}

bool PendingCall::Return() {
  if (CloseAll(CallEvent::kReturn)) return true;
  CopyRest();
  return false;
}

void PendingCall::CopyRest() {
  while (sender_->CopyNext()) {
  }
}

bool PendingCall::CloseAll(CallEvent event) {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  // Another thread may have found meanwhile that the call has failed.
  if (!IsUnderWay(progress_.state()) || !sender_->Protect()) return false;
  const bool edges_too = event == CallEvent::kReturnBeforeEdges;
  pages_.Set(GranulesOf(fragmentation_, receiver_->PlaceOf(leaves_rest_), edges_too),
             reinterpret_cast<uintptr_t>(user_receive_));
  if (receiver_->Close(&pages_, edges_too)) {
    Take(event);
    return true;
  }
  pages_.Set({}, 0);
  sender_->Unprotect();
  return false;
}

void PendingCall::Await() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  if (progress_.state() != CallState::kFailed) Take(CallEvent::kAwait);
}

void PendingCall::Take(CallEvent event) {
  [[maybe_unused]] const bool is_legal = progress_.Take(event);
  assert(is_legal);
}

// Returns false if the edges are in flight or the call has failed.
bool PendingCall::AdvanceEdges() {
  const copse_status_t status = copse_test(requests_[0]);
  if (status == COPSE_INPROGRESS) return false;
  if (status != COPSE_OK) {
    Fail(status, copse_last_error());
    return false;
  }
  if (!receiver_->PlaceEdges(edge_buffers_.receive())) {
    Fail(COPSE_ERR_INTERNAL, kUnmapped);
    return false;
  }
  Take(CallEvent::kReceiveEdges);
  pages_.EndCall(static_cast<uint32_t>(fragmentation_.calls.size()));
  return true;
}

// Counts the complete fragments. Returns false if one has failed.
bool PendingCall::CountComplete() {
  complete_ = 0;
  for (uint32_t i = 0; i < posted_; ++i) {
    if (!fragments_[i].is_complete) {
      const copse_status_t status = copse_test(requests_[1 + i]);
      if (status == COPSE_INPROGRESS) continue;
      if (status != COPSE_OK) {
        Fail(status, copse_last_error());
        return false;
      }
      fragments_[i].is_complete = true;
    }
    ++complete_;
  }
  return true;
}

// Posts fragments in order, each as soon as what it sends has been copied; from then on the daemon decides when they
// begin. Returns whether one found no room.
bool PendingCall::PostNext() {
  while (posted_ < fragments_.size() && sender_->HasCall(posted_)) {
    const copse_status_t status = copse_post(requests_[1 + posted_]);
    if (status == COPSE_ERR_NO_RESOURCE) return true;
    if (status != COPSE_OK) {
      Fail(status, copse_last_error());
      return false;
    }
    ++posted_;
  }
  return false;
}

bool PendingCall::PlaceFragment(uint32_t index) {
  fragments_[index].placed_ns = NowNs();
  sender_->EndCall(index);
  for (const Extent& fragment : fragmentation_.calls[index].extents) {
    if (!receiver_->Place(fragment)) return false;
  }
  pages_.EndCall(index);
  return true;
}

bool PendingCall::PlaceAll() {
  for (uint32_t i = 0; i < posted_; ++i) {
    if (!fragments_[i].is_complete || fragments_[i].placed_ns != 0 || PlaceFragment(i)) continue;
    Fail(COPSE_ERR_INTERNAL, kUnmapped);
    return false;
  }
  return true;
}

void PendingCall::Fail(copse_status_t status, const char* why) {
  // The caller is notified first, so that a thread that is woken below finds the reason.
  if (HasReturned(progress_.state())) caller_->OnLate(status, why);
  status_ = status;
  Take(CallEvent::kFail);
  sender_->Stop();
  pages_.MarkLost();
}

bool PendingCall::LetsOthersPost() const {
  const CallState state = progress_.state();
  if (!IsUnderWay(state)) return true;  // no fragment is posted any more
  return MayPostFragments(state) && posted_ == fragments_.size() && complete_ + 1 >= posted_;
}

PendingCall::AdvanceResult PendingCall::Advance(bool may_post) {
  const std::lock_guard lock(mutex_);
  bool wants_room = false;
  const auto advance = [&] {
    if (progress_.state() == CallState::kReturnedBeforeEdges && !AdvanceEdges()) return;
    if (!MayPostFragments(progress_.state()) || !CountComplete()) return;
    // The fragments are posted after the edges, which the caller waits for and which thus have the network to
    // themselves. The next fragments are in flight while PlaceAll copies.
    if (may_post) wants_room = PostNext();
    const CallState state = progress_.state();
    if (state == CallState::kReturned && !PlaceAll()) return;
    if (state != CallState::kReturned && state != CallState::kAwaited) return;
    if (complete_ < fragments_.size() || !IsAnnounced()) return;
    Take(CallEvent::kComplete);
    if (state != CallState::kReturned) return;
    means_.counters->behind_ns.fetch_add(NowNs() - times_.start_ns, std::memory_order_relaxed);
  };
  advance();
  return {progress_.state(), wants_room, LetsOthersPost()};
}

void PendingCall::NoteReturn(uint64_t inside_ns) {
  times_.inside_ns = inside_ns;
  times_.waited_ns_before = means_.guard->counters().wait_ns;
  times_.accesses_before = means_.guard->accesses().count();
  if (record_ == nullptr) return;
  record_->call.early = true;
  record_->call.returned = NowNs();
  record_->call.inside = inside_ns;
}

void PendingCall::Report() {
  if (progress_.state() != CallState::kDelivered) return;
  const PageGuard& guard = *means_.guard;
  Caller::Cost cost = {
      times_.inside_ns, guard.counters().wait_ns - times_.waited_ns_before, OrderOf(fragmentation_), {}};
  const uint64_t end = guard.accesses().count();
  const uint64_t begin = std::max(times_.accesses_before, end - std::min(end, AccessLog::kKept));
  uint64_t last = fragments_.empty() ? times_.start_ns : 0;
  for (const Fragment& fragment : fragments_) last = std::max(last, fragment.placed_ns);
  bool has_waited_to_write = false;
  for (uint64_t i = begin; i < end; ++i) {
    const AccessLog::LoggedAccess access = guard.accesses().At(i);
    // A wait in the last quarter of the call does not count: little was left to send, and copying everything costs
    // more.
    has_waited_to_write |=
        sender_->MakesWait(access.address) && access.ns < last && 4 * (last - access.ns) > last - times_.start_ns;
    const auto there = std::count_if(fragments_.begin(), fragments_.end(),
                                     [&](const Fragment& fragment) { return fragment.placed_ns < access.ns; });
    // On a page that several fragments share, the access waited for those that had not arrived.
    for (uint32_t call = 0; call < fragments_.size(); ++call) {
      if (fragments_[call].placed_ns < access.ns || !pages_.Brings(call, access.address)) continue;
      cost.accesses.push_back({fragmentation_.calls[call].fragment, static_cast<uint32_t>(there)});
    }
  }
  if (has_waited_to_write) sender_->Regret();
  caller_->OnEnd(cost);
}

void PendingCall::Abandon() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  sender_->Stop();
  pages_.OpenAll();
  Take(CallEvent::kAbandon);
}

const char* PendingCall::BrokenInvariant() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  const CallState state = progress_.state();
  const auto is_broken = [&](size_t i) {
    const Fragment& fragment = fragments_[i];
    return (fragment.is_complete && i >= posted_) || (fragment.placed_ns != 0 && !fragment.is_complete);
  };
  for (size_t i = 0; i < fragments_.size(); ++i) {
    if (is_broken(i)) return "a fragment is complete that was not posted, or placed that is not complete";
  }
  if (complete_ > posted_ || posted_ > fragments_.size()) return "more fragments are counted than there are";
  if (posted_ > 0 && IsUnderWay(state) && !MayPostFragments(state))
    return "a fragment was posted before the edges came";
  const bool ends_all = state == CallState::kDelivered || state == CallState::kComplete;
  if (ends_all && complete_ < fragments_.size()) return "the call is over, but not all of its fragments";
  if (HasReturned(state) && !may_return_) return "the call has returned without memory that allows it";
  const bool may_be_closed = HasReturned(state) || state == CallState::kFailed;
  if (!may_be_closed && pages_.closed() > 0) return "pages are closed that nothing will open";
  if (state == CallState::kFailed && status_ == COPSE_OK) return "the call has failed for no reason";
  return nullptr;
}

}  // namespace copse::tnbc
