// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/group_wake.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace copse::daemon {

GroupWake::Seat GroupWake::Take() {
  const auto seat = std::min_element(taken_.begin(), taken_.end());
  ++*seat;
  const auto index = static_cast<uint32_t>(seat - taken_.begin());
  return {index / kBits, index % kBits};
}

void GroupWake::Leave(Seat seat) {
  uint32_t& taken = taken_[seat.word * kBits + seat.bit];
  CHECK(taken > 0);
  --taken;
}

void GroupWake::Add(Seat seat) {
  bits_[seat.word] |= 1u << seat.bit;
  words_end_ = std::max(words_end_, seat.word + 1);
}

uint32_t GroupWake::Wake() {
  uint32_t calls = 0;
  for (uint32_t i = 0; i < words_end_; ++i) {
    const uint32_t bits = std::exchange(bits_[i], 0);
    if (bits == 0) continue;
    std::atomic<uint32_t>& value = words_[i].value;
    // Pairs with the futex's check of the word: a client that is about to sleep on the old value does not sleep.
    value.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &value, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, bits);
    ++calls;
  }
  words_end_ = 0;
  return calls;
}

}  // namespace copse::daemon
