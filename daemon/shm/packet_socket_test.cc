// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/packet_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protocol/attach_protocol.h"

namespace copse::daemon {
namespace {

class PacketSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    a_ = UniqueFd(pair[0]);
    b_ = UniqueFd(pair[1]);
  }

  UniqueFd a_, b_;
  Packet packet_;
};

TEST_F(PacketSocketTest, MessagesAndDescriptorsArrive) {
  auto sent = NewMessage<attach::TeamDestroy>(attach::MessageType::kTeamDestroy, 7);
  sent.handle = 9;
  ASSERT_TRUE(SendMessage(a_.get(), sent, {STDIN_FILENO, STDOUT_FILENO}).ok());
  ASSERT_EQ(*ReceivePacket(b_.get(), &packet_), Receipt::kPacket);
  attach::TeamDestroy got;
  ASSERT_TRUE(packet_.As(&got));
  EXPECT_EQ(got.head.request, 7u);
  EXPECT_EQ(got.handle, 9u);
  EXPECT_EQ(packet_.descriptors.size(), 2u);
  attach::TeamCreate other;
  EXPECT_FALSE(packet_.As(&other));
}

TEST_F(PacketSocketTest, SaysWhenThereIsNothingAndWhenItIsOver) {
  EXPECT_EQ(*ReceivePacket(b_.get(), &packet_), Receipt::kNothing);
  a_.reset();
  EXPECT_EQ(*ReceivePacket(b_.get(), &packet_), Receipt::kClosed);
  EXPECT_FALSE(ReceivePacket(-1, &packet_).ok());
}

TEST_F(PacketSocketTest, ReadsWhatCameBeforeAResetConnection) {
  const auto message = NewMessage<attach::TeamDestroy>(attach::MessageType::kTeamDestroy, 7);
  ASSERT_TRUE(SendMessage(b_.get(), message).ok());  // which is never read
  ASSERT_TRUE(SendMessage(a_.get(), message).ok());
  a_.reset();
  EXPECT_EQ(*ReceivePacket(b_.get(), &packet_), Receipt::kPacket);
  EXPECT_EQ(*ReceivePacket(b_.get(), &packet_), Receipt::kClosed);
}

TEST_F(PacketSocketTest, RefusesWhatIsTooLong) {
  const std::vector<uint8_t> bytes(attach::kMessageBytesMax + 1);
  ASSERT_TRUE(SendBytes(a_.get(), bytes, {}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(ReceivePacket(b_.get(), &packet_).status()));
}

TEST_F(PacketSocketTest, RefusesTooManyDescriptorsAndKeepsNone) {
  const std::vector<uint8_t> bytes(8);
  std::vector<int> descriptors(kDescriptorsMax + 1, STDIN_FILENO);
  // SendBytes sends no more than kDescriptorsMax, so by hand.
  iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE((kDescriptorsMax + 1) * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  ASSERT_GT(sendmsg(a_.get(), &header, 0), 0);
  const int before = dup(STDIN_FILENO);
  close(before);
  EXPECT_TRUE(absl::IsInvalidArgument(ReceivePacket(b_.get(), &packet_).status()));
  packet_.descriptors.clear();
  const int after = dup(STDIN_FILENO);
  close(after);
  EXPECT_EQ(before, after);
}

TEST_F(PacketSocketTest, DoesNotWaitForAPeerThatDoesNotRead) {
  const auto message = NewMessage<attach::Closing>(attach::MessageType::kClosing, 0);
  absl::Status sent;
  for (int i = 0; i < 100000 && sent.ok(); ++i) sent = SendMessage(a_.get(), message);
  EXPECT_TRUE(absl::IsResourceExhausted(sent)) << sent;
  b_.reset();
  EXPECT_TRUE(absl::IsUnavailable(SendMessage(a_.get(), message)));
}

TEST(GetTextTest, TakesPrintableTextThatEnds) {
  const char good[8] = "copse";
  EXPECT_EQ(*GetText("name", good), "copse");
  const char full[3] = {'a', 'b', 'c'};
  EXPECT_TRUE(absl::IsInvalidArgument(GetText("name", full).status()));
  const char control[4] = "a\nb";
  EXPECT_TRUE(absl::IsInvalidArgument(GetText("name", control).status()));
}

TEST(SetTextTest, CutsWhatDoesNotFit) {
  char field[4] = {};
  SetText(field, "abcdef");
  EXPECT_STREQ(field, "abc");
}

}  // namespace
}  // namespace copse::daemon
