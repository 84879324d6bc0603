// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/frame.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "testbed/fabric/switch_core.h"

namespace copse::fabric {
namespace {

std::vector<uint8_t> FrameTo(const MacAddress& mac, size_t bytes) {
  std::vector<uint8_t> frame(bytes);
  std::copy(mac.begin(), mac.end(), frame.begin());
  return frame;
}

TEST(FrameTest, AddressesCountFromOne) {
  EXPECT_EQ(AddressOf(0), 0x0a4d0001u);
  EXPECT_EQ(AddressOf(255), 0x0a4d0100u);
  EXPECT_EQ(MacOf(0x1ff), (MacAddress{0x02, 0x77, 0, 0, 0x02, 0x00}));
}

TEST(FrameTest, DestinationsAreNodesEveryoneOrNobody) {
  EXPECT_EQ(DestinationOf(FrameTo(MacOf(0), 60), 3), 0u);
  EXPECT_EQ(DestinationOf(FrameTo(MacOf(2), 60), 3), 2u);
  EXPECT_EQ(DestinationOf(FrameTo(MacOf(3), 60), 3), kNone);
  EXPECT_EQ(DestinationOf(FrameTo({0x02, 0x77, 0, 0, 0, 0}, 60), 3), kNone);
  EXPECT_EQ(DestinationOf(FrameTo({0x02, 0x78, 0, 0, 0, 1}, 60), 3), kNone);
  EXPECT_EQ(DestinationOf(FrameTo({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 60), 3), kEveryone);
  EXPECT_EQ(DestinationOf(FrameTo({0x01, 0, 0x5e, 0, 0, 1}, 60), 3), kEveryone);
  EXPECT_EQ(DestinationOf(FrameTo(MacOf(0), 13), 3), kNone);
}

TEST(FrameTest, AFrameHasEthernetsBytesOnTheWire) {
  EXPECT_EQ(ShapeOf({}, std::vector<uint8_t>(1514)).wire_bytes, 1538u);
  EXPECT_EQ(ShapeOf({}, std::vector<uint8_t>(42)).wire_bytes, 84u) << "padded";
  EXPECT_EQ(ShapeOf({}, std::vector<uint8_t>(42)).packets, 1u);
}

TEST(FrameTest, ASuperPacketHasTheBytesOfItsPackets) {
  VnetHeader header = {.gso_type = kGsoTcp4, .gso_size = 1448, .csum_start = 34};
  std::vector<uint8_t> frame(66 + 3 * 1448 + 100);
  frame[34 + 12] = 8 << 4;  // 32 bytes of TCP header
  const PacketShape shape = ShapeOf(header, frame);
  EXPECT_EQ(shape.packets, 4u);
  EXPECT_EQ(shape.first_bytes, 1538u);
  EXPECT_EQ(shape.last_bytes, 190u);
  EXPECT_EQ(shape.wire_bytes, 3 * 1538u + 190);
  frame.resize(66 + 1448);
  EXPECT_EQ(ShapeOf(header, frame).packets, 1u);
  frame.resize(66);
  EXPECT_EQ(ShapeOf(header, frame).packets, 1u) << "no payload";
  header.csum_start = 60;
  EXPECT_EQ(ShapeOf(header, frame).packets, 1u) << "headers beyond the end";
}

std::vector<uint8_t> ArpRequest(uint32_t from, uint32_t address) {
  std::vector<uint8_t> frame(42);
  std::fill_n(frame.begin(), 6, 0xff);
  const MacAddress mac = MacOf(from);
  std::copy(mac.begin(), mac.end(), frame.begin() + 6);
  const std::vector<uint8_t> middle = {0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1};
  std::copy(middle.begin(), middle.end(), frame.begin() + 12);
  std::copy(mac.begin(), mac.end(), frame.begin() + 22);
  for (int i = 0; i < 4; ++i) {
    frame[28 + i] = static_cast<uint8_t>(AddressOf(from) >> (24 - 8 * i));
    frame[38 + i] = static_cast<uint8_t>(address >> (24 - 8 * i));
  }
  return frame;
}

TEST(ArpTest, TheSwitchAnswersForOtherNodes) {
  const std::optional<ArpAnswer> answer = AnswerArp(ArpRequest(0, AddressOf(4)), 0, 5);
  ASSERT_TRUE(answer.has_value());
  const MacAddress asked = MacOf(0), found = MacOf(4);
  EXPECT_TRUE(std::equal(asked.begin(), asked.end(), answer->begin()));
  EXPECT_TRUE(std::equal(found.begin(), found.end(), answer->begin() + 6));
  EXPECT_EQ((*answer)[21], 2);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), answer->begin() + 22));
  EXPECT_EQ(std::vector<uint8_t>(answer->begin() + 28, answer->begin() + 32), (std::vector<uint8_t>{10, 77, 0, 5}));
  EXPECT_TRUE(std::equal(asked.begin(), asked.end(), answer->begin() + 32));
  EXPECT_EQ(std::vector<uint8_t>(answer->begin() + 38, answer->end()), (std::vector<uint8_t>{10, 77, 0, 1}));
}

TEST(ArpTest, NothingElseIsAnswered) {
  EXPECT_FALSE(AnswerArp(ArpRequest(0, AddressOf(0)), 0, 5)) << "one's own address";
  EXPECT_FALSE(AnswerArp(ArpRequest(0, AddressOf(5)), 0, 5)) << "no node's";
  EXPECT_FALSE(AnswerArp(ArpRequest(0, AddressOf(0) - 1), 0, 5));
  std::vector<uint8_t> frame = ArpRequest(0, AddressOf(4));
  frame[21] = 2;
  EXPECT_FALSE(AnswerArp(frame, 0, 5)) << "an answer";
  frame = ArpRequest(0, AddressOf(4));
  frame.pop_back();
  EXPECT_FALSE(AnswerArp(frame, 0, 5)) << "too short";
}

}  // namespace
}  // namespace copse::fabric
