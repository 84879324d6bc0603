// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/faults.h"

#include <type_traits>

#include "base/status_macros.h"

namespace copse::campaign {
namespace {

using scenario::Cluster;

// One fault on a cluster.
struct Scene {
  Cluster* cluster;
  const Fault& fault;
  uint32_t first;
  const std::string& team;
};

// Calls a function of the cluster, whether it returns a Status or nothing.
template <auto kAct, typename... Args>
absl::Status Call(Cluster* cluster, Args... args) {
  if constexpr (std::is_void_v<decltype((cluster->*kAct)(args...))>) {
    (cluster->*kAct)(args...);
    return absl::OkStatus();
  } else {
    return (cluster->*kAct)(args...);
  }
}
template <auto kAct, auto... kArgs>
absl::Status OnCluster(const Scene& s) {
  return Call<kAct>(s.cluster, kArgs...);
}
template <auto kAct, auto... kArgs>
absl::Status OnNode(const Scene& s) {
  return Call<kAct>(s.cluster, s.fault.nodes[0], kArgs...);
}
template <auto kAct, auto... kArgs>
absl::Status OnNodes(const Scene& s) {
  for (const uint32_t node : s.fault.nodes) RETURN_IF_ERROR(Call<kAct>(s.cluster, node, kArgs...));
  return absl::OkStatus();
}
template <auto kAct>
absl::Status OnProcesses(const Scene& s) {
  for (const uint32_t rank : s.fault.ranks) RETURN_IF_ERROR(Call<kAct>(s.cluster, s.first + rank));
  return absl::OkStatus();
}

// A drain may be refused, and what it leaves is checked in the end.
template <bool kOn>
absl::Status Drain(const Scene& s) {
  OnNode<&Cluster::DrainNode, kOn>(s).IgnoreError();
  return absl::OkStatus();
}
// A replan is refused if the team is not formed yet, or over.
absl::Status Replan(const Scene& s) {
  s.cluster->Replan(s.team, s.fault.algorithm).IgnoreError();
  return absl::OkStatus();
}
absl::Status ReplacePlanner(const Scene& s) {
  // Where links cannot be cut, the daemon comes back at once instead.
  for (const uint32_t node : s.fault.nodes) s.cluster->SetManagementLink(node, false).IgnoreError();
  return OnCluster<&Cluster::KillPlanner>(s);
}
absl::Status LeaveUndecided(const Scene& s) {
  RETURN_IF_ERROR(s.cluster->KillPlannerAtNextDecision());
  RETURN_IF_ERROR(Replan(s));
  return OnCluster<&Cluster::KillPlanner>(s);
}
absl::Status StartNamesake(const Scene& s) {
  RETURN_IF_ERROR(OnNode<&Cluster::StartNamesake>(s));
  s.cluster->Pass(s.fault.lasts / 10);
  return OnNode<&Cluster::SetManagementLink, false>(s);
}
absl::Status StopNamesake(const Scene& s) {
  RETURN_IF_ERROR((OnNode<&Cluster::SetManagementLink, true>(s)));
  return OnNode<&Cluster::StopNamesake>(s);
}

enum class Concerns { kCalls, kFormation, kPlanner };

using Act = absl::Status (*)(const Scene& s);
struct Row {
  const char* name;
  Concerns concerns;
  Act begin, end;  // null: the programs make the fault; it is over at once
};
constexpr Row kRows[kFaultKindCount] = {
    {"process-crash", Concerns::kCalls, OnProcesses<&Cluster::KillProcess>, nullptr},
    {"process-pause", Concerns::kCalls, OnProcesses<&Cluster::StopProcess>, OnProcesses<&Cluster::ContinueProcess>},
    {"daemon-crash", Concerns::kCalls, OnNode<&Cluster::KillDaemon>, OnNode<&Cluster::RestartDaemon>},
    {"daemon-pause", Concerns::kCalls, OnNode<&Cluster::StopDaemon>, OnNode<&Cluster::ContinueDaemon>},
    {"data-cut", Concerns::kCalls, OnNode<&Cluster::SetDataLink, false>, OnNode<&Cluster::SetDataLink, true>},
    {"data-disturbed", Concerns::kCalls, OnCluster<&Cluster::DisturbData, true>,
     OnCluster<&Cluster::DisturbData, false>},
    {"management-cut", Concerns::kFormation, OnNodes<&Cluster::SetManagementLink, false>,
     OnNodes<&Cluster::SetManagementLink, true>},
    {"management-reset", Concerns::kFormation, OnNodes<&Cluster::ResetManagementLink>, nullptr},
    {"planner-killed", Concerns::kPlanner, OnCluster<&Cluster::KillPlanner>, OnCluster<&Cluster::RestartPlanner>},
    {"planner-stalled", Concerns::kPlanner, OnCluster<&Cluster::StopPlanner>, OnCluster<&Cluster::ContinuePlanner>},
    {"planner-replaced", Concerns::kPlanner, ReplacePlanner, OnCluster<&Cluster::ReplacePlanner>},
    {"store-refuses", Concerns::kFormation, OnCluster<&Cluster::RefuseSaves, true>,
     OnCluster<&Cluster::RefuseSaves, false>},
    {"drain", Concerns::kFormation, Drain<true>, Drain<false>},
    {"replan", Concerns::kCalls, Replan, nullptr},
    {"undecided", Concerns::kPlanner, LeaveUndecided, OnCluster<&Cluster::RestartPlanner>},
    {"equal-names", Concerns::kFormation, StartNamesake, StopNamesake},
    {"full-rooms", Concerns::kFormation, nullptr, nullptr},
    {"leaves-early", Concerns::kCalls, nullptr, nullptr},
};

const Row& RowOf(FaultKind kind) { return kRows[static_cast<int>(kind)]; }

}  // namespace

const char* FaultKindName(FaultKind kind) { return RowOf(kind).name; }

const char* StateName(State state) {
  constexpr const char* kNames[kStateCount] = {"forming",   "prepared", "committed", "short-call",
                                               "long-call", "sub-team", "leaving",   "draining"};
  return kNames[static_cast<int>(state)];
}

absl::Status Begin(Cluster* cluster, const Fault& fault, uint32_t first, const std::string& team) {
  const Act begin = RowOf(fault.kind).begin;
  return begin == nullptr ? absl::OkStatus() : begin({cluster, fault, first, team});
}

absl::Status End(Cluster* cluster, const Fault& fault, uint32_t first) {
  const Act end = RowOf(fault.kind).end;
  return end == nullptr ? absl::OkStatus() : end({cluster, fault, first, ""});
}

bool ConcernsPlanner(FaultKind kind) { return RowOf(kind).concerns == Concerns::kPlanner; }
bool ConcernsFormation(FaultKind kind) { return RowOf(kind).concerns != Concerns::kCalls; }

}  // namespace copse::campaign
