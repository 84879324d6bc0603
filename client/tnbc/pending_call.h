// SPDX-License-Identifier: Apache-2.0
//
// One call that may return early, from its start to its end.
#ifndef COPSE_CLIENT_TNBC_PENDING_CALL_H_
#define COPSE_CLIENT_TNBC_PENDING_CALL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/call_means.h"
#include "client/tnbc/call_state.h"
#include "client/tnbc/caller.h"
#include "client/tnbc/edge_buffers.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/receiver.h"
#include "client/tnbc/result_pages.h"
#include "client/tnbc/sender.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::tnbc {

// A fragmented call from its start to its end: what it has posted and what has come. Its states are those of
// call_state.h; its Sender and Receiver know how its memory is reached.
//
// The caller's thread makes it (Prepare Start) and either waits for it or lets it return; from Start on any thread
// advances it. Its lock guards what has come, and is taken after AsynchronousCompletion's and before PageGuard's.
class PendingCall {
 public:
  // `stream`: the team of the fragments behind the edges. `record`: gets the accesses to the result; null: none.
  PendingCall(const CallMeans& means, copse_team_t* stream, const copse_coll_args_t& args,
              const Fragmentation& fragmentation, RecordedCall* record, std::shared_ptr<Caller> caller);
  ~PendingCall();
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  // Before Prepare: what lies behind the result on its last page stays open.
  void LeaveRestOfPages() { leaves_rest_ = true; }
  // Takes what the call needs to return early, if it `may_return` and memory of this rank allows it. Returns whether.
  bool Prepare(bool may_return);
  // Posts the edges, copies as much of the contribution as has to be copied at once, and makes the other calls, which
  // Advance posts once the edges are there.
  copse_status_t Start(copse_team_t* team);
  // Copies a piece of the contribution, as long as the edges are not there. Returns whether there was one.
  bool CopyMeanwhile();
  // Waits for the edges, and brings them to where they belong.
  copse_status_t AwaitEdges();
  // Waits until all members have begun the call.
  copse_status_t AwaitAnnouncement();
  // Returns whether the caller need not wait for the edges, which come as the rest does.
  bool MayReturnBeforeEdges() const;
  // Close the result's pages, so that the caller may return. Returns false if it has to wait after all: before the
  // edges, AwaitEdges follows then; after them, all that is sent is copied, and Await follows.
  bool ReturnBeforeEdges();
  bool Return();
  // From now on the caller waits for it; once that is there, CopyOut.
  void Await();
  void CopyOut() { receiver_->CopyOut(); }
  // Returns whether it has returned early with something left to be copied, which CopyNext does, of a thread of its
  // own.
  bool wants_copies() const { return progress_.state() == CallState::kReturned && !sender_->HasAll(); }
  void CopyNext() { sender_->CopyNext(); }

  struct AdvanceResult {
    CallState state = CallState::kNew;
    bool wants_room = false;  // a fragment was not posted, since there is no room for it now
    // Whether calls of its stream that come behind it may be posted: nothing but its last fragment is left. Those of
    // another family (schedule) would not wait for its fragments in the daemon.
    bool lets_others_post = false;
  };
  // Posts what may be, if `may_post`, and brings what has come to where it belongs.
  AdvanceResult Advance(bool may_post);
  // Gives up: pages become accessible.
  void Abandon();

  CallState state() const { return progress_.state(); }
  copse_team_t* stream() const { return stream_; }
  copse_status_t status() const { return status_; }
  uint64_t pending_bytes() const { return pages_.bytes(); }
  // Records a call that returns early: when it does, and once its data is there. They do nothing for other calls.
  void NoteReturn(uint64_t inside_ns);
  void Report();

  // What contradicts the call's state; null: nothing does. For CheckInvariants of AsynchronousCompletion.
  const char* BrokenInvariant();

 private:
  // One call of the fragmentation.
  struct Fragment {
    bool is_complete = false;
    uint64_t placed_ns = 0;  // when its data was where it belongs; 0: it is not
  };
  struct Times {
    uint64_t start_ns = 0, inside_ns = 0;
    uint64_t waited_ns_before = 0, accesses_before = 0;  // the guard's, at the return
  };

  copse_status_t Make(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive);
  copse_status_t Announce(copse_team_t* team);
  bool IsAnnounced();
  void CopyOwn();
  bool CloseAll(CallEvent event);
  void CopyRest();
  bool AdvanceEdges();
  bool CountComplete();
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
  const uint8_t* user_send_ = nullptr;
  uint8_t* user_receive_ = nullptr;
  bool may_return_ = false;
  bool leaves_rest_ = false;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  EdgeBuffers edge_buffers_;
  std::vector<copse_request_t*> requests_;   // the edges', then the fragments'
  copse_request_t* announcement_ = nullptr;  // null: none
  Times times_;

  std::mutex mutex_;  // guards what follows, and what receiver_ and sender_ say of themselves
  CallProgress progress_;
  ResultPages pages_;
  uint32_t posted_ = 0, complete_ = 0;  // fragments
  std::vector<Fragment> fragments_;     // by call of the fragmentation
  copse_status_t status_ = COPSE_OK;    // of kFailed
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PENDING_CALL_H_
