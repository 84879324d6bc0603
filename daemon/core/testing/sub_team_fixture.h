// SPDX-License-Identifier: Apache-2.0
//
// A team whose daemons form its sub-teams among themselves; the test plays the daemon of its other node.
#ifndef COPSE_DAEMON_CORE_TESTING_SUB_TEAM_FIXTURE_H_
#define COPSE_DAEMON_CORE_TESTING_SUB_TEAM_FIXTURE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/testing/team_fixture.h"
#include "gtest/gtest.h"
#include "protocol/control.h"

namespace copse::daemon {

inline constexpr TeamId kChild(1'000'001);  // the first id that the root issues
inline const schedule::FailureReport kNoRoom{schedule::Failure::kNoMemory, "node n1 refused: no room"};

class SubTeamFixture : public TeamFixture {
 protected:
  SubTeamFixture() {
    has_sub_teams_ = true;
    Registered({schedule::Feature::kDerivedTeams, schedule::Feature::kSubTeams});
  }

  // Ranks 0 and 1 join the parent. Returns how the planner has it prepared.
  schedule::Prepare JoinParent(schedule::TeamLayout layout) {
    schedule::Prepare prepare{.layout = std::move(layout), .epoch = EpochId(1), .plans = PlansOf(Family::kCommon)};
    for (uint32_t r = 0; r < 2; ++r) {
      processes_[r].id = *core_.Attach({.uid = 1, .pid = 1 + r}, &processes_[r]);
      core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
      prepare.requests.emplace_back(Take<schedule::JoinTeam>().request, Rank(r));
    }
    prepare.has_sub_teams = has_sub_teams_;
    return prepare;
  }
  void KeepParents() {
    for (uint32_t r = 0; r < 2; ++r) parents_[r] = processes_[r].handle;
  }
  // Rank `rank` here joins the duplicate, or another sub-team.
  void Join(uint32_t rank, uint32_t size = 3, const std::string& name = "t/1") {
    processes_[rank].refused = {};
    core_.CreateTeam(processes_[rank].id,
                     {.request = 2, .parent = parents_[rank], .name = name, .rank = Rank(rank), .size = size});
    core_.CheckInvariants();
  }
  template <typename T>
  T TakeOneFromWire() {
    const std::vector<T> taken = TakeFromWire<T>();
    EXPECT_EQ(taken.size(), 1u);
    return taken.empty() ? T{} : taken.front();
  }
  void Tick() {
    clock_.Advance(absl::Seconds(1));
    while (core_.Progress()) {
    }
  }

  uint32_t parents_[2] = {};  // handles
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TESTING_SUB_TEAM_FIXTURE_H_
