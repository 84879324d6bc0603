// SPDX-License-Identifier: Apache-2.0
//
// Defines the states of a pending call, and the table of their transitions. A closed page is inaccessible to the
// program.
#ifndef COPSE_CLIENT_TNBC_CALL_STATE_H_
#define COPSE_CLIENT_TNBC_CALL_STATE_H_

#include <atomic>
#include <cstdint>
#include <optional>

namespace copse::tnbc {

enum class CallState : uint8_t {
  kNew,                  // until the edges are posted and all requests are initialized
  kEdgesPosted,          // the edges are in flight, and the caller is in the call
  kEdgesReceived,        // the edges are in the receive buffer; fragments may be posted; the caller is in the call
  kAwaited,              // likewise; the caller waits for all fragments, after which it copies the result
  kReturnedBeforeEdges,  // the caller has returned; the edges are in flight; the result's pages are closed
  kReturned,             // the caller has returned; pages of the result are opened as their fragments are delivered
  kDelivered,            // the caller has returned, and the whole result is in the receive buffer
  kComplete,             // the whole result has been received, and the caller copies it to the receive buffer
  kFailed,               // a request of the call has failed; pages that are still closed stay so until kAbandon
  kAbandoned,            // all pages are open; data that had not arrived is undefined
};

enum class CallEvent : uint8_t {
  kPost,               // the edges are posted, and all requests are initialized
  kReceiveEdges,       // the edges are in the receive buffer
  kReturnBeforeEdges,  // the result's pages are closed, including those of the edges
  kReturn,             // the result's pages are closed
  kAwait,              // the caller waits for the fragments, since it may not return or the pages cannot be closed
  kComplete,           // all fragments are complete, and the announcement, if there is one
  kFail,
  kAbandon,
};

inline constexpr int kCallStates = 10, kCallEvents = 8;

struct CallTransition {
  CallState from;
  CallEvent event;
  CallState to;
};

// Lists all legal transitions; CallProgress refuses others.
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

// Returns the state to which `event` leads from `from`; nullopt if that is illegal.
constexpr std::optional<CallState> NextState(CallState from, CallEvent event) {
  for (const CallTransition& transition : kCallTransitions) {
    if (transition.from == from && transition.event == event) return transition.to;
  }
  return std::nullopt;
}

// Returns whether the call has not completed, failed or been abandoned.
constexpr bool IsUnderWay(CallState state) { return state < CallState::kDelivered; }
// Returns whether fragments may be posted.
constexpr bool MayPostFragments(CallState state) {
  return state == CallState::kEdgesReceived || state == CallState::kAwaited || state == CallState::kReturned;
}
// Returns whether the caller has returned while the call is in flight.
constexpr bool HasReturned(CallState state) {
  return state == CallState::kReturnedBeforeEdges || state == CallState::kReturned;
}

// A CallProgress holds the state of a call. Take is called with the call's lock held; any thread may call state().
class CallProgress {
 public:
  // Acquire: pairs with the release in Take, so a thread that sees kReturned sees all stores made before the return.
  CallState state() const { return state_.load(std::memory_order_acquire); }

  // Applies `event`. Returns false, changing nothing, if the table has no such transition.
  [[nodiscard]] bool Take(CallEvent event) {
    const std::optional<CallState> next = NextState(state_.load(std::memory_order_relaxed), event);
    // Release: pairs with the acquire in state().
    if (next.has_value()) state_.store(*next, std::memory_order_release);
    return next.has_value();
  }

 private:
  std::atomic<CallState> state_{CallState::kNew};
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALL_STATE_H_
