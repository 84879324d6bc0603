// SPDX-License-Identifier: Apache-2.0
//
// A cluster under test. Scenarios are written against this; integration_tests/sim and integration_tests/procs implement
// it.
#ifndef COPSE_TESTBED_SCRIPT_CLUSTER_H_
#define COPSE_TESTBED_SCRIPT_CLUSTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collectives/call_arguments.h"
#include "testbed/script/script.h"

namespace copse::scenario {

struct ClusterOptions {
  uint32_t nodes = 4;  // named n0, n1, ...
  uint64_t seed = 1;
  absl::Duration heartbeat = absl::Milliseconds(500);
  absl::Duration node_timeout = absl::Seconds(10);
  absl::Duration team_formation_timeout = absl::Seconds(30);
  uint64_t memory_limit_bytes = 256u << 20;
  bool sub_teams = true;     // simulated daemons form sub-teams without the planner
  bool instruments = false;  // simulated daemons have histograms and traces only on request
};

// One application process: its node and its script.
struct Program {
  uint32_t node = 0;
  Script script;
};

// A call in flight as administrators see it.
struct ListedCall {
  uint64_t sequence = 0;
  std::string collective;
  std::vector<uint32_t> joined;
  std::vector<uint32_t> missing;
};

// The state of a team in the planner's view.
enum class TeamPhase : uint8_t {
  kAbsent,
  kGathering,  // ranks are missing
  kPreparing,  // its daemons have not answered Prepare yet
  kDecided
};

// Counters of a daemon that are constant in an idle cluster.
inline constexpr const char* kIdleCounters[] = {
    "calls.in_flight",      "daemon.connections",           "daemon.neighbors",        "engine.frames.waiting",
    "engine.sends.waiting", "engine.memory.reserved_bytes", "engine.memory.used_bytes"};

// Processes are numbered from 0 in the order of their launch. Every wait is bounded by `timeout` of the cluster's own
// time: virtual in the simulator, else real. Errors: DEADLINE_EXCEEDED names the missing event.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual absl::Status Start(const ClusterOptions& options) = 0;
  // Starts processes; returns the number of the first.
  virtual uint32_t Launch(const std::vector<Program>& programs) = 0;
  // Waits until process `process` has at least `count` outcomes.
  virtual absl::Status AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) = 0;
  // Waits until process `process` has run its script to the end, or is dead.
  virtual absl::Status AwaitEnd(uint32_t process, absl::Duration timeout) = 0;
  virtual std::vector<Outcome> Outcomes(uint32_t process) const = 0;

  // --- Faults ---
  virtual void KillProcess(uint32_t process) = 0;
  virtual void StopProcess(uint32_t process) = 0;  // like SIGSTOP
  virtual void ContinueProcess(uint32_t process) = 0;
  virtual void KillDaemon(uint32_t node) = 0;
  virtual absl::Status RestartDaemon(uint32_t node) = 0;  // returns when it is registered again
  virtual void StopDaemon(uint32_t node) = 0;
  virtual void ContinueDaemon(uint32_t node) = 0;
  virtual void KillPlanner() = 0;
  virtual absl::Status RestartPlanner() = 0;  // with its state
  // Makes the planner die after it has recorded the next epoch's decision, before it sends it.
  virtual absl::Status KillPlannerAtNextDecision() = 0;
  virtual void StopPlanner() = 0;
  virtual void ContinuePlanner() = 0;
  virtual absl::Status ReplacePlanner() = 0;  // by one without the old one's state

  // --- Faults that not every cluster can make: UNIMPLEMENTED ---
  // Links lose nothing for good: data sent meanwhile arrives when the link is up again, if both ends still exist.
  virtual absl::Status SetDataLink(uint32_t, bool /*up*/) { return Cannot("cut a node's data link"); }
  virtual absl::Status SetManagementLink(uint32_t, bool /*up*/) { return Cannot("cut a node's management link"); }
  virtual absl::Status ResetManagementLink(uint32_t) { return Cannot("reset a node's stream to the planner"); }
  // Frames come late, twice, out of order, or are lost and sent again, depending on the network.
  virtual absl::Status DisturbData(bool /*on*/) { return Cannot("disturb the data network"); }
  virtual absl::Status RefuseSaves(bool /*on*/) { return Cannot("fill the planner's store"); }
  // Starts another host, whose daemon has the node's name.
  virtual absl::Status StartNamesake(uint32_t) { return Cannot("start a second daemon of one name"); }
  virtual absl::Status StopNamesake(uint32_t) { return Cannot("start a second daemon of one name"); }

  // --- Administration ---
  // Replans the team, or its derived team for that collective.
  virtual absl::Status ReplanCollective(const std::string& team_name, std::optional<Collective> collective,
                                        const std::string& algorithm) = 0;
  absl::Status Replan(const std::string& team_name, const std::string& algorithm) {
    return ReplanCollective(team_name, std::nullopt, algorithm);
  }
  virtual absl::StatusOr<std::vector<ListedCall>> ListCalls(const std::string& team_name) = 0;
  virtual absl::Status DrainNode(uint32_t node, bool on) = 0;
  virtual absl::Status AwaitTeamPhase(const std::string&, TeamPhase, absl::Duration /*timeout*/) {
    return Cannot("tell a team's phase");
  }
  // The objects of a node at the moment, by name: teams, clients, calls, neighbors, memory; and the planner's teams.
  // They are constant in an idle cluster.
  virtual absl::StatusOr<std::map<std::string, uint64_t>> Gauges(uint32_t node) = 0;
  virtual absl::Status AwaitNodeState(uint32_t node, const std::string& state, absl::Duration timeout) = 0;
  // Lets the cluster's time pass.
  virtual void Pass(absl::Duration duration) = 0;
  virtual absl::Time Now() const = 0;

 private:
  static absl::Status Cannot(const char* what) { return absl::UnimplementedError(what); }
};

}  // namespace copse::scenario

#endif  // COPSE_TESTBED_SCRIPT_CLUSTER_H_
