// SPDX-License-Identifier: Apache-2.0
//
// Watches a key of etcd.
#ifndef COPSE_PLANNER_ETCD_KEY_WATCH_H_
#define COPSE_PLANNER_ETCD_KEY_WATCH_H_

#include <grpcpp/client_context.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "planner/etcd/etcd_client.h"

namespace copse::planner {

// A KeyWatch notifies of changes of one key, until it ends with an error. After each, read the key: a change may be
// notified late, several together, and those after an error are not notified.
class KeyWatch final : private EtcdClient::WatchReactor {
 public:
  // Notifies of changes from `revision` on. `notify` is called on a thread of gRPC: with OK after changes; at last with
  // an error. OUT_OF_RANGE: etcd does not know `revision` any more, as it was compacted. `*client` must outlive the
  // object.
  KeyWatch(EtcdClient* client, const std::string& key, int64_t revision,
           std::function<void(const absl::Status&)> notify);
  // Ends the watch; `notify` is not called any more. It must not run on a thread of gRPC.
  ~KeyWatch() override;

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::function<void(const absl::Status&)> notify_;
  grpc::ClientContext context_;
  etcdserverpb::WatchRequest request_;
  etcdserverpb::WatchResponse response_;
  absl::Status canceled_;  // why etcd ended the watch
  std::string endpoint_;

  Mutex mutex_;
  CondVar done_changed_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_KEY_WATCH_H_
