// SPDX-License-Identifier: Apache-2.0
//
// Defines a fragmented call that may return early, from its start to its end.
#ifndef COPSE_CLIENT_TNBC_PENDING_CALL_H_
#define COPSE_CLIENT_TNBC_PENDING_CALL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "client/copse.h"
#include "client/tnbc/call_buffers.h"
#include "client/tnbc/call_means.h"
#include "client/tnbc/call_requests.h"
#include "client/tnbc/call_state.h"
#include "client/tnbc/caller.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/pages/access_log.h"
#include "client/tnbc/receiver.h"
#include "client/tnbc/result_pages.h"
#include "client/tnbc/sender.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::tnbc {

// A PendingCall holds the requests and the received data of a fragmented call from its start to its end. Its states are
// those of call_state.h; its Sender and Receiver determine how its memory is accessed. Closed pages are inaccessible to
// the program.
//
// The thread of the caller calls Prepare and Start, and then waits for the call or lets it return; from Start on, any
// thread may call Advance. Its lock is taken after AsynchronousCompletion's and before PageGuard's.
class PendingCall {
 public:
  // `stream` makes the calls of the fragments. `record` gets the accesses to the result; null: they are not recorded.
  PendingCall(const CallMeans& means, copse_team_t* stream, const copse_coll_args_t& args,
              const Fragmentation& fragmentation, RecordedCall* record, std::shared_ptr<Caller> caller);
  ~PendingCall();
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  // Keeps the bytes after the result on its last page accessible. It is called before Prepare.
  void LeaveRestOfPages() { leaves_rest_ = true; }
  // Takes what the call needs to return early, if `may_return` and this rank's memory allow that; else what it needs to
  // block. Returns whether it may return early.
  bool Prepare(bool may_return);
  // Posts the edges, copies what has to be copied of the contribution at once, and initializes the fragments' requests,
  // which Advance posts once the edges have arrived. Errors: those of Caller::Post and copse_collective_init.
  copse_status_t Start(copse_team_t* team);
  // Copies a piece of the contribution if the edges are still in flight. Returns whether it has copied one.
  bool CopyMeanwhile();
  // Waits for the edges and copies them to the receive buffer. Errors: those of Caller::Await.
  copse_status_t AwaitEdges();
  // Waits until all members have begun the call. Requires a fragmentation that announces it. Errors: as AwaitEdges.
  copse_status_t AwaitAnnouncement();
  // Returns whether the caller need not wait for the edges, since their pages can be closed like those of the
  // fragments.
  bool MayReturnBeforeEdges() const;
  // Close the result's pages, so that the caller may return. If they return false, all that is sent has been copied,
  // and the caller has to wait: after ReturnBeforeEdges in AwaitEdges, after Return in Await.
  bool ReturnBeforeEdges();
  bool Return();
  // Await marks the call as one for which the caller waits. CopyOut copies its result to the receive buffer; it
  // requires kComplete.
  void Await();
  void CopyOut() { receiver_->CopyOut(); }
  // Returns whether the call has returned early and pieces of its contribution have yet to be copied. The copier thread
  // copies them by CopyNext.
  bool wants_copies() const { return progress_.state() == CallState::kReturned && !sender_->HasAll(); }
  void CopyNext() { sender_->CopyNext(); }

  struct AdvanceResult {
    CallState state = CallState::kNew;
    bool wants_room = false;  // a fragment was not posted, since the daemon's queue has no room for it
    // Later calls of the stream may be posted: all fragments of this one are posted, and at most one is incomplete. In
    // the daemon, calls of another collective class would not wait for this one's fragments.
    bool lets_others_post = false;
  };
  // Posts fragments whose data is ready, if `may_post`, and writes data that has arrived to the result.
  AdvanceResult Advance(bool may_post);
  // Ends the call: its pages become accessible. Data that has not arrived is undefined, and the destructor cancels its
  // requests.
  void Abandon();

  CallState state() const { return progress_.state(); }
  copse_team_t* stream() const { return stream_; }
  copse_status_t status() const { return status_; }
  uint64_t pending_bytes() const { return pages_.bytes(); }
  // NoteReturn records that the call returns early. Report, called once it has ended, reports its cost to the caller if
  // its data has been delivered.
  void NoteReturn(uint64_t inside_ns);
  void Report();

  // Returns a text that names a violated invariant, or null. It is for AsynchronousCompletion::CheckInvariants.
  const char* BrokenInvariant();

 private:
  bool IsAnnounced();
  bool CloseAll(CallEvent event);
  void CopyRest();
  bool AdvanceEdges();
  bool PostNext();
  bool PlaceAll();
  bool PlaceFragment(uint32_t index);
  void Fail(copse_status_t status, const char* why);
  void Take(CallEvent event);
  bool LetsOthersPost() const;

  const CallMeans means_;
  copse_team_t* const stream_;
  const Fragmentation fragmentation_;
  RecordedCall* const record_;  // null: none
  const std::shared_ptr<Caller> caller_;
  CallBuffers buffers_;
  bool may_return_ = false;
  bool leaves_rest_ = false;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  uint64_t start_ns_ = 0, inside_ns_ = 0;
  std::optional<AccessesSince> since_return_;

  // Guards the members below, of requests_ what it knows of fragments; Sender and Receiver say which of their functions
  // need it.
  std::mutex mutex_;
  CallProgress progress_;
  ResultPages pages_;
  CallRequests requests_;
  copse_status_t status_ = COPSE_OK;  // the reason of kFailed
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PENDING_CALL_H_
