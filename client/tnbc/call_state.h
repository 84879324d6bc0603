// SPDX-License-Identifier: Apache-2.0
//
// The states of a pending call, and the table of its transitions.
#ifndef COPSE_CLIENT_TNBC_CALL_STATE_H_
#define COPSE_CLIENT_TNBC_CALL_STATE_H_

#include <atomic>
#include <cstdint>
#include <optional>

namespace copse::tnbc {

enum class CallState : uint8_t {
  kNew,                  // nothing is posted, or posting has failed
  kEdgesPosted,          // the edges are under way, and the caller waits for them
  kEdgesReceived,        // the edges are in the receive buffer; the fragments may be posted; the caller is in the call
  kAwaited,              // the same, and the caller waits for the end, after which it copies the result
  kReturnedBeforeEdges,  // the caller has returned; the edges are under way; the result's pages are closed
  kReturned,             // the caller has returned; fragments open the result's pages as they are delivered
  kDelivered,            // the caller has returned, and the whole result is where it belongs
  kComplete,             // the whole result is there, for the caller to copy
  kFailed,               // a fragment of the call has failed; pages that are still closed never open by themselves
  kAbandoned,            // the call is given up: its pages are open, with undefined contents
};

enum class CallEvent : uint8_t {
  kPost,               // the edges and the fragments' requests are made
  kReceiveEdges,       // the edges are in the receive buffer
  kReturnBeforeEdges,  // the pages are closed, those of the edges among them
  kReturn,             // the pages are closed
  kAwait,              // the pages cannot be closed
  kComplete,           // the last fragment is complete
  kFail,
  kAbandon,
};

inline constexpr int kCallStates = 10, kCallEvents = 8;

struct CallTransition {
  CallState from;
  CallEvent event;
  CallState to;
};

// All legal transitions. Whatever is not here is refused.
inline constexpr CallTransition kCallTransitions[] = {
    {CallState::kNew, CallEvent::kPost, CallState::kEdgesPosted},
    {CallState::kNew, CallEvent::kAbandon, CallState::kAbandoned},

    {CallState::kEdgesPosted, CallEvent::kReceiveEdges, CallState::kEdgesReceived},
    {CallState::kEdgesPosted, CallEvent::kReturnBeforeEdges, CallState::kReturnedBeforeEdges},
    {CallState::kEdgesPosted, CallEvent::kAbandon, CallState::kAbandoned},

    {CallState::kEdgesReceived, CallEvent::kReturn, CallState::kReturned},
    {CallState::kEdgesReceived, CallEvent::kAwait, CallState::kAwaited},
    {CallState::kEdgesReceived, CallEvent::kFail, CallState::kFailed},
    {CallState::kEdgesReceived, CallEvent::kAbandon, CallState::kAbandoned},

    {CallState::kAwaited, CallEvent::kComplete, CallState::kComplete},
    {CallState::kAwaited, CallEvent::kFail, CallState::kFailed},
    {CallState::kAwaited, CallEvent::kAbandon, CallState::kAbandoned},

    {CallState::kReturnedBeforeEdges, CallEvent::kReceiveEdges, CallState::kReturned},
    {CallState::kReturnedBeforeEdges, CallEvent::kFail, CallState::kFailed},
    {CallState::kReturnedBeforeEdges, CallEvent::kAbandon, CallState::kAbandoned},

    {CallState::kReturned, CallEvent::kComplete, CallState::kDelivered},
    {CallState::kReturned, CallEvent::kFail, CallState::kFailed},
    {CallState::kReturned, CallEvent::kAbandon, CallState::kAbandoned},

    {CallState::kDelivered, CallEvent::kAbandon, CallState::kAbandoned},
    {CallState::kComplete, CallEvent::kAbandon, CallState::kAbandoned},
    {CallState::kFailed, CallEvent::kAbandon, CallState::kAbandoned},
    {CallState::kAbandoned, CallEvent::kAbandon, CallState::kAbandoned},
};

// Where `event` leads from `from`; nothing if that is illegal.
constexpr std::optional<CallState> NextState(CallState from, CallEvent event) {
  for (const CallTransition& transition : kCallTransitions) {
    if (transition.from == from && transition.event == event) return transition.to;
  }
  return std::nullopt;
}

// Returns whether the call has neither ended nor been given up.
constexpr bool IsUnderWay(CallState state) { return state < CallState::kDelivered; }
// Returns whether fragments may be posted.
constexpr bool MayPostFragments(CallState state) {
  return state == CallState::kEdgesReceived || state == CallState::kAwaited || state == CallState::kReturned;
}
// Returns whether the program goes on while the call is under way.
constexpr bool HasReturned(CallState state) {
  return state == CallState::kReturnedBeforeEdges || state == CallState::kReturned;
}

// A call's state. One thread at a time takes events, with the call's lock; any thread reads.
class CallProgress {
 public:
  // Acquire: pairs with Take. A thread that sees kReturned sees what was protected before the return.
  CallState state() const { return state_.load(std::memory_order_acquire); }

  // Returns false, changing nothing, if the table has no such transition.
  [[nodiscard]] bool Take(CallEvent event) {
    const std::optional<CallState> next = NextState(state_.load(std::memory_order_relaxed), event);
    // Release: pairs with state().
    if (next.has_value()) state_.store(*next, std::memory_order_release);
    return next.has_value();
  }

 private:
  std::atomic<CallState> state_{CallState::kNew};
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALL_STATE_H_
