// SPDX-License-Identifier: Apache-2.0
//
// A cluster under test. Scenarios are written against this; integration_tests/sim and integration_tests/procs implement
// it.
#ifndef COPSE_INTEGRATION_TESTS_SCENARIOS_CLUSTER_H_
#define COPSE_INTEGRATION_TESTS_SCENARIOS_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "integration_tests/scenarios/script.h"
#include "planner/schedule/collective.h"

namespace copse::scenario {

struct ClusterOptions {
  uint32_t nodes = 4;  // named n0, n1, ...
  uint64_t seed = 1;
  absl::Duration heartbeat = absl::Milliseconds(500);
  absl::Duration node_timeout = absl::Seconds(10);
  absl::Duration team_formation_timeout = absl::Seconds(30);
  uint64_t memory_limit_bytes = 256u << 20;
  bool instruments = false;  // simulated daemons have histograms and traces only if asked
};

// One application process: where it runs and what it does.
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

// Processes are numbered from 0 in the order of their launch. Every wait is bounded by `timeout` of the cluster's own
// time: virtual in the simulator, real else. Errors: DEADLINE_EXCEEDED names what did not happen.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual absl::Status Start(const ClusterOptions& options) = 0;
  // Starts processes; returns the number of the first.
  virtual uint32_t Launch(const std::vector<Program>& programs) = 0;
  // Until process `process` has at least `count` outcomes.
  virtual absl::Status AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) = 0;
  // Until process `process` has run its script to the end, or is dead.
  virtual absl::Status AwaitEnd(uint32_t process, absl::Duration timeout) = 0;
  virtual std::vector<Outcome> Outcomes(uint32_t process) const = 0;

  // --- What goes wrong ---
  virtual void KillProcess(uint32_t process) = 0;
  virtual void StopProcess(uint32_t process) = 0;  // as SIGSTOP does
  virtual void ContinueProcess(uint32_t process) = 0;
  virtual void KillDaemon(uint32_t node) = 0;
  virtual absl::Status RestartDaemon(uint32_t node) = 0;  // until it is registered again
  virtual void StopDaemon(uint32_t node) = 0;
  virtual void ContinueDaemon(uint32_t node) = 0;
  virtual void KillPlanner() = 0;
  virtual absl::Status RestartPlanner() = 0;  // with its state
  // The planner dies between recording the next epoch's decision and telling it.
  virtual absl::Status KillPlannerAtNextDecision() = 0;

  // --- Administration ---
  virtual absl::Status Replan(const std::string& team_name, const std::string& algorithm) = 0;
  // Of the team, or of its companion for that collective.
  virtual absl::Status ReplanCollective(const std::string& team_name, schedule::Collective collective,
                                        const std::string& algorithm) = 0;
  virtual absl::StatusOr<std::vector<ListedCall>> ListCalls(const std::string& team_name) = 0;
  virtual absl::Status AwaitNodeState(uint32_t node, const std::string& state, absl::Duration timeout) = 0;
  // Lets the cluster's time pass.
  virtual void Pass(absl::Duration duration) = 0;
  virtual absl::Time Now() const = 0;
};

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SCENARIOS_CLUSTER_H_
