// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pending_call.h"

#include <assert.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "base/monotonic_ns.h"
#include "client/tnbc/pages/held_signals.h"
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
      buffers_(args, &fragmentation_),
      pages_(means.guard, &fragmentation_, record) {}

PendingCall::~PendingCall() {
  const HeldSignals held;
  const bool complete = requests_.Finalize();
  // The daemon may still access the memory of requests that were canceled.
  if (!complete && receiver_ != nullptr) receiver_->Spoil();
  if (!complete && sender_ != nullptr) sender_->Spoil();
  receiver_.reset();
  sender_.reset();
}

bool PendingCall::Prepare(bool may_return) {
  const HeldSignals held;
  if (may_return && PageBytes() <= fragmentation_.edge_bytes) {
    receiver_ = MakeReceiver(means_, fragmentation_, buffers_.receive(), /*may_return=*/true);
    if (receiver_ != nullptr)
      sender_ = MakeSender(means_, fragmentation_, buffers_.send(), buffers_.receive(), /*may_return=*/true);
  }
  may_return_ = sender_ != nullptr;
  if (!may_return_) {
    receiver_ = MakeReceiver(means_, fragmentation_, buffers_.receive(), /*may_return=*/false);
    sender_ = MakeSender(means_, fragmentation_, buffers_.send(), buffers_.receive(), /*may_return=*/false);
  }
  return may_return_;
}

// The edges are posted here, and the fragments by Advance once the edges have arrived.
copse_status_t PendingCall::Start(copse_team_t* team) {
  start_ns_ = MonotonicNs();
  uint8_t* const send = sender_->address();
  // A broadcast's root sends from the receive buffer.
  uint8_t* const receive = fragmentation_.is_source ? send : receiver_->address();
  buffers_.PackEdges();
  const auto at = [](uint8_t* buffer, uint64_t offset) { return buffer == nullptr ? nullptr : buffer + offset; };
  copse_status_t status =
      requests_.Add(team, fragmentation_.edges.call, buffers_.sent_edges(), buffers_.received_edges());
  if (status == COPSE_OK) status = caller_->Post(requests_.edges());
  if (status == COPSE_OK && fragmentation_.announces) status = requests_.AddAnnouncement(team);
  if (status == COPSE_OK && fragmentation_.announces) status = caller_->Post(requests_.announcement());
  if (status != COPSE_OK) return status;
  sender_->Fill();  // while the edges are in flight
  for (const SubCall& sub : fragmentation_.calls) {
    status = requests_.Add(stream_, sub, at(send, sub.send_offset), at(receive, sub.receive_offset));
    if (status != COPSE_OK) return status;
  }
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  requests_.BeginFragments();
  Take(CallEvent::kPost);
  return COPSE_OK;
}

bool PendingCall::CopyMeanwhile() {
  return !sender_->HasAll() && copse_test(requests_.edges()) == COPSE_INPROGRESS && sender_->CopyNext();
}

copse_status_t PendingCall::AwaitEdges() {
  if (const copse_status_t status = caller_->Await(requests_.edges()); status != COPSE_OK) return status;
  buffers_.UnpackEdges();
  buffers_.CopyOwn();
  const std::lock_guard lock(mutex_);
  Take(CallEvent::kReceiveEdges);
  return COPSE_OK;
}

copse_status_t PendingCall::AwaitAnnouncement() { return caller_->Await(requests_.announcement()); }

// Returns whether all members have begun the call, or none announces that. Fails the call if the barrier has failed.
bool PendingCall::IsAnnounced() {
  copse_request_t* const announcement = requests_.announcement();
  const copse_status_t status = announcement == nullptr ? COPSE_OK : copse_test(announcement);
  if (status == COPSE_OK) return true;
  if (status != COPSE_INPROGRESS) Fail(status, copse_last_error());
  return false;
}

// Calls whose first accesses are recorded wait for the edges, since only accesses to fragments are recorded.
bool PendingCall::MayReturnBeforeEdges() const {
  return may_return_ && record_ == nullptr && fragmentation_.edges.unpack.size() <= kEdgesLeftMax &&
         EdgesFillPages(fragmentation_, receiver_->PlaceOf(leaves_rest_));
}

// No fragment is posted before the edges have arrived, and waking the copier thread would take the caller longer than
// everything else here. So copying begins when the edges have arrived (wants_copies).
bool PendingCall::ReturnBeforeEdges() {
  buffers_.CopyOwn();
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
             reinterpret_cast<uintptr_t>(buffers_.receive()));
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
  const copse_status_t status = copse_test(requests_.edges());
  if (status == COPSE_INPROGRESS) return false;
  if (status != COPSE_OK) {
    Fail(status, copse_last_error());
    return false;
  }
  if (!receiver_->PlaceEdges(buffers_.received_edges())) {
    Fail(COPSE_ERR_INTERNAL, kUnmapped);
    return false;
  }
  Take(CallEvent::kReceiveEdges);
  pages_.EndCall(static_cast<uint32_t>(fragmentation_.calls.size()));
  return true;
}

