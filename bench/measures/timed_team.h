// SPDX-License-Identifier: Apache-2.0
//
// Times the calls of a team of real processes, whose algorithm the benchmark can force.
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

// A TimedTeam is the team "bench" of a job on all nodes of a cluster, rank r on node r / ppn; job and
// user are as of StartCopseRanks. The cluster must have been started and must outlive it. Thread-compatible.
class TimedTeam {
 public:
  static absl::StatusOr<std::unique_ptr<TimedTeam>> Start(procs::ProcessCluster* cluster, uint32_t nodes, uint32_t ppn,
                                                          absl::Duration timeout, const std::string& job = "",
                                                          uint32_t user = 0);

  // Force sets the algorithm (empty: the planner's choice) of all collectives that it can carry. It takes effect after
  // kCallsToSwitch calls.
  static constexpr uint32_t kCallsToSwitch = 32;
  absl::Status Force(const std::string& algorithm);

  // Makes `warm_up` pairs of a barrier and a call, then `calls` more. Returns for each of the latter the microseconds
  // of the slowest rank, counted from the rank's own return from the barrier. The root is rank 0. Errors:
  // DEADLINE_EXCEEDED after `timeout`; the team is then unusable.
  absl::StatusOr<std::vector<double>> Time(Collective collective, uint64_t bytes, uint32_t warm_up, uint32_t calls,
                                           absl::Duration timeout);

  // Ends the processes.
  absl::Status Stop(absl::Duration timeout);

  const schedule::TeamShape& shape() const { return shape_; }
  const procs::ProcessCluster& cluster() const { return *cluster_; }

 private:
  TimedTeam(procs::ProcessCluster* cluster, schedule::TeamShape shape, RankProcesses ranks)
      : cluster_(cluster), shape_(std::move(shape)), ranks_(std::move(ranks)) {}

  procs::ProcessCluster* const cluster_;
  const schedule::TeamShape shape_;
  RankProcesses ranks_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_TIMED_TEAM_H_
