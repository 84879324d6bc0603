// SPDX-License-Identifier: Apache-2.0
//
// A team of real processes whose calls are timed, and whose plans are ours to choose.
#ifndef COPSE_BENCH_MEASURES_TIMED_TEAM_H_
#define COPSE_BENCH_MEASURES_TIMED_TEAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/testbed.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"
#include "testbed/processes/process_cluster.h"

namespace copse::bench {

// A TimedTeam is the team "bench" on all nodes of a cluster, rank r on node r / ppn. The cluster must have been started
// and must outlive it. Thread-compatible.
class TimedTeam {
 public:
  static absl::StatusOr<std::unique_ptr<TimedTeam>> Start(procs::ProcessCluster* cluster, uint32_t nodes, uint32_t ppn,
                                                          absl::Duration timeout);

  // Forces the algorithm (empty: the planner's choice) for all collectives that it can carry. It is in force once so
  // many calls were made.
  static constexpr uint32_t kCallsToSwitch = 32;
  absl::Status Force(const std::string& algorithm);

  // The plan that serves calls of so many bytes. Errors: as ReadPlan.
  absl::StatusOr<schedule::Plan> PlanFor(Collective collective, uint64_t bytes) const;

  // Makes `warm_up` pairs of a barrier and a call, then `calls` more. Returns microseconds by call: of the rank that
  // took longest, each from its own return from the barrier. Root is rank 0. DEADLINE_EXCEEDED after `timeout`: the
  // team is of no use then.
  absl::StatusOr<std::vector<double>> Time(Collective collective, uint64_t bytes, uint32_t warm_up, uint32_t calls,
                                           absl::Duration timeout);

  // Ends the processes.
  absl::Status Stop(absl::Duration timeout);

  const schedule::TeamShape& shape() const { return shape_; }

 private:
  TimedTeam(procs::ProcessCluster* cluster, schedule::TeamShape shape, RankProcesses ranks)
      : cluster_(cluster), shape_(std::move(shape)), ranks_(std::move(ranks)) {}

  procs::ProcessCluster* const cluster_;
  const schedule::TeamShape shape_;
  RankProcesses ranks_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_TIMED_TEAM_H_