// Posts fragments in order, each as soon as what it sends has been copied; from then on the daemon decides when they
// begin. Returns whether one found no room.
bool PendingCall::PostNext() {
  const copse_status_t status = requests_.PostNext([&](uint32_t index) { return sender_->HasCall(index); });
  if (status != COPSE_OK && status != COPSE_ERR_NO_RESOURCE) Fail(status, copse_last_error());
  return status == COPSE_ERR_NO_RESOURCE;
}

bool PendingCall::PlaceFragment(uint32_t index) {
  sender_->EndCall(index);
  for (const Extent& fragment : fragmentation_.calls[index].extents) {
    if (!receiver_->Place(fragment)) return false;
  }
  pages_.EndCall(index);
  return true;
}

bool PendingCall::PlaceAll() {
  for (uint32_t i = 0; i < requests_.posted(); ++i) {
    if (!requests_.TakeToPlace(i) || PlaceFragment(i)) continue;
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
  return MayPostFragments(state) && requests_.nearly_complete();
}

PendingCall::AdvanceResult PendingCall::Advance(bool may_post) {
  const std::lock_guard lock(mutex_);
  bool wants_room = false;
  const auto advance = [&] {
    if (progress_.state() == CallState::kReturnedBeforeEdges && !AdvanceEdges()) return;
    if (!MayPostFragments(progress_.state())) return;
    if (const copse_status_t status = requests_.CountComplete(); status != COPSE_OK)
      return Fail(status, copse_last_error());
    // The fragments are posted after the edges, which the caller waits for and which thus have the network to
    // themselves. The next fragments are in flight while PlaceAll copies.
    if (may_post) wants_room = PostNext();
    const CallState state = progress_.state();
    if (state == CallState::kReturned && !PlaceAll()) return;
    if (state != CallState::kReturned && state != CallState::kAwaited) return;
    if (!requests_.all_complete() || !IsAnnounced()) return;
    Take(CallEvent::kComplete);
    if (state != CallState::kReturned) return;
    means_.counters->behind_ns.fetch_add(MonotonicNs() - start_ns_, std::memory_order_relaxed);
  };
  advance();
  return {progress_.state(), wants_room, LetsOthersPost()};
}

void PendingCall::NoteReturn(uint64_t inside_ns) {
  inside_ns_ = inside_ns;
  since_return_.emplace(&means_.guard->accesses());
  if (record_ == nullptr) return;
  record_->call.early = true;
  record_->call.returned = MonotonicNs();
  record_->call.inside = inside_ns;
}

void PendingCall::Report() {
  if (progress_.state() != CallState::kDelivered) return;
  Caller::Cost cost = {inside_ns_, since_return_->wait_ns(), OrderOf(fragmentation_), {}};
  const uint32_t fragments = requests_.count();
  uint64_t last = fragments == 0 ? start_ns_ : 0;
  for (uint32_t i = 0; i < fragments; ++i) last = std::max(last, requests_.placed_ns(i));
  bool has_waited_to_write = false;
  since_return_->ForEach([&](const AccessLog::LoggedAccess& access) {
    // A wait in the last quarter of the call does not count: little was left to send, and copying everything costs
    // more.
    has_waited_to_write |=
        sender_->MakesWait(access.address) && access.ns < last && 4 * (last - access.ns) > last - start_ns_;
    uint32_t there = 0;
    for (uint32_t i = 0; i < fragments; ++i) there += requests_.placed_ns(i) < access.ns ? 1 : 0;
    // On a page that several fragments share, the access waited for those that had not arrived.
    for (uint32_t i = 0; i < fragments; ++i) {
      if (requests_.placed_ns(i) < access.ns || !pages_.Brings(i, access.address)) continue;
      cost.accesses.push_back({fragmentation_.calls[i].fragment, there});
    }
  });
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
  if (const char* const broken = requests_.BrokenInvariant(); broken != nullptr) return broken;
  if (requests_.posted() > 0 && IsUnderWay(state) && !MayPostFragments(state))
    return "a fragment was posted before the edges came";
  const bool ends_all = state == CallState::kDelivered || state == CallState::kComplete;
  if (ends_all && !requests_.all_complete()) return "the call is over, but not all of its fragments";
  if (HasReturned(state) && !may_return_) return "the call has returned without memory that allows it";
  const bool may_be_closed = HasReturned(state) || state == CallState::kFailed;
  if (!may_be_closed && pages_.closed() > 0) return "pages are closed that nothing will open";
  if (state == CallState::kFailed && status_ == COPSE_OK) return "the call has failed for no reason";
  return nullptr;
}

}  // namespace copse::tnbc
