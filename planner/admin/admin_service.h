// SPDX-License-Identifier: Apache-2.0
//
// Defines the gRPC service for administrators.
#ifndef COPSE_PLANNER_ADMIN_ADMIN_SERVICE_H_
#define COPSE_PLANNER_ADMIN_ADMIN_SERVICE_H_

#include <memory>
#include <string>

#include "planner/admin/audit_log.h"
#include "planner/admin/planner_instruments.h"
#include "planner/admin/state_saver.h"
#include "planner/admin/topology_history.h"
#include "planner/coordinator/coordinator.h"
#include "planner/threads/cluster_plan_maker.h"
#include "planner/threads/task_queue.h"
#include "rpc/authorizer.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace copse::planner {

// An AdminService passes each call to the planner's thread, which replies immediately or when daemons have replied. It
// must outlive the gRPC servers at which it is.
class AdminService {
 public:
  virtual ~AdminService() = default;
  virtual grpc::Service* service() = 0;
  // Adds a change that no call has made to the audit. It is called on the planner's thread.
  virtual void Record(rpc::AuditRecord record) = 0;
  // Ends pending calls, and all later ones, as UNAVAILABLE. It is called on the planner's thread when the planner
  // stops.
  virtual void Stop() = 0;
};

struct AdminServiceOptions {
  std::string log_file;       // as configured; empty: standard error
  bool private_data = false;  // hides jobs, teams' names and incarnations from callers who may not change them
};

// The objects behind the pointers must outlive the service.
std::unique_ptr<AdminService> MakeAdminService(TaskQueue* queue, coordinator::Coordinator* coordinator,
                                               ClusterPlanMaker* plan_maker, TopologyHistory* topologies,
                                               const PlannerInstruments* instruments, StateSaver* saver,
                                               const rpc::Authorizer* authorizer,
                                               const AdminServiceOptions& options = {});

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_ADMIN_SERVICE_H_
