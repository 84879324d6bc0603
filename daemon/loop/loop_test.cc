// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/poller.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

// Records the order of calls; has work for `work` rounds.
class FakeWork final : public LoopWork {
 public:
  bool ReadPosts() override {
    calls += 'r';
    if (mailbox != nullptr && mailbox->Drain()) return true;
    return work > 0 && work-- > 0;
  }
  bool Progress() override {
    calls += 'p';
    return false;
  }
  void SetSleeping(bool sleeping) override { calls += sleeping ? 'S' : 'W'; }
  bool ArmNetwork() override {
    calls += 'a';
    if (armings.empty()) return true;
    const bool armed = armings.front();
    armings.pop_front();
    return armed;
  }
  absl::Time NextDeadline() override { return deadline; }

  std::string calls;
  int work = 0;
  std::deque<bool> armings;
  absl::Time deadline = absl::InfiniteFuture();
  Mailbox* mailbox = nullptr;
};

class LoopTest : public testing::Test {
 protected:
  MonotonicClock clock_;
  std::unique_ptr<Poller> poller_ = *Poller::Create();
  FakeWork work_;
};

TEST_F(LoopTest, LooksAgainAfterTheSleepingFlagAndArmsLast) {
  Loop loop(&clock_, poller_.get(), &work_, {absl::ZeroDuration(), absl::Milliseconds(1)});
  work_.work = 1;
  loop.Turn();
  EXPECT_EQ(work_.calls, "rprpSraW");
  EXPECT_EQ(loop.stats().sleeps, 1u);
  EXPECT_EQ(loop.stats().sleeps_timed_out, 1u);
}

TEST_F(LoopTest, DoesNotSleepWhileTheNetworkIsBusy) {
  Loop loop(&clock_, poller_.get(), &work_, {absl::ZeroDuration(), absl::Hours(1)});
  work_.armings = {false};
  loop.Turn();
  EXPECT_EQ(work_.calls, "rpSraW");
  EXPECT_EQ(loop.stats().sleeps, 0u);
}

TEST_F(LoopTest, SleepsUntilTheDeadlineAtMost) {
  Loop loop(&clock_, poller_.get(), &work_, {absl::ZeroDuration(), absl::Hours(1)});
  const absl::Time begin = clock_.Now();
  work_.deadline = begin + absl::Milliseconds(20);
  loop.Turn();
  EXPECT_GE(clock_.Now() - begin, absl::Milliseconds(20));
  EXPECT_LT(clock_.Now() - begin, absl::Seconds(10));
}

TEST_F(LoopTest, EndlessWorkStillLooksAtDescriptors) {
  Loop loop(&clock_, poller_.get(), &work_, {absl::ZeroDuration(), absl::Hours(1)});
  const std::unique_ptr<Mailbox> mailbox = *Mailbox::Create();
  work_.work = 1 << 30;
  ASSERT_TRUE(poller_->Watch(mailbox->event_fd(), EPOLLIN | EPOLLET, [&](uint32_t) { loop.Stop(); }).ok());
  mailbox->Post([] {});
  loop.Run();
  EXPECT_EQ(loop.stats().sleeps, 0u);
}

TEST_F(LoopTest, NapsWhenADescriptorIsReadyInVainAllTheTime) {
  Loop loop(&clock_, poller_.get(), &work_, {absl::ZeroDuration(), absl::Hours(1)});
  const UniqueFd always(eventfd(1, EFD_CLOEXEC));
  ASSERT_TRUE(poller_->Watch(always.get(), EPOLLIN, nullptr).ok());
  for (int i = 0; i < 100; ++i) loop.Turn();
  EXPECT_EQ(loop.stats().sleeps, 100u);
  EXPECT_EQ(loop.stats().naps, 68u);
  work_.work = 1;
  loop.Turn();
  EXPECT_EQ(loop.stats().naps, 68u);
}

TEST_F(LoopTest, LettersOfAnotherThreadWakeIt) {
  Loop loop(&clock_, poller_.get(), &work_, {absl::Microseconds(50), absl::Hours(1)});
  const std::unique_ptr<Mailbox> mailbox = *Mailbox::Create();
  work_.mailbox = mailbox.get();
  ASSERT_TRUE(poller_->Watch(mailbox->event_fd(), EPOLLIN | EPOLLET, nullptr).ok());
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) mailbox->Post([] {});
    mailbox->Post([&] { loop.Stop(); });
  });
  loop.Run();
  poster.join();
}

}  // namespace
}  // namespace copse::daemon
