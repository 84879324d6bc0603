// SPDX-License-Identifier: Apache-2.0
//
// A fabric with its namespaces, for tests and measurements of the fabric itself.
#ifndef COPSE_TESTBED_FABRIC_TEST_FABRIC_H_
#define COPSE_TESTBED_FABRIC_TEST_FABRIC_H_

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "testbed/fabric/fabric_control.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/temp_folder.h"

namespace copse::fabric {

// Returns an IPv4 address; both numbers are in the host's order.
sockaddr_in SocketAddress(uint32_t address, uint16_t port);

// Returns the reason why a fabric is impossible here: PERMISSION_DENIED without root, UNAVAILABLE without TUN; or OK.
absl::Status CheckFabric();

// Starts a process that only holds a network namespace. It ends with the process that started it, and the namespace
// with it.
absl::StatusOr<std::unique_ptr<procs::ChildProcess>> HoldNamespace();
std::string NamespaceOf(const procs::ChildProcess& holder);

// A TestFabric owns namespaces n1, n2, ..., a copse-fabric between them, and a folder in /tmp. All of it goes with
// the object, and except for the folder also after a crash. Nodes are counted from 0 here. Thread-compatible.
class TestFabric {
 public:
  // Errors: those of CheckFabric, and the fabric's own.
  static absl::StatusOr<std::unique_ptr<TestFabric>> Start(const std::string& topology, uint32_t nodes);

  FabricControl& control() { return *control_; }
  procs::ChildProcess& process() { return *process_; }
  const std::string& socket() const { return socket_; }
  std::string Namespace(uint32_t node) const { return NamespaceOf(*holders_[node]); }

  // Returns a socket of a node's namespace, bound to all addresses and `port` (0: any). `type` as in socket(2), in
  // AF_INET.
  absl::StatusOr<UniqueFd> Socket(uint32_t node, int type, uint16_t port);
  // Connects two TCP sockets, `port` at `to`.
  struct Connection {
    UniqueFd sender;
    UniqueFd receiver;
  };
  absl::StatusOr<Connection> Connect(uint32_t from, uint32_t to, uint16_t port);
  bool HasDevice(uint32_t node);

 private:
  TestFabric() = default;
  absl::Status StartIn(const std::string& topology, uint32_t nodes);

  // Destroyed from the last to the first.
  const procs::TempFolder folder_;
  std::string socket_;
  std::vector<std::unique_ptr<procs::ChildProcess>> holders_;
  std::unique_ptr<procs::ChildProcess> process_;
  std::unique_ptr<FabricControl> control_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_TEST_FABRIC_H_
