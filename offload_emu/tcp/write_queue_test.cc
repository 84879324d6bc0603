// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/write_queue.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace copse::emu {
namespace {

class WriteQueueTest : public ::testing::Test {
 protected:
  WriteQueueTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    near_ = UniqueFd(ends[0]);
    far_ = UniqueFd(ends[1]);
  }

  void Append(const std::string& text) { std::memcpy(queue_.Append(text.size()), text.data(), text.size()); }
  void Lend(const std::string& text) {
    queue_.AppendLent({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  // Returns what has arrived.
  std::string Receive() {
    std::string all;
    char bytes[4096];
    for (ssize_t count; (count = read(far_.get(), bytes, sizeof(bytes))) > 0;) all.append(bytes, bytes + count);
    return all;
  }

  UniqueFd near_, far_;
  WriteQueue queue_;
};

TEST_F(WriteQueueTest, WritesOwnAndLentBytesInOrder) {
  const std::string lent = "lent";
  Append("own ");
  Append("bytes ");
  Lend(lent);
  Append(" more");
  EXPECT_EQ(queue_.backlog(), 19u);
  EXPECT_EQ(queue_.lent(), 1u);
  EXPECT_TRUE(queue_.WriteTo(near_.get()).ok());
  EXPECT_EQ(Receive(), "own bytes lent more");
  EXPECT_EQ(queue_.backlog(), 0u);
  EXPECT_EQ(queue_.lent(), 0u);
  EXPECT_EQ(queue_.taken(), 19u);
}

TEST_F(WriteQueueTest, GoesOnWhereAFullSocketHasStopped) {
  const std::string lent(3'000'000, 'b');
  const std::string own(1'000'000, 'a');
  Append(own);
  Lend(lent);
  Append("end");
  std::string received;
  while (queue_.backlog() > 0) {
    ASSERT_TRUE(queue_.WriteTo(near_.get()).ok());
    if (queue_.backlog() > 3) {
      EXPECT_EQ(queue_.lent(), 1u);
    }
    received += Receive();
  }
  EXPECT_EQ(queue_.lent(), 0u);
  EXPECT_TRUE(received == own + lent + "end");
}

TEST_F(WriteQueueTest, PacketsOfLimitedLengthBringAllToo) {
  const std::string lent = "lent";
  for (size_t most = 1; most <= 13; ++most) {  // each piece ends in a packet, and begins there
    queue_.SetPacketBytesMax(most);
    Append("own ");
    Lend(lent);
    Append(" more");
    EXPECT_TRUE(queue_.WriteTo(near_.get()).ok());
    EXPECT_EQ(Receive(), "own lent more") << most;
  }
}

TEST_F(WriteQueueTest, ASocketThatIsGoneIsAnErrorAndWhatIsLeftCanBeDropped) {
  far_.reset();
  const std::string lent = "lent";
  Lend(lent);
  EXPECT_EQ(queue_.WriteTo(near_.get()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(queue_.lent(), 1u);
  queue_.Clear();
  EXPECT_EQ(queue_.lent(), 0u);
  EXPECT_EQ(queue_.backlog(), 0u);
  EXPECT_EQ(queue_.taken(), 0u);
}

}  // namespace
}  // namespace copse::emu
