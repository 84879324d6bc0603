// SPDX-License-Identifier: Apache-2.0
//
// Keeps the teams that the coordinator knows, by id and by their plans.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_TEAM_TABLE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_TEAM_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/first_plans.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/member_table.h"
#include "planner/coordinator/state/timer_queue.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::coordinator {

// A Change is an epoch that is planned, and then prepared by the members, and that is not decided.
struct Change {
  EpochId epoch{0};
  bool is_told = false;        // false: its plans are being made, or daemons are asked for their addresses
  std::set<uint32_t> lacking;  // members that were asked for their addresses, and have not told them
  bool is_quick = false;       // its plans are PlanMaker::QuickPlans', and may be better
  std::vector<std::string> plans;
  std::vector<Join> joins;                                 // the joins that a first epoch answers; else empty
  schedule::FailureReport last_failure;                    // of the attempt before to form this derived team
  absl::Time begun;                                        // of a first epoch
  std::map<uint32_t, schedule::PrepareReply> replies;      // by node index
  std::vector<std::vector<schedule::EdgeLabel>> outgoing;  // TeamRecord::outgoing, once all have accepted
  TimerId timer;
  std::function<void(const absl::Status&)> done;  // may be null
};

// An Unstored is a decision that the store does not have yet, and that nobody was told: the record before it, and the
// change that was decided.
struct Unstored {
  TeamRecord record;
  Change change;
};

struct Team {
  TeamRecord record;  // epoch 0: nothing decided yet
  MemberTable members;
  std::optional<Change> change;
  std::optional<Unstored> unstored;
  std::function<void(const absl::Status&)> settled;   // Change::done of the decided epoch; may be null
  absl::Time nameless_since;                          // last time at which another daemon took a member's name
  std::vector<PlanId> plan_ids;                       // the team's plans that are indexed
  absl::Time asked_for_plans = absl::InfinitePast();  // when the last member was
  size_t verified = 0;                                // number of an adopted team's plans that are verified
  bool is_verified = true;                            // false: its plans are not verified yet
  bool shares_id = false;                             // daemons run another team with its id
  std::optional<QuickState> quick;                    // set while better plans than its own are looked for
  Shared<schedule::TeamLayout> confirmed;             // the last report of a daemon that was found to be this team

  TeamId id() const { return record.layout.id; }
  // Returns whether the team is stored. Sub-teams are not, since they are many and short-lived.
  bool durable() const { return !schedule::IsSubTeam(record.layout); }
  uint32_t node_count() const { return static_cast<uint32_t>(record.layout.nodes.size()); }
  // Returns whether no daemon has brought the plans yet that the store does not keep.
  bool lacks_plans() const { return durable() && record.epoch != EpochId{0} && record.plans.empty(); }
  // Returns the index of the member that is this daemon, or nullopt.
  std::optional<uint32_t> MemberOf(const schedule::NodeAnnouncement& node) const {
    return members.Find(record.layout.nodes, node.name, node.incarnation);
  }
  // Returns whether the member may still wait for the Commit of the team, a sub-team that daemons have formed.
  bool MayBeForming(uint32_t member) const { return !durable() && record.outgoing.empty() && !members[member].known; }
};

// A PlanPlace is where a plan is, while the team has it: `plans[index]` of the team's record, unless that has only ids.
struct PlanPlace {
  const Team* team = nullptr;
  size_t index = 0;
};

// A PlanCursor is a place in the order of plans' ids, at first before all of them.
struct PlanCursor {
  PlanId last{0};
  uint64_t changes = 0;                                // TeamTable::changes_ when `next` was found
  std::map<PlanId, PlanPlace>::const_iterator next{};  // the first one after `last`
};

// A TeamTable has the plans of its teams indexed that may be shown: the planner's own, and those that daemons brought
// back once they are verified; also those of which only the ids are known. Pointers stay valid until the team is
// erased. Thread-compatible.
class TeamTable {
 public:
  // Both must outlive this object.
  TeamTable(const Clock* clock, TimerQueue* timers) : clock_(clock), timers_(timers) {}

  const std::map<TeamId, Team>& all() const { return teams_; }
  std::map<TeamId, Team>& all() { return teams_; }
  Team* Find(TeamId id);
  const Team* Find(TeamId id) const;
  Team& At(TeamId id) { return teams_.at(id); }  // requires that it exists
  const Team& At(TeamId id) const { return teams_.at(id); }
  Team& Add(TeamId id) { return teams_[id]; }
  void Erase(TeamId id) { teams_.erase(id); }

  // Indexes the present plans of the team, whose id is known, instead of its former ones.
  void IndexPlans(Team& team);
  void ForgetPlans(Team& team);
  // Verifies the plans that a daemon reports for a team, one plan at each timer, so that other work runs in between,
  // and indexes them.
  void VerifyLater(TeamId id);
  const std::map<PlanId, PlanPlace>& of_plans() const { return of_plans_; }
  // Moves the cursor to the next plan, and returns it, or null at the end. A list of all plans does not search for each
  // one unless plans come or go meanwhile.
  const std::pair<const PlanId, PlanPlace>* NextPlan(PlanCursor* cursor) const;

 private:
  void VerifyNext(TeamId id);

  const Clock* const clock_;
  TimerQueue* const timers_;
  std::map<TeamId, Team> teams_;
  std::map<PlanId, PlanPlace> of_plans_;
  uint64_t changes_ = 1;  // of of_plans_
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_TEAM_TABLE_H_
