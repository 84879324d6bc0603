// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/tcp_peer.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "offload_emu/pool.h"

namespace copse::emu {
namespace {

class PeerLaneTest : public testing::Test {
 protected:
  BufferPool pool_{1};
  PeerLane lane_{.lane = Lane(LaneKind::kShort, {}, false, &pool_)};
};

TEST_F(PeerLaneTest, OnlyFailuresInSuccessionAddUp) {
  const absl::Time now = absl::UnixEpoch();
  const absl::Status denied = absl::PermissionDeniedError("no"), lost = absl::UnavailableError("reset");
  for (int i = 0; i < 3; ++i) lane_.NoteFailedDial(now, false, denied);
  EXPECT_EQ(lane_.denied, 3);
  lane_.NoteFailedDial(now, false, lost);
  EXPECT_EQ(lane_.denied, 0) << "a handshake that was cut off says nothing of the certificates";
  lane_.NoteFailedDial(now, true, lost);
  lane_.NoteFailedDial(now, true, lost);
  EXPECT_EQ(lane_.refused, 2);
  lane_.NoteFailedDial(now, false, denied);
  EXPECT_EQ(lane_.denied, 1);
  EXPECT_EQ(lane_.refused, 0);
  lane_.NoteAttached(nullptr);
  EXPECT_EQ(lane_.denied, 0);
}

TEST_F(PeerLaneTest, PausesGrowToABoundAndBeginAnewWithAConnection) {
  absl::Time now = absl::UnixEpoch();
  absl::Duration before = absl::ZeroDuration();
  for (int i = 0; i < 10; ++i) {
    lane_.NoteFailedDial(now, false, absl::UnavailableError("reset"));
    const absl::Duration pause = lane_.dial_at - now;
    EXPECT_GE(pause, before);
    EXPECT_LE(pause, PeerLane::kPauseMax);
    before = pause;
    now = lane_.dial_at;
  }
  EXPECT_EQ(before, PeerLane::kPauseMax);
  lane_.NoteAttached(nullptr);
  lane_.NoteFailedDial(now, false, absl::UnavailableError("reset"));
  EXPECT_EQ(lane_.dial_at - now, PeerLane::kPauseMin);
}

}  // namespace
}  // namespace copse::emu
