// SPDX-License-Identifier: Apache-2.0
//
// What a test cluster leaves in the file system while it is up, so that later commands find it.
//
//   BASE/NAME.lock        locked by the cluster's processes for as long as one of them lives
//   BASE/NAME/state.json  once it is ready
//   BASE/NAME/...         the cluster's own folder: sockets, logs
//
// BASE is COPSE_CLUSTER_DIR, else /tmp/copse-cluster-UID, a folder that only its user may write.
#ifndef COPSE_TESTBED_CLUSTER_STATE_H_
#define COPSE_TESTBED_CLUSTER_STATE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"

namespace copse::cluster {

struct NodeState {
  std::string name;
  std::string socket;              // of its daemon: a path, or "@copse" inside the node
  std::string data, control;       // addresses; empty on loopback
  std::vector<std::string> enter;  // stands before a command; empty on loopback
};

struct ClusterState {
  std::string planner;  // HOST:PORT
  std::string folder;
  uint32_t ppn = 0;  // default of mpirun
  std::vector<NodeState> nodes;
  // With namespaces only.
  std::vector<std::string> enter_switch;
  std::string switch_namespace;  // "/proc/PID/ns/net", as its processes see it
  std::string remote_shell;
};

enum class Condition {
  kAbsent,
  kHalfUp,  // is coming up, or going down
  kUp,
  kCrashed,  // its processes are gone, its files are not
};

// One cluster's place. Thread-compatible.
class StateFolder {
 public:
  // Errors: INVALID_ARGUMENT for a name that is none (letters, digits, "-", "_", at most 32), PERMISSION_DENIED for a
  // BASE that is not ours.
  static absl::StatusOr<StateFolder> Open(const std::string& name);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Condition Look() const;

  // Makes it ours: whoever inherits the descriptor keeps it. What a crash left is removed. ALREADY_EXISTS if it is up,
  // FAILED_PRECONDITION if it is half up.
  absl::StatusOr<daemon::UniqueFd> Claim() const;
  // Removes all of it. Only for who holds the lock, or when nobody does.
  absl::Status Remove() const;

  absl::Status WriteState(const ClusterState& state) const;
  absl::StatusOr<ClusterState> ReadState() const;
  // The process that ends the cluster when it is told to, or killed.
  absl::Status WritePid(pid_t pid) const;
  absl::StatusOr<pid_t> ReadPid() const;

 private:
  StateFolder(std::string name, const std::string& base)
      : name_(std::move(name)), path_(base + "/" + name_), lock_path_(path_ + ".lock") {}

  std::string name_, path_, lock_path_;
};

}  // namespace copse::cluster

#endif  // COPSE_TESTBED_CLUSTER_STATE_H_
