// SPDX-License-Identifier: Apache-2.0
//
// How daemons are asked for the addresses of data planes that they have not opened.
#include <string>
#include <variant>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using testing::FailsWith;
using ::testing::HasSubstr;

// n1 and n2, of sessions 1 and 2, have no addresses yet.
class LateAddressTest : public CoordinatorTest {
 protected:
  LateAddressTest() {
    RegisterLate(1, "n1");
    RegisterLate(2, "n2");
  }

  void RegisterLate(SessionId session, const std::string& name, uint64_t incarnation = 1) {
    schedule::Register message{.node = Announce(name, incarnation)};
    message.node.features.insert(schedule::Feature::kLateAddress);
    message.node.worker_address.clear();
    EXPECT_TRUE(RegisterAs(session, message).accepted);
  }
  void Tell(SessionId session, const std::string& address) {
    coordinator->OnMessage(session, schedule::DataAddress{address});
  }
  void JoinBoth(const std::string& name = "t") {
    Join(1, 0, 2, ++request, name);
    Join(2, 1, 2, ++request, name);
  }
};

TEST_F(LateAddressTest, ATeamOfOneNodeNeedsNone) {
  Join(1, 0, 2, 10);
  Join(1, 1, 2, 11);
  const auto prepare = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(prepare.layout.nodes[0].worker_address, "");
  EXPECT_TRUE(Silent());
}

TEST_F(LateAddressTest, ATeamIsPreparedOnceBothHaveToldTheirs) {
  JoinBoth();
  TakeBoth<schedule::AddressQuery>();
  JoinBoth("second");
  EXPECT_TRUE(Silent()) << "both were asked already";
  Tell(2, "there");
  EXPECT_TRUE(Silent());
  Tell(1, "here");
  const std::vector<schedule::Prepare> prepares = {TakeBoth<schedule::Prepare>(), TakeBoth<schedule::Prepare>()};
  for (const schedule::Prepare& prepare : prepares) {
    EXPECT_EQ(prepare.layout.nodes[0].worker_address, "here");
    EXPECT_EQ(prepare.layout.nodes[1].worker_address, "there");
    AcceptBoth(prepare);
    TakeBoth<schedule::Commit>();
  }
  Tell(1, "elsewhere");  // not asked
  JoinBoth("third");
  EXPECT_EQ(TakeBoth<schedule::Prepare>().layout.nodes[0].worker_address, "here");
}

TEST_F(LateAddressTest, OnlyDaemonsWithoutOneAreAsked) {
  EXPECT_TRUE(Register(3, "n3").accepted);
  Join(3, 0, 2, 30);
  Join(2, 1, 2, 20);
  sink.Take<schedule::AddressQuery>(2);
  EXPECT_TRUE(Silent());
  Tell(2, "there");
  EXPECT_EQ(sink.Take<schedule::Prepare>(3).layout.nodes[1].worker_address, "there");
}

TEST_F(LateAddressTest, ADaemonThatCannotOpenItFailsTheTeamAndIsAskedAgain) {
  JoinBoth();
  TakeBoth<schedule::AddressQuery>();
  Tell(1, "here");
  coordinator->OnMessage(2, schedule::DataAddress{"", {Failure::kNoResource, "no device (net_devices=eth9)"}});
  const auto abort = TakeBoth<schedule::Abort>();
  EXPECT_EQ(abort.why.failure, Failure::kNoResource);
  EXPECT_EQ(abort.why.node, "n2");
  EXPECT_THAT(abort.why.text, HasSubstr("net_devices=eth9"));
  JoinBoth();
  sink.Take<schedule::AddressQuery>(2);
  Tell(2, "");
  EXPECT_EQ(TakeBoth<schedule::Abort>().why.failure, Failure::kInternal);
}

TEST_F(LateAddressTest, ADaemonThatDoesNotTellItIsNamed) {
  JoinBoth();
  TakeBoth<schedule::AddressQuery>();
  Tell(1, "here");
  Advance(options.prepare_timeout + absl::Seconds(1));
  const auto abort = TakeBoth<schedule::Abort>();
  EXPECT_EQ(abort.why.failure, Failure::kTimedOut);
  EXPECT_EQ(abort.why.node, "n2");
  Tell(2, "there");
  EXPECT_TRUE(Silent());
}

TEST_F(LateAddressTest, AnotherSessionIsAskedAnew) {
  JoinBoth();
  TakeBoth<schedule::AddressQuery>();
  coordinator->OnDisconnected(2);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.node, "n2");
  RegisterLate(5, "n2");
  Join(1, 0, 2, 10);
  Join(5, 1, 2, 50);
  sink.Take<schedule::AddressQuery>(5);
  Tell(1, "here");
  Tell(5, "there");
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).layout.nodes[1].worker_address, "there");
}

TEST_F(LateAddressTest, AMeasurementWaitsForBoth) {
  std::vector<absl::StatusOr<schedule::MeasureReply>> answers;
  const auto measure = [&] {
    coordinator->queries().Measure("n1", "n2", {.pings = 5, .timeout = absl::Seconds(3)},
                                   [&](const absl::StatusOr<schedule::MeasureReply>& got) { answers.push_back(got); });
  };
  measure();
  TakeBoth<schedule::AddressQuery>();
  Tell(1, "here");
  coordinator->OnMessage(2, schedule::DataAddress{"", {Failure::kNoResource, "no device (net_devices=eth9)"}});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0], FailsWith(absl::StatusCode::kUnavailable, "node n2", "net_devices=eth9"));
  measure();
  sink.Take<schedule::AddressQuery>(2);
  Tell(2, "there");
  EXPECT_EQ(sink.Take<schedule::MeasureQuery>(1).peer.worker_address, "there");
  EXPECT_EQ(sink.Take<schedule::MeasureQuery>(2).peer.worker_address, "here");
}

}  // namespace
}  // namespace copse::coordinator
