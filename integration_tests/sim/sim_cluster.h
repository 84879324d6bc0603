// SPDX-License-Identifier: Apache-2.0
//
// The simulated cluster: the production coordinator, planner, daemon cores and engines on a virtual network.
#ifndef COPSE_INTEGRATION_TESTS_SIM_SIM_CLUSTER_H_
#define COPSE_INTEGRATION_TESTS_SIM_SIM_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectives/call_arguments.h"
#include "daemon/core/calls/instruments.h"
#include "sim/simulator.h"
#include "sim/virtual_network.h"
#include "testbed/script/cluster.h"

namespace copse::scenario {

class SimCluster : public Cluster {
 public:
  explicit SimCluster(sim::LinkProperties link = {});
  ~SimCluster() override;

  absl::Status Start(const ClusterOptions& options) override;
  uint32_t Launch(const std::vector<Program>& programs) override;
  absl::Status AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) override;
  absl::Status AwaitEnd(uint32_t process, absl::Duration timeout) override;
  std::vector<Outcome> Outcomes(uint32_t process) const override;

  void KillProcess(uint32_t process) override;
  void StopProcess(uint32_t process) override;
  void ContinueProcess(uint32_t process) override;
  void KillDaemon(uint32_t node) override;
  absl::Status RestartDaemon(uint32_t node) override;
  void StopDaemon(uint32_t node) override;
  void ContinueDaemon(uint32_t node) override;
  void KillPlanner() override;
  absl::Status RestartPlanner() override;
  absl::Status KillPlannerAtNextDecision() override;
  void StopPlanner() override;
  void ContinuePlanner() override;
  absl::Status ReplacePlanner() override;

  absl::Status SetDataLink(uint32_t node, bool up) override;
  absl::Status SetManagementLink(uint32_t node, bool up) override;
  absl::Status ResetManagementLink(uint32_t node) override;
  absl::Status DisturbData(bool on) override;
  absl::Status RefuseSaves(bool on) override;
  absl::Status StartNamesake(uint32_t node) override;
  absl::Status StopNamesake(uint32_t node) override;

  absl::Status Replan(const std::string& team_name, const std::string& algorithm) override;
  absl::Status ReplanCollective(const std::string& team_name, Collective collective,
                                const std::string& algorithm) override;
  absl::StatusOr<std::vector<ListedCall>> ListCalls(const std::string& team_name) override;
  absl::Status DrainNode(uint32_t node, bool on) override;
  absl::Status AwaitTeamPhase(const std::string& team_name, TeamPhase phase, absl::Duration timeout) override;
  absl::StatusOr<std::map<std::string, uint64_t>> Gauges(uint32_t node) override;
  absl::Status AwaitNodeState(uint32_t node, const std::string& state, absl::Duration timeout) override;
  void Pass(absl::Duration duration) override;
  absl::Time Now() const override;

  // These functions exist only in a simulation.
  void CutLink(uint32_t a, uint32_t b);
  void HealLinks();
  uint64_t trace_hash() const;
  // Precondition: the node's daemon lives. Returns null unless ClusterOptions requested instruments.
  const daemon::Instruments* instruments(uint32_t node) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SIM_SIM_CLUSTER_H_
