// SPDX-License-Identifier: Apache-2.0
#include "daemon/shm/client_teams.h"

#include <cmath>

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

const absl::Time kStart = absl::UnixEpoch();

ClientTeams::Formation FormationOf(uint64_t client_request, absl::Duration timeout = absl::Seconds(1)) {
  return {client_request, {.rank = 0, .size = 2}, timeout, kStart + timeout};
}

attach::TeamCreate MessageOf(uint32_t rank, uint32_t size) {
  attach::TeamCreate message{};
  message.rank = rank;
  message.size = size;
  return message;
}

TEST(ClientTeamsTest, RequestsWithTheSameClientsNumberAreToldApart) {
  ClientTeams teams(8);
  const uint64_t one = teams.Form(FormationOf(5)), two = teams.Form(FormationOf(5));
  EXPECT_NE(one, two);
  EXPECT_TRUE(teams.any());
  EXPECT_EQ(teams.OnFormed(two, 70), 5u);
  EXPECT_EQ(teams.OnFailed(one), 5u);
  EXPECT_EQ(teams.OnFailed(one), std::nullopt);
  EXPECT_EQ(teams.members().at(70).size, 2u);
}

TEST(ClientTeamsTest, ATeamThatIsFormedTooLateIsUnwanted) {
  ClientTeams teams(8);
  const uint64_t request = teams.Form(FormationOf(5, absl::Seconds(3)));
  teams.Form(FormationOf(6, absl::Seconds(4)));
  EXPECT_EQ(teams.NextDeadline(), kStart + absl::Seconds(3));
  EXPECT_TRUE(teams.Late(kStart + absl::Seconds(2)).empty());
  const auto late = teams.Late(kStart + absl::Seconds(3));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late.begin()->first, request);
  EXPECT_EQ(late.begin()->second.timeout, absl::Seconds(3));
  EXPECT_EQ(teams.OnFailed(request), 5u);
  EXPECT_EQ(teams.NextDeadline(), kStart + absl::Seconds(4));
  EXPECT_FALSE(teams.TakeUnwanted().has_value());
  EXPECT_EQ(teams.OnFormed(request, 70), std::nullopt);
  EXPECT_TRUE(teams.members().empty());
  const auto unwanted = teams.TakeUnwanted();
  ASSERT_TRUE(unwanted.has_value());
  EXPECT_EQ(unwanted->handle, 70u);
  EXPECT_EQ(teams.OnDestroyed(unwanted->request, true), std::nullopt);
  EXPECT_FALSE(teams.TakeUnwanted().has_value());
}

TEST(ClientTeamsTest, ATeamThatWasNotDestroyedStays) {
  ClientTeams teams(8);
  teams.OnFormed(teams.Form(FormationOf(5)), 70);
  EXPECT_EQ(teams.Destroy(6, 71), std::nullopt);
  const std::optional<uint64_t> first = teams.Destroy(6, 70);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(teams.any());
  EXPECT_EQ(teams.OnDestroyed(*first, false), 6u);
  EXPECT_TRUE(teams.members().contains(70));
  EXPECT_EQ(teams.OnDestroyed(*teams.Destroy(7, 70), true), 7u);
  EXPECT_FALSE(teams.any());
}

TEST(ClientTeamsTest, ImpossibleRequestsAndTooManyAreRefused) {
  ClientTeams teams(2);
  EXPECT_TRUE(teams.Check(MessageOf(1, 2)).ok());
  EXPECT_EQ(teams.Check(MessageOf(2, 2)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(teams.Check(MessageOf(0, 0)).code(), absl::StatusCode::kInvalidArgument);
  attach::TeamCreate message = MessageOf(0, 1);
  message.timeout_s = std::nan("");
  EXPECT_EQ(teams.Check(message).code(), absl::StatusCode::kInvalidArgument);
  message = MessageOf(0, 1);
  message.parent = 70;
  EXPECT_EQ(teams.Check(message).code(), absl::StatusCode::kInvalidArgument);
  teams.OnFormed(teams.Form(FormationOf(5)), 70);
  EXPECT_TRUE(teams.Check(message).ok());
  teams.Form(FormationOf(6));
  EXPECT_TRUE(teams.Check(message).ok());
  teams.Destroy(7, 70);
  EXPECT_EQ(teams.Check(MessageOf(0, 1)).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace copse::daemon
