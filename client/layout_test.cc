// SPDX-License-Identifier: Apache-2.0
//
// The layouts that client and daemon of different versions must agree on, byte by byte, as
// docs/reference/ring-layout.md draws them. A failure here means: raise base/version.h's kRingLayoutVersion.

#include <gtest/gtest.h>

#include <cstddef>

#include "base/version.h"
#include "client/copse.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse {
namespace {

TEST(LayoutTest, VersionsAreBases) {
  EXPECT_EQ(ring::kLayoutVersion, kRingLayoutVersion);
  EXPECT_STREQ(COPSE_VERSION_STRING, kVersion);
  EXPECT_EQ(std::to_string(COPSE_VERSION_MAJOR) + "." + std::to_string(COPSE_VERSION_MINOR) + "." +
                std::to_string(COPSE_VERSION_PATCH),
            COPSE_VERSION_STRING);
}

TEST(LayoutTest, DescriptorQueueEntry) {
  EXPECT_EQ(sizeof(Block), 16u);
  EXPECT_EQ(offsetof(Block, bytes), 8u);
  EXPECT_EQ(sizeof(ring::ListPlaces), 32u);
  EXPECT_EQ(offsetof(ring::ListPlaces, receive), 16u);
  EXPECT_EQ(offsetof(ring::DqEntry, command), 0u);
  EXPECT_EQ(offsetof(ring::DqEntry, collective), 1u);
  EXPECT_EQ(offsetof(ring::DqEntry, type), 2u);
  EXPECT_EQ(offsetof(ring::DqEntry, op), 3u);
  EXPECT_EQ(offsetof(ring::DqEntry, flags), 4u);
  EXPECT_EQ(offsetof(ring::DqEntry, team), 8u);
  EXPECT_EQ(offsetof(ring::DqEntry, root), 12u);
  EXPECT_EQ(offsetof(ring::DqEntry, count), 16u);
  EXPECT_EQ(offsetof(ring::DqEntry, value), 24u);
  EXPECT_EQ(offsetof(ring::DqEntry, send), 32u);
  EXPECT_EQ(offsetof(ring::DqEntry, payload), 48u);
  EXPECT_EQ(offsetof(ring::DqSlot, receive), 112u);
  EXPECT_EQ(sizeof(ring::DqSlot), 128u);
  EXPECT_EQ(offsetof(ring::Place, offset), 8u);
  EXPECT_EQ(sizeof(ring::Place), 16u);
}

TEST(LayoutTest, EventQueueEntry) {
  EXPECT_EQ(offsetof(ring::EqEntry, value), 0u);
  EXPECT_EQ(offsetof(ring::EqEntry, sequence), 8u);
  EXPECT_EQ(offsetof(ring::EqEntry, status), 16u);
  EXPECT_EQ(offsetof(ring::EqEntry, text), 20u);
  EXPECT_EQ(sizeof(ring::EqEntry), 32u);
}

TEST(LayoutTest, PortHeader) {
  EXPECT_EQ(offsetof(ring::PortHeader, magic), 0u);
  EXPECT_EQ(offsetof(ring::PortHeader, ring_version), 4u);
  EXPECT_EQ(offsetof(ring::PortHeader, dq_entries), 8u);
  EXPECT_EQ(offsetof(ring::PortHeader, eq_entries), 12u);
  EXPECT_EQ(offsetof(ring::PortHeader, dq_offset), 16u);
  EXPECT_EQ(offsetof(ring::PortHeader, eq_offset), 24u);
  EXPECT_EQ(offsetof(ring::PortHeader, text_offset), 32u);
  EXPECT_EQ(offsetof(ring::PortHeader, data_offset), 40u);
  EXPECT_EQ(offsetof(ring::PortHeader, data_bytes), 48u);
  EXPECT_EQ(offsetof(ring::PortHeader, total_bytes), 56u);
  EXPECT_EQ(offsetof(ring::PortHeader, dq_tail), 64u);
  EXPECT_EQ(offsetof(ring::PortHeader, dq_head), 128u);
  EXPECT_EQ(offsetof(ring::PortHeader, eq_tail), 192u);
  EXPECT_EQ(offsetof(ring::PortHeader, eq_futex), 200u);
  EXPECT_EQ(offsetof(ring::PortHeader, eq_head), 256u);
  EXPECT_EQ(offsetof(ring::PortHeader, eq_waiting), 264u);
  EXPECT_EQ(offsetof(ring::PortHeader, closed), 320u);
  EXPECT_EQ(offsetof(ring::PortHeader, wake_offset), 324u);
  EXPECT_EQ(offsetof(ring::PortHeader, wake_bits), 328u);
  EXPECT_EQ(offsetof(ring::PortHeader, early), 384u);
  EXPECT_EQ(ring::kEarlyCounts, 8u);
  EXPECT_EQ(static_cast<uint32_t>(ring::EarlyCount::kFusesBlown), 7u);
}

TEST(LayoutTest, DaemonPage) {
  EXPECT_EQ(offsetof(ring::DaemonPage, incarnation), 8u);
  EXPECT_EQ(offsetof(ring::DaemonPage, sleeping), 64u);
  EXPECT_EQ(offsetof(ring::DaemonPage, turns), 128u);
  EXPECT_EQ(offsetof(ring::DaemonPage, wake), 192u);
  EXPECT_EQ(sizeof(ring::WakeWord), 64u);
}

TEST(LayoutTest, LayPutsAreasBehindEachOther) {
  const ring::Geometry g = ring::Lay(16, 32, 100000);
  EXPECT_EQ(g.dq_offset, 4096u);
  EXPECT_EQ(g.eq_offset, 4096u + 16 * 128);
  EXPECT_EQ(g.text_offset, 4096u + 16 * 128 + 32 * 32);
  EXPECT_EQ(g.facts_offset, g.text_offset + 16 * 256);
  EXPECT_EQ(g.data_offset, 16384u);
  EXPECT_EQ(g.total_bytes, 16384u + 102400);
}

TEST(LayoutTest, AttachMessages) {
  EXPECT_EQ(sizeof(attach::MessageHead), 16u);
  EXPECT_EQ(offsetof(attach::AttachRequest, ring_version), 16u);
  EXPECT_EQ(offsetof(attach::AttachRequest, data_bytes), 32u);
  EXPECT_EQ(offsetof(attach::AttachRequest, package_version), 40u);
  EXPECT_EQ(offsetof(attach::AttachRequest, job), 72u);
  EXPECT_EQ(sizeof(attach::AttachRequest), 136u);
  // The beginning of the reply must never change: it is how versions find out about each other.
  EXPECT_EQ(offsetof(attach::AttachReply, status), 16u);
  EXPECT_EQ(offsetof(attach::AttachReply, ring_version), 20u);
  EXPECT_EQ(offsetof(attach::AttachReply, incarnation), 24u);
  EXPECT_EQ(offsetof(attach::AttachReply, data_bytes), 40u);
  EXPECT_EQ(offsetof(attach::AttachReply, message_bytes_max), 48u);
  EXPECT_EQ(offsetof(attach::AttachReply, node), 56u);
  EXPECT_EQ(offsetof(attach::AttachReply, facts), 472u);
  EXPECT_EQ(sizeof(attach::AttachReply), 472u + sizeof(FailureFacts));
  EXPECT_EQ(offsetof(attach::TeamCreate, nonce), 32u);
  EXPECT_EQ(offsetof(attach::TeamCreate, name), 48u);
  EXPECT_EQ(sizeof(attach::TeamCreate), 176u);
  EXPECT_EQ(offsetof(attach::TeamReady, handle), 20u);
  EXPECT_EQ(offsetof(attach::TeamReady, team), 24u);
  EXPECT_EQ(sizeof(attach::TeamReady), 296u + sizeof(FailureFacts));
  EXPECT_EQ(sizeof(attach::TeamDestroy), 24u);
  EXPECT_EQ(sizeof(attach::RegisterMemory), 24u);
  EXPECT_EQ(sizeof(attach::MemoryRegistered), 280u + sizeof(FailureFacts));
  EXPECT_EQ(sizeof(attach::DeregisterMemory), 24u);
  EXPECT_EQ(sizeof(attach::Done), 280u + sizeof(FailureFacts));
  EXPECT_EQ(sizeof(attach::Closing), 272u);
}

}  // namespace
}  // namespace copse
