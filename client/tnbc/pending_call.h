// SPDX-License-Identifier: Apache-2.0
//
// One call that may return early, from its start to its end.
#ifndef COPSE_CLIENT_TNBC_PENDING_CALL_H_
#define COPSE_CLIENT_TNBC_PENDING_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/adopted_memory.h"
#include "client/tnbc/call_recorder.h"
#include "client/tnbc/caller.h"
#include "client/tnbc/copy_memory.h"
#include "client/tnbc/division.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/held_signals.h"
#include "client/tnbc/monotonic_clock.h"
#include "client/tnbc/page_guard.h"
#include "client/tnbc/send_snapshot.h"
#include "client/tnbc/sent_memory.h"

namespace copse::tnbc {

// Of a process. Thread-safe.
struct EarlyCounters {
  std::atomic<uint64_t> early{0};          // calls that returned early
  std::atomic<uint64_t> waited{0};         // divided calls that did not: memory that cannot be protected, or no room
  std::atomic<uint64_t> pending_bytes{0};  // of results, at returns
  std::atomic<uint64_t> inside_ns{0};      // in early calls
  std::atomic<uint64_t> behind_ns{0};      // from the starts of early calls to their last data
  std::atomic<uint64_t> fuses_blown{0};
};

// A divided call from its start to its end. Its lock guards what has come; it is made by one thread, which gives it to
// the lander when its pages are protected.
class PendingCall {
 public:
  enum class State { kUnderWay, kOver, kLost };

  // The pointers' objects outlive it.
  struct Owner {
    copse_context_t* context;
    CopyMemory* memory;
    AdoptedMemory* adopted;  // null: none is
    PageGuard* guard;
    EarlyCounters* counters;
    SendSnapshot::Way way;
  };
  // `stream`: of what comes behind the edges. `record`: who touches it; null: nobody wants to know.
  PendingCall(const Owner& owner, copse_team_t* stream, const copse_coll_args_t& args, const Division& division,
              RecordedCall* record, std::shared_ptr<Caller> caller);
  ~PendingCall();
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  // Before Prepare: what lies behind the result on its last page stays open.
  void LeaveRestOfPages() { leaves_rest_ = true; }
  // Whether memory of this rank allows an early return; takes what it needs for that.
  bool Prepare();
  // Posts the edges, copies of what is sent as much as has to be at once, and makes the other calls, which are posted
  // by Advance once the edges are there.
  copse_status_t Start(copse_team_t* team);
  // Copies a piece of what is sent, as long as the edges are not there. Returns whether there was one.
  bool CopyMeanwhile();
  // Waits for the edges, and brings them to where they belong.
  copse_status_t Finish();
  // Waits until all members have begun the call.
  copse_status_t AwaitAnnouncement();
  // Whether the caller need not wait for the edges, which come as the rest does.
  bool MayLeaveEdges() const;
  // False if it has to be waited for after all. Then all that is sent is copied.
  // `leaves_edges`: without having called Finish, which is then called if this returns false.
  bool Protect(bool leaves_edges);
  // Whether it has returned early with something left to be copied, which CopyNext does, of a thread of its own.
  bool wants_copies() const { return is_left_.load(std::memory_order_acquire) && !snapshot_.HasAll(); }
  void CopyNext() { snapshot_.CopyNext(); }
  // From now on the caller waits for it; once it is over, CopyOut.
  void SetAwaited() {
    const HeldSignals held;
    const std::lock_guard lock(mutex_);
    is_awaited_ = true;
  }
  void CopyOut();
  State state() {
    const HeldSignals held;
    const std::lock_guard lock(mutex_);
    return state_;
  }
  // Posts what may be, if `may_post`, and brings what has come to where it belongs.
  State Advance(bool may_post);
  // Whether calls of its stream that come behind it may be posted: nothing but its last part is left. Those of another
  // family (schedule) would not wait for its parts in the daemon.
  bool lets_others_post() const { return lets_others_post_; }
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
    if (record_ != nullptr) {
      record_->call.early = true;
      record_->call.returned = NowNs();
      record_->call.inside = inside_ns;
    }
  }
  void Report();

