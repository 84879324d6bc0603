// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "daemon/loop/mailbox.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

UniqueFd ReadyFd() { return UniqueFd(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)); }

TEST(PollerTest, CallsTheFunctionOfAReadyDescriptor) {
  const std::unique_ptr<Poller> poller = *Poller::Create();
  const UniqueFd fd = ReadyFd();
  uint32_t seen = 0;
  ASSERT_TRUE(poller->Watch(fd.get(), EPOLLIN, [&](uint32_t events) { seen = events; }).ok());
  EXPECT_TRUE(poller->Wait(absl::Seconds(10)));
  EXPECT_EQ(seen, uint32_t{EPOLLIN});
}

TEST(PollerTest, TimesOutWhenNothingIsReady) {
  const std::unique_ptr<Poller> poller = *Poller::Create();
  EXPECT_FALSE(poller->Wait(absl::Microseconds(1)));
  EXPECT_FALSE(poller->Wait(-absl::InfiniteDuration()));
}

TEST(PollerTest, RefusesADescriptorThatIsNotOpen) {
  const std::unique_ptr<Poller> poller = *Poller::Create();
  EXPECT_FALSE(poller->Watch(-1, EPOLLIN, nullptr).ok());
}

TEST(PollerTest, AFunctionMayUnwatchItselfAndOthersThatAreReady) {
  const std::unique_ptr<Poller> poller = *Poller::Create();
  const UniqueFd a = ReadyFd();
  const UniqueFd b = ReadyFd();
  int calls = 0;
  const auto unwatch_all = [&, kept = std::vector<int>(100)](uint32_t) {
    poller->Unwatch(a.get());
    poller->Unwatch(b.get());
    calls += 1 + kept[99];
  };
  ASSERT_TRUE(poller->Watch(a.get(), EPOLLIN, unwatch_all).ok());
  ASSERT_TRUE(poller->Watch(b.get(), EPOLLIN, unwatch_all).ok());
  EXPECT_TRUE(poller->Wait(absl::Seconds(10)));
  EXPECT_FALSE(poller->Wait(absl::ZeroDuration()));
  EXPECT_EQ(calls, 1);
}

TEST(MailboxTest, RunsLettersInOrderAndWakesTheSleeper) {
  const std::unique_ptr<Poller> poller = *Poller::Create();
  const std::unique_ptr<Mailbox> mailbox = *Mailbox::Create();
  ASSERT_TRUE(poller->Watch(mailbox->event_fd(), EPOLLIN | EPOLLET, nullptr).ok());
  EXPECT_FALSE(mailbox->Drain());
  std::vector<int> got;
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) mailbox->Post([&got, i] { got.push_back(i); });
  });
  while (got.size() < 1000) {
    if (mailbox->Drain()) continue;
    ASSERT_TRUE(poller->Wait(absl::Seconds(10)));
  }
  poster.join();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(got[i], i);
}

}  // namespace
}  // namespace copse::daemon
