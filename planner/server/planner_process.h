// SPDX-License-Identifier: Apache-2.0
//
// Runs the planner's process, which one thread drives: it stands by, leads, and obeys signals.
#ifndef COPSE_PLANNER_SERVER_PLANNER_PROCESS_H_
#define COPSE_PLANNER_SERVER_PLANNER_PROCESS_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/config/config.h"
#include "base/process/service_manager.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/etcd/etcd_client.h"
#include "planner/etcd/leadership.h"
#include "planner/server/leading_planner.h"
#include "planner/server/open_store.h"
#include "planner/server/settings.h"
#include "planner/server/standby.h"
#include "planner/threads/task_queue.h"
#include "planner/threads/turn_counts.h"
#include "rpc/authorizer.h"
#include "rpc/credentials.h"
#include "rpc/identity.h"
#include "rpc/insecure_warning.h"
#include "rpc/local_sockets.h"

namespace copse::planner {

struct PlannerStart {
  Settings settings;
  // It is the configuration as loaded. At SIGHUP it is loaded again from `sources`, and compared.
  config::Config config;
  config::Sources sources;
  std::string port_file;                         // receives HOST:PORT once the planner listens; empty: none
  coordinator::PlanMaker* plan_maker = nullptr;  // set by tests; null: plans for the cluster's topology
};

// Blocks the signals that PlannerProcess waits for, and ignores SIGPIPE. Must be called before any other thread starts,
// which inherits this.
void BlockSignals();

// A PlannerProcess is a planner that listens. The thread that calls Run also runs the coordinator and all tasks.
class PlannerProcess : public LeadershipEvents {
 public:
  // Opens the store and listens. Errors name the configuration's key: INVALID_ARGUMENT for an invalid value; others may
  // be transient.
  static absl::StatusOr<std::unique_ptr<PlannerProcess>> Start(PlannerStart start);
  ~PlannerProcess() override;

  // Runs until SIGTERM or SIGINT; of several planners it first stands by until it leads. Teams continue without a
  // planner. ABORTED: it does not lead any more, and another process of this planner may stand by.
  absl::Status Run();

  // These three are called on the leadership's thread.
  void OnLeader(const std::string& address, int64_t fence) override;
  void OnWon(int64_t fence) override;
  void OnLost(const absl::Status& why) override;

 private:
  explicit PlannerProcess(PlannerStart start);
  absl::Status Open();
  // Returns the address by which others reach this planner.
  std::string Advertised() const;
  // Serves as a standby until this planner leads, or is to stop.
  absl::Status StandBy();
  absl::Status Lead();
  void Turn();
  // Opens the identity, if one is configured.
  absl::Status OpenIdentity();
  const std::shared_ptr<const rpc::Identity>& identity() const { return authorizer_->identity(); }
  rpc::CredentialsFactory Credentials() const;
  // Does what is due for security's sake: checks peers again, and warns that everybody may connect.
  void Watch(absl::Time now);
  // Ends the streams of peers that are not believed any more.
  void CheckPeers();
  absl::Time NextDeadline() const;
  void WaitForSignals();  // runs in thread signals_
  // Reads the configuration again, for this process of this user.
  void OnHangUp(uint32_t uid, int pid);
  // Returns the keys that have changed.
  absl::StatusOr<std::vector<std::string>> Reload();

  PlannerStart start_;
  const MonotonicClock clock_;
  ServiceManager service_manager_;
  TaskQueue queue_{&clock_};
  TurnCounts turns_;
  std::unique_ptr<rpc::Authorizer> authorizer_;
  absl::Time next_peer_check_ = absl::InfiniteFuture();
  uint64_t checked_generation_ = 0;  // Identity::generation() when the peers of a standby were checked
  rpc::InsecureWarning insecure_warning_;
  // These three are null unless the store is etcd.
  std::unique_ptr<EtcdClient> etcd_;
  std::unique_ptr<Leadership> leadership_;
  std::unique_ptr<Standby> standby_;
  int64_t fence_ = 0;                        // 0: it does not lead
  absl::Status lost_;                        // why it does not lead any more
  std::unique_ptr<LeadingPlanner> leading_;  // null: it stands by
  std::thread signals_;
  bool stopped_ = false;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_PLANNER_PROCESS_H_