 private:
  copse_status_t Make(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive);
  copse_status_t Announce(copse_team_t* team);
  bool IsAnnounced();
  bool MayProtectSent() const;
  bool PrepareSent();
  bool ProtectBuffers();
  bool ProtectReceived();
  void CopyOwn();
  bool AddAliases();
  void DropAliases();
  bool LandEdges();
  void PostNext();
  void Lose(copse_status_t status, const char* why);
  std::vector<FirstTouch*> Record();
  bool CloseReceived();
  bool CloseAdopted(std::span<const Range> all);
  void KeepUnbrought(std::span<const Range> pages);
  bool Write(const Part& part, const uint8_t* from);
  bool WriteAround(const Range& range, const uint8_t* from);
  void OpenAfter(uint32_t call);
  void Open(uint32_t index);
  bool CountComplete();
  bool LandAll();
  bool LandCall(uint32_t index);
  BufferPlace PlaceOfReceived() const;

  copse_context_t* const context_;
  CopyMemory* const memory_;
  AdoptedMemory* const adopted_;
  PageGuard* const guard_;
  EarlyCounters* const counters_;
  const SendSnapshot::Way way_;
  copse_team_t* const stream_;
  const Division division_;
  RecordedCall* const record_;  // null: none
  const std::shared_ptr<Caller> caller_;
  const uint8_t* user_send_ = nullptr;
  uint8_t* user_receive_ = nullptr;
  bool is_early_ = false;
  bool leaves_rest_ = false;
  // Results go to the program's memory as they come, which the daemon reaches by pages of its own.
  bool lands_by_itself_ = false;
  // The receive buffer, if it is one whose pages are exchanged; and those that are, once it is closed.
  std::shared_ptr<AdoptedBuffer> buffer_;
  std::vector<Range> exchanged_;
  // Where calls send from and receive to: copies, or the program's own.
  uint8_t *send_ = nullptr, *receive_ = nullptr;
  CopyMemory::Block send_copy_, receive_copy_;
  SendSnapshot snapshot_;
  SentMemory sent_;
  std::atomic<bool> is_left_{false};
  std::vector<uint8_t> kept_send_, edges_send_, edges_receive_;
  std::vector<copse_request_t*> requests_;   // the edges', then the calls'
  copse_request_t* announcement_ = nullptr;  // null: none
  uint64_t pending_bytes_ = 0;
  uint64_t since_ns_ = 0;
  uint64_t inside_ns_ = 0, waited_before_ns_ = 0, touches_before_ = 0;

  std::mutex mutex_;  // guards what follows; the lander's and the caller's
  bool is_started_ = false;
  bool has_edges_ = false;
  bool leaves_edges_ = false;
  // Of where the edges belong, if that is memory which is shared: other addresses of its pages.
  std::vector<Range> aliases_;
  bool is_protected_ = false;
  bool is_awaited_ = false;   // by the caller, to its end
  bool is_finished_ = false;  // as far as the caller's thread is concerned
  bool wants_room_ = false;
  std::atomic<bool> lets_others_post_{false};
  uint32_t posted_ = 0, complete_ = 0;  // calls
  State state_ = State::kUnderWay;
  copse_status_t status_ = COPSE_OK;  // of kLost
  struct Guarded {
    Range range;
    uint32_t missing;  // calls
  };
  std::vector<Guarded> guarded_;
  std::vector<std::vector<uint32_t>> guarded_of_call_;  // indices
  std::vector<bool> is_complete_;                       // by call: it has ended
  std::vector<bool> landed_;                            // by call: nothing more to do
  std::vector<uint64_t> landed_ns_;                     // by call
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PENDING_CALL_H_
