// SPDX-License-Identifier: Apache-2.0
//
// Wakes clients together: ranks of one node mostly get their results at the same moment.
#ifndef COPSE_DAEMON_SHM_GROUP_WAKE_H_
#define COPSE_DAEMON_SHM_GROUP_WAKE_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "protocol/ring_layout.h"

namespace copse::daemon {

// Every client has a seat: a futex word of the daemon page and a bit. Those to be woken are collected and then woken
// with one system call a word (measured: a call each takes 128 ranks' daemon longer than the network does). More
// clients than seats share them, and are then woken at times for another's sake, which they notice.
//
// Only the loop's thread calls it.
class GroupWake {
 public:
  struct Seat {
    uint32_t word = 0;
    uint32_t bit = 0;
  };

  // `words`: ring::kWakeWords of them; they outlive it.
  explicit GroupWake(ring::WakeWord* words) : words_(words) {}

  // The seat that the fewest have; Leave gives it back.
  Seat Take();
  void Leave(Seat seat);

  // `seat`'s client sleeps and shall be woken by the next Wake.
  void Add(Seat seat);
  // Wakes all that were added since the last one. Returns the number of system calls.
  uint32_t Wake();

 private:
  static constexpr uint32_t kBits = 32;

  ring::WakeWord* const words_;
  std::array<uint32_t, ring::kWakeWords * kBits> taken_{};  // clients by seat
  std::array<uint32_t, ring::kWakeWords> bits_{};           // to be woken, by word
  uint32_t words_end_ = 0;                                  // words at and behind it have nobody to be woken
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_GROUP_WAKE_H_
