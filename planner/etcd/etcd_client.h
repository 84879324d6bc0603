// SPDX-License-Identifier: Apache-2.0
//
// Calls an etcd cluster (3.4) by gRPC.
#ifndef COPSE_PLANNER_ETCD_ETCD_CLIENT_H_
#define COPSE_PLANNER_ETCD_ETCD_CLIENT_H_

#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/tls_files.h"
#include "base/mutex.h"
#include "planner/etcd/etcd.grpc.pb.h"

namespace copse::planner {

// This is etcd's limit of a request (its --max-request-bytes), unless its administrator has set another.
inline constexpr size_t kEtcdRequestBytesMax = 1536 * 1024;

struct EtcdClientOptions {
  std::vector<std::string> endpoints;                     // HOST:PORT, one or more
  std::shared_ptr<grpc::ChannelCredentials> credentials;  // shared, as gRPC wants it
  std::string user;                                       // empty: without a user's name, or that of the certificate
  std::string password;                                   // of `user`
  absl::Duration timeout = absl::Seconds(5);              // of a call
};

// Returns credentials with this certificate for members whose certificates `authorities` has signed. The files are read
// again every `refresh`, at least a second: new ones are used for new connections.
inline constexpr absl::Duration kEtcdCredentialsRefresh = absl::Seconds(10);
std::shared_ptr<grpc::ChannelCredentials> EtcdCredentials(const config::TlsFiles& files,
                                                          absl::Duration refresh = kEtcdCredentialsRefresh);

// An EtcdClient makes calls at one of the endpoints. If that does not answer, or has lost the cluster's majority, the
// same call is made at the next one, until the call's timeout, of which each endpoint gets a part; later calls stay
// there. So a call may be made twice, and the first may even arrive after the second: callers make calls for which that
// does not matter.
//
// Thread-safe. `done` of a call is called once, on a thread of gRPC, or at once if the request is too long; it must not
// block. The destructor cancels all calls, and waits until each `done` has returned.
//
// Errors name the call, the endpoint, the key, and what etcd said. UNAVAILABLE: no endpoint answered; the outcome is
// not known. INVALID_ARGUMENT: the request is longer than kEtcdRequestBytesMax. PERMISSION_DENIED, UNAUTHENTICATED,
// RESOURCE_EXHAUSTED (etcd's storage is full) and others are etcd's. CANCELLED: by the destructor.
class EtcdClient {
 public:
  template <typename Response>
  using Done = std::function<void(absl::StatusOr<Response>)>;

  // INVALID_ARGUMENT if there is no endpoint or one is not HOST:PORT.
  static absl::StatusOr<std::unique_ptr<EtcdClient>> Create(EtcdClientOptions options);
  ~EtcdClient();

  const EtcdClientOptions& options() const { return options_; }

  // `timeout` replaces the option's.
  void Range(const etcdserverpb::RangeRequest& request, absl::Duration timeout, Done<etcdserverpb::RangeResponse> done);
  // `key` is for errors.
  void Txn(const etcdserverpb::TxnRequest& request, const std::string& key, absl::Duration timeout,
           Done<etcdserverpb::TxnResponse> done);
  void GrantLease(int64_t seconds, absl::Duration timeout, Done<etcdserverpb::LeaseGrantResponse> done);
  void RevokeLease(int64_t lease, absl::Duration timeout, Done<etcdserverpb::LeaseRevokeResponse> done);
  void KeepLeaseAlive(int64_t lease, absl::Duration timeout, Done<etcdserverpb::LeaseKeepAliveResponse> done);

  using WatchReactor = grpc::ClientBidiReactor<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
  // Opens a stream of watches at the present endpoint, and returns that; use KeyWatch. The client must outlive it.
  std::string OpenWatch(grpc::ClientContext* context, WatchReactor* reactor);

 private:
  struct EtcdMember;
  class Call;
  // Makes an attempt at a member; the function is called with its outcome.
  using Attempt = std::function<void(const EtcdMember&, grpc::ClientContext*, std::function<void(grpc::Status)>)>;

  explicit EtcdClient(EtcdClientOptions options);

  // Describes a call for errors.
  struct Subject {
    const char* method;
    std::string key;
  };
  template <typename Response, typename Start>
  void Make(Subject subject, size_t bytes, absl::Duration timeout, Start start, Done<Response> done);
  void Decorate(grpc::ClientContext* context) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AvoidMember(size_t member);

  const EtcdClientOptions options_;
  std::vector<std::unique_ptr<EtcdMember>> members_;  // of options_.endpoints

  mutable Mutex mutex_;
  CondVar calls_changed_;
  std::map<Call*, std::shared_ptr<grpc::ClientContext>> calls_ ABSL_GUARDED_BY(mutex_);  // with the present attempt's
  size_t present_ ABSL_GUARDED_BY(mutex_) = 0;  // index of the member for the next attempt
  std::string token_ ABSL_GUARDED_BY(mutex_);   // of options_.user; empty: not authenticated yet
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// Makes a call and waits for its end: Await<RangeResponse>([&](auto done) { client->Range(request, timeout, done); }).
// It must not be used on a thread of gRPC.
template <typename Response, typename Start>
absl::StatusOr<Response> Await(const Start& start) {
  Mutex mutex;
  CondVar ended;
  bool has_ended = false;
  absl::StatusOr<Response> result;
  start([&](absl::StatusOr<Response> response) {
    MutexLock lock(&mutex);
    result = std::move(response);
    has_ended = true;
    ended.NotifyAll();
  });
  MutexLock lock(&mutex);
  while (!has_ended) ended.Wait(&mutex);
  return result;
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_ETCD_CLIENT_H_
