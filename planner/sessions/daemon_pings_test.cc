// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/daemon_pings.h"

#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::planner {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(6);

class DaemonPingsTest : public testing::Test {
 protected:
  void Connect(int daemons) {
    for (int i = 1; i <= daemons; ++i) pings_.Add(i);
  }
  // Lets `seconds` pass, one by one.
  void Pass(int seconds) {
    for (; seconds > 0; --seconds) pings_.Tick(now_ += absl::Seconds(1));
  }

  coordinator::RecordingSink sink_;
  DaemonPings pings_{&sink_, kPatience};
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(DaemonPingsTest, SilenceOfAllIsNoticed) {
  Connect(2);
  Pass(6);
  EXPECT_FALSE(pings_.is_cut_off());
  Pass(1);
  EXPECT_TRUE(pings_.is_cut_off());
}

TEST_F(DaemonPingsTest, OneAnswerIsEnough) {
  Connect(3);
  for (int i = 0; i < 10; ++i) {
    Pass(6);
    pings_.Heard();
  }
  EXPECT_FALSE(pings_.is_cut_off());
}

TEST_F(DaemonPingsTest, OneDaemonAloneProvesNothing) {
  Connect(1);
  Pass(100);
  EXPECT_FALSE(pings_.is_cut_off());
}

TEST_F(DaemonPingsTest, SilenceBeginsWithTheFirstDaemon) {
  Pass(100);
  Connect(2);
  Pass(6);
  EXPECT_FALSE(pings_.is_cut_off());
}

TEST_F(DaemonPingsTest, APlannerThatStoodStillAsksAnew) {
  Connect(2);
  Pass(2);
  pings_.Tick(now_ += absl::Minutes(5));
  EXPECT_FALSE(pings_.is_cut_off());
}

TEST_F(DaemonPingsTest, ManyDaemonsTakeTurns) {
  Connect(20);
  Pass(5);
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(sink_.sent[i].size(), 2u) << i;
  pings_.Remove(20);
  Pass(19);
  EXPECT_EQ(sink_.sent[20].size(), 2u);
  EXPECT_EQ(sink_.sent[1].size(), 10u);
}

}  // namespace
}  // namespace copse::planner
