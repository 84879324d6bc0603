// SPDX-License-Identifier: Apache-2.0
//
// The faults of a campaign, and the states of a team that they meet.
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
  kDaemonCrash,  // and a restart
  kDaemonPause,
  kDataCut,
  kDataDisturbed,
  kManagementCut,
  kManagementReset,
  kPlannerKilled,  // and restarted with its store
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
  kForming,    // a rank of the team is missing
  kPrepared,   // its daemons have been asked, nothing is decided
  kCommitted,  // decided, and not all ranks know
  kShortCall,
  kLongCall,
  kDerived,  // a team derived from it is being formed, or has a call in flight
  kLeaving,  // all ranks but one have left
  kDraining  // a node of it takes no new teams
};
inline constexpr int kStateCount = 8;
const char* StateName(State state);

struct Fault {
  FaultKind kind = FaultKind::kProcessCrash;
  std::vector<uint32_t> ranks;  // of the team in that state: one; kProcess*: maybe all of its node
  std::vector<uint32_t> nodes;  // the rank's; kManagement*: maybe all; kPlannerReplaced: all of the team
  absl::Duration after;         // since the state was reached
  absl::Duration lasts;         // zero: it is over at once
  std::string algorithm;        // kReplan, kUndecided
};

// Makes a fault, or ends it. UNIMPLEMENTED: the cluster cannot; no other error means that the fault was not made.
// `first` is the process of the team's rank 0.
absl::Status Begin(scenario::Cluster* cluster, const Fault& fault, uint32_t first, const std::string& team);
absl::Status End(scenario::Cluster* cluster, const Fault& fault, uint32_t first);

// Whether a new team, a derived one, or a call that needs new plans may be refused or held up by it.
bool ConcernsFormation(FaultKind kind);
// Whether the planner cannot do its work meanwhile.
bool ConcernsPlanner(FaultKind kind);
// Whether the node's neighbors hear nothing from it meanwhile.
inline bool IsSilence(FaultKind kind) { return kind == FaultKind::kDaemonPause || kind == FaultKind::kDataCut; }

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_FAULTS_H_
