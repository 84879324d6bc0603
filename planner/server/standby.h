// SPDX-License-Identifier: Apache-2.0
//
// Serves while another planner leads.
#ifndef COPSE_PLANNER_SERVER_STANDBY_H_
#define COPSE_PLANNER_SERVER_STANDBY_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "planner/sessions/endless_calls.h"
#include "proto/copse/v1/admin.pb.h"
#include "rpc/authorizer.h"
#include "rpc/credentials.h"
#include "rpc/network_listener.h"

namespace copse::planner {

// A Standby answers WatchLeader and GetPlannerStatus, and refuses all other calls as UNAVAILABLE with the leader's
// address (rpc::kLeaderMetadataKey). Thread-safe.
class Standby final : public grpc::CallbackGenericService {
 public:
  // Listens. `status` is what GetPlannerStatus answers; its address and leader are set here. Errors name the key
  // `listen`: INVALID_ARGUMENT, UNAVAILABLE. `*authorizer` must outlive the object.
  static absl::StatusOr<std::unique_ptr<Standby>> Start(const std::string& listen,
                                                        const rpc::CredentialsFactory& credentials,
                                                        const rpc::Authorizer* authorizer,
                                                        v1::GetPlannerStatusReply status);
  // Ends all calls and stops to listen.
  ~Standby() override;

  const std::string& address() const { return listener_->address(); }
  // Tells those who watch. `number` grows from leader to leader.
  void SetLeader(const std::string& address, uint64_t number);
  // Ends the calls of callers whose certificates are not believed any more.
  void CheckPeers() { calls_.Check(*authorizer_); }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  class Watcher;
  Standby(const rpc::Authorizer* authorizer, v1::GetPlannerStatusReply status)
      : authorizer_(authorizer), status_(std::move(status)) {}

  // Tells the leader, if the watcher was told another one and nothing is being written to it.
  void Tell(Watcher* watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const rpc::Authorizer* const authorizer_;
  Mutex mutex_;
  v1::GetPlannerStatusReply status_ ABSL_GUARDED_BY(mutex_);
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  EndlessCalls calls_;  // the watchers
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<rpc::NetworkListener> listener_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_STANDBY_H_
