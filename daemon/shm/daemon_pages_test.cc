// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/daemon_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/ids.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {
namespace {

constexpr uint32_t kUid = 1000, kOtherUid = 2000;

// A page as its clients see it.
class Seen {
 public:
  explicit Seen(const DaemonPage& page)
      : memory_(mmap(nullptr, ring::kPageBytes, PROT_READ, MAP_SHARED, page.fd(), 0)) {}
  ~Seen() { munmap(memory_, ring::kPageBytes); }
  const ring::DaemonPage* operator->() const { return static_cast<const ring::DaemonPage*>(memory_); }

 private:
  void* const memory_;
};

TEST(DaemonPagesTest, UsersShareNoPage) {
  DaemonPages pages(Incarnation(7));
  DaemonPage* const first = *pages.Enter(kUid);
  EXPECT_EQ(*pages.Enter(kUid), first);
  DaemonPage* const other = *pages.Enter(kOtherUid);
  EXPECT_NE(other, first);
  const Seen seen(*first), others(*other);
  first->group_wake().Add(first->group_wake().Take());
  pages.Wake();
  EXPECT_EQ(seen->wake[0].value.load(), 1u);
  EXPECT_EQ(others->wake[0].value.load(), 0u);
  EXPECT_EQ(others->incarnation, 7u);
}

TEST(DaemonPagesTest, AllPagesSayTheSame) {
  DaemonPages pages(Incarnation(7));
  const Seen seen(**pages.Enter(kUid));
  pages.SetSleeping(true);
  const Seen later(**pages.Enter(kOtherUid));
  EXPECT_EQ(seen->sleeping.load(), 1u);
  EXPECT_EQ(later->sleeping.load(), 1u);
  pages.SetSleeping(false);
  pages.CountTurn();
  EXPECT_EQ(seen->sleeping.load(), 0u);
  EXPECT_EQ(later->sleeping.load(), 0u);
  EXPECT_EQ(seen->turns.load(), 1u);
  EXPECT_EQ(later->turns.load(), 1u);
}

TEST(DaemonPagesTest, APageEndsWithItsLastClient) {
  DaemonPages pages(Incarnation(7));
  ASSERT_TRUE(pages.Enter(kUid).ok());
  ASSERT_TRUE(pages.Enter(kUid).ok());
  pages.Leave(kUid);
  EXPECT_EQ(pages.size(), 1u);
  pages.Leave(kUid);
  EXPECT_EQ(pages.size(), 0u);
}

}  // namespace
}  // namespace copse::daemon
