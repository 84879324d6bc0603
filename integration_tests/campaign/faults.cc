// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/faults.h"

#include "base/status_macros.h"

namespace copse::campaign {

using scenario::Cluster;

const char* FaultKindName(FaultKind kind) {
  constexpr const char* kNames[kFaultKindCount] = {
      "process-crash",  "process-pause",    "daemon-crash",   "daemon-pause",    "data-cut",         "data-disturbed",
      "management-cut", "management-reset", "planner-killed", "planner-stalled", "planner-replaced", "store-refuses",
      "drain",          "replan",           "undecided",      "equal-names",     "full-rooms",       "leaves-early"};
  return kNames[static_cast<int>(kind)];
}

const char* StateName(State state) {
  constexpr const char* kNames[kStateCount] = {"forming",   "prepared", "committed", "short-call",
                                               "long-call", "derived",  "leaving",   "draining"};
  return kNames[static_cast<int>(state)];
}

absl::Status Begin(Cluster* cluster, const Fault& fault, uint32_t first, const std::string& team) {
  switch (fault.kind) {
    case FaultKind::kProcessCrash:
      for (const uint32_t rank : fault.ranks) cluster->KillProcess(first + rank);
      break;
    case FaultKind::kProcessPause:
      for (const uint32_t rank : fault.ranks) cluster->StopProcess(first + rank);
      break;
    case FaultKind::kDaemonCrash:
      cluster->KillDaemon(fault.nodes[0]);
      break;
    case FaultKind::kDaemonPause:
      cluster->StopDaemon(fault.nodes[0]);
      break;
    case FaultKind::kDataCut:
      return cluster->SetDataLink(fault.nodes[0], false);
    case FaultKind::kDataDisturbed:
      return cluster->DisturbData(true);
    case FaultKind::kManagementCut:
      for (const uint32_t node : fault.nodes) RETURN_IF_ERROR(cluster->SetManagementLink(node, false));
      break;
    case FaultKind::kManagementReset:
      for (const uint32_t node : fault.nodes) RETURN_IF_ERROR(cluster->ResetManagementLink(node));
      break;
    case FaultKind::kPlannerReplaced:
      // Where links cannot be cut, the daemon comes back at once instead.
      for (const uint32_t node : fault.nodes) cluster->SetManagementLink(node, false).IgnoreError();
      cluster->KillPlanner();
      break;
    case FaultKind::kPlannerKilled:
      cluster->KillPlanner();
      break;
    case FaultKind::kPlannerStalled:
      cluster->StopPlanner();
      break;
    case FaultKind::kStoreRefuses:
      return cluster->RefuseSaves(true);
    case FaultKind::kDrain:
      cluster->DrainNode(fault.nodes[0], true).IgnoreError();
      break;
    case FaultKind::kReplan:
      cluster->Replan(team, fault.algorithm).IgnoreError();  // refused if it is not formed yet, or over
      break;
    case FaultKind::kUndecided:
      RETURN_IF_ERROR(cluster->KillPlannerAtNextDecision());
      cluster->Replan(team, fault.algorithm).IgnoreError();
      cluster->KillPlanner();
      break;
    case FaultKind::kEqualNames:
      RETURN_IF_ERROR(cluster->StartNamesake(fault.nodes[0]));
      cluster->Pass(fault.lasts / 10);
      return cluster->SetManagementLink(fault.nodes[0], false);
    case FaultKind::kFullRooms:
    case FaultKind::kLeavesEarly:
      break;  // the programs make these faults
  }
  return absl::OkStatus();
}

absl::Status End(Cluster* cluster, const Fault& fault, uint32_t first) {
  switch (fault.kind) {
    case FaultKind::kProcessPause:
      for (const uint32_t rank : fault.ranks) cluster->ContinueProcess(first + rank);
      break;
    case FaultKind::kDaemonCrash:
      return cluster->RestartDaemon(fault.nodes[0]);
    case FaultKind::kDaemonPause:
      cluster->ContinueDaemon(fault.nodes[0]);
      break;
    case FaultKind::kDataCut:
      return cluster->SetDataLink(fault.nodes[0], true);
    case FaultKind::kDataDisturbed:
      return cluster->DisturbData(false);
    case FaultKind::kManagementCut:
      for (const uint32_t node : fault.nodes) RETURN_IF_ERROR(cluster->SetManagementLink(node, true));
      break;
    case FaultKind::kPlannerKilled:
    case FaultKind::kUndecided:
      return cluster->RestartPlanner();
    case FaultKind::kPlannerStalled:
      cluster->ContinuePlanner();
      break;
    case FaultKind::kPlannerReplaced:
      return cluster->ReplacePlanner();
    case FaultKind::kStoreRefuses:
      return cluster->RefuseSaves(false);
    case FaultKind::kDrain:
      cluster->DrainNode(fault.nodes[0], false).IgnoreError();
      break;
    case FaultKind::kEqualNames:
      RETURN_IF_ERROR(cluster->SetManagementLink(fault.nodes[0], true));
      return cluster->StopNamesake(fault.nodes[0]);
    default:
      break;
  }
  return absl::OkStatus();
}

bool ConcernsPlanner(FaultKind kind) {
  switch (kind) {
    case FaultKind::kPlannerKilled:
    case FaultKind::kPlannerStalled:
    case FaultKind::kPlannerReplaced:
    case FaultKind::kUndecided:
      return true;
    default:
      return false;
  }
}

bool ConcernsFormation(FaultKind kind) {
  switch (kind) {
    case FaultKind::kManagementCut:
    case FaultKind::kManagementReset:
    case FaultKind::kStoreRefuses:
    case FaultKind::kDrain:
    case FaultKind::kEqualNames:
    case FaultKind::kFullRooms:
      return true;
    default:
      return ConcernsPlanner(kind);
  }
}

}  // namespace copse::campaign
