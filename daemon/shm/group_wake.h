// SPDX-License-Identifier: Apache-2.0
//
// Wakes clients together, since the ranks of a node mostly get their results at the same moment.
#ifndef COPSE_DAEMON_SHM_GROUP_WAKE_H_
#define COPSE_DAEMON_SHM_GROUP_WAKE_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "protocol/ring_layout.h"

namespace copse::daemon {

// A GroupWake collects the clients to be woken, and wakes them together. Every client has a seat: a futex word of the
// daemon page and a bit. There is one system call for each word (measured: one for each of 128 ranks takes longer than
// the network). Clients may share a seat; they then sometimes wake in vain, and sleep again. Only the loop's thread
// calls it.
class GroupWake {
 public:
  struct Seat {
    uint32_t word = 0;
    uint32_t bit = 0;
  };

  // `words` is an array of ring::kWakeWords words, and must outlive this object.
  explicit GroupWake(ring::WakeWord* words) : words_(words) {}

  // Returns the seat with the fewest clients. Leave gives it back.
  Seat Take();
  void Leave(Seat seat);

  // Adds the clients of `seat` to those that the next Wake wakes.
  void Add(Seat seat);
  // Wakes all clients added since the last Wake. Returns the number of system calls.
  uint32_t Wake();

 private:
  static constexpr uint32_t kBits = 32;

  ring::WakeWord* const words_;
  std::array<uint32_t, ring::kWakeWords * kBits> taken_{};  // clients by seat
  std::array<uint32_t, ring::kWakeWords> bits_{};           // bits to be woken, by word
  uint32_t words_end_ = 0;                                  // no word from here on has bits to be woken
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_GROUP_WAKE_H_
