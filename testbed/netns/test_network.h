// SPDX-License-Identifier: Apache-2.0
//
// A network of nodes on this machine, one network namespace each.
//
//   eth0  10.77.0.0/16   data: a bridge, shaped if asked for, or the TAPs of a fabric with delays and losses
//   ctl0  10.76.0.0/16   management: planner, launchers and administration, never slowed
//   lo
//
// Node i, counted from 1, ends in (i/256).(i%256) on both. Both bridges are in one more namespace, the switch, which is
// 10.76.255.254 on the management network. Host names resolve to management addresses, NAME-data to data addresses.
#ifndef COPSE_TESTBED_NETNS_TEST_NETWORK_H_
#define COPSE_TESTBED_NETNS_TEST_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "testbed/processes/child_process.h"

namespace copse::netns {

inline constexpr uint32_t kNodesMax = 1000;
inline constexpr int64_t kRateBitsMin = 100'000;
inline constexpr int64_t kRateBitsMax = 100'000'000'000;
inline constexpr char kSwitchAddress[] = "10.76.255.254";
inline constexpr char kDataDevice[] = "eth0";
inline constexpr char kControlDevice[] = "ctl0";

struct NetworkOptions {
  uint32_t nodes = 0;              // 0: as many as there are names
  std::vector<std::string> names;  // of the first `nodes` hosts; empty: those of the fabric's file, else n1, n2, ...
  int64_t rate_bits_per_s = 0;     // of eth0, in each direction; 0: not shaped. Not together with a fabric
  std::string congestion_control;  // of TCP on eth0, as in tcp_available_congestion_control; empty: the system's
  std::string fabric;              // topology file for copse-fabric; empty: a bridge
  std::string folder;              // for logs and tables; must exist and outlive the network
};

// Returns the reason why namespaces (or TAPs, with a fabric) are impossible here: PERMISSION_DENIED,
// FAILED_PRECONDITION, or OK.
absl::Status CheckNamespaces(bool fabric);

// Parses "200mbit", "1.5Gbit/s" in any case, as bits per second. Errors: INVALID_ARGUMENT, also out of [kRateBitsMin,
// kRateBitsMax].
absl::StatusOr<int64_t> ParseRate(const std::string& text);

// Returns the names of a fabric's nodes, in the order of the topology file. Errors: INVALID_ARGUMENT with file and
// line.
absl::StatusOr<std::vector<std::string>> FabricNames(const std::string& file);

// A TestNetwork owns a holder process for each node and for the switch. The namespaces exist only through those and
// through the processes inside, nothing is created in the machine's own namespace, and the kernel kills the holders
// with the thread that called Create: so all of it goes also after SIGKILL. Nodes are counted from 0 here.
// Thread-compatible.
class TestNetwork {
 public:
  // Errors: INVALID_ARGUMENT for options, those of CheckNamespaces, and those of iproute2 or the fabric.
  static absl::StatusOr<std::unique_ptr<TestNetwork>> Create(NetworkOptions options);
  ~TestNetwork();

  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }
  const std::string& HostName(uint32_t node) const { return names_[node]; }
  const std::vector<std::string>& host_names() const { return names_; }
  static std::string DataAddress(uint32_t node);
  static std::string ControlAddress(uint32_t node);
  pid_t Holder(uint32_t node) const { return holders_[node]->pid(); }
  pid_t switch_holder() const { return switch_->pid(); }
  std::string NetworkNamespace(uint32_t node) const;  // "/proc/PID/ns/net"
  std::string SwitchNamespace() const;
  // Returns the prefix of a command that runs inside the node.
  std::vector<std::string> Enter(uint32_t node) const;
  std::vector<std::string> EnterSwitch() const;
  // The program to use in ssh's place: PATH [-OPTION]... HOST WORD...
  const std::string& remote_shell() const { return remote_shell_; }
  // Its lines are "HOST PID", for copse-enter.
  const std::string& node_table() const { return node_table_; }
  // The fabric's control socket; empty without one.
  const std::string& fabric_socket() const { return fabric_socket_; }

  // Takes a node's link (kDataDevice, kControlDevice) down, or up again.
  absl::Status SetLink(uint32_t node, const char* device, bool up);
  // Returns an error if a holder or the fabric has ended.
  absl::Status CheckAlive() const;

 private:
  explicit TestNetwork(NetworkOptions options) : options_(std::move(options)) {}

  absl::Status Start();
  absl::Status StartHolders();
  absl::Status Configure();
  absl::Status StartFabric();
  absl::Status SetCongestionControl() const;
  absl::Status WriteTables();
  std::string LogFile() const;
  // The commands of one iproute2 program, inside the namespaces of `pid`.
  struct Batch {
    pid_t pid;
    std::string program;  // "ip" or "tc"
    std::string commands;
  };
  absl::Status RunAll(const std::vector<Batch>& batches) const;

  const NetworkOptions options_;
  std::vector<std::string> names_;
  std::string enter_;  // the program
  std::string node_table_;
  std::string remote_shell_;
  std::string fabric_socket_;
  std::unique_ptr<procs::ChildProcess> switch_;
  std::vector<std::unique_ptr<procs::ChildProcess>> holders_;
  std::unique_ptr<procs::ChildProcess> fabric_;
};

}  // namespace copse::netns

#endif  // COPSE_TESTBED_NETNS_TEST_NETWORK_H_
