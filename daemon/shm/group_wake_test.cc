// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/group_wake.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "daemon/shm/daemon_page.h"

namespace copse::daemon {
namespace {

class GroupWakeTest : public testing::Test {
 protected:
  void SetUp() override {
    page_ = *DaemonPage::Create(Incarnation(1));
    // As a client maps it.
    void* memory = mmap(nullptr, ring::kPageBytes, PROT_READ, MAP_SHARED, page_->fd(), 0);
    ASSERT_NE(memory, MAP_FAILED);
    seen_ = static_cast<const ring::DaemonPage*>(memory);
  }
  void TearDown() override { munmap(const_cast<ring::DaemonPage*>(seen_), ring::kPageBytes); }

  const std::atomic<uint32_t>& Word(GroupWake::Seat seat) const { return seen_->wake[seat.word].value; }
  // Sleeps at `seat` until woken there.
  void SleepAt(GroupWake::Seat seat) const {
    const std::atomic<uint32_t>& word = Word(seat);
    const uint32_t before = word.load();
    while (syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, before, nullptr, nullptr, 1u << seat.bit) != 0 &&
           errno == EINTR) {
    }
  }
  // Whether a client that loaded `before` would sleep; waits for nobody.
  bool WouldSleep(GroupWake::Seat seat, uint32_t before) const {
    const timespec past{};
    return syscall(SYS_futex, &Word(seat), FUTEX_WAIT_BITSET, before, &past, nullptr, 1u << seat.bit) != 0 &&
           errno == ETIMEDOUT;
  }

  std::unique_ptr<DaemonPage> page_;
  const ring::DaemonPage* seen_ = nullptr;
};

TEST_F(GroupWakeTest, SeatsAreSharedOnlyOnceAllAreTaken) {
  GroupWake& group = page_->group_wake();
  std::set<std::pair<uint32_t, uint32_t>> seats;
  const uint32_t count = ring::kWakeWords * 32;
  for (uint32_t i = 0; i < count; ++i) {
    const GroupWake::Seat seat = group.Take();
    EXPECT_LT(seat.word, ring::kWakeWords);
    EXPECT_LT(seat.bit, 32u);
    seats.emplace(seat.word, seat.bit);
  }
  EXPECT_EQ(seats.size(), count);
  group.Leave({3, 7});
  const GroupWake::Seat free = group.Take();
  EXPECT_EQ(std::make_pair(free.word, free.bit), std::make_pair(3u, 7u));
  group.Take();  // shared from here on
}

TEST_F(GroupWakeTest, OneCallWakesAllOfAWordAndNobodyElse) {
  GroupWake& group = page_->group_wake();
  constexpr int kSleepers = 8;
  std::vector<GroupWake::Seat> seats;
  for (int i = 0; i < kSleepers; ++i) seats.push_back(group.Take());
  const GroupWake::Seat other{1, 0};
  const uint32_t before = Word(seats[0]).load();
  const uint32_t other_before = Word(other).load();

  std::atomic<int> awake = 0;
  std::vector<std::thread> sleepers;
  for (const GroupWake::Seat seat : seats) {
    sleepers.emplace_back([&, seat] {
      SleepAt(seat);
      ++awake;
    });
  }
  // A sleeper that has not come as far as to sleep finds the word changed, or is woken by a later round.
  while (awake < kSleepers) {
    for (const GroupWake::Seat seat : seats) group.Add(seat);
    EXPECT_EQ(group.Wake(), 1u);
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_FALSE(WouldSleep(seats[0], before));
  EXPECT_TRUE(WouldSleep(other, other_before));
  EXPECT_EQ(group.Wake(), 0u);

  group.Add(other);
  group.Add(seats[0]);
  EXPECT_EQ(group.Wake(), 2u);
  EXPECT_FALSE(WouldSleep(other, other_before));
}

}  // namespace
}  // namespace copse::daemon
