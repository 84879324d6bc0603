// SPDX-License-Identifier: Apache-2.0
//
// Runs a real etcd cluster on loopback.
#ifndef COPSE_PLANNER_ETCD_TESTING_ETCD_CLUSTER_H_
#define COPSE_PLANNER_ETCD_TESTING_ETCD_CLUSTER_H_

#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/etcd/etcd_client.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/temp_folder.h"

namespace copse::planner::testing {

struct EtcdClusterOptions {
  size_t members = 1;
  bool tls = false;         // members want a client's certificate
  int64_t quota_bytes = 0;  // 0: etcd's default
  std::string
      allowed_keys;  // authentication is on, and kUser may use the keys with this prefix alone; empty: it is off
};
inline constexpr char kUser[] = "copse", kPassword[] = "secret";

// PEM texts for TLS.
struct EtcdCertificates {
  std::string ca, other_ca, client, client_key;
};

// An EtcdCluster runs until it is destroyed, or the thread that started it ends. Member i is a process with a folder of
// its own, which outlives its end.
class EtcdCluster {
 public:
  // Starts the members and waits until they have a leader.
  static absl::StatusOr<std::unique_ptr<EtcdCluster>> Start(const EtcdClusterOptions& options = {});

  const std::vector<std::string>& endpoints() const { return endpoints_; }
  const EtcdCertificates& certificates() const { return certificates_; }
  // Returns options of a client with all endpoints, and what they want of it.
  EtcdClientOptions ClientOptions() const;
  std::unique_ptr<EtcdClient> NewClient() const { return EtcdClient::Create(ClientOptions()).value(); }

  void Kill(size_t member);
  void Pause(size_t member);
  void Resume(size_t member);
  absl::Status Restart(size_t member);  // precondition: it was killed
  // Waits until each member that was not killed answers a call that needs a majority.
  absl::Status AwaitHealth() const;

  // Forgets the changes before `revision`.
  absl::Status Compact(int64_t revision) const;

 private:
  struct Member {
    std::vector<std::string> command;
    std::unique_ptr<procs::ChildProcess> process;
  };

  explicit EtcdCluster(EtcdClusterOptions options) : options_(std::move(options)) {}
  absl::Status MakeCertificates();
  absl::Status Run(Member* member) const;
  absl::Status ReadAnything(EtcdClient* client) const;  // which needs a majority
  absl::Status AllowKeys() const;

  const EtcdClusterOptions options_;
  const procs::TempFolder folder_;
  EtcdCertificates certificates_;
  std::vector<std::string> endpoints_;
  std::vector<Member> members_;
};

}  // namespace copse::planner::testing

#endif  // COPSE_PLANNER_ETCD_TESTING_ETCD_CLUSTER_H_
