// SPDX-License-Identifier: Apache-2.0
//
// Runs a planner that leads: coordinator, store and services.
#ifndef COPSE_PLANNER_SERVER_LEADING_PLANNER_H_
#define COPSE_PLANNER_SERVER_LEADING_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "planner/admin/admin_service.h"
#include "planner/admin/audit_log.h"
#include "planner/admin/planner_instruments.h"
#include "planner/admin/state_saver.h"
#include "planner/admin/topology_history.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/etcd/etcd_client.h"
#include "planner/server/open_store.h"
#include "planner/server/settings.h"
#include "planner/sessions/daemon_pings.h"
#include "planner/sessions/daemon_service.h"
#include "planner/threads/cluster_plan_maker.h"
#include "planner/threads/plan_workers.h"
#include "planner/threads/task_queue.h"
#include "planner/threads/turn_counts.h"
#include "rpc/authorizer.h"
#include "rpc/credentials.h"
#include "rpc/local_sockets.h"
#include "rpc/network_listener.h"

namespace copse::planner {

// LeadingParts are what a LeadingPlanner uses of its process. Pointers must outlive it.
struct LeadingParts {
  const Clock* clock = nullptr;
  TaskQueue* queue = nullptr;
  const TurnCounts* turns = nullptr;
  const rpc::Authorizer* authorizer = nullptr;
  rpc::CredentialsFactory credentials;
  EtcdClient* etcd = nullptr;                    // null: the store is another one, and there is no other planner
  int64_t fence = 0;                             // the Leadership's; 0 without etcd
  coordinator::PlanMaker* plan_maker = nullptr;  // set by tests; null: plans for the cluster's topology
};

// A LeadingPlanner is a planner from when it leads until its end. All calls are on the thread that runs the queue.
class LeadingPlanner final : public StreamEvents {
 public:
  // Opens the store and listens. `topology_path` is for display. Errors name the configuration's key: INVALID_ARGUMENT
  // for an invalid value; others may be transient.
  static absl::StatusOr<std::unique_ptr<LeadingPlanner>> Start(const Settings& settings,
                                                               const std::string& topology_path, LeadingParts parts);
  // Ends all calls, for which it runs the queue. Teams continue without a planner.
  ~LeadingPlanner() override;

  // Returns where it listens, HOST:PORT.
  const std::string& address() const { return listener_->address(); }
  const coordinator::Coordinator& coordinator() const { return *coordinator_; }

  // Does what is due. Must be called before each run of the queue.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const;
  // Returns why it does not lead any more: another planner may.
  absl::Status CheckLeads() const;

  // Applies what the configuration says now.
  void Apply(LiveSettings live, const std::string& topology_path);
  // Adds what no call has changed to the audit.
  void Record(rpc::AuditRecord record) { admin_service_->Record(std::move(record)); }
  // Ends the streams of peers that are not believed any more.
  void CheckPeers() { daemon_service_->CheckPeers(); }

  void OnConnected(coordinator::SessionId session, const std::string& from) override {
    coordinator_->OnConnected(session, from);
  }
  bool Admits(coordinator::SessionId session, const schedule::NodeAnnouncement& node) override {
    return coordinator_->Admits(session, node);
  }
  void OnMessage(coordinator::SessionId session, const schedule::FromDaemon& message) override;
  void OnDisconnected(coordinator::SessionId session) override {
    if (pings_ != nullptr) pings_->Remove(session);
    coordinator_->OnDisconnected(session);
  }

 private:
  LeadingPlanner(const Settings& settings, LeadingParts parts);
  absl::Status Open(const Settings& settings, const std::string& topology_path);
  absl::Status OpenStore(const Settings& settings);
  absl::Status Listen(const Settings& settings);
  // Serves this machine's users. Only a warning says that it is not possible.
  void ListenLocally(const std::string& run_dir);
  std::unique_ptr<grpc::Server> StartViewServer();

  const LeadingParts parts_;
  const absl::Duration reach_;  // without an answer for so long, it does not lead any more
  OpenedStore store_;
  ClusterPlanMaker plan_maker_;
  PlanWorkers plan_workers_;
  PlanWorkers better_workers_;  // make better plans for teams that have quick ones
  std::unique_ptr<DaemonService> daemon_service_;
  std::unique_ptr<DaemonPings> pings_;  // null unless there may be other planners
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  std::unique_ptr<TopologyHistory> topologies_;
  std::unique_ptr<PlannerInstruments> instruments_;
  std::unique_ptr<StateSaver> saver_;
  std::unique_ptr<AdminService> admin_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::Server> view_server_;  // of view.sock; null: there are no sockets
  std::unique_ptr<rpc::LocalListener> sockets_;
  std::unique_ptr<rpc::NetworkListener> listener_;
  absl::Time next_complaint_ = absl::InfinitePast();
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_LEADING_PLANNER_H_
