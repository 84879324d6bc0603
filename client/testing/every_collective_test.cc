// SPDX-License-Identifier: Apache-2.0
//
// All collectives by the C API, on the fake daemon: what libcopse makes of buffers, counts and displacements.

#include "client/testing/every_collective.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

void RunOnFake(uint32_t size, const EveryCollectiveOptions& options, FakeDaemon::Options daemon_options) {
  daemon_options.message_bytes_max = uint64_t{1} << 46;
  FakeDaemon daemon(daemon_options);
  OnRanks(daemon, size, [&](FakeRank& self) { EXPECT_EQ(RunEveryCollective(self.context, self.team, options), ""); });
}

TEST(EveryCollectiveTest, ShortMessagesOfTeamsOfAllSizes) {
  for (uint32_t size = 1; size <= 7; ++size) RunOnFake(size, {.seed = size, .rounds = 400, .bytes_max = 2000}, {});
}

TEST(EveryCollectiveTest, MessagesAroundTheDataAreasSize) {
  FakeDaemon::Options options{.data_bytes = 64 << 10};  // what is longer than half of it needs a bounce region
  RunOnFake(3, {.seed = 11, .rounds = 300, .bytes_max = 80'000}, options);
}

TEST(EveryCollectiveTest, LongMessages) { RunOnFake(2, {.seed = 12, .rounds = 60, .bytes_max = 6u << 20}, {}); }

TEST(EveryCollectiveTest, WithoutRegisteredMemoryShortMessagesAreCopied) {
  FakeDaemon::Options options{.registers_memory = false};
  RunOnFake(4, {.seed = 13, .rounds = 300, .bytes_max = 2000}, options);
}

}  // namespace
}  // namespace copse::client
