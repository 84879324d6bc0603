// SPDX-License-Identifier: Apache-2.0
//
// The gRPC service for administrators.
#ifndef COPSE_PLANNER_SERVER_ADMIN_SERVICE_H_
#define COPSE_PLANNER_SERVER_ADMIN_SERVICE_H_

#include <memory>

#include "planner/coordinator/coordinator.h"
#include "planner/server/cluster_plan_maker.h"
#include "planner/server/task_queue.h"
#include "planner/server/topology_history.h"
#include "rpc/credentials.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace copse::planner {

// AdminService passes each call to the planner's thread, which answers it, maybe later, when daemons have answered. It
// must outlive the gRPC server.
class AdminService {
 public:
  virtual ~AdminService() = default;
  virtual grpc::Service* service() = 0;
  // Called on the planner's thread when the planner stops: pending calls, and all later ones, end UNAVAILABLE.
  virtual void Stop() = 0;
};

// All pointers must outlive the service.
std::unique_ptr<AdminService> MakeAdminService(TaskQueue* queue, coordinator::Coordinator* coordinator,
                                               ClusterPlanMaker* plan_maker, TopologyHistory* topologies,
                                               const rpc::Authorizer* authorizer);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_ADMIN_SERVICE_H_
