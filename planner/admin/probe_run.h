// SPDX-License-Identifier: Apache-2.0
//
// The measurement of the cluster's links that an administrator has started.
#ifndef COPSE_PLANNER_ADMIN_PROBE_RUN_H_
#define COPSE_PLANNER_ADMIN_PROBE_RUN_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "planner/admin/served_calls.h"
#include "planner/admin/topology_history.h"
#include "planner/admin/topology_probe.h"
#include "planner/coordinator/coordinator.h"
#include "planner/threads/cluster_plan_maker.h"
#include "planner/threads/task_queue.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::planner {

// A ProbeRun runs one probe at a time, until what it has found is in force if it is to be. The planner's thread calls
// its functions.
class ProbeRun {
 public:
  ProbeRun(TaskQueue* queue, coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker,
           TopologyHistory* topologies)
      : queue_(queue), coordinator_(coordinator), plan_maker_(plan_maker), topologies_(topologies) {}

  // Starts a probe; `done` is called when it has ended, and, if the request says so, its topology is in force. Errors:
  // FAILED_PRECONDITION if one is running, or a known tree is wanted and there is none; INVALID_ARGUMENT for a value
  // that is not valid; NOT_FOUND for an unknown node; UNAVAILABLE for a node without a stream.
  absl::Status Start(const v1::ProbeTopologyRequest& request, v1::ProbeTopologyReply* reply, const CallEnd& done);

  // Ends the probe early, with what it has; `done` is called then. FAILED_PRECONDITION if none is running.
  absl::Status Stop(const CallEnd& done);

  // Ends the probe, if it still measures, since its caller is gone.
  void Cancel();

 private:
  // Puts the topology that was found into force.
  void Apply(const ProbeReport& report, bool has_tree, v1::ProbeTopologyReply* reply, const CallEnd& done);
  absl::StatusOr<ProbeOptions> ReadOptions(const v1::ProbeTopologyRequest& request) const;

  TaskQueue* const queue_;
  coordinator::Coordinator* const coordinator_;
  ClusterPlanMaker* const plan_maker_;
  TopologyHistory* const topologies_;
  const MonotonicClock clock_;
  std::unique_ptr<TopologyProbe> probe_;  // while it measures
  bool is_applying_ = false;
  std::vector<CallEnd> stoppers_;  // calls of Stop that wait for its end
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_PROBE_RUN_H_
