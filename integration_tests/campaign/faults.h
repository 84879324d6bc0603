// SPDX-License-Identifier: Apache-2.0
//
// The faults of a campaign, and the states of a team in which they happen.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_FAULTS_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "testbed/script/cluster.h"

namespace copse::campaign {

enum class FaultKind : uint8_t {
  kProcessCrash,
  kProcessPause,
  kDaemonCrash,  // followed by a restart
  kDaemonPause,
  kDataCut,
  kDataDisturbed,
  kManagementCut,
  kManagementReset,
  kPlannerKilled,  // then restarted with its store
  kPlannerStalled,
  kPlannerReplaced,  // restarted with an empty store; nodes whose management link is cut meanwhile come back later
  kStoreRefuses,
  kDrain,
  kReplan,
  kUndecided,   // the planner dies between the decision of a switch and its Commit; restarted with its store
  kEqualNames,  // a second host has a node's name, and the node's management link is cut
  kFullRooms,   // another job takes all memory for teams
  kLeavesEarly  // a rank leaves before calls that the others make
};
inline constexpr int kFaultKindCount = 18;
const char* FaultKindName(FaultKind kind);

enum class State : uint8_t {
  kForming,    // a rank of the team has not arrived
  kPrepared,   // its daemons have got Prepare, nothing is decided
  kCommitted,  // decided, and not all ranks have been notified
  kShortCall,
  kLongCall,
  kSubTeam,  // a team of some of its ranks is being formed, or has a call in flight
  kLeaving,  // all ranks but one have left
  kDraining  // a node of it takes no new teams
};
inline constexpr int kStateCount = 8;
const char* StateName(State state);

struct Fault {
  FaultKind kind = FaultKind::kProcessCrash;
  std::vector<uint32_t> ranks;  // ranks of the team in that state: one; kProcess*: maybe all of its node
  std::vector<uint32_t> nodes;  // nodes of the ranks; kManagement*: maybe all; kPlannerReplaced: all of the team
  absl::Duration after;         // since the state was reached
  absl::Duration lasts;         // zero: it is over at once
  std::string algorithm;        // kReplan, kUndecided
};

// Makes a fault, or ends it. UNIMPLEMENTED: the cluster cannot make it; after any other error the fault may have been
// made. `first` is the process of the team's rank 0.
absl::Status Begin(scenario::Cluster* cluster, const Fault& fault, uint32_t first, const std::string& team);
absl::Status End(scenario::Cluster* cluster, const Fault& fault, uint32_t first);

// Whether the fault may refuse or hold up a new team or a call that needs new plans.
bool ConcernsFormation(FaultKind kind);
// Whether the planner cannot do its work during the fault.
bool ConcernsPlanner(FaultKind kind);
// Whether the node's neighbors receive nothing from it during the fault.
inline bool IsSilence(FaultKind kind) { return kind == FaultKind::kDaemonPause || kind == FaultKind::kDataCut; }

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_FAULTS_H_
