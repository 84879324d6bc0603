// SPDX-License-Identifier: Apache-2.0
#include "client/run/lease.h"

#include <poll.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;

constexpr absl::Duration kPatience = absl::Seconds(5);

bool HasEnded(const Lease& lease, int timeout_ms) {
  pollfd event = {.fd = lease.fd.get(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return poll(&event, 1, timeout_ms) == 1;
}

TEST(LeaseTest, EndsWithItsListenerWithoutBeingAccepted) {
  auto listener = ListenForLeases();
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::vector<Lease> leases;
  for (int i = 0; i < 3; ++i) {
    auto lease = TakeLease({"127.0.0.1"}, listener->port, kPatience);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(lease->here, "127.0.0.1");
    EXPECT_FALSE(HasEnded(*lease, 0));
    leases.push_back(*std::move(lease));
  }
  listener->fd.reset();
  for (const Lease& lease : leases) EXPECT_TRUE(HasEnded(lease, 5000));
}

TEST(LeaseTest, AnAddressThatRefusesOrIsNoneIsPassedOver) {
  const auto listener = ListenForLeases();
  ASSERT_TRUE(listener.ok()) << listener.status();
  // 240.0.0.1 has no route; the listener has the whole of 127.0.0.0/8.
  const auto lease = TakeLease({"no address", "240.0.0.1", "127.0.0.2"}, listener->port, kPatience);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->there, "127.0.0.2");
}

TEST(LeaseTest, NamesTheAddressesOfWhichNoneAnswers) {
  auto listener = ListenForLeases();
  ASSERT_TRUE(listener.ok()) << listener.status();
  listener->fd.reset();
  const absl::Time start = absl::Now();
  EXPECT_THAT(TakeLease({"127.0.0.1", "127.0.0.2"}, listener->port, kPatience),
              FailsWith(absl::StatusCode::kUnavailable, "addresses=127.0.0.1 127.0.0.2"));
  EXPECT_LT(absl::Now() - start, kPatience);  // a refusal is not waited for
}

TEST(LeaseTest, ThisMachinesAddressesAreReachable) {
  const auto listener = ListenForLeases();
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::vector<std::string> addresses = OwnAddresses();
  ASSERT_FALSE(addresses.empty());
  EXPECT_LE(addresses.size(), kAddressesMax);
  for (const std::string& address : addresses) EXPECT_TRUE(TakeLease({address}, listener->port, kPatience).ok());
}

}  // namespace
}  // namespace copse::run
