// SPDX-License-Identifier: Apache-2.0
//
// Defines the states of a range of pages that is closed to the program, and the word that holds them. Threads wait on
// the word, and signal handlers change it without a lock.
#ifndef COPSE_CLIENT_TNBC_PAGES_PAGE_STATE_H_
#define COPSE_CLIENT_TNBC_PAGES_PAGE_STATE_H_

#include <cstdint>

namespace copse::tnbc {

// A range whose data is in transfer goes from kPending to kFailed, or to kArrived, kOpening and kOpen; a snapshot,
// whose data is to be sent, from kPending to kCopying and kSettled. A range may be taken out of the index in any state.
enum class PageState : uint32_t {
  kPending,  // an access waits; a write to a snapshot makes its thread claim and copy it
  kFailed,   // its data will never arrive
  kArrived,  // its data is there, and it is closed only to record its first access
  kOpening,  // a thread opens it
  kOpen,
  kCopying,  // a thread has claimed the snapshot
  kSettled,  // the snapshot is copied and open
};

constexpr bool HasArrived(PageState state) { return state >= PageState::kArrived && state <= PageState::kOpen; }

// The lowest bits of a word are the state of its range. The others count the ranges that had the word, so a thread that
// knows the word of a range that is no longer in the index cannot change the state of the next one.
inline constexpr uint32_t kWordStates = 8;

constexpr PageState StateOf(uint32_t word) { return static_cast<PageState>(word % kWordStates); }
constexpr uint32_t WithState(uint32_t word, PageState state) {
  return word - word % kWordStates + static_cast<uint32_t>(state);
}
// Returns the word of the next range that has it.
constexpr uint32_t NextRange(uint32_t word) { return WithState(word, PageState::kPending) + kWordStates; }
constexpr bool IsOfSameRange(uint32_t a, uint32_t b) { return a / kWordStates == b / kWordStates; }

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_STATE_H_
