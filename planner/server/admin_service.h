// SPDX-License-Identifier: Apache-2.0
//
// The gRPC service for administrators.
#ifndef COPSE_PLANNER_SERVER_ADMIN_SERVICE_H_
#define COPSE_PLANNER_SERVER_ADMIN_SERVICE_H_

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "planner/coordinator/coordinator.h"
#include "planner/server/cluster_plan_maker.h"
#include "planner/server/task_queue.h"
#include "planner/server/topology_history.h"
#include "planner/server/topology_probe.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/credentials.h"

namespace copse::planner {

// AdminService passes each call to the planner's thread, which answers it, maybe later, when daemons have answered. All
// pointers must outlive it, and it must outlive the gRPC server.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(TaskQueue* queue, coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker,
               TopologyHistory* topologies, const rpc::Authorizer* authorizer)
      : queue_(queue),
        coordinator_(coordinator),
        plan_maker_(plan_maker),
        topologies_(topologies),
        authorizer_(authorizer) {}

  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext*, const v1::PingRequest*, v1::PingReply*) override;
  grpc::ServerUnaryReactor* Version(grpc::CallbackServerContext*, const v1::VersionRequest*,
                                    v1::VersionReply*) override;
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext*, const v1::ListNodesRequest*,
                                      v1::ListNodesReply*) override;
  grpc::ServerUnaryReactor* ShowNode(grpc::CallbackServerContext*, const v1::ShowNodeRequest*,
                                     v1::ShowNodeReply*) override;
  grpc::ServerUnaryReactor* GetTrace(grpc::CallbackServerContext*, const v1::GetTraceRequest*,
                                     v1::GetTraceReply*) override;
  grpc::ServerUnaryReactor* DrainNode(grpc::CallbackServerContext*, const v1::DrainNodeRequest*,
                                      v1::DrainNodeReply*) override;
  grpc::ServerUnaryReactor* RemoveNode(grpc::CallbackServerContext*, const v1::RemoveNodeRequest*,
                                       v1::RemoveNodeReply*) override;
  grpc::ServerUnaryReactor* ListTeams(grpc::CallbackServerContext*, const v1::ListTeamsRequest*,
                                      v1::ListTeamsReply*) override;
  grpc::ServerUnaryReactor* ShowTeam(grpc::CallbackServerContext*, const v1::ShowTeamRequest*,
                                     v1::ShowTeamReply*) override;
  grpc::ServerUnaryReactor* ReplanTeam(grpc::CallbackServerContext*, const v1::ReplanTeamRequest*,
                                       v1::ReplanTeamReply*) override;
  grpc::ServerUnaryReactor* BreakTeam(grpc::CallbackServerContext*, const v1::BreakTeamRequest*,
                                      v1::BreakTeamReply*) override;
  grpc::ServerUnaryReactor* ListPlans(grpc::CallbackServerContext*, const v1::ListPlansRequest*,
                                      v1::ListPlansReply*) override;
  grpc::ServerUnaryReactor* ShowPlan(grpc::CallbackServerContext*, const v1::ShowPlanRequest*,
                                     v1::ShowPlanReply*) override;
  grpc::ServerUnaryReactor* ExplainPlan(grpc::CallbackServerContext*, const v1::ExplainPlanRequest*,
                                        v1::ExplainPlanReply*) override;
  grpc::ServerUnaryReactor* ShowTopology(grpc::CallbackServerContext*, const v1::ShowTopologyRequest*,
                                         v1::ShowTopologyReply*) override;
  grpc::ServerUnaryReactor* ImportTopology(grpc::CallbackServerContext*, const v1::ImportTopologyRequest*,
                                           v1::ImportTopologyReply*) override;
  grpc::ServerUnaryReactor* DiffTopology(grpc::CallbackServerContext*, const v1::DiffTopologyRequest*,
                                         v1::DiffTopologyReply*) override;
  grpc::ServerUnaryReactor* ExportTopology(grpc::CallbackServerContext*, const v1::ExportTopologyRequest*,
                                           v1::ExportTopologyReply*) override;
  grpc::ServerUnaryReactor* ListTopologies(grpc::CallbackServerContext*, const v1::ListTopologiesRequest*,
                                           v1::ListTopologiesReply*) override;
  grpc::ServerUnaryReactor* ProbeTopology(grpc::CallbackServerContext*, const v1::ProbeTopologyRequest*,
                                          v1::ProbeTopologyReply*) override;
  grpc::ServerUnaryReactor* StopProbe(grpc::CallbackServerContext*, const v1::StopProbeRequest*,
                                      v1::StopProbeReply*) override;
  grpc::ServerUnaryReactor* ListCollectives(grpc::CallbackServerContext*, const v1::ListCollectivesRequest*,
                                            v1::ListCollectivesReply*) override;
  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext*, const v1::GetStatsRequest*,
                                     v1::GetStatsReply*) override;

  // Called on the planner's thread when the planner stops: pending calls, and all later ones, end UNAVAILABLE.
  void Stop();

 private:
  using Done = std::function<void(const absl::Status&)>;

  class Call;

  // Authorizes, then runs `work` on the planner's thread; `work` calls its argument once, when the reply is filled. If
  // the caller disconnects before that, `on_cancel` is called on the planner's thread.
  grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, const char* method,
                                  std::function<void(Done)> work, std::function<void()> on_cancel = nullptr);

  // Counts the calls in flight by team; calls of derived teams count for their parents, too.
  std::map<TeamId, uint32_t> CountCalls(const coordinator::StatusAnswer& answer) const;
  // Reads the options of a probe. Errors: INVALID_ARGUMENT, NOT_FOUND, UNAVAILABLE, FAILED_PRECONDITION.
  absl::StatusOr<ProbeOptions> ReadProbe(const v1::ProbeTopologyRequest& request) const;
  // Returns the version of the topology in force; 0: there never was one.
  uint64_t NewestVersion() const;

  TaskQueue* const queue_;
  coordinator::Coordinator* const coordinator_;
  ClusterPlanMaker* const plan_maker_;
  TopologyHistory* const topologies_;
  const rpc::Authorizer* const authorizer_;
  // Accessed on the planner's thread only.
  std::set<Call*> open_;  // not yet answered
  const MonotonicClock clock_;
  std::unique_ptr<TopologyProbe> probe_;  // one at a time
  std::vector<Done> stoppers_;            // calls pending until it ends
  bool stopped_ = false;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_ADMIN_SERVICE_H_
