// SPDX-License-Identifier: Apache-2.0
//
// The files of a running test cluster, by which later commands find it.
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
#include "base/unique_fd.h"

namespace copse::cluster {

struct NodeState {
  std::string name;
  std::string socket;              // socket of its daemon: a path, or "@copse" inside the node
  std::string data, control;       // addresses; empty on loopback
  std::vector<std::string> enter;  // prefix of a command that runs there; empty on loopback
};

struct ClusterState {
  std::string planner;  // HOST:PORT
  std::string folder;
  uint32_t ppn = 0;  // default of mpirun
  std::vector<NodeState> nodes;
  // These exist with namespaces only.
  std::vector<std::string> enter_switch;
  std::string switch_namespace;  // "/proc/PID/ns/net", in its processes' numbers
  std::string remote_shell;
};

enum class Condition {
  kAbsent,
  kHalfUp,  // is coming up, or going down
  kUp,
  kCrashed,  // its processes are gone, its files are not
};

// The folder and the lock of one cluster. Thread-compatible.
class StateFolder {
 public:
  // Errors: INVALID_ARGUMENT for an invalid name (letters, digits, "-", "_", at most 32), PERMISSION_DENIED for a
  // BASE of another user.
  static absl::StatusOr<StateFolder> Open(const std::string& name);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Condition Look() const;

  // Takes the lock: every process that inherits the descriptor holds it. Removes the rests of a crash. ALREADY_EXISTS
  // if the cluster is up, FAILED_PRECONDITION if it is half up.
  absl::StatusOr<UniqueFd> Claim() const;
  // Removes all of it. Precondition: the caller holds the lock, or no process does.
  absl::Status Remove() const;

  absl::Status WriteState(const ClusterState& state) const;
  absl::StatusOr<ClusterState> ReadState() const;
  // The process that ends the cluster when it is signaled or killed.
  absl::Status WritePid(pid_t pid) const;
  absl::StatusOr<pid_t> ReadPid() const;

 private:
  StateFolder(std::string name, const std::string& base)
      : name_(std::move(name)), path_(base + "/" + name_), lock_path_(path_ + ".lock") {}

  std::string name_, path_, lock_path_;
};

}  // namespace copse::cluster

#endif  // COPSE_TESTBED_CLUSTER_STATE_H_
