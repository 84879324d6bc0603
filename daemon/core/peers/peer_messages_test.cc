// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/peer_messages.h"

#include <iterator>
#include <vector>

#include "base/hash.h"
#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

std::vector<PeerMessage> Samples() {
  const CallArguments arguments{
      .collective = Collective::kReduce, .type = ElementType::kDouble, .op = ElementOp::kMax, .count = 6, .root = 3};
  return {
      HeartbeatMessage{},
      BreakMessage{TeamId(7), {schedule::Failure::kMemberLost, "rank 3 on node n2 lost: silent for 10s"}},
      BreakMessage{TeamId(7), {Failure::kMemberLost, "rank 3 died", FailureCause::kProcessDied, "n2", Rank(3), 10'000}},
      ArgumentsMessage{TeamId(7), CallSeq(12), {Rank(3), arguments}, "n2"},
      LeftMessage{TeamId(7), CallSeq(99), Rank(3), true},
      EpochAskMessage{TeamId(7), EpochId(2)},
      EpochAnswerMessage{TeamId(7), EpochId(2), true, CallSeq(40), 0xabcdef},
      MeterPing{.query = 5, .number = 3},
      MeterPong{.query = 5, .number = 3, .send_ns = 1700, .receive_ns = 2100},
      MeterBulk{.query = 5, .bytes = kMeterBulkBytes, .ack_every = 4000, .last = true},
      MeterAck{.query = 5, .bytes = 1 << 20, .at_ns = 123456789},
      MeterEnd{.query = 5},
      CloseRequestMessage{.number = 8},
      CloseReplyMessage{.number = 8, .agreed = true},
      CallsMessage{.team = TeamId(7), .first = 3, .hashes = {1, 0xffff}},
      CallsDifferMessage{TeamId(7), 4, {Rank(3), arguments}, "n2"},
      SubTeamJoinMessage{
          TeamId(7), {1, "job", 9, "t/1"}, 8, NodeIndex(2), {Rank(4), Rank(5)}, {}, TeamId(8), EpochId(3), "h:1"},
      SubTeamPrepareMessage{TeamId(7), {1, "job", 9, "t/1"}, TeamId(8), EpochId(0), {{NodeIndex(2), 2}}, {"h:1", ""}},
      SubTeamReplyMessage{TeamId(7), TeamId(8), {schedule::Failure::kNoMemory, "full"}, true, 77},
      SubTeamDecisionMessage{TeamId(7), {1, "job", 9, "t/1"}, TeamId(8), {}, false, TeamId(9)},
      SubTeamLabelMessage{TeamId(7), TeamId(8), 0xabcdef}};
}

TEST(PeerMessagesTest, RoundTrip) {
  for (const PeerMessage& message : Samples()) {
    const EncodedPeerMessage encoded = EncodePeerMessage(message);
    const absl::StatusOr<PeerMessage> decoded = DecodePeerMessage(encoded.type, encoded.body);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(EncodePeerMessage(*decoded).body, encoded.body);
  }
}

// Daemons of several releases talk to each other: a value here never changes. With RoundTrip it shows that no field is
// left out.
TEST(PeerMessagesTest, BytesAreThoseOfTheWire) {
  const uint64_t kHashes[] = {0xcbf29ce484222325, 0xb1778486733c4862, 0xa2ea5ba700f67d39, 0xb9a67b150816db66,
                              0x7e7a163614bf11d9, 0x34a7cde8603a4160, 0x8c7a92468b2e8f88, 0x6a0622d159aa7ed3,
                              0xc72b64cd83a53b5d, 0xe9db1af1096a649f, 0xddd35e9c5ebb8470, 0x0de21504f16dc720,
                              0xa09e307a7f948acd, 0x81572c26c967d8a4, 0x602c436577657cc8, 0xde7e9b1e2519a39e,
                              0x99edd7dffde217f3, 0x0ff684c0a4e6f290, 0x8cc9bb219317aadf, 0x54bdf26e268c52bc,
                              0xe4151012ff437625};
  const std::vector<PeerMessage> samples = Samples();
  ASSERT_EQ(samples.size(), std::size(kHashes));
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(Fnv1a64(EncodePeerMessage(samples[i]).body), kHashes[i]) << "sample " << i;
  }
}

TEST(PeerMessagesTest, TypesAreThoseOfTheWire) {
  EXPECT_EQ(EncodePeerMessage(HeartbeatMessage{}).type, static_cast<uint16_t>(PeerMessageType::kHeartbeat));
  EXPECT_EQ(EncodePeerMessage(EpochAnswerMessage{}).type, static_cast<uint16_t>(PeerMessageType::kEpochAnswer));
  EXPECT_EQ(EncodePeerMessage(MeterEnd{}).type, static_cast<uint16_t>(PeerMessageType::kMeterEnd));
  EXPECT_EQ(EncodePeerMessage(CloseReplyMessage{}).type, static_cast<uint16_t>(PeerMessageType::kCloseReply));
  EXPECT_EQ(EncodePeerMessage(CallsDifferMessage{}).type, static_cast<uint16_t>(PeerMessageType::kCallsDiffer));
  EXPECT_EQ(EncodePeerMessage(SubTeamLabelMessage{}).type, static_cast<uint16_t>(PeerMessageType::kSubTeamLabel));
}

TEST(PeerMessagesTest, OnlyMetersAreOfAMeasurement) {
  for (const PeerMessage& message : Samples()) {
    const auto type = static_cast<PeerMessageType>(EncodePeerMessage(message).type);
    EXPECT_EQ(AsMeterMessage(message).has_value(),
              type >= PeerMessageType::kMeterPing && type <= PeerMessageType::kMeterEnd);
  }
  EXPECT_EQ(EncodePeerMessage(MeterBulk{}).body.size(), kMeterBulkBytes);
}

TEST(PeerMessagesTest, EveryPrefixAndEveryUnknownTypeIsRefused) {
  for (const PeerMessage& message : Samples()) {
    const EncodedPeerMessage encoded = EncodePeerMessage(message);
    for (size_t n = 0; n < encoded.body.size(); ++n) {
      EXPECT_FALSE(DecodePeerMessage(encoded.type, std::string_view(encoded.body).substr(0, n)).ok());
    }
    EXPECT_FALSE(DecodePeerMessage(encoded.type, encoded.body + "x").ok());
  }
  EXPECT_FALSE(DecodePeerMessage(0, "").ok());
  EXPECT_FALSE(DecodePeerMessage(21, "").ok());
}

TEST(PeerMessagesTest, ArgumentsThatNoReleaseHasAreRefused) {
  const auto is_taken = [](const CallArguments& arguments) {
    const EncodedPeerMessage encoded =
        EncodePeerMessage(ArgumentsMessage{TeamId(7), CallSeq(12), {Rank(3), arguments}});
    return DecodePeerMessage(encoded.type, encoded.body).ok();
  };
  for (const int beyond : {0, 1}) {
    const bool is_known = beyond == 0;
    EXPECT_EQ(is_taken({.collective = static_cast<Collective>(kCollectiveCount - 1 + beyond)}), is_known);
    EXPECT_EQ(is_taken({.type = static_cast<ElementType>(kElementTypeCount - 1 + beyond)}), is_known);
    EXPECT_EQ(is_taken({.op = static_cast<ElementOp>(kElementOpCount - 1 + beyond)}), is_known);
  }
}

TEST(PeerMessagesTest, GarbageNeverCrashes) {
  Prng prng(3);
  for (int i = 0; i < 100000; ++i) {
    std::string body(prng.Below(60), '\0');
    for (char& c : body) c = static_cast<char>(prng.Next());
    const auto type = static_cast<uint16_t>(prng.Below(23));
    const absl::StatusOr<PeerMessage> decoded = DecodePeerMessage(type, body);
    if (decoded.ok()) {
      EXPECT_EQ(EncodePeerMessage(*decoded).type, type);
    }
  }
}

}  // namespace
}  // namespace copse::daemon
