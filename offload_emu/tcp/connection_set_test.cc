// SPDX-License-Identifier: Apache-2.0
//
// Tests guesses; tcp_transport_test has the rest.
#include "offload_emu/tcp/connection_set.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "offload_emu/tcp/testing/stream_pair.h"

namespace copse::emu {
namespace {

class ConnectionSetTest : public testing::Test {
 protected:
  TcpConnection* Attached(StreamPair* streams, LaneKind lane) {
    TcpConnection* const connection = set_.Add(std::move(streams->near), ConnectionStage::kDialing);
    connection->lane = lane;
    set_.SetAttached(connection);
    return connection;
  }

  // Sends a message to the connection, whose event is awaited and found by Poll. It is read.
  void Arrive(const StreamPair& from, TcpConnection* connection) {
    WireHeader header{};
    from.far->Put(header, {}, false);
    from.far->Write();
    pollfd ready = {.fd = set_.epoll(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&ready, 1, -1), 1);
    const auto events = Poll();
    ASSERT_EQ(events.size(), 1u);
    const uint64_t id = events[0].data.u64;  // it is not aligned
    EXPECT_EQ(id, connection->id);
    EXPECT_TRUE(connection->stream->Read(&buffer_, [](const WireHeader&, absl::Span<const uint8_t>) { return true; }));
  }

  TcpConnection* GuessAfterSleep() {
    set_.OnSleep();
    return set_.Guess();
  }

  absl::Span<const epoll_event> Poll() { return set_.Poll(absl::MakeSpan(storage_)); }

  const MonotonicClock clock_{};
  StreamPair streams_, others_;
  ReadBuffer buffer_;
  std::array<epoll_event, 4> storage_;
  ConnectionSet set_{&clock_,
                     {.hello_timeout = absl::Seconds(10), .strangers_max = 1},
                     UniqueFd(),
                     UniqueFd(epoll_create1(EPOLL_CLOEXEC))};
};

TEST_F(ConnectionSetTest, GuessesTheConnectionThatAloneHadTheLastEventsOfTwoPolls) {
  TcpConnection* const one = Attached(&streams_, LaneKind::kShort);
  TcpConnection* const other = Attached(&others_, LaneKind::kShort);
  EXPECT_EQ(GuessAfterSleep(), nullptr);
  Arrive(streams_, one);
  EXPECT_EQ(GuessAfterSleep(), nullptr);
  Arrive(streams_, one);
  EXPECT_EQ(GuessAfterSleep(), one);
  EXPECT_EQ(Poll().size(), 0u);
  EXPECT_EQ(GuessAfterSleep(), one);
  Arrive(others_, other);
  EXPECT_EQ(GuessAfterSleep(), nullptr);
}

TEST_F(ConnectionSetTest, GuessesOnceAfterASleep) {
  TcpConnection* const one = Attached(&streams_, LaneKind::kShort);
  Arrive(streams_, one);
  Arrive(streams_, one);
  EXPECT_EQ(set_.Guess(), nullptr);
  EXPECT_EQ(GuessAfterSleep(), one);
  EXPECT_EQ(set_.Guess(), nullptr);
}

TEST_F(ConnectionSetTest, GuessesNoConnectionOfLongFramesAndNoneThatIsGone) {
  TcpConnection* const bulk = Attached(&streams_, LaneKind::kBulk);
  Arrive(streams_, bulk);
  Arrive(streams_, bulk);
  EXPECT_EQ(GuessAfterSleep(), nullptr);
  TcpConnection* const one = Attached(&others_, LaneKind::kShort);
  Arrive(others_, one);
  Arrive(others_, one);
  EXPECT_EQ(GuessAfterSleep(), one);
  set_.Erase(one);
  EXPECT_EQ(GuessAfterSleep(), nullptr);
}

}  // namespace
}  // namespace copse::emu
